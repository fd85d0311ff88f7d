/* Decoding mode 7, the fast JPEG store: a region at 1/1 to 1/8, with the very pixels that libjpeg-turbo gives for the file that was packed.
 *
 *     record → layout, positions        codec/fast_jpeg.h
 *     strips of MCU rows: DCs, segments of both bands → blocks → samples of each component      kernel/jpeg.h
 *     rows: upsampling, colour → the sink or the view      image_fast_rows.c; or planes, as they are: image_planes.c
 *
 * The blocks may also come from libjpeg, which has read them from a JPEG file.
 * As in libjpeg, a component with less samples than luma is transformed to more samples where the scale allows, and upsampled where it does not. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/image_fast.h"
#include "field/image_fast_run.h"
#include "field/media.h"
#include "kernel/kernels.h"
#include "util/buffer.h"
#include "util/error.h"

static void worker_free(void *pointer) {
    struct fast_worker *w = pointer;
    if (!w)
        return;
    for (unsigned i = 0; i < FAST_CODES; i++) {
        for (unsigned kind = 0; kind < FAST_AC_KINDS; kind++)
            free(w->ac[kind][i]);
        free(w->dc[0][i]);
        free(w->dc[1][i]);
    }
    mldf_buffer_free(&w->positions);
    mldf_buffer_free(&w->low);
    mldf_buffer_free(&w->high);
    mldf_buffer_free(&w->dcs);
    mldf_buffer_free(&w->jobs);
    mldf_buffer_free(&w->planes);
    mldf_buffer_free(&w->rows);
    free(w);
}

void mldfi_fast_image_trim(mldf_image_decoder *decoder, size_t keep) {
    struct fast_worker *w = decoder->fast;
    if (!w)
        return;
    mldf_buffer *const all[] = {&w->positions, &w->low, &w->high, &w->dcs, &w->jobs, &w->planes, &w->rows};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        mldfi_buffer_trim(all[i], keep);
}

static mldf_status get_worker(mldf_image_decoder *decoder, struct fast_worker **out, mldf_error *err) {
    if (!decoder->fast) {
        decoder->fast = mldfi_alloc_zero(1, sizeof **out, err);
        decoder->free_fast = worker_free;
    }
    *out = decoder->fast;
    return *out ? MLDF_OK : MLDF_E_MEMORY;
}

static mldf_status get_window(struct fast_worker *w, unsigned kind, unsigned number, mldf_error *err) {
    struct fast_code code;
    if (w->ac[kind][number])
        return MLDF_OK;
    struct jpeg_window *made = mldfi_alloc(sizeof *made, err);
    if (!made)
        return MLDF_E_MEMORY;
    mldfi_fast_ac_code(kind, number, &code);
    mldfi_jpeg_window(code.length, code.word, kind < 2 ? JPEG_LOW_STRIDE : JPEG_HIGH_STRIDE, made);
    w->ac[kind][number] = made;
    return MLDF_OK;
}

static mldf_status get_dc_window(struct fast_worker *w, unsigned class, unsigned number, mldf_error *err) {
    struct fast_code code;
    if (w->dc[class][number])
        return MLDF_OK;
    struct jpeg_dc_window *made = mldfi_alloc(sizeof *made, err);
    if (!made)
        return MLDF_E_MEMORY;
    mldfi_fast_dc_code(class, number, &code);
    mldfi_jpeg_dc_window(code.length, code.word, made);
    w->dc[class][number] = made;
    return MLDF_OK;
}

/* ---- Samples --------------------------------------------------------------------------------------------------------------- */

/* jdmaster.c: a component whose factors are half of the largest is transformed to twice the samples while that is possible. */
static void size_planes(struct fast_run *r) {
    const struct fast_grid *g = &r->layout.grid;
    unsigned log2 = 3;
    for (int scale = r->job->options.scale; scale > 1; scale /= 2)
        log2--;
    for (unsigned c = 0; c < g->components; c++) {
        bool coarse = c > 0 && g->h == 2 && g->v == 2 && log2 < 3;
        r->plane[c].side_log2 = log2 + coarse;
        r->plane[c].across = c ? 1 : g->h;
        r->plane[c].down = c ? 1 : g->v;
    }
    r->mcu_width = g->h << log2;
    r->mcu_height = g->v << log2;
}

