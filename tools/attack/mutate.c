/* How a file is changed: bits, bytes, ranges, and integers where the format has them. For MLDF files the places are drawn by structure
 * (header, descriptors, rows, sections, directory, footer), as a few bytes decide everything there; afterwards the checksums are mended for
 * half of them, or a change would never get past the first check. */
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fuzz/fixup.h"
#include "format/format.h"
#include "util/bytes.h"
#include "util/crc32c.h"

enum { GROWTH_MAX = 1 << 17, REGIONS_MAX = 40 };

uint64_t rng_next(struct rng *rng) {
    uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *rng, uint64_t n) {
    return n ? rng_next(rng) % n : 0;
}

struct rng rng_of_run(uint64_t seed, uint64_t run) {
    struct rng rng = {seed * UINT64_C(0xd1342543de82ef95) + run};
    rng.state = rng_next(&rng);
    return rng;
}

/* ---- Where ----------------------------------------------------------------------------------------------------------- */

struct region {
    const char *name;
    uint64_t begin, bytes;
};

static void add_region(struct region *regions, size_t *count, const char *name, uint64_t begin, uint64_t bytes,
                       size_t size) {
    if (*count < REGIONS_MAX && bytes && mldfi_range_inside(begin, bytes, size))
        regions[(*count)++] = (struct region){name, begin, bytes};
}

/* The parts of an MLDF file as its own pointers tell them; the whole file is always one of them. */
static size_t find_regions(const uint8_t *data, size_t size, struct region *regions) {
    struct header h;
    size_t count = 0;
    add_region(regions, &count, "file", 0, size, size);
    if (size < FORMAT_PREFIX_BYTES + FORMAT_FOOTER_BYTES || memcmp(data, mldfi_magic, FORMAT_MAGIC_BYTES) != 0)
        return count;
    mldfi_header_load(data + FORMAT_HEADER_OFFSET, &h);
    if (h.directory_ptr == 0 && mldfi_load_u16(data + FORMAT_HEADER_OFFSET + 2) >= 1)
        mldfi_header_load(data + size - FORMAT_FOOTER_BYTES, &h); /* streamed */
    add_region(regions, &count, "header", FORMAT_HEADER_OFFSET, FORMAT_HEADER_BYTES, size);
    add_region(regions, &count, "descriptors", h.field_desc_ptr, (uint64_t)h.num_fields * FORMAT_DESCRIPTOR_BYTES,
               size);
    if (!mldfi_range_inside(h.directory_ptr, FORMAT_DIRECTORY_HEAD_BYTES, size) || h.directory_ptr == 0)
        return count;
    uint64_t entries = mldfi_load_u32(data + h.directory_ptr + 8), at = h.directory_ptr + FORMAT_DIRECTORY_HEAD_BYTES;
    if (entries > FORMAT_MAX_SECTIONS || !mldfi_range_inside(at, entries * FORMAT_DIRECTORY_ENTRY_BYTES, size))
        return count;
    add_region(regions, &count, "directory", h.directory_ptr,
               FORMAT_DIRECTORY_HEAD_BYTES + entries * FORMAT_DIRECTORY_ENTRY_BYTES, size);
    add_region(regions, &count, "footer", at + entries * FORMAT_DIRECTORY_ENTRY_BYTES, FORMAT_FOOTER_BYTES, size);
    for (uint64_t i = 0; i < entries; i++, at += FORMAT_DIRECTORY_ENTRY_BYTES) {
        uint64_t ptr = mldfi_load_u64(data + at + 8), bytes = mldfi_load_u64(data + at + 16);
        uint32_t kind = mldfi_load_u32(data + at);
        add_region(regions, &count, mldfi_section_name(kind), ptr, bytes, size);
        if (kind == SECTION_TABLES && bytes >= FORMAT_TABLES_BYTES && mldfi_range_inside(ptr, bytes, size)) {
            add_region(regions, &count, "rows", mldfi_load_u64(data + ptr + 24), mldfi_load_u64(data + ptr + 32), size);
            add_region(regions, &count, "allocations", mldfi_load_u64(data + ptr + 48), mldfi_load_u64(data + ptr + 56),
                       size);
        }
    }
    if (h.data_ptr < h.metadata_ptr)
        add_region(regions, &count, "payloads", h.data_ptr, h.metadata_ptr - h.data_ptr, size);
    return count;
}

/* ---- What ------------------------------------------------------------------------------------------------------------ */

static uint64_t extreme(struct rng *rng, uint64_t now, size_t size) {
    static const uint64_t known[] = {0,
                                     1,
                                     2,
                                     7,
                                     0x7f,
                                     0x80,
                                     0xff,
                                     0x7fff,
                                     0x8000,
                                     0xffff,
                                     0x10000,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x100000000,
                                     INT64_MAX,
                                     (uint64_t)INT64_MAX + 1,
                                     UINT64_MAX,
                                     UINT64_MAX - 7,
                                     UINT64_MAX - 63,
                                     UINT64_C(1) << 48,
                                     UINT64_C(1) << 40};
    switch (rng_below(rng, 6)) {
    case 0:
        return now + 1;
    case 1:
        return now - 1;
    case 2:
        return size - rng_below(rng, 130) + 1;
    case 3:
        return now ^ UINT64_C(1) << rng_below(rng, 64);
    default:
        return known[rng_below(rng, sizeof known / sizeof known[0])];
    }
}

