/* zstd for payloads. One idea: a payload says what it is in eight bytes and then is one plain zstd frame, which carries
 * its content size and no checksum of its own (section 2 of the file has those). crypt.h comes after this on the way
 * to the file. */
#include "codec/zstd.h"

#include <stdlib.h>
#include <string.h>
#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { DICTIONARY_MAX = 110 * 1024, LEVEL_MAX = 22 };

/* What libzstd takes at most, with room to spare. Training (fastCover, f = 20): 4 MiB of counts for all samples and an offset for each; for
 * one try 6 MiB of counts, three dictionaries, and a context and a digest at level 3. A digest for compression: the dictionary, and two
 * tables of at most 16 bytes for each of its bytes. */
enum { TRAINING_BYTES = 40 << 20, TRAINING_BYTES_PER_SAMPLE = 16, DIGEST_BYTES = 1 << 16, DIGEST_BYTES_PER_BYTE = 40 };

struct zstd_dictionary {
    ZSTD_DDict *digest;
    size_t size;
    uint8_t bytes[]; /* compressors make their digests from it */
};

/* Belongs to one thread; so do its digests of the dictionary, one for each level that was used. */
struct zstd_compressor {
    ZSTD_CCtx *context;
    const struct zstd_dictionary *dictionary;
    ZSTD_CDict *digests[LEVEL_MAX + 1];
};

struct zstd_decompressor {
    ZSTD_DCtx *context;
};

/* ---- Prefix ----------------------------------------------------------------------------------------------------- */

void mldfi_prefix_encode(uint8_t out[8], uint64_t raw_bytes, uint8_t codec) {
    mldfi_store_u64(out, (raw_bytes & MLDFI_PREFIX_MAX_RAW) | (uint64_t)codec << 56);
}

void mldfi_prefix_decode(const uint8_t in[8], uint64_t *raw_bytes, uint8_t *codec) {
    uint64_t word = mldfi_load_u64(in);
    *raw_bytes = word & MLDFI_PREFIX_MAX_RAW;
    *codec = (uint8_t)(word >> 56);
}

/* ---- Memory of libzstd ------------------------------------------------------------------------------------------ */

static bool is_memory_error(size_t result) {
    return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation;
}

/* Training, and making a digest for compression, write through NULL in libzstd up to 1.5.5 at least when they get no memory. They cannot be
 * given memory either, so it is taken and given back just before: where it is not to be had, libzstd is not called. */
static bool memory_is_there(size_t bytes) {
    void *volatile probe = malloc(bytes); /* volatile: or the compiler leaves both calls out */
    bool there = probe != NULL;
    free(probe);
    return there;
}

/* ---- Dictionary ------------------------------------------------------------------------------------------------- */

static mldf_status fail_digest(size_t size, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_MEMORY, "no memory to digest a zstd dictionary of %zu bytes", size);
}

/* A trained dictionary starts with a magic number and tables; any other bytes are a dictionary of plain content. */
static mldf_status check_dictionary(const void *bytes, size_t size, mldf_error *err) {
    if (size < 8 || mldfi_load_u32(bytes) != ZSTD_MAGIC_DICTIONARY)
        return MLDF_OK;
    size_t header = ZDICT_getDictHeaderSize(bytes, size); /* which takes memory too */
    if (!ZDICT_isError(header))
        return MLDF_OK;
    return is_memory_error(header)
               ? fail_digest(size, err)
               : mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the tables of the zstd dictionary are damaged");
}

mldf_status mldfi_zstd_dictionary_new(struct zstd_dictionary **out, const void *bytes, size_t size, mldf_error *err) {
    *out = NULL;
    if (size == 0 || size > INT32_MAX)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "a zstd dictionary of %zu bytes", size);
    TRY(check_dictionary(bytes, size, err));
    struct zstd_dictionary *dictionary = mldfi_alloc(sizeof *dictionary + size, err);
    if (!dictionary)
        return MLDF_E_MEMORY;
    dictionary->size = size;
    memcpy(dictionary->bytes, bytes, size);
    dictionary->digest = ZSTD_createDDict(dictionary->bytes, size);
    if (!dictionary->digest) {
        free(dictionary);
        return fail_digest(size, err);
    }
    *out = dictionary;
    return MLDF_OK;
}

void mldfi_zstd_dictionary_free(struct zstd_dictionary *dictionary) {
    if (!dictionary)
        return;
    (void)ZSTD_freeDDict(dictionary->digest);
    free(dictionary);
}

static mldf_status fail_training(size_t count, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_MEMORY, "no memory to train a zstd dictionary on %zu samples", count);
}

