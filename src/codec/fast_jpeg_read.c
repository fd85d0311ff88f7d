/* A JPEG file's coefficients, through libjpeg, in the order of the record's streams; or the reason why the file stays as it is.
 *
 * Decoders need not agree on coefficients that no encoder writes: libjpeg-turbo's C code and its vector code keep different numbers of bits. So
 * each block is tried: what it becomes on the way to pixels must fit 16 bits, and the pixels ten. */
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "codec/image.h"
#include "codec/jpeg_error.h"
#include "util/buffer.h"
#include "util/error.h"

struct coefficient_reader {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_trap trap;
    struct jpeg_memory memory;
    const uint8_t *jpeg;
    size_t bytes;
    struct fast_source *out;
    enum fast_reason reason;
    bool no_memory;
};

/* ---- The file's frame ------------------------------------------------------------------------------------------------------ */

static enum fast_reason judge_frame(const struct jpeg_decompress_struct *c, enum fast_sampling *sampling,
                                    enum fast_colour *colour) {
    const jpeg_component_info *p = c->comp_info;
    if (c->progressive_mode)
        return FAST_IS_PROGRESSIVE;
    if (c->arith_code)
        return FAST_ARITHMETIC;
    if (c->num_components == 4 || c->jpeg_color_space == JCS_CMYK || c->jpeg_color_space == JCS_YCCK)
        return FAST_IS_CMYK;
    if (c->comps_in_scan != c->num_components)
        return FAST_SCANS;
    if (c->num_components == 1) {
        *sampling = FAST_GRAY;
        *colour = FAST_NO_COLOUR;
        return c->jpeg_color_space == JCS_GRAYSCALE ? FAST_TAKEN : FAST_SAMPLING;
    }
    if (c->jpeg_color_space != JCS_YCbCr && c->jpeg_color_space != JCS_RGB)
        return FAST_SAMPLING;
    *colour = c->jpeg_color_space == JCS_RGB ? FAST_RGB : FAST_YCBCR;
    for (int i = 1; i < 3; i++)
        if (p[i].h_samp_factor != 1 || p[i].v_samp_factor != 1)
            return FAST_SAMPLING;
    *sampling = mldfi_fast_sampling((unsigned)p[0].h_samp_factor, (unsigned)p[0].v_samp_factor);
    return *sampling == FAST_SAMPLINGS ? FAST_SAMPLING : FAST_TAKEN;
}

static bool take_quantisers(const struct jpeg_decompress_struct *c, struct fast_source *s) {
    for (int i = 0; i < c->num_components; i++) {
        const JQUANT_TBL *table = c->comp_info[i].quant_table;
        uint8_t values[64];
        unsigned q = 0;
        for (unsigned k = 0; k < 64; k++) {
            UINT16 value = table ? table->quantval[mldfi_fast_zigzag[k]] : 0;
            if (value == 0 || value > 255)
                return false;
            values[k] = (uint8_t)value;
        }
        while (q < s->quantisers && memcmp(s->quantiser[q], values, 64) != 0)
            q++;
        memcpy(s->quantiser[q], values, 64);
        s->quantisers = q == s->quantisers ? q + 1 : s->quantisers;
        s->quantiser_of[i] = (uint8_t)q;
    }
    return true;
}

/* Where the scan begins and ends. Quantisers must be of 8 bits: the header's tables are walked as such. */
static enum fast_reason find_scan(const uint8_t *d, size_t bytes, struct fast_source *s) {
    struct jpeg_segment m;
    size_t at = 2;
    mldf_status status;
    while ((status = mldfi_jpeg_next(d, bytes, &at, &m, NULL)) == MLDF_OK) {
        for (size_t p = 0; m.marker == 0xdb && p < m.body_bytes; p += 65)
            if (m.body_bytes - p < 65 || m.body[p] > 3)
                return FAST_QUANTISERS;
    }
    if (status < 0)
        return FAST_DAMAGED;
    s->header_bytes = at;
    while (at + 1 < bytes && !(d[at] == 0xff && d[at + 1] != 0 && (d[at + 1] < 0xd0 || d[at + 1] > 0xd7)))
        at++;
    if (at + 1 >= bytes)
        return FAST_DAMAGED;
    s->scan_end = at;
    while (at < bytes && d[at] == 0xff)
        at++;
    return at >= bytes ? FAST_DAMAGED : d[at] == JPEG_EOI ? FAST_TAKEN : FAST_SCANS;
}

/* A block takes two bits at least, one for its DC and one for its end: a scan of less has not the blocks that the frame claims, and no memory is
 * taken for them. */
static bool holds_blocks(const struct fast_source *s) {
    const struct fast_grid *g = &s->grid;
    uint64_t in_mcu = g->blocks[0] + (g->classes > 1 ? g->blocks[1] : 0);
    return (uint64_t)g->mcus_across * g->mcus_down * in_mcu <= (uint64_t)(s->scan_end - s->header_bytes) * 4;
}

/* ---- Blocks ---------------------------------------------------------------------------------------------------------------- */

