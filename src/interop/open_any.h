/* The formats that mldf_reader_open knows besides MLDF: each fills a mapped reader's `foreign`, schema and count. */
#ifndef MLDF_INTEROP_OPEN_ANY_H
#define MLDF_INTEROP_OPEN_ANY_H

#include "reader/foreign.h"

mldf_status mldfi_foreign_open_tbl(mldf_reader *reader, mldf_error *err);
mldf_status mldfi_foreign_open_beton(mldf_reader *reader, mldf_error *err);
mldf_status mldfi_foreign_open_tar(mldf_reader *reader, mldf_error *err);

/* foreign_image.c: the record of an image field, for raw pixels. ptr: its place in the file, for what it is worth. */
void mldfi_image_record_raw(uint8_t *record, uint64_t ptr, uint64_t bytes, uint32_t width, uint32_t height,
                            uint8_t channels);
/* Bytes that are no image known here get the sides that the file's own index says they have. */
void mldfi_image_record_sides(uint8_t *record, uint16_t width, uint16_t height);

#endif
