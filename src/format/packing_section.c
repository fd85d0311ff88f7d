/* Section 11: pack plans in a file.
 *
 *     0 version u32 = 1 · 4 count u32 ≤ 64 · then count headers of 128 bytes · then tables at multiples of 8
 *
 *     header   0 bins_offset · 8 pieces_offset · 16 bins · 24 pieces · 32 rows · 40 placed · 48 left out · 56 cut · 64 lengths_hash, u64 each
 *              72 length · 76 align · 80 max_pieces · 84 most_pieces · 88 bos + 1 · 92 eos + 1, u32 each
 *              96 field u16 · 98 algorithm · 99 algorithm version · 100 long documents · 101 piece form, u8 each · 102 zeros · 104 seed u64 · 112 zeros
 *
 * Reading checks what must hold so that no access leaves the section; whether a piece fits its row is checked when it is used. */
#include <inttypes.h>

#include "format/packing.h"
#include "util/buffer.h"
#include "util/error.h"

static uint32_t piece_bytes(const struct packing *p) {
    return p->wide ? 16 : 12;
}

static void load_header(const uint8_t *h, struct packing *p) {
    memset(p, 0, sizeof *p);
    p->bins = mldfi_load_u64(h + 16);
    p->pieces = mldfi_load_u64(h + 24);
    p->rows = mldfi_load_u64(h + 32);
    p->placed = mldfi_load_u64(h + 40);
    p->left_out = mldfi_load_u64(h + 48);
    p->cut = mldfi_load_u64(h + 56);
    p->lengths_hash = mldfi_load_u64(h + 64);
    p->rule.length = mldfi_load_u32(h + 72);
    p->rule.align = mldfi_load_u32(h + 76);
    p->rule.max_pieces = mldfi_load_u32(h + 80);
    p->most_pieces = mldfi_load_u32(h + 84);
    p->rule.bos = mldfi_load_u32(h + 88);
    p->rule.eos = mldfi_load_u32(h + 92);
    p->field = mldfi_load_u16(h + 96);
    p->rule.algorithm = h[98];
    p->version = h[99];
    p->rule.long_documents = h[100];
    p->wide = h[101] == 1;
    p->rule.seed = mldfi_load_u64(h + 104);
}

static void store_header(const struct packing *p, uint64_t bins_offset, uint64_t pieces_offset, uint8_t *h) {
    memset(h, 0, PACKING_HEADER);
    mldfi_store_u64(h, bins_offset);
    mldfi_store_u64(h + 8, pieces_offset);
    mldfi_store_u64(h + 16, p->bins);
    mldfi_store_u64(h + 24, p->pieces);
    mldfi_store_u64(h + 32, p->rows);
    mldfi_store_u64(h + 40, p->placed);
    mldfi_store_u64(h + 48, p->left_out);
    mldfi_store_u64(h + 56, p->cut);
    mldfi_store_u64(h + 64, p->lengths_hash);
    mldfi_store_u32(h + 72, p->rule.length);
    mldfi_store_u32(h + 76, p->rule.align);
    mldfi_store_u32(h + 80, p->rule.max_pieces);
    mldfi_store_u32(h + 84, p->most_pieces);
    mldfi_store_u32(h + 88, p->rule.bos);
    mldfi_store_u32(h + 92, p->rule.eos);
    mldfi_store_u16(h + 96, p->field);
    h[98] = p->rule.algorithm;
    h[99] = p->version;
    h[100] = p->rule.long_documents;
    h[101] = p->wide;
    mldfi_store_u64(h + 104, p->rule.seed);
}

static bool table_fits(uint64_t offset, uint64_t count, uint64_t each, uint64_t least, uint64_t bytes) {
    uint64_t size;
    return offset % 8 == 0 && offset >= least && mldfi_mul_u64(count, each, &size) &&
           mldfi_range_inside(offset, size, bytes);
}

mldf_status mldfi_packing_read(const uint8_t *section, uint64_t bytes, uint64_t param, uint64_t fields,
                               uint64_t samples, struct packing *out, size_t *count, mldf_error *err) {
    *count = 0;
    if (bytes < PACKING_HEAD)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0, "pack plans: %" PRIu64 " bytes", bytes);
    if (mldfi_load_u32(section) != 1)
        return MLDF_OK;
    uint64_t number = mldfi_load_u32(section + 4), tables = PACKING_HEAD + number * PACKING_HEADER;
    if (number != param || number > PACKING_PLANS || tables > bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 0,
                             "%" PRIu64 " pack plans in %" PRIu64 " bytes, and the directory says %" PRIu64, number,
                             bytes, param);
    for (size_t i = 0; i < number; i++) {
        const uint8_t *h = section + PACKING_HEAD + i * PACKING_HEADER;
        uint64_t at = PACKING_HEAD + i * PACKING_HEADER, bins = mldfi_load_u64(h), pieces = mldfi_load_u64(h + 8);
        struct packing *p = &out[i];
        load_header(h, p);
        if (p->bins == UINT64_MAX || !table_fits(bins, p->bins + 1, 8, tables, bytes))
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at,
                                 "pack plan %zu: %" PRIu64 " bins at %" PRIu64 " of the section", i, p->bins, bins);
        if (h[101] > 1)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 101, "pack plan %zu: piece form %u", i, h[101]);
        if (!table_fits(pieces, p->pieces, piece_bytes(p), tables, bytes))
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 8,
                                 "pack plan %zu: %" PRIu64 " pieces at %" PRIu64 " of the section", i, p->pieces,
                                 pieces);
        if (p->rows > samples)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 32, "pack plan %zu is of %" PRIu64 " rows of %" PRIu64, i,
                                 p->rows, samples);
        if (p->field >= fields)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, at + 96, "pack plan %zu is of field %u of %" PRIu64, i, p->field,
                                 fields);
        p->first = section + bins;
        p->table = section + pieces;
    }
    *count = (size_t)number;
    return MLDF_OK;
}

mldf_status mldfi_packing_write(const struct packing *plans, size_t count, mldf_buffer *out, mldf_error *err) {
    uint8_t head[PACKING_HEAD];
    size_t begin = out->size;
    uint64_t at = PACKING_HEAD + (uint64_t)PACKING_HEADER * count;
    mldfi_store_u32(head, 1);
    mldfi_store_u32(head + 4, (uint32_t)count);
    mldf_status status = mldf_buffer_append(out, head, sizeof head, err);
    for (size_t i = 0; i < count && status >= 0; i++) {
        uint8_t header[PACKING_HEADER];
        uint64_t pieces = at + 8 * (plans[i].bins + 1);
        store_header(&plans[i], at, pieces, header);
        at = mldfi_align_up(pieces + piece_bytes(&plans[i]) * plans[i].pieces, 8);
        status = mldf_buffer_append(out, header, sizeof header, err);
    }
    for (size_t i = 0; i < count && status >= 0; i++) {
        static const uint8_t zeros[8] = {0};
        uint64_t table = piece_bytes(&plans[i]) * plans[i].pieces;
        status = mldf_buffer_append(out, plans[i].first, (size_t)(8 * (plans[i].bins + 1)), err);
        if (status >= 0)
            status = mldf_buffer_append(out, plans[i].table, (size_t)table, err);
        if (status >= 0)
            status = mldf_buffer_append(out, zeros, (size_t)(-table & 7), err);
    }
    if (status < 0)
        out->size = begin;
    return status;
}
