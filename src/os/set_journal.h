/* The journal of a publish_set, as bytes:
 *
 *     "MLDFSET1" | state | overwrite | 2 zeros | id, 12 hex digits | 8 zeros | entries of: inode u64 | bytes u32 | target
 *
 * A target is a name in the journal's own folder, or else an absolute path. The names of a part are made of its target, the id and its
 * number, so a journal cannot name any file that no set made. */
#ifndef MLDF_OS_SET_JOURNAL_H
#define MLDF_OS_SET_JOURNAL_H

#include "os/publish_set.h"

typedef enum journal_state { JOURNAL_WRITING = 'W', JOURNAL_NAMING = 'N', JOURNAL_BACK = 'B' } journal_state;

/* Into a set whose journal is open and empty. */
mldf_status mldfi_journal_begin(struct publish_set *set, mldf_error *err);
/* The item's names, and its entry; durable before this returns. */
mldf_status mldfi_journal_add(struct publish_set *set, struct publish_item *item, const char *target, mldf_error *err);
/* The inodes, then the state; both durable. */
mldf_status mldfi_journal_naming(struct publish_set *set, mldf_error *err);
mldf_status mldfi_journal_state(const struct publish_set *set, journal_state state, mldf_error *err);
/* A set from its journal, which stays open. What a power cut tore off the end was not begun. */
mldf_status mldfi_journal_read(struct publish_set *set, journal_state *state, mldf_error *err);
void mldfi_journal_free_item(struct publish_item *item);

#endif
