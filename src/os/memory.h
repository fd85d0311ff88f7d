/* Large blocks of memory, and a mark that a child made by fork() does not see. */
#ifndef MLDF_OS_MEMORY_H
#define MLDF_OS_MEMORY_H

#include "mldf/base.h"

/* At least `bytes`, aligned to 64, or to a huge page from 2 MiB on (and then huge pages are asked for). *capacity: what was given.
 * The pages are touched by whoever writes them first. NULL: no memory. */
void *mldfi_block_alloc(size_t bytes, size_t *capacity);
void mldfi_block_free(void *block, size_t capacity);

/* Asks for huge pages under memory that nobody has touched; where the system has none, nothing happens. */
void mldfi_memory_huge(void *memory, size_t bytes);

/* Looks at every page of it: what is mapped and not in memory is waited for here. */
void mldfi_memory_touch(const void *data, size_t bytes);

/* Memory of this machine; 0: not known. */
uint64_t mldfi_memory_bytes(void);

/* Set in the process that made it, not set in its children, whatever their process numbers are. */
struct os_fork_guard {
    uint8_t *page; /* NULL: the process number alone decides */
    long process;
};
void mldfi_fork_guard_begin(struct os_fork_guard *guard);
bool mldfi_fork_guard_is_ours(const struct os_fork_guard *guard);
void mldfi_fork_guard_end(struct os_fork_guard *guard);

#endif
