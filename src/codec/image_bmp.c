/* BMP: our own reader. 1, 2, 4 and 8 bits with a palette, RLE4 and RLE8, 16, 24 and 32 bits with or without masks, rows in either
 * order.
 *
 *     14 file header · DIB header (12, or 40 to 124 bytes) · [masks] · [palette] · rows, padded to 4 bytes, last row first
 *
 * Source: the documentation of BITMAPINFOHEADER and its successors. Channels of n bits become 8 as v * 255 / (2^n - 1), rounded
 * down, which is also Pillow's choice. */
#include <inttypes.h>
#include <string.h>

#include "codec/image.h"
#include "util/bytes.h"
#include "util/error.h"

enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40 };
enum { BI_RGB = 0, BI_RLE8 = 1, BI_RLE4 = 2, BI_BITFIELDS = 3, BI_ALPHABITFIELDS = 6 };

struct bmp_header {
    uint32_t width, height;
    bool top_down;
    uint32_t bits, compression;
    uint32_t pixels;  /* offset */
    uint32_t palette; /* offset */
    uint32_t colors, color_bytes;
    uint32_t masks[4]; /* red, green, blue, alpha */
};

static bool bmp_match(const uint8_t *data, size_t bytes) {
    if (bytes < FILE_HEADER + 4 || data[0] != 'B' || data[1] != 'M')
        return false;
    uint32_t size = mldfi_load_u32(data + FILE_HEADER);
    return size == CORE_HEADER || size == 16 || (size >= INFO_HEADER && size <= 124);
}

static mldf_status parse_size(const uint8_t *dib, uint32_t size, struct bmp_header *h, mldf_error *err) {
    if (size == CORE_HEADER) {
        h->width = mldfi_load_u16(dib + 4);
        h->height = mldfi_load_u16(dib + 6);
        h->bits = mldfi_load_u16(dib + 10);
        h->color_bytes = 3;
        return MLDF_OK;
    }
    int32_t width = (int32_t)mldfi_load_u32(dib + 4), height = (int32_t)mldfi_load_u32(dib + 8);
    if (width <= 0 || height == 0 || height == INT32_MIN)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, FILE_HEADER + 4, "a BMP of %" PRId32 " x %" PRId32 " pixels", width,
                             height);
    h->top_down = height < 0;
    h->width = (uint32_t)width;
    h->height = (uint32_t)(height < 0 ? -height : height);
    h->bits = mldfi_load_u16(dib + 14);
    h->compression = size >= 20 ? mldfi_load_u32(dib + 16) : BI_RGB;
    h->colors = size >= 36 ? mldfi_load_u32(dib + 32) : 0;
    h->color_bytes = 4;
    return MLDF_OK;
}

/* Masks stand in headers from 52 bytes on, else behind the header. */
static mldf_status parse_masks(const uint8_t *data, size_t bytes, uint32_t size, struct bmp_header *h, uint32_t *behind,
                               mldf_error *err) {
    uint32_t count = size >= 56 ? 4 : size < 52 && h->compression == BI_ALPHABITFIELDS ? 4 : 3;
    uint32_t at = FILE_HEADER + (size >= 52 ? INFO_HEADER : size);
    *behind = size >= 52 ? 0 : 4 * count;
    if (bytes < at + 4 * count)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "the BMP file ends inside its header, after %zu bytes",
                             bytes);
    for (uint32_t i = 0; i < count; i++)
        h->masks[i] = mldfi_load_u32(data + at + 4 * i);
    return MLDF_OK;
}

static mldf_status check_form(const struct bmp_header *h, mldf_error *err) {
    uint32_t b = h->bits, c = h->compression;
    bool depth = b == 1 || b == 2 || b == 4 || b == 8 || b == 16 || b == 24 || b == 32;
    bool form = c == BI_RGB || (c == BI_RLE8 && b == 8) || (c == BI_RLE4 && b == 4) ||
                ((c == BI_BITFIELDS || c == BI_ALPHABITFIELDS) && (b == 16 || b == 32));
    if (!depth || !form)
        return mldfi_fail_at(err, c == 4 || c == 5 ? MLDF_E_UNSUPPORTED : MLDF_E_CORRUPT, FILE_HEADER + 14,
                             "a BMP of %" PRIu32 " bits with compression %" PRIu32, b, c);
    if ((c == BI_RLE8 || c == BI_RLE4) && h->top_down)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, FILE_HEADER + 8, "a run-length BMP with its first row on top");
    return MLDF_OK;
}

