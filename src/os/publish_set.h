/* Several files that get their names together: each is written under a temporary name beside its target; at the end all are renamed, or,
 * when one cannot be, none is: those renamed before go away again, and what they replaced comes back.
 *
 * Several renames are no single step, so a journal beside the first target says how far the set is. It is locked while its process
 * lives. When that was killed, the journal is dead, and who finds it (the next set with the same first target, or mldf_clean) ends the set:
 *
 *     writing ──► naming ──► (removed)      killed while writing: what was made is removed; while naming: the renames are finished;
 *        └──► back ◄──┘                     while taking back: that is finished */
#ifndef MLDF_OS_PUBLISH_SET_H
#define MLDF_OS_PUBLISH_SET_H

#include "mldf/base.h"
#include "os/file.h"

enum { SET_ID_DIGITS = 12 };

struct publish_item {
    char *target;
    char *temporary;
    char *saved;    /* the name for what stood at target before */
    uint64_t inode; /* of the new file; 0: not known yet */
    uint64_t entry; /* where the journal has it */
};
struct publish_set {
    struct publish_item *items;
    size_t count, capacity;
    bool overwrite;
    struct os_file journal;
    uint64_t journal_bytes;
    char id[SET_ID_DIGITS + 1];
};
#define PUBLISH_SET_NONE \
    { .journal = OS_FILE_NONE }

/* Makes the journal, and ends what a killed process left of a set with the same first target: *ended says what was done, if anything. */
typedef enum set_end { SET_END_NONE, SET_END_FINISHED, SET_END_REMOVED } set_end;
mldf_status mldfi_set_begin(struct publish_set *set, const char *first_target, bool overwrite, set_end *ended,
                            mldf_error *err);
/* A temporary name for one more target, under which the caller writes the file. *out is borrowed. */
mldf_status mldfi_set_add(struct publish_set *set, const char *target, const char **out, mldf_error *err);
mldf_status mldfi_set_publish(struct publish_set *set, mldf_error *err);
/* Removes what was not published and frees the set. */
void mldfi_set_free(struct publish_set *set);

/* What is to be done with the set of a dead journal. */
mldf_status mldfi_set_look(const struct os_file *dead, set_end *out, mldf_error *err);
/* Does it; closes the journal, which is gone afterwards unless this fails. overwrite: replace what stands in the way. */
mldf_status mldfi_set_end(struct os_file *dead, bool overwrite, set_end *out, mldf_error *err);

#endif
