/* bzip2 and xz streams (see tar_unpack.h), through libbz2 and liblzma. What a stream asks for to look back on is limited: bzip2 never needs more than 4 MB,
 * xz as much as zstd streams get in tar_input.c. How much a stream may unpack to is tar_input.c's matter. */
#include "interop/tar_unpack.h"

#include <stdlib.h>
#include <string.h>
#if defined(MLDF_HAVE_BZIP2)
#include <bzlib.h>
#endif
#if defined(MLDF_HAVE_LZMA)
#include <lzma.h>
#endif

#include "util/buffer.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

enum { PIECE = 1 << 30 }; /* libbz2 counts in 32 bits */

struct tar_unpack {
    tar_packing packing;
    bool open; /* a stream has begun and not ended */
#if defined(MLDF_HAVE_BZIP2)
    bz_stream bzip2;
#endif
#if defined(MLDF_HAVE_LZMA)
    lzma_stream xz;
#endif
};

tar_packing mldfi_tar_packing(const void *data, uint64_t bytes) {
    const uint8_t *at = data;
    /* "BZh", the size of a block, and the mark of a block or, without one, of the end. */
    if (bytes >= 10 && memcmp(at, "BZh", 3) == 0 && at[3] >= '1' && at[3] <= '9' &&
        (memcmp(at + 4, "1AY&SY", 6) == 0 || memcmp(at + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0))
        return TAR_BZIP2;
    return bytes >= 6 && memcmp(at, "\xfd\x37\x7a\x58\x5a\x00", 6) == 0 ? TAR_XZ : TAR_NOT_PACKED;
}

bool mldfi_tar_packing_cut(tar_packing packing, const void *data, uint64_t bytes) {
    static const char *const begins[][2] = {
        {NULL, NULL}, {"BZh91AY&SY", "BZh9\x17\x72\x45\x38\x50\x90"}, {"\xfd\x37\x7a\x58\x5a\x00", NULL}};
    uint64_t whole = packing == TAR_XZ ? 6 : TAR_PACKING_MAGIC;
    uint8_t seen[TAR_PACKING_MAGIC];
    if (bytes == 0 || bytes >= whole)
        return false;
    memcpy(seen, data, (size_t)bytes);
    if (packing == TAR_BZIP2 && bytes > 3 && seen[3] >= '1' && seen[3] <= '9')
        seen[3] = '9';
    for (size_t i = 0; i < 2; i++)
        if (begins[packing][i] && memcmp(seen, begins[packing][i], (size_t)bytes) == 0)
            return true;
    return false;
}

bool mldfi_tar_can_unpack(tar_packing packing) {
    bool bzip2 = false, xz = false;
#if defined(MLDF_HAVE_BZIP2)
    bzip2 = true;
#endif
#if defined(MLDF_HAVE_LZMA)
    xz = true;
#endif
    return (packing == TAR_BZIP2 && bzip2) || (packing == TAR_XZ && xz);
}

mldf_status mldfi_tar_unpack_new(struct tar_unpack **out, tar_packing packing, mldf_error *err) {
    *out = NULL;
    if (!mldfi_tar_can_unpack(packing)) {
        mldf_status status = mldfi_fail(err, MLDF_E_UNSUPPORTED, "compressed with %s, and this build has no %s",
                                        packing == TAR_XZ ? "xz" : "bzip2", packing == TAR_XZ ? "liblzma" : "libbz2");
        return mldfi_error_advise(err, status, "decompress it first (%s -d)", packing == TAR_XZ ? "xz" : "bzip2");
    }
    struct tar_unpack *unpack = mldfi_alloc_zero(1, sizeof *unpack, err);
    if (!unpack)
        return MLDF_E_MEMORY;
    unpack->packing = packing;
    *out = unpack;
    return MLDF_OK;
}

/* ---- bzip2 --------------------------------------------------------------------------------------------------------------- */

#if defined(MLDF_HAVE_BZIP2)
static mldf_status bzip2_step(struct tar_unpack *u, uint64_t at, const uint8_t *data, size_t bytes, size_t *used,
                              uint8_t *dst, size_t room, size_t *got, bool *ended, mldf_error *err) {
    bz_stream *z = &u->bzip2;
    if (!u->open) {
        *z = (bz_stream){0};
        if (BZ2_bzDecompressInit(z, 0, 0) != BZ_OK)
            return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a bzip2 decoder");
        u->open = true;
    }
    z->next_in = (char *)(uintptr_t)data; /* libbz2's pointer is not const, its use is */
    z->avail_in = (unsigned)bytes;
    z->next_out = (char *)dst;
    z->avail_out = (unsigned)room;
    int result = BZ2_bzDecompress(z);
    *used = bytes - z->avail_in;
    *got = room - z->avail_out;
    *ended = result == BZ_STREAM_END;
    if (result == BZ_MEM_ERROR)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decompress bzip2");
    if (result != BZ_OK && result != BZ_STREAM_END)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at + *used, "the bzip2 stream is damaged near byte %llu (%s)",
                             ULL(at + *used),
                             result == BZ_DATA_ERROR_MAGIC ? "no block begins there" : "a checksum or a code is wrong");
    if (*ended) {
        (void)BZ2_bzDecompressEnd(z);
        u->open = false;
    }
    return MLDF_OK;
}
#endif

