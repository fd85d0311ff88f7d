/* Decoding TIFF with libtiff from memory: strips or tiles, interleaved or in planes, any compression that libtiff was built with.
 * The blocks that the region's rows touch are gathered in a band of plain samples; rows of it are converted and given to the
 * sink. libtiff reports through handlers of this one handle: nothing is printed and no global is set. */
#ifdef MLDF_HAVE_TIFF

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tiffio.h>

#include "codec/image_tiff.h"
#include "codec/memory.h"
#include "util/bytes.h"
#include "util/error.h"

/* ---- Bytes in memory as libtiff's file ---------------------------------------------------------------------------------- */

struct tiff_file {
    const uint8_t *data;
    uint64_t bytes, at;
    char text[160]; /* the first complaint */
};

static tmsize_t file_read(thandle_t handle, void *out, tmsize_t bytes) {
    struct tiff_file *f = handle;
    uint64_t room = f->at < f->bytes ? f->bytes - f->at : 0;
    uint64_t n = bytes < 0 ? 0 : (uint64_t)bytes < room ? (uint64_t)bytes : room;
    if (n)
        memcpy(out, f->data + f->at, (size_t)n);
    f->at += n;
    return (tmsize_t)n;
}

static tmsize_t file_write(thandle_t handle, void *data, tmsize_t bytes) {
    (void)handle, (void)data, (void)bytes;
    return -1;
}

static toff_t file_seek(thandle_t handle, toff_t offset, int whence) {
    struct tiff_file *f = handle;
    f->at = whence == SEEK_CUR ? f->at + offset : whence == SEEK_END ? f->bytes + offset : offset;
    return f->at;
}

static int file_close(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t file_size(thandle_t handle) {
    return ((struct tiff_file *)handle)->bytes;
}

/* No mapping: libtiff would hand out pointers into it, past its end for some damaged files. */
static int file_map(thandle_t handle, void **base, toff_t *size) {
    (void)handle, (void)base, (void)size;
    return 0;
}

static void file_unmap(thandle_t handle, void *base, toff_t size) {
    (void)handle, (void)base, (void)size;
}

__attribute__((format(printf, 4, 0))) static int complain(TIFF *tif, void *user, const char *module, const char *format,
                                                          va_list args) {
    struct tiff_file *f = user;
    (void)tif, (void)module;
    if (!f->text[0])
        vsnprintf(f->text, sizeof f->text, format, args);
    return 1;
}

__attribute__((format(printf, 4, 0))) static int ignore(TIFF *tif, void *user, const char *module, const char *format,
                                                        va_list args) {
    (void)tif, (void)user, (void)module, (void)format, (void)args;
    return 1;
}

static TIFF *open_file(struct tiff_file *f, const struct image_job *job) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    uint64_t most = job->options.max_bytes;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, most > INT64_MAX / 2 ? INT64_MAX / 2 : (tmsize_t)most);
    TIFFOpenOptionsSetErrorHandlerExtR(options, complain, f);
    TIFFOpenOptionsSetWarningHandlerExtR(options, ignore, f);
    TIFF *tif = TIFFClientOpenExt("memory", "rm", f, file_read, file_write, file_seek, file_close, file_size, file_map,
                                  file_unmap, options);
    TIFFOpenOptionsFree(options);
    return tif;
}

/* More than libtiff takes before it knows how large the image is. */
enum { OPENING_BYTES = 128 << 10 };

/* ---- Gathering ------------------------------------------------------------------------------------------------------------ */

struct tiff_reader {
    TIFF *tif;
    struct tiff_file file;
    struct image_job *job;
    struct tiff_page page;
    uint32_t sample_bytes; /* in the band: 1 or 2 */
    bool planes, tiled;
    uint32_t block_width, block_height;
    uint64_t block_bytes;
    uint8_t *block;
    uint8_t *band; /* rows job->y to job->y + job->height, whole width, `samples` of sample_bytes for each pixel */
    uint8_t *row;  /* converted pixels */
};

/* libtiff has no status, only words; these are for the limit that open_file sets. */
static bool beyond_limit(const struct tiff_reader *r) {
    return strstr(r->file.text, "limit defined in open options") != NULL;
}

static mldf_status no_memory(mldf_error *err) {
    return mldfi_fail(err, MLDF_E_MEMORY, "no memory to decode a TIFF");
}

static mldf_status fail(const struct tiff_reader *r, mldf_error *err) {
    if (mldfi_memory_failed())
        return no_memory(err);
    if (beyond_limit(r))
        return mldfi_fail(err, MLDF_E_LIMIT, "the TIFF passes the limit of %" PRIu64 " bytes: %s",
                          r->job->options.max_bytes, r->file.text);
    return mldfi_fail(err, MLDF_E_CORRUPT, "the TIFF does not decode: %s",
                      r->file.text[0] ? r->file.text : "no reason given");
}