/* Fancy upsampling looks one sample of chroma to each side. */
static void find_mcus(struct fast_run *r) {
    enum { MARGIN = 2 };
    const struct image_job *j = r->job;
    uint32_t x1 = j->x + j->width, y1 = j->y + j->height;
    x1 = j->full_width - x1 < MARGIN ? j->full_width : x1 + MARGIN;
    y1 = j->full_height - y1 < MARGIN ? j->full_height : y1 + MARGIN;
    r->left = (j->x < MARGIN ? 0 : j->x - MARGIN) / r->mcu_width;
    r->top = (j->y < MARGIN ? 0 : j->y - MARGIN) / r->mcu_height;
    r->right = (x1 + r->mcu_width - 1) / r->mcu_width;
    r->bottom = (y1 + r->mcu_height - 1) / r->mcu_height;
    const struct fast_grid *g = &r->layout.grid;
    r->first_segment = r->left / g->segment;
    r->segments = (r->right + g->segment - 1) / g->segment - r->first_segment;
    uint32_t most = 32 / r->segments;
    r->strip = most < 1 ? 1 : most > 8 ? 8 : most;
    if (r->strip > r->bottom - r->top)
        r->strip = r->bottom - r->top;
}

static size_t slot(const struct fast_run *r, unsigned class, unsigned stride) {
    const struct fast_grid *g = &r->layout.grid;
    return (size_t)g->segment * g->blocks[class] * stride + mldfi_jpeg_spill(stride);
}

static size_t dc_stride(const struct fast_run *r, unsigned class) {
    return (size_t)r->right * r->layout.grid.blocks[class] + 8;
}

/* Memory for all of it, within the limit. The largest class decides. */
static mldf_status get_memory(struct fast_run *r, mldf_error *err) {
    const struct fast_grid *g = &r->layout.grid;
    struct fast_worker *w = r->worker;
    uint64_t all = 0, offset[3];
    for (unsigned c = 0; c < g->components; c++) {
        struct plane *p = &r->plane[c];
        p->stride = ((size_t)(r->right - r->left) * p->across << p->side_log2) + 2 * JPEG_PLANE_PAD;
        offset[c] = all + JPEG_PLANE_PAD;
        all += (uint64_t)p->stride * ((uint64_t)(r->bottom - r->top) * p->down << p->side_log2) + JPEG_PLANE_PAD;
    }
    unsigned most = g->classes > 1 && g->blocks[1] > g->blocks[0] ? 1 : 0;
    size_t jobs = (size_t)r->strip * r->segments;
    uint64_t low = (uint64_t)jobs * slot(r, most, JPEG_LOW_STRIDE), high = jobs * slot(r, most, JPEG_HIGH_STRIDE);
    uint64_t positions = mldfi_fast_positions_count(g) * 8;
    if (all + 2 * (low + high) + positions > r->job->options.max_bytes || low + high > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_LIMIT, "decoding needs %" PRIu64 " bytes, more than the limit of %" PRIu64,
                          all + 2 * (low + high) + positions, r->job->options.max_bytes);
    mldf_status status = mldfi_buffer_resize(&w->planes, (size_t)all, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&w->low, (size_t)low * 2, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&w->high, (size_t)high * 2, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&w->dcs, dc_stride(r, most) * (r->strip + 3) * 2, err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&w->jobs, jobs * sizeof(struct jpeg_job), err);
    if (status == MLDF_OK)
        status = mldfi_buffer_resize(&w->positions, (size_t)positions, err);
    for (unsigned c = 0; status == MLDF_OK && c < g->components; c++)
        r->plane[c].samples = w->planes.data + offset[c];
    return status;
}

static mldf_status ends_early(const struct fast_run *r, uint32_t row, mldf_error *err) {
    return mldfi_fail(err, MLDF_E_CORRUPT,
                      "fast JPEG: the bits of MCU rows %" PRIu32 " to %" PRIu32 " of %" PRIu32 " end early", row,
                      row + r->strip - 1, r->layout.grid.mcus_down);
}

/* MCUs of segment s of the region: the first one that it has, and how many up to the region's end. */
static uint32_t segment_start(const struct fast_run *r, uint32_t s) {
    return (r->first_segment + s) * r->layout.grid.segment;
}
static uint32_t segment_mcus(const struct fast_run *r, uint32_t s) {
    uint32_t left = r->right - segment_start(r, s), most = r->layout.grid.segment;
    return left < most ? left : most;
}

