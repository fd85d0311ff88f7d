/* Starting a program without a shell: three streams, a process group of its own, no signal blocked or handled. compiler.c and coprocess.c use it. */
#ifndef MLDF_OS_SPAWN_H
#define MLDF_OS_SPAWN_H

#include <sys/types.h>

/* words end with NULL; streams: its standard input, output and error. environment NULL: that of this process, and words[0] is looked for in its
 * PATH. Returns 0 or an errno. */
int mldfi_spawn(pid_t *pid, char *const *words, const int streams[3], char *const *environment);

#endif
