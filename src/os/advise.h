/* Hints to the system about what of a file is needed next and what is not needed again. None can fail; none changes a result. */
#ifndef MLDF_OS_ADVISE_H
#define MLDF_OS_ADVISE_H

#include "os/file.h"

typedef enum os_pattern { OS_PATTERN_NORMAL, OS_PATTERN_RANDOM, OS_PATTERN_SEQUENTIAL } os_pattern;

/* How the whole mapping is going to be touched. RANDOM: a fault reads its own page alone. */
void mldfi_map_pattern(const struct os_map *map, os_pattern pattern);
/* The range is needed soon: reading begins now. */
void mldfi_map_want(const struct os_map *map, uint64_t offset, uint64_t bytes);
/* The whole pages inside the range are not needed for long: out of the process, and out of the page cache. */
void mldfi_map_forget(const struct os_map *map, const struct os_file *file, uint64_t offset, uint64_t bytes);
/* Is the page at this byte in memory? True when that cannot be told. */
bool mldfi_map_is_resident(const struct os_map *map, uint64_t offset);
/* The same for a file that is read. */
void mldfi_file_want(const struct os_file *file, uint64_t offset, uint64_t bytes);

#endif
