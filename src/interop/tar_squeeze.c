/* gzip and zstd streams (see tar_squeeze.h): what comes in is compressed into one buffer, and the buffer pushed on whenever it is full. */
#include "interop/tar_squeeze.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "util/buffer.h"
#include "util/error.h"

enum {
    BUFFER = 128 << 10,
    PIECE = 1 << 30,      /* zlib counts in 32 bits */
    GZIP_LEVEL = 6,       /* the level of gzip(1) */
    GZIP_WINDOW = 15 + 16 /* 32 KiB, with a gzip header around it */
};

struct tar_squeeze {
    tar_compression kind;
    tar_push_fn push;
    void *user;
    z_stream gzip;
    bool has_gzip;
    ZSTD_CCtx *zstd;
    uint8_t *buffer;
};

static mldf_status begin(struct tar_squeeze *s, mldf_error *err) {
    s->buffer = mldfi_alloc(BUFFER, err);
    if (!s->buffer)
        return MLDF_E_MEMORY;
    if (s->kind == TAR_GZIP) {
        s->has_gzip = deflateInit2(&s->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        return s->has_gzip ? MLDF_OK : mldfi_fail(err, MLDF_E_MEMORY, "no memory for a gzip encoder");
    }
    s->zstd = ZSTD_createCCtx();
    if (!s->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1)))
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a zstd encoder");
    return MLDF_OK;
}

mldf_status mldfi_tar_squeeze_new(struct tar_squeeze **out, tar_compression kind, tar_push_fn push, void *user,
                                  mldf_error *err) {
    *out = NULL;
    struct tar_squeeze *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->kind = kind;
    s->push = push;
    s->user = user;
    mldf_status status = begin(s, err);
    if (status < 0)
        mldfi_tar_squeeze_free(s);
    else
        *out = s;
    return status;
}

void mldfi_tar_squeeze_free(struct tar_squeeze *s) {
    if (!s)
        return;
    if (s->has_gzip)
        (void)deflateEnd(&s->gzip);
    (void)ZSTD_freeCCtx(s->zstd);
    free(s->buffer);
    free(s);
}

static mldf_status gzip_step(struct tar_squeeze *s, const uint8_t *data, size_t bytes, bool last, mldf_error *err) {
    mldf_status status = MLDF_OK;
    int result = Z_OK;
    s->gzip.next_in = (Bytef *)(uintptr_t)data; /* zlib's pointer is not const, its use is */
    s->gzip.avail_in = (uInt)bytes;
    do {
        s->gzip.next_out = s->buffer;
        s->gzip.avail_out = BUFFER;
        result = deflate(&s->gzip, last ? Z_FINISH : Z_NO_FLUSH);
        if (result == Z_STREAM_ERROR)
            return mldfi_fail(err, MLDF_E_MEMORY, "the gzip encoder failed");
        if (s->gzip.avail_out < BUFFER)
            status = s->push(s->user, s->buffer, BUFFER - s->gzip.avail_out, err);
    } while (status >= 0 && (last ? result != Z_STREAM_END : s->gzip.avail_in > 0 || s->gzip.avail_out == 0));
    return status;
}

static mldf_status zstd_step(struct tar_squeeze *s, const uint8_t *data, size_t bytes, bool last, mldf_error *err) {
    mldf_status status = MLDF_OK;
    ZSTD_inBuffer in = {data, bytes, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {s->buffer, BUFFER, 0};
        left = ZSTD_compressStream2(s->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return mldfi_fail(err, MLDF_E_MEMORY, "the zstd encoder failed: %s", ZSTD_getErrorName(left));
        if (out.pos > 0)
            status = s->push(s->user, s->buffer, out.pos, err);
    } while (status >= 0 && (last ? left > 0 : in.pos < in.size));
    return status;
}

mldf_status mldfi_tar_squeeze_write(struct tar_squeeze *s, const void *data, uint64_t bytes, mldf_error *err) {
    const uint8_t *at = data;
    mldf_status status = MLDF_OK;
    while (status >= 0 && bytes > 0) {
        size_t now = bytes < PIECE ? (size_t)bytes : PIECE;
        status = s->kind == TAR_GZIP ? gzip_step(s, at, now, false, err) : zstd_step(s, at, now, false, err);
        at += now;
        bytes -= now;
    }
    return status;
}

mldf_status mldfi_tar_squeeze_finish(struct tar_squeeze *s, mldf_error *err) {
    return s->kind == TAR_GZIP ? gzip_step(s, NULL, 0, true, err) : zstd_step(s, NULL, 0, true, err);
}