mldf_status mldfi_zstd_train(const void *samples, const size_t *sizes, size_t count, mldf_buffer *out,
                             mldf_error *err) {
    uint8_t *where;
    if (count == 0)
        return MLDF_END;
    if (count > INT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "a dictionary cannot be trained on %zu samples", count);
    size_t before = out->size;
    mldf_status status = mldfi_buffer_extend(out, DICTIONARY_MAX, &where, err);
    if (status != MLDF_OK)
        return status;
    out->size = before;
    if (!memory_is_there(TRAINING_BYTES + TRAINING_BYTES_PER_SAMPLE * count))
        return fail_training(count, err);
    size_t trained = ZDICT_trainFromBuffer(where, DICTIONARY_MAX, samples, sizes, (unsigned)count);
    if (ZSTD_getErrorCode(trained) == ZSTD_error_srcSize_wrong)
        return MLDF_END;
    /* Without memory it also fails without saying why, or makes a dictionary of no bytes. */
    if (ZDICT_isError(trained) || trained == 0)
        return fail_training(count, err);
    out->size += trained;
    return MLDF_OK;
}

/* ---- Compression ------------------------------------------------------------------------------------------------ */

mldf_status mldfi_zstd_compressor_new(struct zstd_compressor **out, const struct zstd_dictionary *dictionary,
                                      mldf_error *err) {
    *out = NULL;
    struct zstd_compressor *compressor = mldfi_alloc_zero(1, sizeof *compressor, err);
    if (!compressor)
        return MLDF_E_MEMORY;
    compressor->dictionary = dictionary;
    compressor->context = ZSTD_createCCtx();
    if (!compressor->context) {
        free(compressor);
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a zstd compressor");
    }
    *out = compressor;
    return MLDF_OK;
}

void mldfi_zstd_compressor_free(struct zstd_compressor *compressor) {
    if (!compressor)
        return;
    for (int level = 0; level <= LEVEL_MAX; level++)
        (void)ZSTD_freeCDict(compressor->digests[level]);
    (void)ZSTD_freeCCtx(compressor->context);
    free(compressor);
}

static mldf_status fail_compress(size_t result, size_t raw_bytes, mldf_error *err) {
    if (is_memory_error(result))
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to compress %zu bytes with zstd", raw_bytes);
    return mldfi_fail(err, MLDF_E_STATE, "zstd cannot compress %zu bytes: %s", raw_bytes, ZSTD_getErrorName(result));
}

/* Level, frame format and dictionary; all of it is set every time, so that a frame depends on nothing before it. */
static mldf_status prepare(struct zstd_compressor *compressor, int level, mldf_error *err) {
    const struct zstd_dictionary *dictionary = compressor->dictionary;
    ZSTD_CCtx *context = compressor->context;
    ZSTD_CDict **digest = &compressor->digests[level];
    if (dictionary && !*digest) {
        if (memory_is_there(DIGEST_BYTES + DIGEST_BYTES_PER_BYTE * dictionary->size))
            *digest = ZSTD_createCDict(dictionary->bytes, dictionary->size, level);
        if (!*digest)
            return fail_digest(dictionary->size, err);
    }
    size_t result = ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 1);
    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0);
    if (!ZSTD_isError(result) && dictionary)
        result = ZSTD_CCtx_refCDict(context, *digest);
    return ZSTD_isError(result) ? fail_compress(result, 0, err) : MLDF_OK;
}

/* The payload without compression, where the frame would have been. */
static void store(uint8_t *where, const void *raw, size_t raw_bytes, size_t before, mldf_buffer *out) {
    mldfi_prefix_encode(where, raw_bytes, MLDFI_CODEC_STORED);
    if (raw_bytes)
        memcpy(where + MLDFI_PREFIX_BYTES, raw, raw_bytes);
    out->size = before + MLDFI_PREFIX_BYTES + raw_bytes;
}

