/* The bytes of a kept index (see tar_sidecar.h): written from an index, and read back from a file that may be old, damaged or made to
 * do harm. Nothing is used before the checksum and the sums of all counts agree with the file's size. */
#include "interop/tar_sidecar.h"

#include <stdlib.h>
#include <string.h>

#include "interop/name_set.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/error.h"

#define ULL(v) ((unsigned long long)(v))

enum { VERSION = 1, HEAD = 72, PART = 20, SAMPLE = 8, CRC = 4, PROBES = 8 };

static const uint8_t magic[8] = {0x89, 'M', 'L', 'D', 'F', 'T', 'I', '\n'};

bool mldfi_tar_sidecar_is(const void *data, size_t bytes) {
    return bytes >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

uint32_t mldfi_tar_sidecar_probe(const struct tar_index *index) {
    size_t count = index->part_count < PROBES ? index->part_count : PROBES;
    uint32_t crc = mldfi_crc32c(0, index->data, count ? TAR_BLOCK : 0);
    for (size_t i = 0; i < count; i++) {
        size_t part = count > 1 ? (size_t)((uint64_t)i * (index->part_count - 1) / (count - 1)) : 0;
        crc = mldfi_crc32c(crc, index->data + index->parts[part].offset - TAR_BLOCK, TAR_BLOCK);
    }
    return crc;
}

/* ---- Writing ------------------------------------------------------------------------------------------------------------- */

static mldf_status encode_parts(const struct tar_index *index, mldf_buffer *out, mldf_error *err) {
    uint8_t *at;
    mldf_status status = mldfi_buffer_extend(out, index->part_count * PART, &at, err);
    for (size_t i = 0; i < index->part_count && status >= 0; i++, at += PART) {
        mldfi_store_u64(at, index->parts[i].offset);
        mldfi_store_u64(at + 8, index->parts[i].bytes);
        mldfi_store_u32(at + 16, index->parts[i].extension);
    }
    if (status >= 0)
        status = mldfi_buffer_extend(out, index->sample_count * SAMPLE, &at, err);
    for (size_t i = 0; i < index->sample_count && status >= 0; i++, at += SAMPLE) {
        mldfi_store_u32(at, index->samples[i].part_count);
        mldfi_store_u32(at + 4, index->samples[i].key_bytes);
    }
    return status;
}

mldf_status mldfi_tar_sidecar_encode(const struct tar_index *index, const struct tar_binding *binding, mldf_buffer *out,
                                     mldf_error *err) {
    uint8_t head[HEAD] = {0}, crc[CRC];
    uint64_t extension_bytes = 0;
    for (size_t i = 0; i < index->extension_count; i++)
        extension_bytes += strlen(index->extensions[i]) + 1;
    memcpy(head, magic, sizeof magic);
    mldfi_store_u32(head + 8, VERSION);
    mldfi_store_u32(head + 12, binding->probe);
    mldfi_store_u64(head + 16, binding->stamp.bytes);
    mldfi_store_u64(head + 24, (uint64_t)binding->stamp.seconds);
    mldfi_store_u32(head + 32, binding->stamp.nanoseconds);
    mldfi_store_u32(head + 36, (uint32_t)index->extension_count);
    mldfi_store_u64(head + 40, index->sample_count);
    mldfi_store_u64(head + 48, index->part_count);
    mldfi_store_u64(head + 56, extension_bytes);
    mldfi_store_u64(head + 64, index->keys.size);
    out->size = 0;
    mldf_status status = mldf_buffer_append(out, head, sizeof head, err);
    if (status >= 0)
        status = encode_parts(index, out, err);
    for (size_t i = 0; i < index->extension_count && status >= 0; i++)
        status = mldf_buffer_append(out, index->extensions[i], strlen(index->extensions[i]) + 1, err);
    if (status >= 0)
        status = mldf_buffer_append(out, index->keys.data, index->keys.size, err);
    if (status < 0)
        return status;
    mldfi_store_u32(crc, mldfi_crc32c(0, out->data, out->size));
    return mldf_buffer_append(out, crc, sizeof crc, err);
}

/* ---- Reading ------------------------------------------------------------------------------------------------------------- */

struct counts {
    uint64_t samples, parts, extension_bytes, key_bytes;
    uint32_t extensions;
};

static mldf_status damaged(const char *what, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_CORRUPT, "the kept index is damaged: %s", what);
}