/* One pass of the inverse DCT of jidctint.c over eight values a stride apart; results in 13 bits more. */
static void pass(const int32_t *in, size_t stride, int64_t out[8]) {
    int64_t x[8];
    for (unsigned i = 0; i < 8; i++)
        x[i] = in[i * stride];
    int64_t e0 = (x[0] + x[4]) * 8192, e1 = (x[0] - x[4]) * 8192;
    int64_t e3 = x[2] * (4433 + 6270) + x[6] * 4433, e2 = x[2] * 4433 + x[6] * (4433 - 15137);
    int64_t o0 = x[1] * 2260 - x[3] * 6436 + x[5] * 9633 - x[7] * 11363;
    int64_t o1 = x[1] * 6437 - x[3] * 11362 + x[5] * 2261 + x[7] * 9633;
    int64_t o2 = x[1] * 9633 - x[3] * 2259 - x[5] * 11362 - x[7] * 6436;
    int64_t o3 = x[1] * 11363 + x[3] * 9633 + x[5] * 6437 + x[7] * 2260;
    const int64_t even[4] = {e0 + e3, e1 + e2, e1 - e2, e0 - e3}, odd[4] = {o3, o2, o1, o0};
    for (unsigned i = 0; i < 4; i++) {
        out[i] = even[i] + odd[i];
        out[7 - i] = even[i] - odd[i];
    }
}

/* Sums of absolute values bound whatever order a decoder adds in, at full size and at the reduced ones, whose first pass multiplies by less than six. */
static bool decodes_alike(const int16_t *natural, const uint8_t *quantiser) {
    int32_t value[64], middle[64];
    int64_t sums[8];
    for (unsigned k = 0; k < 64; k++)
        value[mldfi_fast_zigzag[k]] = natural[mldfi_fast_zigzag[k]] * quantiser[k];
    for (unsigned x = 0; x < 8; x++) {
        int64_t column = 0;
        for (unsigned y = 0; y < 8; y++)
            column += abs(value[8 * y + x]);
        if (column * 6 > INT16_MAX)
            return false;
        pass(value + x, 8, sums);
        for (unsigned y = 0; y < 8; y++)
            middle[8 * y + x] = (int32_t)((sums[y] + 1024) >> 11);
    }
    for (unsigned y = 0; y < 8; y++) {
        int64_t row = 0;
        for (unsigned x = 0; x < 8; x++)
            row += abs(middle[8 * y + x]);
        if (row > INT16_MAX)
            return false;
        pass(middle + 8 * (size_t)y, 1, sums);
        for (unsigned x = 0; x < 8; x++) {
            int64_t pixel = (sums[x] + (1 << 17)) >> 18;
            if (pixel < -480 || pixel > 479)
                return false;
        }
    }
    return true;
}

/* What a block's component needs, made once: weights and places by natural place. */
struct taking {
    const uint8_t *quantiser; /* in JPEG's order */
    uint8_t weight[64], place[64];
};

static void begin_taking(struct taking *t, const uint8_t *quantiser) {
    t->quantiser = quantiser;
    for (unsigned k = 0; k < 64; k++) {
        t->weight[mldfi_fast_zigzag[k]] = quantiser[k];
        t->place[mldfi_fast_scan[k]] = (uint8_t)k;
    }
}

/* One block into the record's order, with its word of places. `out` is zero; most coefficients are, too, and pass four at a time. */
static enum fast_reason take_block(const struct taking *t, const int16_t *natural, int16_t *out, uint64_t *places) {
    enum { SAFE = 1900 }; /* a sum of absolute values for which no decoder comes near a limit */
    uint64_t set = 0;
    uint32_t sum = 0;
    bool large = false;
    for (unsigned at = 0; at < 64; at += 4) {
        uint64_t four;
        memcpy(&four, natural + at, sizeof four);
        if (!four)
            continue;
        for (unsigned i = at; i < at + 4; i++) {
            const int v = natural[i];
            const unsigned p = t->place[i], most = (unsigned)abs(v);
            out[p] = (int16_t)v;
            set |= (uint64_t)(v != 0) << p;
            sum += most * t->weight[i];
            large |= i && most > 1023;
        }
    }
    *places = set;
    if (large)
        return FAST_VALUES;
    return sum <= SAFE || decodes_alike(natural, t->quantiser) ? FAST_TAKEN : FAST_RANGE;
}

static enum fast_reason check_dc(const struct fast_source *s) {
    const struct fast_grid *g = &s->grid;
    for (unsigned class = 0; class < g->classes; class ++) {
        size_t row = (size_t)g->mcus_across * g->blocks[class];
        for (size_t i = 0; i < row * g->mcus_down; i++) {
            const int16_t *dc = s->blocks[class] + 64 * i;
            int before = i % row < g->lag[class] ? 0 : dc[-64 * (int)g->lag[class]];
            if (mldfi_fast_size(dc[0] - before) >= FAST_DC_SYMBOLS)
                return FAST_VALUES;
        }
    }
    return FAST_TAKEN;
}

