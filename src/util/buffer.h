/* mldf_buffer from the inside (mldf/base.h has the public part): growth by half, 64-byte aligned. */
#ifndef MLDF_UTIL_BUFFER_H
#define MLDF_UTIL_BUFFER_H

#include "mldf/base.h"

/* Makes room for `bytes` more, sets *where to the new place and adds bytes to size. The new bytes are not cleared. */
mldf_status mldfi_buffer_extend(mldf_buffer *buffer, size_t bytes, uint8_t **where, mldf_error *err);
/* Sets size; content up to the smaller size stays. */
mldf_status mldfi_buffer_resize(mldf_buffer *buffer, size_t size, mldf_error *err);
/* Frees a buffer of more than `most` bytes. */
void mldfi_buffer_trim(mldf_buffer *buffer, size_t most);
mldf_status mldfi_buffer_append_text(mldf_buffer *buffer, const char *text, mldf_error *err);
__attribute__((format(printf, 3, 4))) mldf_status mldfi_buffer_printf(mldf_buffer *buffer, mldf_error *err,
                                                                      const char *format, ...);

/* malloc, calloc and strndup that report. Sizes that overflow fail. */
void *mldfi_alloc(size_t bytes, mldf_error *err);
void *mldfi_alloc_zero(size_t count, size_t bytes, mldf_error *err);
char *mldfi_copy_text(const char *text, size_t bytes, mldf_error *err);
/* Grows *array (of items of item_bytes) so that it holds at least `needed` items; doubles *capacity. */
mldf_status mldfi_array_reserve(void *array, size_t *capacity, size_t needed, size_t item_bytes, mldf_error *err);

#endif