static mldf_status decode_head(const uint8_t *data, size_t bytes, struct counts *n, struct tar_binding *binding,
                               mldf_error *err) {
    uint64_t total = HEAD + CRC, parts, samples;
    if (bytes < HEAD + CRC || !mldfi_tar_sidecar_is(data, bytes))
        return mldfi_fail(err, MLDF_E_MAGIC, "it is not a kept index");
    if (mldfi_load_u32(data + 8) != VERSION)
        return mldfi_fail(err, MLDF_E_VERSION, "the kept index has version %u, and %d is known",
                          mldfi_load_u32(data + 8), VERSION);
    if (mldfi_crc32c(0, data, bytes - CRC) != mldfi_load_u32(data + bytes - CRC))
        return mldfi_fail(err, MLDF_E_CHECKSUM, "the kept index is damaged: its checksum differs");
    binding->probe = mldfi_load_u32(data + 12);
    binding->stamp =
        (struct os_stamp){mldfi_load_u64(data + 16), (int64_t)mldfi_load_u64(data + 24), mldfi_load_u32(data + 32), 0};
    *n = (struct counts){mldfi_load_u64(data + 40), mldfi_load_u64(data + 48), mldfi_load_u64(data + 56),
                         mldfi_load_u64(data + 64), mldfi_load_u32(data + 36)};
    bool fits = mldfi_mul_u64(n->parts, PART, &parts) && mldfi_mul_u64(n->samples, SAMPLE, &samples) &&
                mldfi_add_u64(total, parts, &total) && mldfi_add_u64(total, samples, &total) &&
                mldfi_add_u64(total, n->extension_bytes, &total) && mldfi_add_u64(total, n->key_bytes, &total);
    if (!fits || total != bytes || n->extensions > n->extension_bytes)
        return damaged("its counts do not add up to its size", err);
    return MLDF_OK;
}

static mldf_status decode_extensions(struct tar_index *index, const uint8_t *at, const struct counts *n,
                                     mldf_error *err) {
    const uint8_t *end = at + n->extension_bytes;
    index->extensions = mldfi_alloc_zero((size_t)n->extensions + 1, sizeof *index->extensions, err);
    if (!index->extensions)
        return MLDF_E_MEMORY;
    index->extension_capacity = (size_t)n->extensions + 1;
    for (uint32_t i = 0; i < n->extensions; i++) {
        const uint8_t *stop = memchr(at, 0, (size_t)(end - at));
        uint64_t number = i;
        if (!stop || stop == at)
            return damaged("an extension without an end", err);
        mldf_status status = mldfi_name_set_add(index->by_extension, at, (size_t)(stop - at), &number, err);
        if (status < 0)
            return status;
        if (status == MLDF_END)
            return damaged("an extension is there twice", err);
        char *copy = mldfi_copy_text((const char *)at, (size_t)(stop - at), err);
        if (!copy)
            return MLDF_E_MEMORY;
        index->extensions[index->extension_count++] = copy;
        at = stop + 1;
    }
    return at == end ? MLDF_OK : damaged("bytes after the last extension", err);
}

/* Members stand one after the other, each behind a header of its own. */
static mldf_status decode_parts(struct tar_index *index, const uint8_t *at, const struct counts *n, uint64_t tar_bytes,
                                mldf_error *err) {
    uint64_t free_from = 0;
    index->parts = mldfi_alloc_zero((size_t)n->parts + 1, sizeof *index->parts, err);
    if (!index->parts)
        return MLDF_E_MEMORY;
    index->part_capacity = (size_t)n->parts + 1;
    for (uint64_t i = 0; i < n->parts; i++, at += PART) {
        struct tar_index_part part = {mldfi_load_u64(at), mldfi_load_u64(at + 8), mldfi_load_u32(at + 16)};
        if (part.extension >= n->extensions || part.offset % TAR_BLOCK != 0 || part.offset < TAR_BLOCK ||
            part.offset - TAR_BLOCK < free_from || !mldfi_range_inside(part.offset, part.bytes, tar_bytes))
            return mldfi_fail(err, MLDF_E_CORRUPT,
                              "the kept index is damaged: part %llu, %llu bytes at byte %llu, cannot be", ULL(i),
                              ULL(part.bytes), ULL(part.offset));
        free_from = part.offset + part.bytes;
        index->parts[index->part_count++] = part;
    }
    return MLDF_OK;
}

