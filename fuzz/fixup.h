/* Makes the checksums of a mutated file right again, so that a fuzzer gets past them to what they protect. */
#ifndef MLDF_FUZZ_FIXUP_H
#define MLDF_FUZZ_FIXUP_H

#include <stddef.h>
#include <stdint.h>

/* Table blocks, sections, directory, footer, from the inside out, where the front header's pointers lead anywhere. Whatever does
 * not fit is left as it is. */
void fixup_checksums(uint8_t *data, size_t size);

#endif
