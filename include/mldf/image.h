/* mldf/image.h: images: what a file's bytes say they are, decoding into the caller's memory, encoding, resizing.
 *
 * Decoding has three steps, so that nothing is allocated on the way: ask for the shape, provide the memory, decode.
 *
 *     mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
 *     mldf_image_shape shape;
 *     mldf_error err;
 *     o.channels = 3;                                              // RGB, whatever the file holds
 *     if (mldf_image_decoded_shape(data, bytes, &o, &shape, &err) == MLDF_OK) {
 *         uint8_t *pixels = malloc(shape.bytes);                   // height x width x channels, no padding
 *         mldf_status st = mldf_image_decode(NULL, data, bytes, &o, pixels, shape.bytes, &err);
 *     }
 *
 * Bytes are never trusted: sizes meet the limits of the options before memory is touched, and a truncated or damaged image is an
 * error unless the options tolerate it. Errors count their offset from the image's first byte.
 *
 * Formats: JPEG (8 bit; baseline, progressive), PNG, WebP, BMP, TIFF. Of an animated or multi-page file the first frame is
 * taken; mldf_image_info.frames says so. WebP and TIFF may be missing from a build: MLDF_E_UNSUPPORTED.
 *
 * Stability: stable, but MLDF_IMAGE_MODE_FAST_JPEG.
 */
#ifndef MLDF_IMAGE_H
#define MLDF_IMAGE_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an image's bytes are stored: the `mode` of an image record in a file. */
typedef enum mldf_image_mode {
    MLDF_IMAGE_MODE_RAW = 0, /* height x width x channels, u8 or u16 */
    MLDF_IMAGE_MODE_JPEG = 1,
    MLDF_IMAGE_MODE_PNG = 2,
    MLDF_IMAGE_MODE_WEBP = 3,
    MLDF_IMAGE_MODE_BMP = 4,
    MLDF_IMAGE_MODE_TIFF = 5,
    MLDF_IMAGE_MODE_YUV420 = 6, /* planes Y, Cb, Cr; the last two of half the sides, rounded up */
    MLDF_IMAGE_MODE_FAST_JPEG =
        7,                      /* a JPEG's coefficients, coded to decode fast; values are given as the JPEG itself */
    MLDF_IMAGE_MODE_OTHER = 255 /* bytes that this library does not decode */
} mldf_image_mode;

/* The `color` of an image record. */
typedef enum mldf_image_color {
    MLDF_IMAGE_BY_CHANNELS = 0, /* 1 gray, 2 gray + alpha, 3 RGB, 4 RGB + alpha */
    MLDF_IMAGE_CMYK = 1,
    MLDF_IMAGE_YCCK = 2,
    MLDF_IMAGE_PALETTE = 3 /* of RGB, or RGB + alpha, as `channels` says */
} mldf_image_color;

/* "jpeg", "png", "raw" ...; "other" for what has no name. */
MLDF_API const char *mldf_image_mode_name(mldf_image_mode mode);

typedef struct mldf_image_info {
    size_t struct_bytes;
    mldf_image_mode mode;
    mldf_image_color color;
    uint32_t width, height; /* as stored, before orientation */
    uint8_t channels;       /* as stored, a palette and transparent colours expanded; 4 for CMYK */
    uint8_t bits;           /* of one channel after decoding: 8 or 16 */
    uint8_t orientation;    /* EXIF's 1 to 8; 0: the file does not say */
    bool progressive;       /* progressive JPEG, interlaced PNG */
    uint32_t frames;        /* pages of a TIFF, frames of an animated WebP or PNG; else 1. Only the first is decoded */
    uint64_t exif_offset, exif_bytes; /* the TIFF structure inside the file; MLDF_NONE and 0 without */
    uint64_t icc_offset,
        icc_bytes; /* first byte of the profile as stored, its size without framing; compressed in PNG */
} mldf_image_info;
#define MLDF_IMAGE_INFO_INIT \
    { sizeof(mldf_image_info), MLDF_IMAGE_MODE_RAW, MLDF_IMAGE_BY_CHANNELS, 0, 0, 0, 0, 0, false, 0, 0, 0, 0, 0 }

