/* A program that runs beside ours and answers on its standard output what it is asked on its standard input.
 *
 * Both pipes and the program's stderr are polled together, so that neither side can wait for the other for ever: a request is written while
 * its answer is already read. Every wait ends: by bytes, by a time limit, by the program's end, or by a cancel. The program leads a process
 * group of its own: Ctrl-C at the terminal is ours alone, and killing it ends all that it started. Not for two threads at once. */
#ifndef MLDF_OS_COPROCESS_H
#define MLDF_OS_COPROCESS_H

#include "mldf/base.h"

enum { OS_COPROCESS_STDERR = 4096 }; /* bytes of stderr that are kept, the last ones */

struct os_coprocess;

/* words[0] is looked for as a shell does; a NULL ends them. The environment is ours. */
mldf_status mldfi_coprocess_start(struct os_coprocess **out, char *const *words, mldf_error *err);
/* Bytes to be written while something is read; they must stay where they are until all of them are. */
void mldfi_coprocess_send(struct os_coprocess *process, const void *data, size_t bytes);
/* True: all that was to be sent is written. */
bool mldfi_coprocess_sent(const struct os_coprocess *process);
/* Exactly `bytes` from its standard output. deadline: of mldfi_time. cancelled may be NULL;
 * it is asked about 20 times a second. MLDF_E_IO: it ended, or time is up (sys_errno is
 * ETIMEDOUT); the message has the end of stderr; MLDF_E_CANCELLED. */
mldf_status mldfi_coprocess_read(struct os_coprocess *process, void *dst, size_t bytes, double deadline,
                                 bool (*cancelled)(void *), void *user, mldf_error *err);
/* Up to and without the next line end, at most `most` bytes; MLDF_E_IO also for a longer line. */
mldf_status mldfi_coprocess_line(struct os_coprocess *process, mldf_buffer *line, size_t most, double deadline,
                                 bool (*cancelled)(void *), void *user, mldf_error *err);
/* An MLDF_E_IO error of the program's: the message, and what it said last on stderr. */
__attribute__((format(printf, 3, 4))) mldf_status mldfi_coprocess_fail(struct os_coprocess *process, mldf_error *err,
                                                                       const char *format, ...);
/* Closes its standard input and waits: it must end with exit status 0, and answer nothing more, before the deadline. It is gone afterwards;
 * mldfi_coprocess_free is still needed. */
mldf_status mldfi_coprocess_finish(struct os_coprocess *process, double deadline, mldf_error *err);
/* Kills it, if it runs. NULL is fine. */
void mldfi_coprocess_free(struct os_coprocess *process);

/* The path of a program in the folder of the one that runs, terminated; or only its name, to be looked for as a shell does. */
mldf_status mldfi_program_beside(const char *name, mldf_buffer *out, mldf_error *err);

#endif