/* One row of a block: `pixels` pixels of `samples` samples, into the band. In planes a sample goes to its place in the pixel. */
static void place_row(const struct tiff_reader *r, const uint8_t *from, uint8_t *to, uint32_t pixels, uint32_t plane) {
    uint32_t n = r->page.samples, size = r->sample_bytes, bits = r->page.bits;
    if (bits < 8) { /* one sample a pixel */
        for (uint32_t i = 0; i < pixels; i++) {
            uint64_t at = (uint64_t)i * bits;
            to[i] = (uint8_t)(from[at / 8] >> (8 - bits - at % 8)) & (uint8_t)((1u << bits) - 1);
        }
    } else if (!r->planes) {
        memcpy(to, from, (size_t)pixels * n * size);
    } else {
        for (uint32_t i = 0; i < pixels; i++)
            memcpy(to + ((size_t)i * n + plane) * size, from + (size_t)i * size, size);
    }
}

static mldf_status place_block(const struct tiff_reader *r, uint32_t x, uint32_t y, uint32_t plane, uint64_t got) {
    const struct image_job *job = r->job;
    uint32_t n = r->planes ? 1 : r->page.samples;
    uint64_t stride = ((uint64_t)r->block_width * n * r->page.bits + 7) / 8;
    uint32_t pixels = job->full_width - x < r->block_width ? job->full_width - x : r->block_width;
    uint64_t used = ((uint64_t)pixels * n * r->page.bits + 7) / 8;
    size_t pixel = (size_t)r->page.samples * r->sample_bytes;
    for (uint32_t k = 0; k < r->block_height && y + k < job->y + job->height; k++) {
        if (y + k < job->y)
            continue;
        if (k * stride + used > got)
            return MLDF_E_CORRUPT;
        place_row(r, r->block + k * stride, r->band + ((size_t)(y + k - job->y) * job->full_width + x) * pixel, pixels,
                  plane);
    }
    return MLDF_OK;
}

static mldf_status read_block(struct tiff_reader *r, uint32_t x, uint32_t y, uint32_t plane, mldf_error *err) {
    tmsize_t got;
    if (r->tiled)
        got = TIFFReadEncodedTile(r->tif, TIFFComputeTile(r->tif, x, y, 0, (uint16_t)plane), r->block,
                                  (tmsize_t)r->block_bytes);
    else
        got = TIFFReadEncodedStrip(r->tif, TIFFComputeStrip(r->tif, y, (uint16_t)plane), r->block,
                                   (tmsize_t)r->block_bytes);
    if (got < 0 && (!r->job->options.tolerant || mldfi_memory_failed() || beyond_limit(r)))
        return fail(r, err);
    if (got < 0) {
        memset(r->block, 0, (size_t)r->block_bytes);
        got = (tmsize_t)r->block_bytes;
    }
    return place_block(r, x, y, plane, (uint64_t)got) < 0 && !r->job->options.tolerant ? fail(r, err) : MLDF_OK;
}

static mldf_status gather(struct tiff_reader *r, mldf_error *err) {
    const struct image_job *job = r->job;
    uint32_t first = job->y / r->block_height * r->block_height, planes = r->planes ? r->page.samples : 1;
    for (uint32_t plane = 0; plane < planes; plane++)
        for (uint64_t y = first; y < (uint64_t)job->y + job->height; y += r->block_height)
            for (uint64_t x = 0; x < job->full_width; x += r->block_width) {
                TRY(read_block(r, (uint32_t)x, (uint32_t)y, plane, err));
            }
    return MLDF_OK;
}