static mldf_status parse(const uint8_t *data, size_t bytes, struct bmp_header *h, mldf_error *err) {
    uint32_t size = mldfi_load_u32(data + FILE_HEADER), behind = 0;
    memset(h, 0, sizeof *h);
    if (bytes < FILE_HEADER + size)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "the BMP file ends inside its header, after %zu bytes",
                             bytes);
    mldf_status status = parse_size(data + FILE_HEADER, size, h, err);
    if (status == MLDF_OK)
        status = check_form(h, err);
    if (status == MLDF_OK && (h->compression == BI_BITFIELDS || h->compression == BI_ALPHABITFIELDS))
        status = parse_masks(data, bytes, size, h, &behind, err);
    if (status < 0)
        return status;
    if (h->compression == BI_RGB && h->bits >= 16) {
        h->masks[0] = h->bits == 16 ? 0x7c00 : 0xff0000;
        h->masks[1] = h->bits == 16 ? 0x3e0 : 0xff00;
        h->masks[2] = h->bits == 16 ? 0x1f : 0xff;
    }
    h->palette = FILE_HEADER + size + behind;
    uint32_t most = h->bits <= 8 ? 1u << h->bits : 0;
    h->colors = h->bits > 8 ? 0 : h->colors == 0 || h->colors > most ? most : h->colors;
    h->pixels = mldfi_load_u32(data + 10);
    if (bytes < (uint64_t)h->palette + h->colors * h->color_bytes)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "the BMP file ends inside its palette, after %zu bytes",
                             bytes);
    if (h->pixels < h->palette)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, 10,
                             "the pixels of a BMP begin at byte %" PRIu32 ", inside its header", h->pixels);
    return MLDF_OK;
}

static mldf_status bmp_probe(const uint8_t *data, size_t bytes, mldf_image_info *out, mldf_error *err) {
    struct bmp_header h;
    mldf_status status = parse(data, bytes, &h, err);
    out->width = h.width;
    out->height = h.height;
    out->channels = h.masks[3] ? 4 : 3;
    out->color = h.bits <= 8 ? MLDF_IMAGE_PALETTE : MLDF_IMAGE_BY_CHANNELS;
    return status;
}

/* ---- Pixels of one row to RGB or RGBA --------------------------------------------------------------------------------- */

struct bmp_channel {
    uint32_t mask, shift, most;
};

struct bmp_decoder {
    struct bmp_header h;
    uint8_t palette[256][3]; /* RGB */
    struct bmp_channel channel[4];
    uint32_t channels;
};

static void prepare(struct bmp_decoder *d, const uint8_t *data) {
    memset(d->palette, 0, sizeof d->palette);
    for (uint32_t i = 0; i < d->h.colors; i++)
        for (int c = 0; c < 3; c++)
            d->palette[i][c] = data[d->h.palette + i * d->h.color_bytes + (2 - c)];
    for (int c = 0; c < 4; c++) {
        uint32_t mask = d->h.masks[c], shift = 0;
        while (mask && !(mask & 1u)) {
            mask >>= 1;
            shift++;
        }
        d->channel[c] = (struct bmp_channel){d->h.masks[c], shift, mask};
    }
    d->channels = d->h.masks[3] ? 4 : 3;
}

static void indexed_row(const struct bmp_decoder *d, const uint8_t *row, uint32_t x, uint32_t width, uint8_t *out) {
    uint32_t bits = d->h.bits, most = (1u << bits) - 1;
    for (uint32_t i = 0; i < width; i++, out += 3) {
        uint64_t at = (uint64_t)(x + i) * bits;
        uint32_t index = (uint32_t)(row[at / 8] >> (8 - bits - at % 8)) & most;
        memcpy(out, d->palette[index], 3);
    }
}

static void masked_row(const struct bmp_decoder *d, const uint8_t *row, uint32_t x, uint32_t width, uint8_t *out) {
    size_t bytes = d->h.bits / 8;
    row += x * bytes;
    for (uint32_t i = 0; i < width; i++, row += bytes) {
        uint32_t pixel = bytes == 2 ? mldfi_load_u16(row) : mldfi_load_u32(row);
        for (uint32_t c = 0; c < d->channels; c++) {
            const struct bmp_channel *ch = &d->channel[c];
            uint64_t v = (pixel & ch->mask) >> ch->shift;
            *out++ = ch->most ? (uint8_t)(v * 255 / ch->most) : 0;
        }
    }
}

static void bgr_row(const uint8_t *row, uint32_t x, uint32_t width, uint8_t *out) {
    row += (size_t)x * 3;
    for (uint32_t i = 0; i < width; i++, row += 3, out += 3) {
        out[0] = row[2];
        out[1] = row[1];
        out[2] = row[0];
    }
}

static void convert_row(const struct bmp_decoder *d, const uint8_t *row, uint32_t x, uint32_t width, uint8_t *out) {
    if (d->h.bits <= 8)
        indexed_row(d, row, x, width, out);
    else if (d->h.bits == 24)
        bgr_row(row, x, width, out);
    else
        masked_row(d, row, x, width, out);
}

/* ---- Run lengths ------------------------------------------------------------------------------------------------------- */

struct rle {
    const uint8_t *data;
    size_t at, end;
    uint8_t *pixels; /* one index a byte, stored order: last row first */
    uint32_t width, height, x, y;
    bool four; /* RLE4 */
};

/* Puts `count` indices; the k-th comes from nibble or byte k of `from`, or from its two nibbles in turn. Past the row's end they
 * are dropped, as every reader does. */
