/* Zip files of arrays (see tar_npz.h). The central directory at the end names the entries and their sizes; a local header stands before each one's data:
 *
 *     PK\3\4 header, name, extra · data · PK\7\8 descriptor ── PK\3\4 header, name, extra · data ── ... ── PK\1\2 entries ── PK\5\6 end
 *
 * The descriptor has CRC-32 and sizes of an entry whose header came before they were known (flag 8). An entry is taken for one only where its own
 * sizes say that it ends where the range does: a whole zip file begins with a header too, and so does one that was cut.
 * Of methods there are stored (0) and deflated (8). Zip files of 4 GiB and more, encrypted entries and entries that overlap are not read. */
#include "interop/tar_npz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "reader/reader.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

enum { LOCAL = 30, CENTRAL = 46, END = 22, COMMENT_MAX = 65535, NAME_MAX_BYTES = 48 };
enum { STORED = 0, DEFLATED = 8, FLAG_ENCRYPTED = 1, FLAG_SIZES_FOLLOW = 8 };
enum { EXTRA_ZIP64 = 1, DESCRIPTOR = 16, DESCRIPTOR_ZIP64 = 24 };

struct packed {
    const uint8_t *data;
    uint64_t bytes;
    uint32_t crc;
    uint16_t method;
};

bool mldfi_npz_is(const char *extension) {
    const char *dot = strrchr(extension, '.');
    return strcmp(dot ? dot + 1 : extension, "npz") == 0;
}

/* ---- The directory ------------------------------------------------------------------------------------------------------- */

static const uint8_t *find_end(const uint8_t *zip, uint64_t bytes) {
    uint64_t least = bytes > END + COMMENT_MAX ? bytes - END - COMMENT_MAX : 0;
    for (uint64_t at = bytes < END ? 0 : bytes - END + 1; at > least; at--)
        if (memcmp(zip + at - 1, "PK\5\6", 4) == 0)
            return zip + at - 1;
    return NULL;
}

/* Bytes from the local header to the data; 0: there is no such entry. */
static uint64_t head_of(const uint8_t *local, uint64_t left) {
    if (left < LOCAL || memcmp(local, "PK\3\4", 4) != 0)
        return 0;
    uint64_t head = LOCAL + (uint64_t)mldfi_load_u16(local + 26) + mldfi_load_u16(local + 28);
    return head <= left ? head : 0;
}

/* Bytes of the data, from the local header; in an extra field where the header has no room for the number. */
static uint64_t packed_bytes_of(const uint8_t *local, uint64_t head) {
    uint32_t bytes = mldfi_load_u32(local + 18);
    uint64_t at = LOCAL + (uint64_t)mldfi_load_u16(local + 26);
    while (bytes == UINT32_MAX && head - at >= 4) {
        uint64_t size = mldfi_load_u16(local + at + 2);
        if (size > head - at - 4)
            break;
        if (mldfi_load_u16(local + at) == EXTRA_ZIP64 && size >= 16)
            return mldfi_load_u64(local + at + 12);
        at += 4 + size;
    }
    return bytes;
}

/* Is this the range of one entry, from its local header to its last byte? */
static bool read_range(const uint8_t *local, uint64_t bytes, struct packed *out) {
    uint64_t head = head_of(local, bytes), left = bytes - head;
    if (head == 0)
        return false;
    *out = (struct packed){local + head, left, mldfi_load_u32(local + 14), mldfi_load_u16(local + 8)};
    if (!(mldfi_load_u16(local + 6) & FLAG_SIZES_FOLLOW))
        return packed_bytes_of(local, head) == left;
    for (uint64_t size = DESCRIPTOR; size <= DESCRIPTOR_ZIP64 && size <= left; size += 8) {
        const uint8_t *d = local + bytes - size;
        uint64_t said = size == DESCRIPTOR ? mldfi_load_u32(d + 8) : mldfi_load_u64(d + 8);
        out->bytes = left - size;
        out->crc = mldfi_load_u32(d + 4);
        if (memcmp(d, "PK\7\10", 4) == 0 && said == out->bytes)
            return true;
    }
    return false;
}

static bool name_is_fine(const char *name, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '/')
            return false;
    return bytes > 0 && bytes <= NAME_MAX_BYTES && mldfi_utf8_valid_prefix(name, bytes) == bytes;
}

/* One entry of the central directory; *at moves on. */
static bool read_entry(const uint8_t *zip, uint64_t directory, uint64_t end, uint64_t *at, struct npz_entry *out) {
    if (end - *at < CENTRAL || memcmp(zip + *at, "PK\1\2", 4) != 0)
        return false;
    const uint8_t *e = zip + *at;
    uint64_t name = mldfi_load_u16(e + 28), all = CENTRAL + name + mldfi_load_u16(e + 30) + mldfi_load_u16(e + 32);
    uint64_t packed = mldfi_load_u32(e + 20), local = mldfi_load_u32(e + 42);
    uint16_t flags = mldfi_load_u16(e + 8), method = mldfi_load_u16(e + 10);
    const char *text = (const char *)e + CENTRAL;
    struct packed range;
    if (end - *at < all || name <= 4 || memcmp(text + name - 4, ".npy", 4) != 0 || !name_is_fine(text, name - 4) ||
        (flags & FLAG_ENCRYPTED) || (method != STORED && method != DEFLATED) || local >= directory)
        return false;
    uint64_t head = head_of(zip + local, directory - local);
    if (head == 0 || packed > directory - local - head || mldfi_load_u16(zip + local + 8) != method)
        return false;
    *out = (struct npz_entry){text, (size_t)name - 4, local, head + packed};
    *at += all;
    if (!(mldfi_load_u16(zip + local + 6) & FLAG_SIZES_FOLLOW))
        return read_range(zip + local, out->bytes, &range);
    for (uint64_t size = DESCRIPTOR; size <= DESCRIPTOR_ZIP64; size += 8) {
        out->bytes = head + packed + size;
        if (out->bytes <= directory - local && read_range(zip + local, out->bytes, &range))
            return true;
    }
    return false;
}

