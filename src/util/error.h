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

/* The same about a file: its name goes into err->path, the message does not repeat it. */
__attribute__((format(printf, 4, 5))) mldf_status mldfi_fail_file(mldf_error *err, mldf_status status, const char *path,
                                                                  const char *format, ...);
__attribute__((format(printf, 4, 5))) mldf_status mldfi_fail_file_errno(mldf_error *err, int sys_errno,
                                                                        const char *path, const char *format, ...);

/* The same about a line of a file. */
__attribute__((format(printf, 5, 6))) mldf_status mldfi_fail_line(mldf_error *err, mldf_status status, const char *file,
                                                                  uint64_t line, const char *format, ...);

/* Add the place to an error that was just made (no effect on NULL). name and path may be NULL. What is known already is kept: the one who
 * saw the failure knows best. */
void mldfi_error_place(mldf_error *err, uint64_t sample, const char *field);
void mldfi_error_path(mldf_error *err, const char *path);
/* What the error is about becomes `place`, such as "photos.csv:17:3": the file that it was about until now, if another, begins the context.
 * mldfi_error_line writes the place: column 0 is none. */
void mldfi_error_outer(mldf_error *err, const char *place);
void mldfi_error_line(mldf_error *err, const char *file, uint64_t line, uint64_t column);
/* What helps, instead of what was advised before; hands the status on. */
__attribute__((format(printf, 3, 4))) mldf_status mldfi_error_advise(mldf_error *err, mldf_status status,
                                                                     const char *format, ...);
/* Puts this in front of the context: the outer part of the work comes first. */
__attribute__((format(printf, 2, 3))) void mldfi_error_prefix(mldf_error *err, const char *format, ...);

/* Returns from the function with the status of what failed. For places where nothing is to be given back; others go on with
 * `if (status == MLDF_OK)`. A status above 0 is not a failure, and is dropped. */
#define TRY(...) \
    do { \
        mldf_status tried_ = (__VA_ARGS__); \
        if (tried_ < 0) \
            return tried_; \
    } while (0)

#endif
