/* Where an archive's bytes come from (see tar.h): a window on raw bytes that is refilled by a function, and a decoder, if the
 * first bytes say gzip or zstd, or bzip2 or xz (tar_unpack.c). tar_read.c makes members of them. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "interop/tar.h"
#include "interop/tar_unpack.h"
#include "os/file_copy.h"
#include "util/buffer.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

enum { WINDOW = 256 << 10, MAGIC = 4, LOOK = TAR_PACKING_MAGIC };
/* 2^n bytes are the most that a zstd frame may ask for to look back on: what zstd(1) has as its default. */
enum { ZSTD_LOOK_BACK = 27 };
enum kind { PLAIN, GZIP, ZSTANDARD, BZIP2, XZ };

struct tar_input {
    tar_pull_fn pull; /* NULL: everything is in the window */
    void *user;
    int fd;
    uint8_t *buffer; /* WINDOW bytes, with pull */

    const uint8_t *raw; /* the window: bytes not yet used */
    uint64_t raw_bytes, raw_position;
    bool raw_over; /* pull has said so */

    enum kind kind;
    z_stream gzip;
    ZSTD_DStream *zstd;
    struct tar_unpack *unpack;       /* bzip2 and xz */
    bool in_frame;                   /* a gzip member, a zstd frame or another stream has begun and not ended */
    bool over;                       /* the decoder has nothing more */
    uint64_t position, unpacked_max; /* 0: no limit */
};

/* ---- Raw bytes ---------------------------------------------------------------------------------------------------------- */

static mldf_status pull_fd(void *user, void *dst, size_t room, size_t *got, mldf_error *err) {
    const struct tar_input *input = user;
    return mldfi_fd_read(input->fd, dst, room, got, err);
}

/* At least `want` bytes in the window, unless there are no more. */
static mldf_status fill(struct tar_input *input, size_t want, mldf_error *err) {
    while (input->raw_bytes < want && input->pull && !input->raw_over) {
        if (input->raw_bytes > 0)
            memmove(input->buffer, input->raw, (size_t)input->raw_bytes);
        input->raw = input->buffer;
        size_t got = 0;
        mldf_status status =
            input->pull(input->user, input->buffer + input->raw_bytes, WINDOW - (size_t)input->raw_bytes, &got, err);
        if (status < 0)
            return status;
        input->raw_bytes += got;
        input->raw_over = got == 0;
    }
    return MLDF_OK;
}

static void use(struct tar_input *input, uint64_t bytes) {
    if (bytes == 0)
        return;
    input->raw += bytes;
    input->raw_bytes -= bytes;
    input->raw_position += bytes;
}

/* ---- Opening ------------------------------------------------------------------------------------------------------------ */

static const uint8_t gzip_magic[2] = {0x1f, 0x8b}, zstd_magic[MAGIC] = {0x28, 0xb5, 0x2f, 0xfd};

static bool is_gzip(const struct tar_input *input) {
    return input->raw_bytes >= sizeof gzip_magic && memcmp(input->raw, gzip_magic, sizeof gzip_magic) == 0;
}

/* Frames that hold something else, such as sizes, may stand between those of an archive. */
static bool is_skippable(const struct tar_input *input) {
    return input->raw_bytes >= MAGIC && (input->raw[0] & 0xf0) == 0x50 &&
           memcmp(input->raw + 1, "\x2a\x4d\x18", 3) == 0;
}

static bool is_zstd(const struct tar_input *input) {
    return input->raw_bytes >= MAGIC && memcmp(input->raw, zstd_magic, MAGIC) == 0;
}

static mldf_status choose_decoder(struct tar_input *input, mldf_error *err) {
    TRY(fill(input, LOOK, err));
    tar_packing packing = mldfi_tar_packing(input->raw, input->raw_bytes);
    if (packing != TAR_NOT_PACKED) {
        input->kind = packing == TAR_XZ ? XZ : BZIP2;
        return mldfi_tar_unpack_new(&input->unpack, packing, err);
    }
    if (is_gzip(input)) {
        if (inflateInit2(&input->gzip, 15 + 16) != Z_OK)
            return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a gzip decoder");
        input->kind = GZIP;
    } else if (is_zstd(input)) {
        input->zstd = ZSTD_createDStream();
        if (!input->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(input->zstd, ZSTD_d_windowLogMax, ZSTD_LOOK_BACK)))
            return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a zstd decoder");
        input->kind = ZSTANDARD;
    }
    return MLDF_OK;
}

static mldf_status open_input(struct tar_input **out, tar_pull_fn pull, void *user, const void *data, uint64_t bytes,
                              int fd, mldf_error *err) {
    *out = NULL;
    struct tar_input *input = mldfi_alloc_zero(1, sizeof *input, err);
    if (!input)
        return MLDF_E_MEMORY;
    mldf_status status = MLDF_OK;
    input->fd = fd;
    input->pull = pull;
    input->user = pull == pull_fd ? input : user;
    input->raw = data;
    input->raw_bytes = bytes;
    if (pull) {
        input->buffer = mldfi_alloc(WINDOW, err);
        status = input->buffer ? MLDF_OK : MLDF_E_MEMORY;
    }
    if (status >= 0)
        status = choose_decoder(input, err);
    if (status < 0) {
        mldfi_tar_input_free(input);
        return status;
    }
    *out = input;
    return MLDF_OK;
}