static int by_offset(const void *a, const void *b) {
    const struct npz_entry *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

bool mldfi_npz_list(const uint8_t *zip, uint64_t bytes, struct npz_entry *out, size_t room, size_t *count) {
    const uint8_t *tail = find_end(zip, bytes);
    *count = 0;
    if (!tail)
        return false;
    uint64_t entries = mldfi_load_u16(tail + 10), directory = mldfi_load_u32(tail + 16), end = (uint64_t)(tail - zip);
    if (entries == 0 || entries > room || directory > end)
        return false;
    uint64_t at = directory;
    for (uint64_t i = 0; i < entries; i++)
        if (!read_entry(zip, directory, end, &at, &out[i]))
            return false;
    qsort(out, (size_t)entries, sizeof *out, by_offset);
    for (uint64_t i = 1; i < entries; i++)
        if (out[i].offset < out[i - 1].offset + out[i - 1].bytes)
            return false;
    *count = (size_t)entries;
    return true;
}

/* ---- One entry ----------------------------------------------------------------------------------------------------------- */

/* Up to `room` bytes of a deflated entry. *got < room: there are no more, or they are damaged. */
static mldf_status inflate_some(const uint8_t *data, uint64_t bytes, uint8_t *dst, uint64_t room, uint64_t *got,
                                mldf_error *err) {
    enum { PIECE = 1 << 30 };
    z_stream z = {0};
    int result = Z_OK;
    *got = 0;
    if (inflateInit2(&z, -15) != Z_OK)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory to inflate an array");
    z.next_in = (z_const Bytef *)(uintptr_t)data;
    while (result == Z_OK && *got < room) {
        unsigned in = bytes < PIECE ? (unsigned)bytes : PIECE;
        unsigned out = room - *got < PIECE ? (unsigned)(room - *got) : PIECE;
        z.avail_in = in;
        z.next_out = dst + *got;
        z.avail_out = out;
        result = inflate(&z, Z_NO_FLUSH);
        bytes -= in - z.avail_in;
        *got += out - z.avail_out;
        if (out == z.avail_out && in == z.avail_in)
            break;
    }
    (void)inflateEnd(&z);
    return result == Z_MEM_ERROR ? mldfi_fail(err, MLDF_E_MEMORY, "no memory to inflate an array") : MLDF_OK;
}

static mldf_status check_crc(uint32_t wanted, const uint8_t *data, uint64_t bytes, mldf_error *err) {
    uint32_t found = (uint32_t)crc32_z(0, data, (size_t)bytes);
    return found == wanted
               ? MLDF_OK
               : mldfi_fail(err, MLDF_E_CHECKSUM, "the array's CRC-32 is %08x, and the .npz says %08x", found, wanted);
}

mldf_status mldfi_npz_unwrap(const uint8_t *data, uint64_t bytes, uint64_t most, mldf_buffer *scratch,
                             const uint8_t **out, uint64_t *out_bytes, mldf_error *err) {
    struct packed packed;
    uint64_t got;
    uint8_t first[NPY_HEAD_MAX];
    struct npy npy;
    *out = data;
    *out_bytes = bytes;
    if (!read_range(data, bytes, &packed))
        return MLDF_OK;
    if (packed.method == STORED) {
        *out = packed.data;
        *out_bytes = packed.bytes;
        return check_crc(packed.crc, packed.data, packed.bytes, err);
    }
    mldf_status status = inflate_some(packed.data, packed.bytes, first, sizeof first, &got, err);
    if (status >= 0)
        status = mldfi_npy_parse(first, got, &npy, err);
    if (status < 0)
        return status;
    uint64_t all = npy.head_bytes + npy.data_bytes, limit = mldfi_decoded_limit(most, packed.bytes);
    if (npy.data_bytes > limit || all > limit)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "%llu deflated bytes become %llu, and the limit is %llu: " DECODED_LIMIT_ADVICE,
                          (unsigned long long)packed.bytes, (unsigned long long)all, (unsigned long long)limit);
    scratch->size = 0;
    status = mldfi_buffer_resize(scratch, (size_t)all + 1, err);
    if (status >= 0)
        status = inflate_some(packed.data, packed.bytes, scratch->data, all + 1, &got, err);
    if (status >= 0 && got != all)
        status = mldfi_fail(err, MLDF_E_CORRUPT, "the deflated array has %s bytes than the %llu that it says",
                            got < all ? "fewer" : "more", (unsigned long long)all);
    if (status >= 0)
        status = check_crc(packed.crc, scratch->data, all, err);
    if (status < 0)
        return status;
    scratch->size = (size_t)all;
    *out = scratch->data;
    *out_bytes = all;
    return MLDF_OK;
}

void mldfi_npz_look(struct npy_common *common, const uint8_t *data, uint64_t bytes, const char *which) {
    struct packed packed;
    uint64_t got = 0;
    uint8_t first[NPY_HEAD_MAX];
    if (!read_range(data, bytes, &packed))
        mldfi_npy_look(common, data, bytes, which);
    else if (packed.method == STORED)
        mldfi_npy_look(common, packed.data, packed.bytes, which);
    else if (inflate_some(packed.data, packed.bytes, first, sizeof first, &got, NULL) >= 0)
        mldfi_npy_look(common, first, got, which);
}