/* From the first bytes of a file, nothing decoded. MLDF_E_TYPE: not a format that is known here (the message names the others
 * it recognises: GIF, HEIC ...). MLDF_E_TRUNCATED, MLDF_E_CORRUPT: with the place. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_probe(const void *data, size_t bytes, mldf_image_info *out,
                                                     mldf_error *err);

/* The colour profile (ICC) of an image file, joined and inflated, appended to out. MLDF_ABSENT: there is none, or a damaged one. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_icc(const void *data, size_t bytes, mldf_buffer *out, mldf_error *err);

/* ---- Decoding ---------------------------------------------------------------------------------------------------- */

#define MLDF_IMAGE_MAX_BYTES (UINT64_C(1) << 31)

typedef struct mldf_image_options {
    size_t struct_bytes;
    int channels; /* 0: as stored, CMYK as RGB; 1: gray; 3: RGB, alpha dropped; 4: RGB + alpha, opaque where there was none */
    int bits;    /* 0: as stored; 8: the upper byte of 16; 16: v * 257 of 8 */
    int scale;   /* 1; JPEG also 2, 4, 8: sides of 1/scale, rounded up, by the DCT */
    bool region; /* decode only [x, x + width) x [y, y + height), in pixels of the scaled and oriented image */
    uint32_t x, y, width, height;
    bool orient;         /* turn and mirror as the EXIF orientation says */
    uint8_t orientation; /* with orient: 1 to 8 to use this one; 0: the file's own */
    bool fast_dct;       /* JPEG: the fast integer DCT, a level or two off */
    bool tolerant;       /* damaged or truncated entropy-coded data gives what can be had instead of an error */
    uint64_t max_pixels; /* of the whole image: MLDF_E_LIMIT above. 0: 2^28 */
    uint64_t max_bytes;  /* decoded, and of any memory a codec asks for. 0: MLDF_IMAGE_MAX_BYTES */
    uint64_t max_chunk;  /* of one PNG chunk besides the pixels. 0: 2^26 */
    uint32_t max_scans;  /* of a progressive JPEG. 0: 100 */
    int eighths; /* JPEG, with scale 1: sides of eighths / 8, 1 to 16, rounded up, by the DCT; 0: as scale says */
} mldf_image_options;
#define MLDF_IMAGE_OPTIONS_INIT \
    { sizeof(mldf_image_options), 0, 0, 1, false, 0, 0, 0, 0, false, 0, false, false, 0, 0, 0, 0, 0 }

typedef struct mldf_image_shape {
    uint32_t width, height;
    uint32_t channels; /* 1 gray, 2 gray + alpha, 3 RGB, 4 RGB + alpha */
    uint32_t bits;     /* 8: uint8_t; 16: uint16_t of this machine */
    uint64_t bytes;    /* height * width * channels * bits / 8 */
} mldf_image_shape;

/* Memory that decoding reuses; one thread's at a time. NULL instead of one works and costs an allocation or two. */
typedef struct mldf_image_decoder mldf_image_decoder;
MLDF_API MLDF_NODISCARD mldf_status mldf_image_decoder_new(mldf_image_decoder **out, mldf_error *err);
MLDF_API void mldf_image_decoder_free(mldf_image_decoder *decoder);

/* options NULL: the defaults. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_decoded_shape(const void *data, size_t bytes,
                                                             const mldf_image_options *options, mldf_image_shape *out,
                                                             mldf_error *err);
/* pixels_bytes must be the shape's. After an error the pixels are undefined. For 16 bits pixels must be aligned to 2. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_decode(mldf_image_decoder *decoder, const void *data, size_t bytes,
                                                      const mldf_image_options *options, void *pixels,
                                                      size_t pixels_bytes, mldf_error *err);

/* ---- Values of image fields ------------------------------------------------------------------------------------------ */