mldf_status mldfi_tar_input_memory(struct tar_input **out, const void *data, uint64_t bytes, mldf_error *err) {
    return open_input(out, NULL, NULL, data, bytes, -1, err);
}

mldf_status mldfi_tar_input_fd(struct tar_input **out, int fd, mldf_error *err) {
    return open_input(out, pull_fd, NULL, NULL, 0, fd, err);
}

mldf_status mldfi_tar_input_pull(struct tar_input **out, tar_pull_fn pull, void *user, mldf_error *err) {
    return open_input(out, pull, user, NULL, 0, -1, err);
}

void mldfi_tar_input_free(struct tar_input *input) {
    if (!input)
        return;
    if (input->kind == GZIP)
        (void)inflateEnd(&input->gzip);
    (void)ZSTD_freeDStream(input->zstd);
    mldfi_tar_unpack_free(input->unpack);
    free(input->buffer);
    free(input);
}

void mldfi_tar_input_limit(struct tar_input *input, uint64_t unpacked_max) {
    input->unpacked_max = unpacked_max;
}

const char *mldfi_tar_input_kind(const struct tar_input *input) {
    static const char *const names[] = {"tar", "tar.gz", "tar.zst", "tar.bz2", "tar.xz"};
    return names[input->kind];
}

static const char *packer(const struct tar_input *input) {
    static const char *const names[] = {"tar", "gzip", "zstd", "bzip2", "xz"};
    return names[input->kind];
}

uint64_t mldfi_tar_input_position(const struct tar_input *input) {
    return input->position;
}

/* ---- Decoding ------------------------------------------------------------------------------------------------------------ */

static mldf_status cut_off(const struct tar_input *input, mldf_error *err) {
    return mldfi_fail_at(err, MLDF_E_TRUNCATED, input->raw_position, "the %s stream ends at byte %llu, in the middle",
                         packer(input), ULL(input->raw_position));
}

/* One step: what the window and dst allow. Sets over at the end. */
static mldf_status gzip_step(struct tar_input *input, uint8_t *dst, size_t room, size_t *got, mldf_error *err) {
    if (!input->in_frame) {
        /* Members may follow each other; anything else after one is not ours. */
        if (input->raw_bytes == 1 && input->raw[0] == gzip_magic[0])
            return cut_off(input, err);
        if (!is_gzip(input)) {
            input->over = true;
            return MLDF_OK;
        }
        (void)inflateReset(&input->gzip);
        input->in_frame = true;
    }
    z_stream *z = &input->gzip;
    unsigned in = input->raw_bytes < WINDOW ? (unsigned)input->raw_bytes : WINDOW;
    unsigned out = room < WINDOW ? (unsigned)room : WINDOW;
    z->next_in = (z_const Bytef *)(uintptr_t)input->raw;
    z->avail_in = in;
    z->next_out = dst;
    z->avail_out = out;
    int result = inflate(z, Z_NO_FLUSH);
    use(input, in - z->avail_in);
    *got = out - z->avail_out;
    if (result == Z_STREAM_END)
        input->in_frame = false;
    else if (result == Z_MEM_ERROR)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decompress gzip");
    else if (result != Z_OK && result != Z_BUF_ERROR)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, input->raw_position, "the gzip stream is damaged near byte %llu (%s)",
                             ULL(input->raw_position), z->msg ? z->msg : "no reason given");
    return MLDF_OK;
}

static mldf_status zstd_failed(const struct tar_input *input, size_t result, mldf_error *err) {
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decompress zstd");
    case ZSTD_error_frameParameter_windowTooLarge:
        return mldfi_fail_at(
            err, MLDF_E_LIMIT, input->raw_position,
            "the zstd frame at byte %llu needs a window of more than %d MiB; compress the archive with --long=%d or less",
            ULL(input->raw_position), 1 << (ZSTD_LOOK_BACK - 20), ZSTD_LOOK_BACK);
    default:
        return mldfi_fail_at(err, MLDF_E_CORRUPT, input->raw_position, "the zstd stream is damaged near byte %llu (%s)",
                             ULL(input->raw_position), ZSTD_getErrorName(result));
    }
}