static void put(struct rle *r, uint32_t count, const uint8_t *from, bool run) {
    for (uint32_t k = 0; k < count; k++) {
        uint8_t byte = run ? from[0] : r->four ? from[k / 2] : from[k];
        uint8_t index = !r->four ? byte : k % 2 ? byte & 15 : byte >> 4;
        if (r->x < r->width)
            r->pixels[(size_t)r->y * r->width + r->x++] = index;
    }
}

/* Escape 0 n: 0 end of row, 1 end of image, 2 move, else n literal indices. False: the data ends. */
static bool escape(struct rle *r, uint8_t code, bool *done) {
    if (code == 0) {
        r->x = 0;
        r->y++;
        return true;
    }
    if (code == 1) {
        *done = true;
        return true;
    }
    if (code == 2) {
        if (r->end - r->at < 2)
            return false;
        uint32_t x = r->x + r->data[r->at], y = r->y + r->data[r->at + 1];
        r->x = x < r->width ? x : r->width;
        r->y = y < r->height ? y : r->height;
        r->at += 2;
        return true;
    }
    size_t bytes = r->four ? (code + 1u) / 2 : code, padded = bytes + bytes % 2;
    if (r->end - r->at < bytes)
        return false;
    put(r, code, r->data + r->at, false);
    r->at += r->end - r->at < padded ? r->end - r->at : padded;
    return true;
}

static mldf_status run_lengths(struct rle *r, bool tolerant, mldf_error *err) {
    bool done = false;
    while (!done && r->y < r->height) {
        if (r->end - r->at < 2)
            break;
        uint8_t count = r->data[r->at], code = r->data[r->at + 1];
        r->at += 2;
        if (count)
            put(r, count, &code, true);
        else if (!escape(r, code, &done))
            break;
    }
    bool complete = done || r->y >= r->height || (r->y + 1 == r->height && r->x >= r->width);
    if (!complete && !tolerant)
        return mldfi_fail_at(err, MLDF_E_TRUNCATED, r->end,
                             "the run lengths of a BMP end in row %" PRIu32 " of %" PRIu32, r->y, r->height);
    return MLDF_OK;
}

static mldf_status decode_runs(struct bmp_decoder *d, struct image_job *job, mldf_error *err) {
    uint8_t *work;
    uint64_t area = (uint64_t)d->h.width * d->h.height;
    TRY(mldfi_image_work(job, area + (uint64_t)job->width * 3, &work, err));
    memset(work, 0, area);
    size_t start = d->h.pixels < job->bytes ? d->h.pixels : job->bytes;
    struct rle r = {job->data, start, job->bytes, work, d->h.width, d->h.height, 0, 0, d->h.compression == BI_RLE4};
    TRY(run_lengths(&r, job->options.tolerant, err));
    d->h.bits = 8; /* what `work` holds now */
    for (uint32_t y = 0; y < job->height; y++) {
        uint64_t line = d->h.height - 1 - (job->y + y);
        convert_row(d, work + line * d->h.width, job->x, job->width, work + area);
        mldfi_sink_row(&job->sink, y, work + area);
    }
    return MLDF_OK;
}

static mldf_status bmp_decode(struct image_job *job, mldf_error *err) {
    struct bmp_decoder d;
    uint8_t *row;
    TRY(parse(job->data, job->bytes, &d.h, err));
    prepare(&d, job->data);
    if (d.h.compression == BI_RLE8 || d.h.compression == BI_RLE4)
        return decode_runs(&d, job, err);
    uint64_t stride = ((uint64_t)d.h.width * d.h.bits + 31) / 32 * 4, used = ((uint64_t)d.h.width * d.h.bits + 7) / 8;
    mldf_status status = mldfi_image_work(job, (uint64_t)job->width * d.channels, &row, err);
    for (uint32_t y = 0; status == MLDF_OK && y < job->height; y++) {
        uint64_t line = d.h.top_down ? job->y + y : d.h.height - 1 - (job->y + y);
        uint64_t at = d.h.pixels + line * stride;
        uint8_t *place = mldfi_sink_place(&job->sink, y);
        if (mldfi_range_inside(at, used, job->bytes))
            convert_row(&d, job->data + at, job->x, job->width, place ? place : row);
        else if (job->options.tolerant)
            memset(place ? place : row, 0, (size_t)job->width * d.channels);
        else
            return mldfi_fail_at(err, MLDF_E_TRUNCATED, job->bytes,
                                 "the BMP file ends after %zu bytes; row %" PRIu64 " begins at byte %" PRIu64,
                                 job->bytes, line, at);
        if (!place)
            mldfi_sink_row(&job->sink, y, row);
    }
    return status;
}

const struct image_codec mldfi_codec_bmp = {
    .mode = MLDF_IMAGE_MODE_BMP,
    .name = "bmp",
    .match = bmp_match,
    .probe = bmp_probe,
    .decode = bmp_decode,
};
