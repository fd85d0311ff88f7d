/* Places and offsets of warp_loops.h, eight pixels at a time: the same operations on doubles in the same order; and for single pixels sixteen at a
 * time in floats, where those are sure to find the same ones. */
#include <immintrin.h>
#include <math.h>

/* Where a row's pixels come from: m[0] X + (m[1] Y + m[2]), and so on. */
struct places {
    __m512d u, v, w, du, dv, dw, one;
    bool perspective;
};

static inline struct places places_of(const struct warp_map *map, size_t y) {
    const double *m = map->m;
    double row = (double)y + 0.5;
    return (struct places){_mm512_set1_pd(m[1] * row + m[2]),
                           _mm512_set1_pd(m[4] * row + m[5]),
                           _mm512_set1_pd(m[7] * row + m[8]),
                           _mm512_set1_pd(m[0]),
                           _mm512_set1_pd(m[3]),
                           _mm512_set1_pd(m[6]),
                           _mm512_set1_pd(1),
                           map->perspective};
}

static inline void eight_places(const struct places *p, __m512d at, __m512d *u, __m512d *v) {
    *u = _mm512_add_pd(_mm512_mul_pd(p->du, at), p->u);
    *v = _mm512_add_pd(_mm512_mul_pd(p->dv, at), p->v);
    if (!p->perspective)
        return;
    const __m512d outside = _mm512_set1_pd(-8);
    __m512d by = _mm512_add_pd(_mm512_mul_pd(p->dw, at), p->w);
    __mmask8 ahead = _mm512_cmp_pd_mask(by, _mm512_setzero_pd(), _CMP_GT_OQ);
    by = _mm512_mask_blend_pd(ahead, p->one, by);
    *u = _mm512_mask_blend_pd(ahead, outside, _mm512_div_pd(*u, by));
    *v = _mm512_mask_blend_pd(ahead, outside, _mm512_div_pd(*v, by));
}

static inline __mmask8 between_pd(__m512d v, __m512d from, __m512d to, int at_least, __mmask8 of) {
    __mmask8 above =
        at_least ? _mm512_mask_cmp_pd_mask(of, v, from, _CMP_GE_OQ) : _mm512_mask_cmp_pd_mask(of, v, from, _CMP_GT_OQ);
    return _mm512_mask_cmp_pd_mask(above, v, to, _CMP_LT_OQ);
}

