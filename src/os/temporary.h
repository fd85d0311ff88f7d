/* Temporary names, and which of them are dead. A name is ".<target>.<host>-<slot>.<kind>", beside its target: who writes takes the lowest
 * free slot and holds a lock on it until the end. A name that nobody has locked was left by a process that was killed: who writes to the
 * same target next removes it.
 *
 * A lock tells that only on the host that took it (some network file systems lock for one host alone), so the host is part of the name;
 * and only where locks work at all: without them nothing is dead. */
#ifndef MLDF_OS_TEMPORARY_H
#define MLDF_OS_TEMPORARY_H

#include "os/file.h"

#define TEMPORARY_WORK "mldf.tmp"    /* a file, or the folder of an extraction, that is not finished */
#define TEMPORARY_SET "set.mldf.tmp" /* the journal of files that get their names together: publish_set.c */

typedef enum os_life {
    OS_LIFE_NONE,      /* there is no such name, or it is not a temporary one */
    OS_LIFE_DEAD,      /* the caller holds its lock now */
    OS_LIFE_LIVE,      /* another holds it */
    OS_LIFE_ELSEWHERE, /* another host made it */
    OS_LIFE_UNKNOWN,   /* it cannot be opened or locked here */
} os_life;

/* What is done with a dead name when a slot is looked for; it has the lock. MLDF_OK: the name is gone. */
typedef mldf_status (*temporary_bury)(void *user, struct os_file *dead, mldf_error *err);

/* A new file in the lowest free slot, locked. `bury` NULL: dead ones are removed. */
mldf_status mldfi_temporary_create(struct os_file *file, const char *target, const char *kind, temporary_bury bury,
                                   void *user, mldf_error *err);
/* A new folder; *lock is its descriptor, or -1 where it cannot be opened. The path is to be freed. */
mldf_status mldfi_temporary_create_folder(const char *target, char **path, int *lock, mldf_error *err);
/* The dead files and folders of this target alone. */
void mldfi_temporary_remove_dead(const char *target);

/* Is this the name (no folder before it) of a temporary file of this kind? */
bool mldfi_temporary_is(const char *name, const char *kind);
/* Opens and locks `path`, a temporary name. OS_LIFE_DEAD: `file` is to be closed. any_host: other hosts' locks are believed too. */
os_life mldfi_temporary_life(const char *path, bool any_host, struct os_file *file);
/* Removes what mldfi_temporary_life found dead, a folder with all that is in it, and closes. */
mldf_status mldfi_temporary_bury(struct os_file *dead, mldf_error *err);

/* 0 for a folder. */
uint64_t mldfi_file_bytes_if_regular(const struct os_file *file);

/* Bytes of the folder part of path, its slash included; 0 when there is none. */
size_t mldfi_folder_part(const char *path);
/* ".<at most 200 bytes of target's name>.<tail>" in target's folder; to be freed. */
char *mldfi_hidden_name(const char *target, const char *tail, mldf_error *err);
void mldfi_remove_tree(const char *path);

#endif