static bool grow(struct mutant *m, size_t more) {
    if (m->size + more > m->capacity) {
        size_t capacity = (m->size + more) * 2;
        uint8_t *data = realloc(m->data, capacity);
        if (!data)
            return false;
        m->data = data, m->capacity = capacity;
    }
    return true;
}

static void insert(struct mutant *m, size_t at, const uint8_t *bytes, size_t count) {
    if (count > GROWTH_MAX || !grow(m, count))
        return;
    memmove(m->data + at + count, m->data + at, m->size - at);
    memcpy(m->data + at, bytes, count);
    m->size += count;
}

static void set_integer(struct rng *rng, struct mutant *m, const struct region *r) {
    size_t width = (size_t)1 << rng_below(rng, 4);
    if (r->bytes < width)
        return;
    size_t at = (size_t)(r->begin + rng_below(rng, r->bytes / width) * width);
    uint64_t now = 0;
    memcpy(&now, m->data + at, width);
    now = extreme(rng, now, m->size);
    memcpy(m->data + at, &now, width);
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        uint8_t keep = a[i];
        a[i] = b[i];
        b[i] = keep;
    }
}

/* Two payloads, where the allocation table has them, change places: whole ones where they are of one size. */
static bool swap_payloads(struct rng *rng, struct mutant *m) {
    struct region regions[REGIONS_MAX];
    size_t count = find_regions(m->data, m->size, regions);
    for (size_t i = 0; i < count; i++) {
        uint64_t entries = regions[i].bytes / FORMAT_ALLOCATION_BYTES;
        if (strcmp(regions[i].name, "allocations") != 0 || entries < 2)
            continue;
        const uint8_t *a = m->data + regions[i].begin + rng_below(rng, entries) * FORMAT_ALLOCATION_BYTES;
        const uint8_t *b = m->data + regions[i].begin + rng_below(rng, entries) * FORMAT_ALLOCATION_BYTES;
        uint64_t a_ptr = mldfi_load_u64(a), a_bytes = mldfi_load_u64(a + 8);
        uint64_t b_ptr = mldfi_load_u64(b), b_bytes = mldfi_load_u64(b + 8);
        if (!mldfi_range_inside(a_ptr, a_bytes, m->size) || !mldfi_range_inside(b_ptr, b_bytes, m->size))
            return false;
        swap_bytes(m->data + a_ptr, m->data + b_ptr, (size_t)(a_bytes < b_bytes ? a_bytes : b_bytes));
        return true;
    }
    return false;
}

/* Two ranges of one region change places: payloads, rows, records, sections. */
static void swap_ranges(struct rng *rng, struct mutant *m, const struct region *r) {
    static const size_t sizes[] = {4, 8, 16, 24, 40, 64, 208};
    size_t n = sizes[rng_below(rng, sizeof sizes / sizeof sizes[0])];
    uint64_t samples = m->size > FORMAT_PREFIX_BYTES ? mldfi_load_u64(m->data + FORMAT_HEADER_OFFSET + 8) : 0;
    if (strcmp(r->name, "payloads") == 0 && swap_payloads(rng, m))
        return;
    if (strcmp(r->name, "rows") == 0 && samples && r->bytes % samples == 0)
        n = (size_t)(r->bytes / samples);
    if (n == 0 || r->bytes < 2 * n)
        return;
    uint64_t a = rng_below(rng, r->bytes / n), b = rng_below(rng, r->bytes / n);
    if (a != b)
        swap_bytes(m->data + r->begin + a * n, m->data + r->begin + b * n, n);
}

static const char *const words[] = {"\"",
                                    "\\",
                                    "{",
                                    "}",
                                    "[",
                                    "]",
                                    ",",
                                    ":",
                                    "\n",
                                    "\r\n",
                                    "\xff\xfe",
                                    "\xc3",
                                    "nan",
                                    "-",
                                    "1e999",
                                    "null",
                                    "99999999999999999999",
                                    "-9223372036854775809",
                                    "0.1e-400",
                                    "\\u0000",
                                    "\\ud800",
                                    "true",
                                    "((((((((",
                                    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
                                    "|",
                                    ";",
                                    "#",
                                    "expr(\"x\")",
                                    "=",
                                    " ",
                                    "\t",
                                    "\"dtype\":\"<f4\"",
                                    "\"shape\":[4294967296]",
                                    "-1",
                                    "4294967296",
                                    "18446744073709551616"};

