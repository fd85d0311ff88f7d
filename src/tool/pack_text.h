/* What pack does to make tokens of text: the sources give text as ever, and the file has a field of tokens in its place. The writer tokenizes
 * (mldf_writer_tokenize). */
#ifndef MLDF_TOOL_PACK_TEXT_H
#define MLDF_TOOL_PACK_TEXT_H

#include "mldf/tokenizer.h"

/* {0}: nothing becomes tokens. */
struct text_names {
    char field[MLDF_NAME_MAX + 1]; /* of the sources */
    char name[MLDF_NAME_MAX + 1];  /* in the file */
};

/* "FIELD" or "FIELD=NAME". */
mldf_status mldfi_text_names(struct text_names *names, const char *text, mldf_error *err);
/* The schema of the file for that of the sources. */
mldf_status mldfi_text_schema(const struct text_names *names, const mldf_schema *sources,
                              const mldf_tokenize_options *options, mldf_schema **out, mldf_error *err);

/* The schema of the sources for that of a file that is there: its field of tokens is text. MLDF_E_SCHEMA: the file's tokens were made in another way. */
mldf_status mldfi_text_sources(const struct text_names *names, const mldf_schema *file,
                               const mldf_tokenize_options *options, mldf_schema **out, mldf_error *err);

#endif