/* One sample is the DC alone, and less than eight on a side may be the low band alone. */
static unsigned bands(const struct fast_run *r, unsigned class) {
    const unsigned side = r->plane[class].side_log2;
    return side == 0 ? 0 : side < 3 && r->low_band ? 1 : 2;
}

static mldf_status read_bands(struct fast_run *r, unsigned class, uint32_t row, uint32_t rows, mldf_error *err) {
    const struct fast_grid *g = &r->layout.grid;
    struct fast_worker *w = r->worker;
    struct jpeg_job *jobs = (struct jpeg_job *)(void *)w->jobs.data;
    for (unsigned band = 0; band < bands(r, class); band++) {
        const unsigned stride = band ? JPEG_HIGH_STRIDE : JPEG_LOW_STRIDE, kind = 2 * band + class;
        int16_t *out = (int16_t *)(void *)(band ? w->high.data : w->low.data);
        const uint64_t *at = (const uint64_t *)(const void *)w->positions.data + mldfi_fast_position_at(g, 2 + kind);
        const size_t room = slot(r, class, stride);
        size_t n = 0;
        for (uint32_t y = row; y < row + rows; y++)
            for (uint32_t s = 0; s < r->segments; s++, n++) {
                size_t count = (size_t)segment_mcus(r, s) * g->blocks[class] * stride;
                memset(out + n * room, 0, (count + stride) * sizeof *out); /* one block more: pairs may be incomplete */
                jobs[n] = (struct jpeg_job){at[(uint64_t)y * g->segments + r->first_segment + s], (uint32_t)(n * room),
                                            (uint32_t)(n * room + count)};
            }
        if (!r->k->segments(r->layout.stream, r->layout.bits, w->ac[kind][r->layout.code[2 + kind]], out, jobs, n))
            return ends_early(r, row, err);
    }
    return MLDF_OK;
}

static mldf_status read_dcs(struct fast_run *r, unsigned class, uint32_t row, uint32_t rows, mldf_error *err) {
    const struct fast_grid *g = &r->layout.grid;
    struct fast_worker *w = r->worker;
    const uint64_t *at = (const uint64_t *)(const void *)w->positions.data + mldfi_fast_position_at(g, class);
    const size_t stride = dc_stride(r, class), room = slot(r, class, JPEG_LOW_STRIDE);
    int16_t *dcs = (int16_t *)(void *)w->dcs.data, *low = (int16_t *)(void *)w->low.data;
    for (uint32_t y = 0; y < rows; y += 4) {
        uint64_t four[4];
        for (uint32_t i = 0; i < 4; i++)
            four[i] = at[row + (y + i < rows ? y + i : rows - 1)];
        if (!r->k->dcs(r->layout.stream, r->layout.bits, four, w->dc[class][r->layout.code[class]],
                       (size_t)r->right * g->blocks[class], g->lag[class], dcs + y * stride, stride))
            return ends_early(r, row, err);
    }
    for (uint32_t y = 0; y < rows; y++)
        for (uint32_t s = 0; s < r->segments; s++) {
            const int16_t *from = dcs + y * stride + (size_t)segment_start(r, s) * g->blocks[class];
            int16_t *to = low + ((size_t)y * r->segments + s) * room;
            for (size_t i = 0; i < (size_t)segment_mcus(r, s) * g->blocks[class]; i++)
                to[i * JPEG_LOW_STRIDE] = from[i];
        }
    return MLDF_OK;
}