static mldf_status measure(struct tiff_reader *r, mldf_error *err) {
    uint16_t planar = PLANARCONFIG_CONTIG;
    uint32_t rows = 0;
    TIFFGetFieldDefaulted(r->tif, TIFFTAG_PLANARCONFIG, &planar);
    r->planes = planar == PLANARCONFIG_SEPARATE && r->page.samples > 1;
    r->tiled = TIFFIsTiled(r->tif);
    if (r->tiled) {
        TIFFGetField(r->tif, TIFFTAG_TILEWIDTH, &r->block_width);
        TIFFGetField(r->tif, TIFFTAG_TILELENGTH, &r->block_height);
        r->block_bytes = TIFFTileSize64(r->tif);
    } else {
        TIFFGetFieldDefaulted(r->tif, TIFFTAG_ROWSPERSTRIP, &rows);
        r->block_width = r->job->full_width;
        r->block_height = rows > r->job->full_height ? r->job->full_height : rows;
        r->block_bytes = TIFFStripSize64(r->tif);
    }
    uint64_t area, most = r->job->options.max_bytes;
    if (r->block_width == 0 || r->block_height == 0 || r->block_bytes == 0)
        return fail(r, err);
    if (!mldfi_mul_u64(r->block_width, r->block_height, &area) || area > most || r->block_bytes > most)
        return mldfi_fail(err, MLDF_E_LIMIT,
                          "a TIFF with blocks of %" PRIu32 " x %" PRIu32 " pixels, %" PRIu64 " bytes", r->block_width,
                          r->block_height, r->block_bytes);
    uint64_t stride = ((uint64_t)r->block_width * (r->planes ? 1 : r->page.samples) * r->page.bits + 7) / 8;
    return stride > r->block_bytes ? fail(r, err) : MLDF_OK;
}

/* ---- Converting ------------------------------------------------------------------------------------------------------------- */

static void gray_row(const struct tiff_reader *r, const uint8_t *band, uint32_t width) {
    uint32_t n = r->page.samples, out_n = r->job->sink.channels, most = (1u << r->page.bits) - 1;
    uint32_t flip = r->page.photometric == TIFF_WHITE_IS_ZERO ? most : 0;
    for (uint32_t i = 0; i < width; i++)
        for (uint32_t c = 0; c < out_n; c++) {
            size_t at = (size_t)i * n + c, to = (size_t)i * out_n + c;
            if (r->sample_bytes == 2)
                mldfi_store_u16(r->row + 2 * to, (uint16_t)(mldfi_load_u16(band + 2 * at) ^ (c ? 0 : flip)));
            else
                r->row[to] = (uint8_t)((uint32_t)(band[at] ^ (c ? 0 : flip)) * 255 / most);
        }
}

/* Premultiplied colours are divided by their alpha, as Pillow does for 8 bits. */
static void unmultiply(uint8_t *rgba, uint32_t width) {
    for (uint32_t i = 0; i < width; i++, rgba += 4)
        for (int c = 0; c < 3 && rgba[3] != 0 && rgba[3] != 255; c++) {
            uint32_t v = 255u * rgba[c] / rgba[3];
            rgba[c] = (uint8_t)(v > 255 ? 255 : v);
        }
}

static void rgb_row(const struct tiff_reader *r, const uint8_t *band, uint32_t width) {
    uint32_t out_n = r->job->sink.channels;
    size_t pixel = (size_t)r->page.samples * r->sample_bytes, out_pixel = (size_t)out_n * r->sample_bytes;
    for (uint32_t i = 0; i < width; i++)
        memcpy(r->row + i * out_pixel, band + i * pixel, out_pixel);
    if (out_n == 4 && r->page.extra == 1 && r->sample_bytes == 1)
        unmultiply(r->row, width);
}

static void ink_row(const struct tiff_reader *r, const uint8_t *band, uint32_t width) {
    size_t pixel = (size_t)r->page.samples * r->sample_bytes;
    for (uint32_t i = 0; i < width; i++) {
        uint8_t inks[4];
        for (size_t c = 0; c < 4; c++)
            inks[c] = band[i * pixel + c * r->sample_bytes + (r->sample_bytes - 1)];
        mldfi_cmyk_to_rgb(inks, r->row + 3 * (size_t)i, 1, false);
    }
}

static void palette_row(const struct tiff_reader *r, const uint8_t *band, uint32_t width, uint16_t *const map[3]) {
    for (uint32_t i = 0; i < width; i++)
        for (int c = 0; c < 3; c++)
            r->row[3 * (size_t)i + c] = (uint8_t)(map[c][band[(size_t)i * r->page.samples]] >> 8);
}

static mldf_status deliver(struct tiff_reader *r, mldf_error *err) {
    const struct image_job *job = r->job;
    uint16_t *map[3] = {NULL, NULL, NULL};
    size_t pixel = (size_t)r->page.samples * r->sample_bytes;
    if (r->page.photometric == TIFF_PALETTE &&
        (!TIFFGetField(r->tif, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) || !map[0] || !map[1] || !map[2]))
        return mldfi_fail(err, MLDF_E_CORRUPT, "a TIFF with a palette of no colours");
    for (uint32_t y = 0; y < job->height; y++) {
        const uint8_t *band = r->band + ((size_t)y * job->full_width + job->x) * pixel;
        if (r->page.photometric <= TIFF_BLACK_IS_ZERO)
            gray_row(r, band, job->width);
        else if (r->page.photometric == TIFF_PALETTE)
            palette_row(r, band, job->width, map);
        else if (r->page.photometric == TIFF_SEPARATED)
            ink_row(r, band, job->width);
        else
            rgb_row(r, band, job->width);
        mldfi_sink_row(&job->sink, y, r->row);
    }
    return MLDF_OK;
}

