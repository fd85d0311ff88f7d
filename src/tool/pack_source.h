/* What the sources of a run are: their names with braces expanded, and the one kind that all of them have. */
#ifndef MLDF_TOOL_PACK_SOURCE_H
#define MLDF_TOOL_PACK_SOURCE_H

#include "mldf/tool.h"

typedef enum source_kind {
    SOURCE_ROWS,
    SOURCE_FOLDERS,
    SOURCE_ARCHIVES,
    SOURCE_FILES /* MLDF, TBL, .beton: only where asked for */
} source_kind;

struct source_list {
    const char **paths;
    size_t count, capacity;
    char **made; /* names that braces stood for; owned */
    size_t made_count, made_capacity;
    source_kind kind;
};
/* The given names are borrowed. A name with braces that exists as it is stays as it is. */
mldf_status mldfi_sources_begin(struct source_list *list, const char *const *given, size_t count, bool documents,
                                mldf_source_format format, mldf_error *err);
/* The same, without looking at the kinds: they may differ. */
mldf_status mldfi_sources_expand(struct source_list *list, const char *const *given, size_t count, mldf_error *err);
/* What is read is not replaced: MLDF_E_ARGUMENT, naming the file, when `out` is the file `source`, by whatever name. Every tool that writes
 * a new file asks this of all that it reads; "-" is no file, and what is not there yet is not replaced. */
mldf_status mldfi_source_is_not_target(const char *source, const char *out, mldf_error *err);
mldf_status mldfi_sources_are_not_target(const char *const *sources, size_t count, const char *out, mldf_error *err);
mldf_status mldfi_reader_is_not_target(const mldf_reader *reader, const char *out, mldf_error *err);
/* Of one source; files: a dataset file is one too. */
source_kind mldfi_source_kind(const char *path, mldf_source_format format, bool files);
void mldfi_sources_free(struct source_list *list);

#endif
