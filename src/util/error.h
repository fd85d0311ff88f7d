/* Filling an mldf_error. One call makes the whole report; the "at" helpers add the place afterwards.
 * Every function returns the status, so that `return mldfi_fail(err, ...)` reads as one thought. */
#ifndef MLDF_UTIL_ERROR_H
#define MLDF_UTIL_ERROR_H

#include "mldf/base.h"

/* err may be NULL everywhere. Resets the place (offset, sample, field) and sets the message. */
__attribute__((format(printf, 3, 4))) mldf_status mldfi_fail(mldf_error *err, mldf_status status, const char *format,
                                                             ...);
/* The same with a byte offset. */
__attribute__((format(printf, 4, 5))) mldf_status mldfi_fail_at(mldf_error *err, mldf_status status, uint64_t offset,
                                                                const char *format, ...);
/* From errno: chooses NOT_FOUND, PERMISSION, EXISTS, NO_SPACE, BUSY or IO, and appends strerror to the message. */
__attribute__((format(printf, 3, 4))) mldf_status mldfi_fail_errno(mldf_error *err, int sys_errno, const char *format,
                                                                   ...);
/* MLDF_E_EXISTS in the one wording that every writer has: "PATH: already exists; use -f to overwrite it". */
mldf_status mldfi_fail_exists(mldf_error *err, const char *path);
mldf_status mldfi_fail_memory(mldf_error *err, size_t bytes);

/* Add the place to an error that was just made (no effect on NULL). name may be NULL. Existing values are kept. */
void mldfi_error_place(mldf_error *err, uint64_t sample, const char *field);
/* Puts "prefix: " in front of the message. */
__attribute__((format(printf, 2, 3))) void mldfi_error_prefix(mldf_error *err, const char *format, ...);

#endif