static bool is_wide(const struct fast_source *s, unsigned class, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (s->places[class][i] >> FAST_LOW)
            for (unsigned k = FAST_LOW; k < 64; k++)
                if (s->blocks[class][64 * i + k] > 127 || s->blocks[class][64 * i + k] < -127)
                    return true;
    return false;
}

/* ---- libjpeg, under its trap ----------------------------------------------------------------------------------------------- */

static void take_blocks(struct coefficient_reader *r, jvirt_barray_ptr *arrays) {
    struct fast_source *s = r->out;
    const struct fast_grid *g = &s->grid;
    for (unsigned class = 0; class < g->classes; class ++)
        for (unsigned i = 0; i < g->blocks[class]; i++) {
            struct fast_place place = mldfi_fast_place(g, class, i);
            unsigned h = class ? 1 : g->h, v = class ? 1 : g->v;
            struct taking taking;
            begin_taking(&taking, s->quantiser[s->quantiser_of[place.component]]);
            for (uint32_t y = 0; y < g->mcus_down; y++) {
                JBLOCKARRAY rows = r->cinfo.mem->access_virt_barray((j_common_ptr)&r->cinfo, arrays[place.component],
                                                                    y * v + place.y, 1, FALSE);
                for (uint32_t x = 0; x < g->mcus_across && r->reason == FAST_TAKEN; x++) {
                    size_t at = ((size_t)y * g->mcus_across + x) * g->blocks[class] + i;
                    r->reason = take_block(&taking, rows[0][x * h + place.x], s->blocks[class] + 64 * at,
                                           s->places[class] + at);
                }
            }
        }
}

static void read_file(struct coefficient_reader *r) {
    j_decompress_ptr c = &r->cinfo;
    struct fast_source *s = r->out;
    enum fast_sampling sampling = FAST_GRAY;
    mldfi_jpeg_source(c, &r->memory, r->jpeg, r->bytes, false);
    jpeg_read_header(c, TRUE);
    r->reason = judge_frame(c, &sampling, &s->colour);
    if (r->reason == FAST_TAKEN)
        r->reason = find_scan(r->jpeg, r->bytes, s);
    if (r->reason != FAST_TAKEN)
        return;
    /* A segment has 32 or 64 blocks of luma. */
    mldfi_fast_grid(&s->grid, sampling, c->image_width, c->image_height, sampling < FAST_422 ? 5 : 4);
    if (!holds_blocks(s)) {
        r->reason = FAST_DAMAGED;
        return;
    }
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(c);
    if (!take_quantisers(c, s)) {
        r->reason = FAST_QUANTISERS;
        return;
    }
    for (unsigned class = 0; class < s->grid.classes; class ++) {
        size_t blocks = (size_t)s->grid.mcus_across * s->grid.mcus_down * s->grid.blocks[class];
        s->blocks[class] = mldfi_alloc_zero(blocks, 128, NULL);
        s->places[class] = mldfi_alloc_zero(blocks, sizeof(uint64_t), NULL);
        if (!s->blocks[class] || !s->places[class])
            mldfi_jpeg_throw((j_common_ptr)c, MLDF_E_MEMORY, "no memory for its coefficients");
    }
    take_blocks(r, arrays);
    if (r->reason == FAST_TAKEN)
        r->reason = check_dc(s);
    for (unsigned class = 0; class < s->grid.classes; class ++)
        s->wide = s->wide || is_wide(s, class, (size_t)s->grid.mcus_across * s->grid.mcus_down * s->grid.blocks[class]);
}

static void run(struct coefficient_reader *r) {
    r->cinfo.err = mldfi_jpeg_trap(&r->trap, false);
    if (setjmp(r->trap.back)) {
        jpeg_destroy_decompress(&r->cinfo);
        r->no_memory = r->trap.status == MLDF_E_MEMORY;
        r->reason = FAST_DAMAGED;
        return;
    }
    jpeg_create_decompress(&r->cinfo);
    read_file(r);
    jpeg_destroy_decompress(&r->cinfo);
}

mldf_status mldfi_fast_read(const uint8_t *jpeg, size_t bytes, struct fast_source *out, enum fast_reason *reason,
                            mldf_error *err) {
    struct coefficient_reader *r = mldfi_alloc_zero(1, sizeof *r, err);
    memset(out, 0, sizeof *out);
    if (!r)
        return MLDF_E_MEMORY;
    r->jpeg = jpeg;
    r->bytes = bytes;
    r->out = out;
    run(r);
    *reason = r->reason;
    mldf_status status =
        r->no_memory ? mldfi_fail(err, MLDF_E_MEMORY, "no memory for the coefficients of a JPEG") : MLDF_OK;
    free(r);
    if (status < 0 || *reason != FAST_TAKEN)
        mldfi_fast_source_free(out);
    return status;
}

void mldfi_fast_source_free(struct fast_source *s) {
    for (unsigned class = 0; class < 2; class ++) {
        free(s->blocks[class]);
        free(s->places[class]);
        s->blocks[class] = NULL;
        s->places[class] = NULL;
    }
}
