/* .npz members of archives: zip files of .npy arrays, as numpy.savez and savez_compressed write them.
 *
 *     0001.npz with the arrays x and y       parts ".x.npz" and ".y.npz" of the sample 0001
 *
 * A part is the array's entry of the zip, from its local header to the end of its data and descriptor: a range of the archive as any part is. Here such
 * ranges are found, and become .npy bytes again. An .npz that cannot be read so stays one part, of bytes. */
#ifndef MLDF_INTEROP_TAR_NPZ_H
#define MLDF_INTEROP_TAR_NPZ_H

#include <stdbool.h>

#include "field/npy.h"

struct npz_entry {
    const char *name; /* without ".npy"; in the zip */
    size_t name_bytes;
    uint64_t offset, bytes; /* in the zip: local header, data and descriptor */
};

/* Is it the extension of an .npz, or of an array in one? */
bool mldfi_npz_is(const char *extension);
/* The arrays of a zip file, ascending by offset. False: it is not one of arrays alone, or has more than `room`. */
bool mldfi_npz_list(const uint8_t *zip, uint64_t bytes, struct npz_entry *out, size_t room, size_t *count);
/* The .npy of an entry: in place, or inflated in scratch. What is not an entry is given back as it is. most: see mldfi_decoded_limit, 0 is its
 * default. */
mldf_status mldfi_npz_unwrap(const uint8_t *data, uint64_t bytes, uint64_t most, mldf_buffer *scratch,
                             const uint8_t **out, uint64_t *out_bytes, mldf_error *err);
/* mldfi_npy_look at an array that may be an entry. */
void mldfi_npz_look(struct npy_common *common, const uint8_t *data, uint64_t bytes, const char *which);

#endif