static mldf_status decode_blocks(struct tiff_reader *r, mldf_error *err) {
    struct image_job *job = r->job;
    uint64_t band, all;
    uint8_t *work;
    TRY(measure(r, err));
    r->sample_bytes = r->page.bits == 16 ? 2 : 1;
    uint64_t block = mldfi_align_up(r->block_bytes, 64), row = mldfi_align_up((uint64_t)job->width * 8, 64);
    if (!mldfi_mul_u64((uint64_t)job->full_width * job->height, (uint64_t)r->page.samples * r->sample_bytes, &band) ||
        !mldfi_add_u64(band, block + row, &all))
        all = UINT64_MAX;
    TRY(mldfi_image_work(job, all, &work, err));
    mldfi_memory_watch();
    r->block = work;
    r->row = work + block;
    r->band = work + block + row;
    mldf_status status = gather(r, err);
    return status < 0 ? status : deliver(r, err);
}

/* YCbCr that no JPEG inside turns into RGB: libtiff's own conversion, whole image, red in the low byte. */
static mldf_status decode_rgba(struct tiff_reader *r, mldf_error *err) {
    struct image_job *job = r->job;
    uint8_t *work;
    uint64_t raster = (uint64_t)job->full_width * job->full_height * 4;
    int orientation = job->info->orientation ? job->info->orientation : 1;
    TRY(mldfi_image_work(job, raster + (uint64_t)job->width * 3, &work, err));
    mldfi_memory_watch();
    if (!TIFFReadRGBAImageOriented(r->tif, job->full_width, job->full_height, (uint32_t *)(void *)work, orientation,
                                   !job->options.tolerant))
        return fail(r, err);
    uint8_t *row = work + raster;
    for (uint32_t y = 0; y < job->height; y++) {
        const uint8_t *from = work + ((size_t)(job->y + y) * job->full_width + job->x) * 4;
        for (uint32_t i = 0; i < job->width; i++)
            memcpy(row + 3 * (size_t)i, from + 4 * (size_t)i, 3);
        mldfi_sink_row(&job->sink, y, row);
    }
    return MLDF_OK;
}

/* libtiff and our probe must see the same image. */
static bool agrees(const struct tiff_reader *r) {
    uint32_t width = 0, height = 0;
    uint16_t bits = 0, samples = 0, photometric = 0;
    TIFFGetField(r->tif, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(r->tif, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetFieldDefaulted(r->tif, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(r->tif, TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetField(r->tif, TIFFTAG_PHOTOMETRIC, &photometric);
    return width == r->job->info->width && height == r->job->info->height && bits == r->page.bits &&
           samples == r->page.samples && photometric == r->page.photometric;
}

mldf_status mldfi_tiff_decode(struct image_job *job, mldf_error *err) {
    struct tiff_reader r;
    mldf_image_info info = *job->info;
    memset(&r, 0, sizeof r);
    r.job = job;
    r.file.data = job->data;
    r.file.bytes = job->bytes;
    TRY(mldfi_tiff_page(job->data, job->bytes, &r.page, &info, err));
    mldf_status status = mldfi_memory_probe(OPENING_BYTES, "TIFF", err);
    if (status < 0)
        return status;
    mldfi_memory_watch();
    r.tif = open_file(&r.file, job);
    if (!r.tif)
        return fail(&r, err);
    bool jpeg = r.page.compression == COMPRESSION_JPEG;
    if (mldfi_memory_failed())
        status = no_memory(err); /* it would go on without a tag: without a JPEG's tables, it crashes */
    else if (!agrees(&r))
        status = mldfi_fail(err, MLDF_E_CORRUPT, "the TIFF's directory contradicts itself");
    else if (r.page.photometric == TIFF_YCBCR && !jpeg)
        status = decode_rgba(&r, err);
    else if (jpeg && r.page.photometric == TIFF_YCBCR && !TIFFSetField(r.tif, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB))
        status = fail(&r, err);
    else
        status = decode_blocks(&r, err);
    if (status == MLDF_OK && mldfi_memory_failed())
        status = no_memory(err);
    TIFFClose(r.tif);
    return status;
}

#else
typedef int mldfi_no_tiff; /* a file must hold a declaration; image_tiff_probe.c says what is missing */
#endif