/* The same from libjpeg's blocks: what the two before do for a row, in the same places. */
static void take_blocks(struct fast_run *r, unsigned class, uint32_t row, uint32_t rows) {
    const struct fast_grid *g = &r->layout.grid;
    struct fast_worker *w = r->worker;
    const uint8_t *scan = mldfi_fast_scan;
    const unsigned places = bands(r, class) == 2 ? 64 : FAST_LOW;
    for (uint32_t y = 0; y < rows; y++)
        for (unsigned i = 0; i < g->blocks[class]; i++) {
            const struct fast_place place = mldfi_fast_place(g, class, i);
            const unsigned h = class ? 1 : g->h, v = class ? 1 : g->v;
            const int16_t(*blocks)[64] = mldfi_jpeg_blocks(r->frame, place.component, (row + y) * v + place.y);
            for (uint32_t s = 0; s < r->segments; s++) {
                const size_t n = (size_t)y * r->segments + s;
                int16_t *low = (int16_t *)(void *)w->low.data + n * slot(r, class, JPEG_LOW_STRIDE);
                int16_t *high = (int16_t *)(void *)w->high.data + n * slot(r, class, JPEG_HIGH_STRIDE);
                const size_t count = (size_t)segment_mcus(r, s) * g->blocks[class]; /* one more: see read_bands */
                memset(low + count * JPEG_LOW_STRIDE, 0, JPEG_LOW_STRIDE * sizeof *low);
                memset(high + count * JPEG_HIGH_STRIDE, 0, JPEG_HIGH_STRIDE * sizeof *high);
                for (uint32_t m = 0; m < segment_mcus(r, s); m++) {
                    const int16_t *from = blocks[(size_t)(segment_start(r, s) + m) * h + place.x];
                    const size_t at = (size_t)m * g->blocks[class] + i;
                    for (unsigned k = 0; k < FAST_LOW; k++)
                        low[at * JPEG_LOW_STRIDE + k] = from[scan[k]];
                    for (unsigned k = FAST_LOW; k < places; k++)
                        high[at * JPEG_HIGH_STRIDE + k - FAST_LOW + 1] = from[scan[k]];
                }
            }
        }
}

/* Blocks of one segment to samples. Luma of two rows of blocks comes in pairs one above the other, other luma side by side, chroma as Cb and Cr. */
static void transform(struct fast_run *r, unsigned class, uint32_t y, uint32_t row, uint32_t s) {
    const struct fast_grid *g = &r->layout.grid;
    const struct fast_worker *w = r->worker;
    const struct plane *p = &r->plane[class];
    uint32_t start = segment_start(r, s), from = start < r->left ? r->left : start;
    uint32_t mcus = segment_mcus(r, s) - (from - start);
    const size_t n = (size_t)y * r->segments + s, block = (size_t)(from - start) * g->blocks[class];
    const size_t side = (size_t)1 << p->side_log2;
    const size_t at = ((size_t)(row + y - r->top) * p->down << p->side_log2) * p->stride +
                      ((size_t)(from - r->left) * p->across << p->side_log2);
    struct jpeg_blocks b = {
        .low =
            (const int16_t *)(const void *)w->low.data + n * slot(r, class, JPEG_LOW_STRIDE) + block * JPEG_LOW_STRIDE,
        .high = bands(r, class) < 2 ? NULL
                                    : (const int16_t *)(const void *)w->high.data +
                                          n * slot(r, class, JPEG_HIGH_STRIDE) + block * JPEG_HIGH_STRIDE,
        .q = &r->q[class],
        .stride = p->stride,
        .a = p->samples + at,
        .step = side,
    };
    if (class) {
        b.b = r->plane[2].samples + at;
        b.pairs = mcus;
    } else if (g->v == 2) {
        b.b = b.a + side * p->stride;
        b.pairs = (size_t)mcus * g->h;
    } else {
        b.b = b.a + side;
        b.step = 2 * side;
        b.pairs = ((size_t)mcus * g->h + 1) / 2;
    }
    r->k->transform[p->side_log2](&b);
}

static mldf_status read_strip(struct fast_run *r, uint32_t row, mldf_error *err) {
    uint32_t rows = r->bottom - row < r->strip ? r->bottom - row : r->strip;
    for (unsigned class = 0; class < r->layout.grid.classes; class ++) {
        mldf_status status = MLDF_OK;
        if (r->frame) {
            take_blocks(r, class, row, rows);
        } else {
            status = read_bands(r, class, row, rows, err);
            if (status == MLDF_OK)
                status = read_dcs(r, class, row, rows, err);
        }
        if (status < 0)
            return status;
        for (uint32_t y = 0; y < rows; y++)
            for (uint32_t s = 0; s < r->segments; s++)
                transform(r, class, y, row, s);
    }
    return MLDF_OK;
}