static void change(struct rng *rng, struct mutant *m, const struct region *r, const struct seed_file *other,
                   bool text) {
    size_t at = (size_t)(r->begin + rng_below(rng, r->bytes)), left = m->size - at;
    size_t run = (size_t)rng_below(rng, rng_below(rng, 4) ? 16 : 4096) + 1;
    switch (rng_below(rng, text ? 9 : 13)) {
    case 0:
        m->data[at] ^= (uint8_t)(1u << rng_below(rng, 8));
        break;
    case 1:
        m->data[at] = (uint8_t)rng_next(rng);
        break;
    case 2: /* cut the end off */
        m->size = at;
        break;
    case 3: /* take a range out */
        run = run < left ? run : left;
        memmove(m->data + at, m->data + at + run, left - run);
        m->size -= run;
        break;
    case 4: /* put a range in twice */
        run = run < left ? run : left;
        if (grow(m, run)) {
            uint8_t *copy = malloc(run);
            if (copy) {
                memcpy(copy, m->data + at, run);
                insert(m, at, copy, run);
            }
            free(copy);
        }
        break;
    case 5: { /* splice: what another file has there */
        size_t from = (size_t)rng_below(rng, other->size), room = other->size - from;
        run = run < room ? run : room;
        if (rng_below(rng, 2))
            insert(m, at, other->data + from, run);
        else
            memcpy(m->data + at, other->data + from, run < left ? run : left);
        break;
    }
    case 6:
    case 7:
        if (text) {
            const char *word = words[rng_below(rng, sizeof words / sizeof words[0])];
            insert(m, at, (const uint8_t *)word, strlen(word));
            break;
        }
        memset(m->data + at, (int)(rng_below(rng, 2) * 255), run < left ? run : left);
        break;
    case 8:
        swap_ranges(rng, m, r);
        break;
    default:
        set_integer(rng, m, r);
    }
}

/* ---- Mending ----------------------------------------------------------------------------------------------------------- */

/* Section 2: the CRC of every payload, where rows and descriptors lead to bytes of the file. The rest is fixup.c's. */
static void fix_payload_checks(uint8_t *data, size_t size) {
    struct region regions[REGIONS_MAX];
    struct header h;
    size_t count = find_regions(data, size, regions);
    const struct region *rows = NULL, *checks = NULL, *descriptors = NULL;
    for (size_t i = 0; i < count; i++) {
        rows = strcmp(regions[i].name, "rows") == 0 ? &regions[i] : rows;
        checks = strcmp(regions[i].name, "checks") == 0 ? &regions[i] : checks;
        descriptors = strcmp(regions[i].name, "descriptors") == 0 ? &regions[i] : descriptors;
    }
    if (!rows || !checks || !descriptors)
        return;
    mldfi_header_load(data + FORMAT_HEADER_OFFSET, &h);
    uint64_t row_bytes = h.num_samples ? rows->bytes / h.num_samples : 0, at = 0;
    for (uint64_t i = 0; i < h.num_samples && row_bytes; i++)
        for (uint64_t f = 0; f < h.num_fields; f++) {
            const uint8_t *d = data + descriptors->begin + f * FORMAT_DESCRIPTOR_BYTES;
            uint16_t flags = mldfi_load_u16(d + 66);
            uint64_t record = i * row_bytes + mldfi_load_u32(d + 72);
            if (!(flags & 12))
                continue;
            if (at + 4 > checks->bytes || !mldfi_range_inside(record, 16, rows->bytes))
                return;
            const uint8_t *p = data + rows->begin + record;
            uint64_t ptr = mldfi_load_u64(p), bytes = flags & 8 ? mldfi_load_u64(p + 8) : mldfi_load_u32(p + 8);
            if (bytes && mldfi_range_inside(ptr, bytes, size))
                mldfi_store_u32(data + checks->begin + at, mldfi_crc32c(0, data + ptr, (size_t)bytes));
            at += 4;
        }
}

static bool is_text(const char *kind) {
    static const char *const kinds[] = {"csv", "jsonl", "schema", "card", "pipeline", "state"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

void mutate(struct rng *rng, const struct seed_file *base, const struct seed_file *other, struct mutant *out) {
    struct region regions[REGIONS_MAX];
    bool text = is_text(base->kind), ours = strcmp(base->kind, "mldf") == 0 || strcmp(base->kind, "crypt") == 0;
    size_t changes = 1 + (size_t)(rng_below(rng, 2) ? rng_below(rng, 5) : 0), used = 0;
    out->size = 0;
    out->what[0] = 0;
    if (!grow(out, base->size + 1))
        return;
    memcpy(out->data, base->data, base->size);
    out->size = base->size;
    for (size_t i = 0; i < changes && out->size; i++) {
        size_t count = ours ? find_regions(out->data, out->size, regions) : 0;
        if (count == 0)
            regions[0] = (struct region){"file", 0, out->size}, count = 1;
        const struct region *r = &regions[rng_below(rng, count)];
        used +=
            (size_t)snprintf(out->what + used, used < sizeof out->what ? sizeof out->what - used : 0, "%s ", r->name);
        if (used >= sizeof out->what)
            used = sizeof out->what - 1;
        change(rng, out, r, other, text);
    }
    out->mended = ours && out->size && rng_below(rng, 2);
    if (out->mended) {
        fix_payload_checks(out->data, out->size);
        fixup_checksums(out->data, out->size);
    }
}
