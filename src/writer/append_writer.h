/* What appending samples (append_writer.c) and adding a field (field_writer.c) share: both open an existing file, and both write all its tables
 * again behind new payloads. */
#ifndef MLDF_WRITER_APPEND_WRITER_H
#define MLDF_WRITER_APPEND_WRITER_H

#include "reader/reader.h"
#include "writer/writer.h"

/* Under the file's lock: opens it for reading too, and takes over its schema, card, key, page size and the sections that stay. */
mldf_status mldfi_append_open(mldf_writer *writer, const char *path, const mldf_writer_options *options,
                              mldf_reader **reader, mldf_error *err);
/* Makes the front header the state and the logical end the file's end. From here on a failure cuts the file back. */
mldf_status mldfi_append_settle(mldf_writer *writer, const mldf_reader *reader, mldf_error *err);

/* Called for each old row: may replace it, and sets what belongs to fields that the reader does not have. */
struct row_extension {
    mldf_status (*extend)(void *user, uint64_t sample, const uint8_t **row, uint8_t *valid, mldf_error *err);
    void *user;
};
/* Rows, validity, keys, statistics and the allocation table of the old file into writer->tables, which are of writer->schema.
 * extension may be NULL. */
mldf_status mldfi_replay_rows(mldf_writer *writer, const mldf_reader *reader, const struct row_extension *extension,
                              mldf_error *err);
mldf_status mldfi_replay_allocation(mldf_writer *writer, const mldf_reader *reader, mldf_error *err);
typedef mldf_status (*mldfi_take_fn)(void *user, const uint8_t *bytes, size_t count, mldf_error *err);
/* A section's bytes, `step` at a time at most, checked against its CRC at the end. */
mldf_status mldfi_replay_section(const mldf_reader *reader, const struct section *section, size_t step,
                                 mldfi_take_fn take, void *user, mldf_error *err);
/* page_map.c: the numbers of section 7 for all payloads, whole ones at a time, whatever the file has of it. */
mldf_status mldfi_replay_page_map(const mldf_reader *reader, mldfi_take_fn take, void *user, mldf_error *err);

#endif
