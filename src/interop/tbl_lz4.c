/* Raw LZ4 blocks, the compression of TBL version 2; the only file that knows whether the build has liblz4. */
#include "interop/tbl_inner.h"

#include "util/error.h"

#if defined(MLDF_HAVE_LZ4)
#include <lz4.h>

bool mldfi_tbl_lz4_here(void) {
    return true;
}

mldf_status mldfi_tbl_lz4_decode(const uint8_t *data, uint32_t bytes, uint8_t *out, uint32_t out_bytes,
                                 mldf_error *err) {
    if (bytes > INT32_MAX || out_bytes > INT32_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT, "an LZ4 block of %u bytes for %u bytes: LZ4 ends at %u", bytes,
                          out_bytes, (unsigned)LZ4_MAX_INPUT_SIZE);
    int got = LZ4_decompress_safe((const char *)data, (char *)out, (int)bytes, (int)out_bytes);
    if (got < 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the LZ4 block of %u bytes does not decode (it breaks near byte %d)",
                          bytes, -got);
    if ((uint32_t)got != out_bytes)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the LZ4 block decodes to %d bytes, the index says %u", got, out_bytes);
    return MLDF_OK;
}

size_t mldfi_tbl_lz4_bound(uint64_t bytes) {
    return bytes <= LZ4_MAX_INPUT_SIZE ? (size_t)LZ4_compressBound((int)bytes) : 0;
}

size_t mldfi_tbl_lz4_encode(const uint8_t *data, uint64_t bytes, uint8_t *out, size_t room) {
    if (bytes > LZ4_MAX_INPUT_SIZE || room > INT32_MAX)
        return 0;
    LZ4_stream_t
        state; /* LZ4_compress_default may be built to allocate one, and then has no word for having no memory */
    int got = LZ4_compress_fast_extState(&state, (const char *)data, (char *)out, (int)bytes, (int)room, 1);
    return got > 0 ? (size_t)got : 0;
}
#else
bool mldfi_tbl_lz4_here(void) {
    return false;
}

mldf_status mldfi_tbl_lz4_decode(const uint8_t *data, uint32_t bytes, uint8_t *out, uint32_t out_bytes,
                                 mldf_error *err) {
    (void)data, (void)bytes, (void)out, (void)out_bytes;
    return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                      "this build has no liblz4: compressed samples of TBL files cannot be read");
}

size_t mldfi_tbl_lz4_bound(uint64_t bytes) {
    (void)bytes;
    return 0;
}

size_t mldfi_tbl_lz4_encode(const uint8_t *data, uint64_t bytes, uint8_t *out, size_t room) {
    (void)data, (void)bytes, (void)out, (void)room;
    return 0;
}
#endif