/* Parts and key are there, and no extension is twice: `last` is the sample + 1 that had each of them last. */
static bool check_sample(const struct tar_index *index, const struct counts *n, const struct tar_index_sample *s,
                         uint64_t number, uint64_t *last) {
    if (s->part_count == 0 || s->part_count > n->parts - s->first_part || s->key_bytes == 0 ||
        s->key_bytes >= n->key_bytes - s->key_at)
        return false;
    const uint8_t *key = index->keys.data + s->key_at;
    if (key[s->key_bytes] != 0 || memchr(key, 0, s->key_bytes) != NULL)
        return false;
    for (uint32_t i = 0; i < s->part_count; i++) {
        uint64_t *seen = &last[index->parts[s->first_part + i].extension];
        if (*seen == number + 1)
            return false;
        *seen = number + 1;
    }
    return true;
}

static mldf_status decode_samples(struct tar_index *index, const uint8_t *at, const struct counts *n, uint64_t *last,
                                  mldf_error *err) {
    struct tar_index_sample next = {0, 0, 0, 0};
    index->samples = mldfi_alloc_zero((size_t)n->samples + 1, sizeof *index->samples, err);
    if (!index->samples)
        return MLDF_E_MEMORY;
    index->sample_capacity = (size_t)n->samples + 1;
    for (uint64_t i = 0; i < n->samples; i++, at += SAMPLE) {
        next.part_count = mldfi_load_u32(at);
        next.key_bytes = mldfi_load_u32(at + 4);
        if (!check_sample(index, n, &next, i, last))
            return mldfi_fail(err, MLDF_E_CORRUPT, "the kept index is damaged: sample %llu cannot be", ULL(i));
        index->samples[index->sample_count++] = next;
        next.first_part += next.part_count;
        next.key_at += (uint64_t)next.key_bytes + 1;
    }
    if (next.first_part != n->parts || next.key_at != n->key_bytes)
        return damaged("parts or keys that belong to no sample", err);
    return MLDF_OK;
}

static mldf_status decode(struct tar_index *index, const uint8_t *data, size_t bytes, uint64_t tar_bytes,
                          struct tar_binding *binding, mldf_error *err) {
    struct counts n = {0, 0, 0, 0, 0};
    TRY(decode_head(data, bytes, &n, binding, err));
    const uint8_t *parts = data + HEAD, *samples = parts + n.parts * PART, *extensions = samples + n.samples * SAMPLE,
                  *keys = extensions + n.extension_bytes;
    uint64_t *last = mldfi_alloc_zero((size_t)n.extensions + 1, sizeof *last, err);
    mldf_status status = last ? mldfi_name_set_new(&index->by_extension, err) : MLDF_E_MEMORY;
    if (status >= 0)
        status = decode_extensions(index, extensions, &n, err);
    if (status >= 0)
        status = decode_parts(index, parts, &n, tar_bytes, err);
    if (status >= 0)
        status = mldf_buffer_append(&index->keys, keys, (size_t)n.key_bytes, err);
    if (status >= 0)
        status = decode_samples(index, samples, &n, last, err);
    free(last);
    return status;
}

mldf_status mldfi_tar_sidecar_decode(struct tar_index *index, const uint8_t *data, size_t bytes, const void *tar,
                                     uint64_t tar_bytes, struct tar_binding *binding, mldf_error *err) {
    mldfi_tar_index_init(index, tar);
    mldf_status status = decode(index, data, bytes, tar_bytes, binding, err);
    if (status < 0)
        mldfi_tar_index_free(index);
    return status;
}