/* What the record of a value read from an image field says; frames and the EXIF and ICC members stay 0 and MLDF_NONE. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_record(const mldf_value *value, mldf_image_info *out, mldf_error *err);
/* The two calls above for a value of any mode, raw and YUV too. The record's orientation replaces the file's own. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_value_shape(const mldf_value *value, const mldf_image_options *options,
                                                           mldf_image_shape *out, mldf_error *err);
MLDF_API MLDF_NODISCARD mldf_status mldf_image_value_decode(mldf_image_decoder *decoder, const mldf_value *value,
                                                            const mldf_image_options *options, void *pixels,
                                                            size_t pixels_bytes, mldf_error *err);

/* ---- Encoding ------------------------------------------------------------------------------------------------------ */

/* Pixels in memory: rows without padding. */
typedef struct mldf_image_pixels {
    const void *data;
    uint32_t width, height, channels, bits;
} mldf_image_pixels;

typedef enum mldf_image_subsampling {
    MLDF_IMAGE_420 = 0,
    MLDF_IMAGE_444 = 1,
    MLDF_IMAGE_422 = 2
} mldf_image_subsampling;

typedef struct mldf_jpeg_options {
    size_t struct_bytes;
    int quality; /* 1 to 100 */
    mldf_image_subsampling subsampling;
    bool optimize; /* Huffman tables of its own: smaller, slower */
    bool progressive;
    const void *icc; /* profile to embed, or NULL */
    size_t icc_bytes;
} mldf_jpeg_options;
#define MLDF_JPEG_OPTIONS_INIT \
    { sizeof(mldf_jpeg_options), 90, MLDF_IMAGE_420, false, false, 0, 0 }

/* Appended to out. 16 bits become 8, alpha is dropped. options NULL: the defaults. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_encode_jpeg(const mldf_image_pixels *pixels,
                                                           const mldf_jpeg_options *options, mldf_buffer *out,
                                                           mldf_error *err);
/* level: zlib's 0 to 9; -1: its default. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_encode_png(const mldf_image_pixels *pixels, int level, mldf_buffer *out,
                                                          mldf_error *err);
/* Full range BT.601 as in JFIF, Cb and Cr of 2 x 2 pixels averaged. 8 bits, 1 to 4 channels. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_encode_yuv420(const mldf_image_pixels *pixels, mldf_buffer *out,
                                                             mldf_error *err);

/* ---- JPEG files without loss ------------------------------------------------------------------------------------------- */

enum { MLDF_JPEG_DROP_EXIF = 1, MLDF_JPEG_DROP_ICC = 2, MLDF_JPEG_DROP_OTHER = 4 /* comments, XMP, thumbnails ... */ };

/* The same coefficients as a baseline JPEG with Huffman tables of its own, appended to out: same pixels, decodes faster. `drop`:
 * MLDF_JPEG_DROP_... or 0. Also takes a baseline file. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_to_baseline(const void *data, size_t bytes, unsigned drop,
                                                           mldf_buffer *out, mldf_error *err);
/* The file without the segments that `drop` names, nothing re-encoded. PNG: the chunks eXIf, iCCP, and text and time. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_strip(const void *data, size_t bytes, unsigned drop, mldf_buffer *out,
                                                     mldf_error *err);

/* ---- Resizing -------------------------------------------------------------------------------------------------------- */

/* Antialiased: a filter is stretched when shrinking. The first four weigh as Pillow's filters of the same names do. */
typedef enum mldf_image_filter {
    MLDF_IMAGE_BOX = 0,
    MLDF_IMAGE_BILINEAR = 1,
    MLDF_IMAGE_BICUBIC = 2,
    MLDF_IMAGE_LANCZOS = 3,
    MLDF_IMAGE_AREA = 4 /* each source pixel weighs by the part of it that is covered, enlarging too */
} mldf_image_filter;

/* width x height pixels of the same channels and bits into `pixels`. scratch: reused; may be NULL. */
MLDF_API MLDF_NODISCARD mldf_status mldf_image_resize(const mldf_image_pixels *source, uint32_t width, uint32_t height,
                                                      mldf_image_filter filter, mldf_buffer *scratch, void *pixels,
                                                      size_t pixels_bytes, mldf_error *err);

#ifdef __cplusplus
}
#endif
#endif