/* ---- xz ------------------------------------------------------------------------------------------------------------------ */

#if defined(MLDF_HAVE_LZMA)
#define XZ_MEMORY (UINT64_C(192) << 20) /* a dictionary of 128 MiB, which is twice that of xz -9 */

static mldf_status xz_failed(lzma_ret result, const lzma_stream *z, uint64_t at, mldf_error *err) {
    switch (result) {
    case LZMA_MEM_ERROR:
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decompress xz");
    case LZMA_MEMLIMIT_ERROR:
        return mldfi_fail_at(
            err, MLDF_E_LIMIT, at,
            "the xz stream at byte %llu needs %llu MiB of memory, and %llu are the limit; compress the "
            "archive with a smaller dictionary",
            ULL(at), ULL((lzma_memusage(z) + (1 << 20) - 1) >> 20), ULL(XZ_MEMORY >> 20));
    case LZMA_OPTIONS_ERROR:
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, at, "the xz stream at byte %llu has options that are not known",
                             ULL(at));
    default:
        return mldfi_fail_at(err, MLDF_E_CORRUPT, at, "the xz stream is damaged near byte %llu", ULL(at));
    }
}

static mldf_status xz_step(struct tar_unpack *u, uint64_t at, const uint8_t *data, size_t bytes, size_t *used,
                           uint8_t *dst, size_t room, size_t *got, bool *ended, mldf_error *err) {
    lzma_stream *z = &u->xz;
    if (!u->open) {
        *z = (lzma_stream)LZMA_STREAM_INIT;
        lzma_ret began = lzma_stream_decoder(z, XZ_MEMORY, 0);
        if (began != LZMA_OK)
            return xz_failed(began, z, at, err);
        u->open = true;
    }
    z->next_in = data;
    z->avail_in = bytes;
    z->next_out = dst;
    z->avail_out = room;
    lzma_ret result = lzma_code(z, LZMA_RUN);
    *used = bytes - z->avail_in;
    *got = room - z->avail_out;
    *ended = result == LZMA_STREAM_END;
    if (*ended) {
        lzma_end(z);
        u->open = false;
    } else if (result != LZMA_OK && result != LZMA_BUF_ERROR) { /* the latter: nothing more without more bytes */
        return xz_failed(result, z, at + *used, err);
    }
    return MLDF_OK;
}
#endif

/* ---- Both ---------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_tar_unpack_step(struct tar_unpack *unpack, uint64_t at, const uint8_t *data, size_t bytes,
                                  size_t *used, uint8_t *dst, size_t room, size_t *got, bool *ended, mldf_error *err) {
    bytes = bytes < PIECE ? bytes : PIECE;
    room = room < PIECE ? room : PIECE;
    *used = *got = 0;
    *ended = false;
#if defined(MLDF_HAVE_BZIP2)
    if (unpack->packing == TAR_BZIP2)
        return bzip2_step(unpack, at, data, bytes, used, dst, room, got, ended, err);
#endif
#if defined(MLDF_HAVE_LZMA)
    if (unpack->packing == TAR_XZ)
        return xz_step(unpack, at, data, bytes, used, dst, room, got, ended, err);
#endif
    (void)at, (void)data, (void)bytes, (void)dst, (void)room, (void)unpack;
    return mldfi_fail(err, MLDF_E_UNSUPPORTED, "this build cannot decompress it");
}

void mldfi_tar_unpack_free(struct tar_unpack *unpack) {
    if (!unpack)
        return;
#if defined(MLDF_HAVE_BZIP2)
    if (unpack->open && unpack->packing == TAR_BZIP2)
        (void)BZ2_bzDecompressEnd(&unpack->bzip2);
#endif
#if defined(MLDF_HAVE_LZMA)
    if (unpack->open && unpack->packing == TAR_XZ)
        lzma_end(&unpack->xz);
#endif
    free(unpack);
}
