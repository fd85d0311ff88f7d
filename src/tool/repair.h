/* repair from the inside: repair.c puts a file right in place, repair_salvage.c writes what is whole into a new one. */
#ifndef MLDF_TOOL_REPAIR_H
#define MLDF_TOOL_REPAIR_H

#include "mldf/tool.h"
#include "reader/reader.h"

/* The footer that the header in these 64 bytes leads to through its directory: 0 when there is no directory there. */
mldf_status mldfi_repair_implied_footer(const struct os_file *file, uint64_t size,
                                        const uint8_t header[FORMAT_HEADER_BYTES], uint64_t *at, mldf_error *err);
/* Is there a valid footer at this byte? */
mldf_status mldfi_repair_footer(const struct os_file *file, uint64_t size, uint64_t at, struct footer *footer,
                                bool *valid, mldf_error *err);
/* Options for opening a file that may change under a failing disk: positional reads, structure alone without a key. */
mldf_reader_options mldfi_repair_reader_options(const mldf_repair_options *options);
/* repair_descriptors.c: opens a file whose descriptors have the checksum of another spelling; *table is that spelling. *out is NULL, without
 * an error, for any other file. */
mldf_status mldfi_repair_open_respelled(const char *path, const mldf_reader_options *options, mldf_reader **out,
                                        mldf_buffer *table, mldf_error *err);
/* Writes the descriptors of such a file in that spelling. *done: now it opens. */
mldf_status mldfi_repair_descriptors(const char *path, const struct os_file *file, const mldf_reader_options *options,
                                     bool *done, mldf_error *err);
mldf_status mldfi_repair_into(const char *path, const char *out, const mldf_repair_options *options,
                              mldf_repair_result *result, mldf_error *err);

#endif
