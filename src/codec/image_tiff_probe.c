/* TIFF from its directory alone: what the first page is, and how many follow. image_tiff.c decodes it with libtiff. Source:
 * TIFF 6.0. */
#include <inttypes.h>
#include <string.h>

#include "codec/image_tiff.h"
#include "util/error.h"

enum { MAX_PAGES = 65536, MAX_ENTRIES = 4096 };

static bool tiff_match(const uint8_t *data, size_t bytes) {
    struct tiff_view view;
    uint64_t first;
    return mldfi_tiff_begin(&view, data, bytes, &first);
}

static void take_entry(const struct tiff_view *v, const struct tiff_entry *e, struct tiff_page *p,
                       mldf_image_info *out) {
    uint64_t value = mldfi_tiff_value(v, e, 0);
    uint32_t small = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    switch (e->tag) {
    case 256:
        out->width = small;
        break;
    case 257:
        out->height = small;
        break;
    case 258:
        p->bits = small;
        break;
    case 259:
        p->compression = small;
        break;
    case 262:
        p->photometric = small;
        break;
    case 274:
        out->orientation = value >= 1 && value <= 8 ? (uint8_t)value : 0;
        break;
    case 277:
        p->samples = small;
        break;
    case 338:
        p->extra_count = e->count > 255 ? 255 : (uint32_t)e->count;
        p->extra = small;
        break;
    case 339:
        p->sample_format = small;
        break;
    case 34665: /* EXIF's own directory: the whole file is its TIFF structure */
        out->exif_offset = 0;
        out->exif_bytes = v->bytes;
        break;
    case 34675:
        out->icc_offset = e->value_offset;
        out->icc_bytes = e->count;
        break;
    default:
        break;
    }
}

/* What the samples of a pixel are. */
static mldf_status judge(const struct tiff_page *p, mldf_image_info *out, mldf_error *err) {
    bool depth = p->bits == 1 || p->bits == 2 || p->bits == 4 || p->bits == 8 || p->bits == 16;
    bool alpha = p->extra_count > 0;
    if (p->sample_format != 1 || !depth)
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "a TIFF of %s samples of %" PRIu32 " bits; unsigned ones of 1 to 16 are decoded",
                          p->sample_format == 3 ? "floating-point" : "unusual", p->bits);
    out->bits = p->bits == 16 ? 16 : 8;
    switch (p->photometric) {
    case TIFF_WHITE_IS_ZERO:
    case TIFF_BLACK_IS_ZERO:
        out->channels = alpha ? 2 : 1;
        break;
    case TIFF_RGB:
        out->channels = alpha ? 4 : 3;
        break;
    case TIFF_PALETTE:
        out->channels = 3;
        out->bits = 8;
        out->color = MLDF_IMAGE_PALETTE;
        break;
    case TIFF_SEPARATED:
        out->channels = 4;
        out->bits = 8;
        out->color = MLDF_IMAGE_CMYK;
        break;
    case TIFF_YCBCR:
        out->channels = 3;
        out->bits = 8;
        break;
    default:
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "a TIFF of photometric interpretation %" PRIu32 ", which is not decoded", p->photometric);
    }
    uint32_t wanted = p->photometric == TIFF_PALETTE ? 1 : out->channels;
    if (p->samples < wanted || p->samples > 64 || (p->photometric == TIFF_YCBCR && (p->samples != 3 || p->bits != 8)) ||
        (p->photometric == TIFF_PALETTE && p->bits > 8) || (p->photometric == TIFF_SEPARATED && p->bits < 8) ||
        (p->bits < 8 && p->samples != 1))
        return mldfi_fail(err, MLDF_E_UNSUPPORTED,
                          "a TIFF of %" PRIu32 " samples of %" PRIu32 " bits with photometric interpretation %" PRIu32,
                          p->samples, p->bits, p->photometric);
    return MLDF_OK;
}

/* Pages after the first; a chain that loops ends at the limit. */
static uint32_t count_pages(const struct tiff_view *v, uint64_t next) {
    uint32_t pages = 1;
    uint64_t count, place = next;
    while (place != 0 && pages < MAX_PAGES && mldfi_tiff_directory(v, place, &count, &next)) {
        if (next == place)
            break;
        pages++;
        place = next;
    }
    return pages;
}

mldf_status mldfi_tiff_page(const uint8_t *data, size_t bytes, struct tiff_page *page, mldf_image_info *out,
                            mldf_error *err) {
    struct tiff_view view;
    struct tiff_entry entry;
    uint64_t first = 0, count = 0, next = 0;
    *page =
        (struct tiff_page){.bits = 1, .samples = 1, .sample_format = 1, .photometric = UINT32_MAX, .compression = 1};
    if (!mldfi_tiff_begin(&view, data, bytes, &first) || first < 8 ||
        !mldfi_tiff_directory(&view, first, &count, &next))
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes,
                             "the TIFF file ends after %zu bytes; its directory is at byte %" PRIu64, bytes, first);
    if (count > MAX_ENTRIES)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, first, "a TIFF directory of %" PRIu64 " entries", count);
    for (uint64_t i = 0; i < count; i++)
        if (mldfi_tiff_entry(&view, first, i, &entry))
            take_entry(&view, &entry, page, out);
    if (out->width == 0 || out->height == 0 || page->photometric == UINT32_MAX)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, first,
                             "a TIFF directory without width, height or photometric interpretation");
    out->frames = count_pages(&view, next);
    return judge(page, out, err);
}

static mldf_status tiff_probe(const uint8_t *data, size_t bytes, mldf_image_info *out, mldf_error *err) {
    struct tiff_page page;
    return mldfi_tiff_page(data, bytes, &page, out, err);
}

#ifndef MLDF_HAVE_TIFF
mldf_status mldfi_tiff_decode(struct image_job *job, mldf_error *err) {
    (void)job;
    return mldfi_fail(err, MLDF_E_UNSUPPORTED, "this build has no libtiff: a TIFF image cannot be decoded");
}
#endif

const struct image_codec mldfi_codec_tiff = {
    .mode = MLDF_IMAGE_MODE_TIFF,
    .name = "tiff",
    .match = tiff_match,
    .probe = tiff_probe,
    .decode = mldfi_tiff_decode,
};