mldf_status mldfi_zstd_compress(struct zstd_compressor *compressor, int level, const void *raw, size_t raw_bytes,
                                mldf_buffer *out, mldf_error *err) {
    uint8_t *where;
    if (level == 0)
        level = ZSTD_CLEVEL_DEFAULT;
    if (level < 1 || level > LEVEL_MAX)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "zstd level %d is not one of 1 to %d", level, (int)LEVEL_MAX);
    size_t bound = ZSTD_compressBound(raw_bytes);
    if (raw_bytes > MLDFI_PREFIX_MAX_RAW || ZSTD_isError(bound) || bound < raw_bytes)
        return mldfi_fail(err, MLDF_E_LIMIT, "a payload of %zu bytes is too large to compress", raw_bytes);
    size_t before = out->size;
    mldf_status status = prepare(compressor, level, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_extend(out, MLDFI_PREFIX_BYTES + bound, &where, err);
    if (status != MLDF_OK)
        return status;
    size_t result =
        raw_bytes ? ZSTD_compress2(compressor->context, where + MLDFI_PREFIX_BYTES, bound, raw, raw_bytes) : 0;
    if (ZSTD_isError(result)) {
        out->size = before;
        return fail_compress(result, raw_bytes, err);
    }
    if (raw_bytes == 0 || result >= raw_bytes) {
        store(where, raw, raw_bytes, before, out);
        return MLDF_OK;
    }
    mldfi_prefix_encode(where, raw_bytes, MLDFI_CODEC_ZSTD);
    out->size = before + MLDFI_PREFIX_BYTES + result;
    return MLDF_OK;
}

/* ---- Decompression ---------------------------------------------------------------------------------------------- */

mldf_status mldfi_zstd_decompressor_new(struct zstd_decompressor **out, mldf_error *err) {
    *out = NULL;
    struct zstd_decompressor *decompressor = mldfi_alloc(sizeof *decompressor, err);
    if (!decompressor)
        return MLDF_E_MEMORY;
    decompressor->context = ZSTD_createDCtx();
    if (!decompressor->context) {
        free(decompressor);
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a zstd decompressor");
    }
    *out = decompressor;
    return MLDF_OK;
}

void mldfi_zstd_decompressor_free(struct zstd_decompressor *decompressor) {
    if (!decompressor)
        return;
    (void)ZSTD_freeDCtx(decompressor->context);
    free(decompressor);
}

size_t mldfi_zstd_frame_bytes(const void *data, size_t bytes) {
    if (bytes < 4 || mldfi_load_u32(data) != ZSTD_MAGICNUMBER)
        return 0;
    size_t length = ZSTD_findFrameCompressedSize(data, bytes);
    return ZSTD_isError(length) ? 0 : length;
}

/* What the frame says of itself, before anything is decoded: exactly one frame, of the announced size. */
static mldf_status check_frame(const struct zstd_dictionary *dictionary, const void *frame, size_t frame_bytes,
                               size_t raw_bytes, mldf_error *err) {
    if (frame_bytes < 4 || mldfi_load_u32(frame) != ZSTD_MAGICNUMBER)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the payload is not a zstd frame");
    unsigned long long content = ZSTD_getFrameContentSize(frame, frame_bytes);
    if (content == ZSTD_CONTENTSIZE_ERROR)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the zstd frame has no valid header");
    if (content == ZSTD_CONTENTSIZE_UNKNOWN)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the zstd frame does not tell its content size");
    if (content != raw_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the zstd frame holds %llu bytes where the prefix says %zu",
                             content, raw_bytes);
    size_t length = ZSTD_findFrameCompressedSize(frame, frame_bytes);
    if (ZSTD_isError(length))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the zstd frame is damaged: %s", ZSTD_getErrorName(length));
    if (length != frame_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "%zu bytes follow the zstd frame", frame_bytes - length);
    unsigned id = ZSTD_getDictID_fromFrame(frame, frame_bytes);
    if (id != 0 && !dictionary)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the zstd frame needs dictionary %u and the file has none", id);
    return MLDF_OK;
}

/* Output goes straight to dst, so no window is allocated and a frame cannot ask for more memory than raw_bytes. */
mldf_status mldfi_zstd_decompress(struct zstd_decompressor *decompressor, const struct zstd_dictionary *dictionary,
                                  const void *frame, size_t frame_bytes, void *dst, size_t raw_bytes, mldf_error *err) {
    uint8_t nothing;
    mldf_status status = check_frame(dictionary, frame, frame_bytes, raw_bytes, err);
    if (status != MLDF_OK)
        return status;
    void *target = raw_bytes ? dst : &nothing;
    size_t result = dictionary ? ZSTD_decompress_usingDDict(decompressor->context, target, raw_bytes, frame,
                                                            frame_bytes, dictionary->digest)
                               : ZSTD_decompressDCtx(decompressor->context, target, raw_bytes, frame, frame_bytes);
    if (ZSTD_isError(result) && ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decompress %zu bytes", raw_bytes);
    if (ZSTD_isError(result))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the zstd frame does not decode: %s", ZSTD_getErrorName(result));
    if (result != raw_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "the zstd frame gives %zu bytes instead of %zu", result,
                             raw_bytes);
    return MLDF_OK;
}
