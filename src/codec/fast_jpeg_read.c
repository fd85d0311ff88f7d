/* A JPEG file's coefficients, through libjpeg, as the symbols of the record's streams (fast_jpeg_symbols.c); or the reason why the file stays as it is. */
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
    struct fast_taker *taker;
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

/* ---- libjpeg, under its trap ----------------------------------------------------------------------------------------------- */

static void take_blocks(struct coefficient_reader *r, jvirt_barray_ptr *arrays) {
    const struct fast_grid *g = &r->out->grid;
    j_common_ptr common = (j_common_ptr)&r->cinfo;
    mldf_status status = mldfi_fast_taker_new(r->out, &r->taker, NULL);
    for (uint32_t y = 0; status == MLDF_OK && y < g->mcus_down && r->reason == FAST_TAKEN; y++) {
        const int16_t(*rows[4])[64] = {NULL};
        JBLOCKARRAY luma = r->cinfo.mem->access_virt_barray(common, arrays[0], y * g->v, g->v, FALSE);
        for (unsigned i = 0; i < g->v; i++)
            rows[i] = (const int16_t(*)[64])luma[i];
        for (unsigned c = 1; c < g->components; c++)
            rows[1 + c] = (const int16_t(*)[64]) * r->cinfo.mem->access_virt_barray(common, arrays[c], y, 1, FALSE);
        status = mldfi_fast_take_row(r->taker, rows, &r->reason, NULL);
    }
    if (status < 0)
        mldfi_jpeg_throw(common, status, "no memory for its coefficients");
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
    take_blocks(r, arrays);
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
    mldfi_fast_taker_free(r->taker);
    *reason = r->reason;
    mldf_status status =
        r->no_memory ? mldfi_fail(err, MLDF_E_MEMORY, "no memory for the coefficients of a JPEG") : MLDF_OK;
    free(r);
    if (status < 0 || *reason != FAST_TAKEN)
        mldfi_fast_source_free(out);
    return status;
}

void mldfi_fast_source_free(struct fast_source *s) {
    for (unsigned i = 0; i < FAST_STREAMS; i++) {
        mldf_buffer_free(&s->symbols[i]);
        mldf_buffer_free(&s->ends[i]);
    }
}