static mldf_status get_tables(struct fast_run *r, mldf_error *err) {
    const struct fast_layout *l = &r->layout;
    mldf_status status = MLDF_OK;
    for (unsigned class = 0; class < l->grid.classes && status == MLDF_OK; class ++) {
        status = get_dc_window(r->worker, class, l->code[class], err);
        for (unsigned band = 0; band < 2 && status == MLDF_OK; band++)
            status = get_window(r->worker, 2 * band + class, l->code[2 + 2 * band + class], err);
        const uint8_t *first = l->quantiser + 64 * (size_t)l->quantiser_of[class];
        const uint8_t *second = class ? l->quantiser + 64 * (size_t)l->quantiser_of[2] : first;
        mldfi_jpeg_quantisers(first, second, mldfi_fast_zigzag, mldfi_fast_scan, &r->q[class]);
    }
    return status;
}

/* ---- Jobs ------------------------------------------------------------------------------------------------------------------ */

mldf_status mldfi_fast_image_info(const uint8_t *data, size_t bytes, mldf_image_info *info, mldf_error *err) {
    struct fast_layout layout;
    TRY(mldfi_fast_parse(data, bytes, &layout, err));
    const struct fast_grid *g = &layout.grid;
    if (g->width != info->width || g->height != info->height || g->components != info->channels)
        return mldfi_fail(err, MLDF_E_CORRUPT,
                          "the record says %" PRIu32 " x %" PRIu32 " pixels of %u channels, and the fast JPEG %" PRIu32
                          " x %" PRIu32 " of %u",
                          info->width, info->height, info->channels, g->width, g->height, g->components);
    return MLDF_OK;
}

static mldf_status begin(struct fast_run *r, mldf_error *err) {
    const struct kernels *kernels = r->job->decoder->kernels;
    TRY(get_worker(r->job->decoder, &r->worker, err));
    r->k = (kernels ? kernels : mldfi_kernels_best())->jpeg;
    size_planes(r);
    find_mcus(r);
    return get_memory(r, err);
}

static mldf_status read_strips(struct fast_run *r, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (uint32_t row = r->top; status == MLDF_OK && row < r->bottom; row += r->strip)
        status = read_strip(r, row, err);
    return status;
}

mldf_status mldfi_fast_samples(struct fast_run *r, mldf_error *err) {
    mldf_status status = mldfi_fast_parse(r->job->data, r->job->bytes, &r->layout, err);
    if (status == MLDF_OK)
        status = begin(r, err);
    if (status == MLDF_OK)
        status = mldfi_fast_positions(&r->layout, (uint64_t *)(void *)r->worker->positions.data, err);
    if (status == MLDF_OK)
        status = get_tables(r, err);
    return status < 0 ? status : read_strips(r, err);
}

mldf_status mldfi_fast_samples_of(struct fast_run *r, const struct jpeg_frame *frame, enum fast_sampling sampling,
                                  mldf_error *err) {
    enum { SEGMENT = 4 };
    r->frame = frame;
    r->layout.colour = FAST_YCBCR;
    mldfi_fast_grid(&r->layout.grid, sampling, r->job->info->width, r->job->info->height, SEGMENT);
    uint8_t quantiser[3][64];
    for (unsigned c = 0; c < r->layout.grid.components; c++) {
        if (!frame->quantiser[c])
            return mldfi_fail(err, MLDF_E_CORRUPT, "a JPEG without the quantisers of component %u", c);
        for (unsigned k = 0; k < 64; k++) {
            uint16_t value = frame->quantiser[c][mldfi_fast_zigzag[k]];
            if (value > 255)
                return MLDF_END;
            quantiser[c][k] = (uint8_t)value;
        }
    }
    for (unsigned class = 0; class < r->layout.grid.classes; class ++)
        mldfi_jpeg_quantisers(quantiser[class], quantiser[2 * class], mldfi_fast_zigzag, mldfi_fast_scan, &r->q[class]);
    mldf_status status = begin(r, err);
    return status < 0 ? status : read_strips(r, err);
}

mldf_status mldfi_fast_image_decode(struct image_job *job, mldf_error *err) {
    struct fast_run r = {.job = job};
    mldf_status status = mldfi_fast_samples(&r, err);
    if (status == MLDF_OK)
        status = mldfi_fast_rows(&r, err);
    mldfi_fast_image_trim(job->decoder, MEDIA_KEEP_BYTES); /* what one huge image needed goes back */
    return status;
}
