/* Files made of the samples of others: what merge, select, split and repack share beside the copying itself (copy.h). */
#ifndef MLDF_TOOL_DERIVE_H
#define MLDF_TOOL_DERIVE_H

#include "mldf/tool.h"
#include "tool/input.h"

/* The fields of a file to be made from this one: those listed, in that order, or all when `fields` is NULL. What a 1.0 file leaves
 * open is decided here: missing JSON makes its field nullable, a private type gets a name. */
mldf_status mldfi_derive_schema(const mldf_reader *reader, const mldf_context *context, const size_t *fields,
                                size_t field_count, mldf_schema **out, mldf_error *err);
/* What the caller left open is as in the source: its card, and a dictionary where it has one and fields stay compressed. card is the
 * caller's to free, after the writer was opened. */
mldf_status mldfi_derive_options(const mldf_reader *reader, const mldf_schema *schema, mldf_writer_options *writer,
                                 mldf_buffer *card, mldf_error *err);
/* A name that is taken is better said before the work than after it. "-" is never taken. */
mldf_status mldfi_check_output(const char *out, bool overwrite, mldf_error *err);
/* The format that the ending of a name says ("tbl2", "tar.gz", "mldf" ...), or NULL. */
const char *mldfi_format_of_name(const char *name);
/* MLDF_E_ARGUMENT when the name says another format than MLDF, which is what pack, merge, select, split, repack and repair write. */
mldf_status mldfi_check_mldf_name(const char *out, mldf_error *err);
/* "-" is standard output. */
mldf_status mldfi_open_output(const char *out, const mldf_schema *schema, const mldf_writer_options *options,
                              mldf_writer **writer, mldf_error *err);
/* Ends a writer that may be NULL: finishes it when status is MLDF_OK, else gives up. Adds to result. Returns the status. */
mldf_status mldfi_end_output(mldf_writer *writer, mldf_status status, mldf_pack_result *result, mldf_error *err);
/* The writer's options of a tool that makes files of others: *writer's over the defaults in *own, and *writer becomes own. Checks the place
 * for the result as well. */
mldf_status mldfi_take_writer(mldf_writer_options *own, const mldf_writer_options **writer,
                              const mldf_pack_result *result, mldf_error *err);
/* A watch for a tool's progress hook. */
void mldfi_watch_begin(struct input_watch *watch, const mldf_writer_options *options, const char *phase,
                       uint64_t samples_total);

#endif