static inline void find_eights(struct block *b, double width, double height, bool neighbours, size_t last, size_t from,
                               size_t count) {
    struct places places = places_of(b->map, b->y);
    const __m512d zero = _mm512_setzero_pd(), wide = _mm512_set1_pd(width), high = _mm512_set1_pd(height);
    const __m512d low = _mm512_set1_pd(-1), far_x = _mm512_set1_pd(width + 1), far_y = _mm512_set1_pd(height + 1);
    const __m512d half = _mm512_set1_pd(0.5);
    const __m512d step = _mm512_set1_pd((double)b->in->step);
    const __m512d row = _mm512_set1_pd((double)(b->in->width * b->in->step));
    const __m256i unsure = _mm256_set1_epi32(OFFSET_UNSURE), outside = _mm256_set1_epi32(OFFSET_OUTSIDE);
    const __m256i most = _mm256_set1_epi32(has_offsets(b, last) ? (int)last - 1 : -1);
    const __m512d eight = _mm512_setr_pd(0, 1, 2, 3, 4, 5, 6, 7);
    __m512d at = _mm512_add_pd(_mm512_set1_pd((double)(b->x + from) + 0.5), eight);
    for (size_t k = from; k < from + count; k += 8, at = _mm512_add_pd(at, _mm512_set1_pd(8))) {
        __m512d u, v;
        eight_places(&places, at, &u, &v);
        __m512d from_u = neighbours ? _mm512_sub_pd(u, half) : u, from_v = neighbours ? _mm512_sub_pd(v, half) : v;
        __mmask8 inside = between_pd(from_v, zero, high, 1, between_pd(from_u, zero, wide, 1, 0xff));
        __m512d x = _mm512_roundscale_pd(from_u, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        __m512d y = _mm512_roundscale_pd(from_v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
        /* Whole numbers below 2^31: no way of adding them up rounds. */
        __m256i offset = _mm512_cvttpd_epi32(_mm512_fmadd_pd(y, row, _mm512_mul_pd(x, step)));
        if (neighbours) {
            _mm256_storeu_ps(b->fx + k, _mm512_cvtpd_ps(_mm512_sub_pd(from_u, x)));
            _mm256_storeu_ps(b->fy + k, _mm512_cvtpd_ps(_mm512_sub_pd(from_v, y)));
        }
        __mmask8 sure = _mm256_mask_cmple_epi32_mask(inside, offset, most);
        if (sure != 0xff) {
            __mmask8 near = neighbours ? between_pd(from_v, low, far_y, 0, between_pd(from_u, low, far_x, 0, 0xff)) : 0;
            __m256i other = _mm256_mask_mov_epi32(outside, near | inside, unsure);
            offset = _mm256_mask_mov_epi32(other, sure, offset);
            offset = has_offsets(b, last) ? offset : unsure;
            _mm512_storeu_pd(b->u + k, u);
            _mm512_storeu_pd(b->v + k, v);
        }
        _mm256_storeu_si256((__m256i *)(void *)(b->offset + k), offset);
    }
}

/* How far places in floats may be from those in doubles, for every pixel of the output; 1 when floats do not serve. The pixel is the same unless a place
 * is that near to a whole number. Every rounding is by 2^-24 of a value at most, and there are at most four on the way to a numerator or divisor: 2^-21 of
 * the sums of their terms is twice that; the result is doubled once more. */
static float rough_error(const struct block *b) {
    const double *m = b->map->m;
    double wide = (double)b->out->width, high = (double)b->out->height;
    double size = (double)b->in->width + (double)b->in->height;
    double sum = (fabs(m[0]) + fabs(m[3])) * wide + (fabs(m[1]) + fabs(m[4])) * high + fabs(m[2]) + fabs(m[5]);
    double error = sum * 0x1p-21;
    if (b->in->width * b->in->height * b->in->step > 1 << 23 || !(sum < 1 << 20))
        return 1;
    if (b->map->perspective) {
        double bend = (fabs(m[6]) * wide + fabs(m[7]) * high + fabs(m[8])) * 0x1p-21;
        double least = m[8] + (m[6] < 0 ? m[6] * wide : 0) + (m[7] < 0 ? m[7] * high : 0);
        if (!(least > 64 * bend))
            return 1;
        error = error / least + size * (bend / least + 0x1p-21);
    }
    return (float)(2 * error);
}

static inline __m512 to_nearest(__m512 v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline __m512 cut_off(__m512 v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

static void find_sixteens(struct block *b, double width, double height, size_t last) {
    const __m512 zero = _mm512_setzero_ps(), wide = _mm512_set1_ps((float)width), high = _mm512_set1_ps((float)height);
    const __m512 step = _mm512_set1_ps((float)b->in->step), error = _mm512_set1_ps(b->error);
    const __m512 row = _mm512_set1_ps((float)(b->in->width * b->in->step));
    const double *m = b->map->m, y = (double)b->y + 0.5;
    const __m512 du = _mm512_set1_ps((float)m[0]), u0 = _mm512_set1_ps((float)(m[1] * y + m[2]));
    const __m512 dv = _mm512_set1_ps((float)m[3]), v0 = _mm512_set1_ps((float)(m[4] * y + m[5]));
    const __m512 dw = _mm512_set1_ps((float)m[6]), w0 = _mm512_set1_ps((float)(m[7] * y + m[8]));
    bool perspective = b->map->perspective;
    const __m512i most = _mm512_set1_epi32((int)last - 1), outside = _mm512_set1_epi32(OFFSET_OUTSIDE);
    __m512 at = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    at = _mm512_add_ps(at, _mm512_set1_ps((float)b->x + 0.5f));
    for (size_t k = 0; k < b->count; k += 16, at = _mm512_add_ps(at, _mm512_set1_ps(16))) {
        __m512 u = _mm512_fmadd_ps(du, at, u0), v = _mm512_fmadd_ps(dv, at, v0);
        if (perspective) {
            __m512 by = _mm512_div_ps(_mm512_set1_ps(1), _mm512_fmadd_ps(dw, at, w0));
            u = _mm512_mul_ps(u, by);
            v = _mm512_mul_ps(v, by);
        }
        __m512 near_u = _mm512_abs_ps(_mm512_sub_ps(u, to_nearest(u)));
        __m512 near_v = _mm512_abs_ps(_mm512_sub_ps(v, to_nearest(v)));
        __mmask16 rough = _mm512_cmp_ps_mask(_mm512_min_ps(near_u, near_v), error, _CMP_LT_OQ);
        __mmask16 inside = _mm512_cmp_ps_mask(u, zero, _CMP_GE_OQ);
        inside = _mm512_mask_cmp_ps_mask(inside, u, wide, _CMP_LT_OQ);
        inside = _mm512_mask_cmp_ps_mask(inside, v, zero, _CMP_GE_OQ);
        inside = _mm512_mask_cmp_ps_mask(inside, v, high, _CMP_LT_OQ);
        __m512 place = _mm512_fmadd_ps(cut_off(v), row, _mm512_mul_ps(cut_off(u), step));
        __m512i offset = _mm512_mask_cvttps_epi32(outside, inside, place);
        if (rough | _mm512_cmpgt_epi32_mask(offset, most))
            find_eights(b, width, height, false, last, k, 16);
        else
            _mm512_storeu_si512(b->offset + k, offset);
    }
}

static void find_all(struct block *b, double width, double height, bool neighbours, size_t last) {
    if (neighbours)
        find_eights(b, width, height, true, last, 0, b->count);
    else if (b->error < 0x1p-6f && has_offsets(b, last))
        find_sixteens(b, width, height, last);
    else
        find_eights(b, width, height, false, last, 0, b->count);
}