static mldf_status zstd_step(struct tar_input *input, uint8_t *dst, size_t room, size_t *got, mldf_error *err) {
    if (!input->in_frame && input->raw_bytes > 0 && input->raw_bytes < MAGIC &&
        memcmp(input->raw, zstd_magic, (size_t)input->raw_bytes) == 0)
        return cut_off(input, err);
    if (!input->in_frame && !is_zstd(input) && !is_skippable(input)) {
        input->over = true;
        return MLDF_OK;
    }
    ZSTD_inBuffer in = {input->raw, input->raw_bytes < WINDOW ? (size_t)input->raw_bytes : WINDOW, 0};
    ZSTD_outBuffer out = {dst, room, 0};
    size_t result = ZSTD_decompressStream(input->zstd, &out, &in);
    if (ZSTD_isError(result))
        return zstd_failed(input, result, err);
    use(input, in.pos);
    *got = out.pos;
    input->in_frame = result != 0;
    return MLDF_OK;
}

/* Streams may follow each other, those of xz with zeros between them, in fours. */
static mldf_status unpack_step(struct tar_input *input, uint8_t *dst, size_t room, size_t *got, mldf_error *err) {
    static const uint8_t zeros[MAGIC];
    const tar_packing packing = input->kind == XZ ? TAR_XZ : TAR_BZIP2;
    if (!input->in_frame) {
        if (input->kind == XZ && input->raw_bytes >= MAGIC && memcmp(input->raw, zeros, MAGIC) == 0) {
            use(input, MAGIC);
            return MLDF_OK;
        }
        if (mldfi_tar_packing_cut(packing, input->raw, input->raw_bytes))
            return cut_off(input, err);
        if (mldfi_tar_packing(input->raw, input->raw_bytes) != packing) {
            input->over = true;
            return MLDF_OK;
        }
        input->in_frame = true;
    }
    size_t in = input->raw_bytes < WINDOW ? (size_t)input->raw_bytes : WINDOW, used = 0;
    bool ended = false;
    mldf_status status =
        mldfi_tar_unpack_step(input->unpack, input->raw_position, input->raw, in, &used, dst, room, got, &ended, err);
    use(input, used);
    if (ended)
        input->in_frame = false;
    return status;
}

static mldf_status check_limit(const struct tar_input *input, size_t got, mldf_error *err) {
    if (!input->unpacked_max || (got <= input->unpacked_max && input->position <= input->unpacked_max - got))
        return MLDF_OK;
    return mldfi_fail_at(err, MLDF_E_LIMIT, input->raw_position,
                         "the %s archive unpacks to more than %llu bytes, which is the limit; --max-unpacked "
                         "(max_unpacked) sets another (after byte %llu of the file)",
                         packer(input), ULL(input->unpacked_max), ULL(input->raw_position));
}

static mldf_status decode(struct tar_input *input, uint8_t *dst, size_t want, size_t *got, mldf_error *err) {
    *got = 0;
    while (*got < want && !input->over) {
        size_t now = 0;
        uint64_t before = input->raw_position;
        mldf_status status = fill(input, LOOK, err);
        if (status >= 0)
            status = input->kind == GZIP        ? gzip_step(input, dst + *got, want - *got, &now, err)
                     : input->kind == ZSTANDARD ? zstd_step(input, dst + *got, want - *got, &now, err)
                                                : unpack_step(input, dst + *got, want - *got, &now, err);
        if (status < 0)
            return status;
        *got += now;
        if ((status = check_limit(input, *got, err)) < 0)
            return status;
        if (now == 0 && before == input->raw_position && !input->over)
            return cut_off(input, err);
    }
    return MLDF_OK;
}

/* ---- Giving -------------------------------------------------------------------------------------------------------------- */

mldf_status mldfi_tar_input_read(struct tar_input *input, void *dst, size_t want, size_t *got, mldf_error *err) {
    mldf_status status = MLDF_OK;
    *got = 0;
    if (input->kind != PLAIN) {
        status = decode(input, dst, want, got, err);
    } else {
        while (*got < want) {
            status = fill(input, 1, err);
            size_t now = input->raw_bytes < want - *got ? (size_t)input->raw_bytes : want - *got;
            if (status < 0 || now == 0)
                break;
            memcpy((uint8_t *)dst + *got, input->raw, now);
            use(input, now);
            *got += now;
        }
    }
    input->position += *got;
    return status;
}

mldf_status mldfi_tar_input_skip(struct tar_input *input, uint64_t want, uint64_t *got, mldf_error *err) {
    *got = 0;
    if (input->kind == PLAIN && !input->pull) {
        *got = want < input->raw_bytes ? want : input->raw_bytes;
        use(input, *got);
        input->position += *got;
        return MLDF_OK;
    }
    uint8_t scratch[16384];
    while (*got < want) {
        size_t now = want - *got < sizeof scratch ? (size_t)(want - *got) : sizeof scratch, done;
        TRY(mldfi_tar_input_read(input, scratch, now, &done, err));
        *got += done;
        if (done < now)
            break;
    }
    return MLDF_OK;
}

bool mldfi_tar_input_borrow(struct tar_input *input, uint64_t want, const uint8_t **data) {
    if (input->kind != PLAIN || input->pull)
        return false;
    *data = NULL;
    if (want <= input->raw_bytes) {
        *data = input->raw;
        use(input, want);
        input->position += want;
    }
    return true;
}
