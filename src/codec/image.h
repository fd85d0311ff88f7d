/* Images from the inside. image_probe.c finds the format, image.c turns options into a job, a codec (one file each) delivers
 * the rows of the job's region in the stored orientation, and image_sink.c converts them and puts them where they belong.
 *
 *     bytes → probe → job {region, native pixel} → codec → rows → sink → caller's memory
 */
#ifndef MLDF_CODEC_IMAGE_H
#define MLDF_CODEC_IMAGE_H

#include "mldf/image.h"

/* Memory and handles that decoding reuses. */
struct mldf_image_decoder {
    mldf_buffer row;  /* the sink's: one converted row */
    mldf_buffer work; /* the codec's */
    mldf_buffer view; /* pixels that mldfi_image_view shows */
    void *jpeg;       /* image_jpeg.c; made at first use */
    void *fast;       /* field/image_fast.c; likewise */
    void (*free_fast)(void *fast);
    const struct kernels *kernels; /* whose loops; NULL: the best ones of this processor */
};
void mldfi_jpeg_decoder_free(void *jpeg);
/* Frees what the decoder holds, and leaves one that can be used again. */
void mldfi_image_decoder_end(mldf_image_decoder *decoder);
/* Gives back each memory of more than `most` bytes. */
void mldfi_image_decoder_trim(mldf_image_decoder *decoder, size_t most);

/* Where rows go. Native rows hold `width` pixels of `channels` x `bits`. */
struct image_sink {
    uint32_t width, height; /* of the region, in the stored orientation */
    uint32_t channels, bits;
    uint32_t out_channels, out_bits;
    unsigned orientation; /* 1 to 8 */
    bool direct;          /* no conversion and no turning: codecs may write rows in place */
    bool discard;         /* nobody wants the pixels: rows are forgotten */
    uint8_t *pixels;
    size_t pixel_bytes, row_bytes; /* of the output */
    uint8_t *row;                  /* one row of output pixels, when it is turned or converted */
};
/* The place of row y when the sink is direct, else NULL. */
static inline uint8_t *mldfi_sink_place(const struct image_sink *sink, uint32_t y) {
    return sink->direct ? sink->pixels + (size_t)y * sink->row_bytes : NULL;
}
/* Takes row y of the region. */
void mldfi_sink_row(const struct image_sink *sink, uint32_t y, const void *row);

struct image_job {
    const uint8_t *data;
    size_t bytes;
    const mldf_image_info *info;
    mldf_image_options options;       /* with every default filled in */
    uint32_t full_width, full_height; /* at the job's scale, stored orientation */
    uint32_t x, y, width, height;     /* region of that */
    mldf_image_decoder *decoder;
    struct image_sink sink;
    bool view;                       /* JPEG: rows go to decoder->view, as wide as they come, instead of the sink */
    size_t view_offset, view_stride; /* then: of the region's first pixel; between its rows */
};

struct image_codec {
    mldf_image_mode mode;
    const char *name;
    bool (*match)(const uint8_t *data, size_t bytes);
    mldf_status (*probe)(const uint8_t *data, size_t bytes, mldf_image_info *out, mldf_error *err);
    /* Channels (1 to 4) and bits (8, 16) of the rows that decode will give; NULL: the info's, with CMYK as RGB. `want`: the output's
     * channels; a codec that can give them at no cost says so. */
    void (*native)(const mldf_image_info *info, uint32_t want, uint32_t *channels, uint32_t *bits);
    mldf_status (*decode)(struct image_job *job, mldf_error *err);
};
extern const struct image_codec mldfi_codec_jpeg, mldfi_codec_png, mldfi_codec_webp, mldfi_codec_bmp, mldfi_codec_tiff;
const struct image_codec *mldfi_image_codec(mldf_image_mode mode);
/* Needs a mode that has a codec. */
const struct image_codec *mldfi_image_detect(const uint8_t *data, size_t bytes);

/* image_length.c: bytes of the image file that `data` begins with; 0: these bytes hold no whole image, or one that does not say where it ends. */
uint64_t mldfi_image_length(const uint8_t *data, size_t bytes);

/* Options with defaults filled in, or MLDF_E_ARGUMENT. */
mldf_status mldfi_image_options(const mldf_image_options *given, mldf_image_options *out, mldf_error *err);
/* From info and options: region, orientation, sink; all but the pixels. Checks the limits. */
mldf_status mldfi_image_plan(const mldf_image_info *info, uint32_t channels, uint32_t bits,
                             const mldf_image_options *options, struct image_job *job, mldf_image_shape *shape,
                             mldf_error *err);
/* From the bytes of a file: what it is, and the same. */
mldf_status mldfi_image_plan_bytes(const void *data, size_t bytes, const mldf_image_options *given,
                                   mldf_image_info *info, struct image_job *job, mldf_image_shape *shape,
                                   mldf_error *err);
/* Gives the planned sink its memory. */
mldf_status mldfi_sink_begin(struct image_job *job, void *pixels, mldf_error *err);
/* Room for the codec, within max_bytes; kept by the decoder. */
mldf_status mldfi_image_work(struct image_job *job, uint64_t bytes, uint8_t **out, mldf_error *err);

/* Decodes the whole image and keeps nothing of it: the status, message and place are those of mldf_image_decode. A JPEG is decoded at 1/8,
 * which reads every code of the file and leaves out the pixels between. */
mldf_status mldfi_image_check(mldf_image_decoder *decoder, const void *data, size_t bytes, mldf_error *err);
/* mldf_image_decode into memory that it makes as large as it has to be: *pixels is in `memory`, and not at the beginning of a cache line, for
 * the reason that image_jpeg.c gives at BESIDE. */
mldf_status mldfi_image_decode_to(mldf_image_decoder *decoder, const void *data, size_t bytes,
                                  const mldf_image_options *options, mldf_buffer *memory, mldf_image_pixels *out,
                                  mldf_error *err);
enum { PIXELS_BESIDE = 8 }; /* bytes */

/* Pixels in the decoder's memory or in the image's own bytes, rows apart by a stride; valid until the decoder's next use. */
struct image_view {
    const uint8_t *pixels;
    size_t stride;
    mldf_image_shape shape;
};
/* mldf_image_decode without a copy of the region: a JPEG's rows stay where libjpeg put them, with what it decoded beside them. */
mldf_status mldfi_image_view(mldf_image_decoder *decoder, const void *data, size_t bytes,
                             const mldf_image_options *options, struct image_view *out, mldf_error *err);
/* The same for a job that was planned; raw pixels make one. Memory of shape->bytes in decoder->view, and the sink begun on it. */
mldf_status mldfi_view_begin(struct image_job *job, const mldf_image_shape *shape, struct image_view *out,
                             mldf_error *err);

/* Pillow's CMYK → RGB, 0 = no ink. In place is fine when `rgb` ≤ `cmyk`. invert: the stored values are 255 - ink. */
void mldfi_cmyk_to_rgb(const uint8_t *cmyk, uint8_t *rgb, uint32_t pixels, bool invert);

/* exif.c: a TIFF structure: `bytes` from its byte-order mark on. 0 when there is no orientation that makes sense. */
unsigned mldfi_exif_orientation(const uint8_t *data, size_t bytes);

/* One directory of a TIFF structure, classic or BigTIFF. */
struct tiff_view {
    const uint8_t *data;
    size_t bytes;
    bool big_endian, big_tiff;
};
struct tiff_entry {
    uint16_t tag, type;
    uint64_t count;
    uint64_t value_offset; /* of the first value, checked to lie inside together with all others */
};
/* False: not a TIFF header. */
bool mldfi_tiff_begin(struct tiff_view *view, const uint8_t *data, size_t bytes, uint64_t *first_directory);
/* Entries of the directory at `offset`, and where the next one is (0: none). False: does not fit into the data. */
bool mldfi_tiff_directory(const struct tiff_view *view, uint64_t offset, uint64_t *count, uint64_t *next);
/* False when the entry's values are not inside the data. */
bool mldfi_tiff_entry(const struct tiff_view *view, uint64_t directory, uint64_t index, struct tiff_entry *out);
/* SHORT, LONG or LONG8 values; 0 for other types. */
uint64_t mldfi_tiff_value(const struct tiff_view *view, const struct tiff_entry *entry, uint64_t index);

/* image_jpeg_markers.c: a walk over the segments before the first scan. */
struct jpeg_segment {
    uint8_t marker;
    size_t offset, bytes; /* the whole segment with its marker */
    const uint8_t *body;  /* behind the length */
    size_t body_bytes;
};
/* MLDF_END at SOS (out is that segment, of which only the marker counts); *at moves on. */
mldf_status mldfi_jpeg_next(const uint8_t *data, size_t bytes, size_t *at, struct jpeg_segment *out, mldf_error *err);
bool mldfi_jpeg_segment_dropped(uint8_t marker, const uint8_t *body, size_t body_bytes, unsigned drop);
/* mldf_image_probe without the rule of struct_bytes: fills all of *out. */
mldf_status mldfi_image_probe(const void *data, size_t bytes, mldf_image_info *out, mldf_error *err);
mldf_status mldfi_jpeg_probe(const uint8_t *data, size_t bytes, mldf_image_info *out, mldf_error *err);
/* image_jpeg.c */
mldf_status mldfi_jpeg_decode(struct image_job *job, mldf_error *err);
/* The coefficients of a job's file, whole. `want` looks at the frame first: MLDF_END if it does not want them. `use` may be left by a longjmp: it keeps
 * nothing that it would have to free. */
struct jpeg_frame {
    unsigned components;          /* at most 4 */
    bool ycbcr;                   /* by libjpeg's rule */
    uint8_t h[4], v[4];           /* sampling factors */
    const uint16_t *quantiser[4]; /* 64 each, by natural place; for `use` alone */
    void *reader, *arrays;
};
struct jpeg_user {
    bool (*want)(void *user, const struct jpeg_frame *frame);
    mldf_status (*use)(void *user, const struct jpeg_frame *frame, mldf_error *err);
    void *user;
};
mldf_status mldfi_jpeg_coefficients(struct image_job *job, const struct jpeg_user *user, mldf_error *err);
/* Row `row` of a component's blocks, with those that fill up its last MCUs: [block][64], by natural place. */
const int16_t (*mldfi_jpeg_blocks(const struct jpeg_frame *frame, unsigned component, uint32_t row))[64];
mldf_status mldfi_png_strip(const uint8_t *data, size_t bytes, unsigned drop, mldf_buffer *out, mldf_error *err);
/* image_icc.c: is this a profile for pixels of so many channels? That of a CMYK file is not one for the RGB it becomes. */
bool mldfi_icc_fits(const uint8_t *profile, size_t bytes, uint32_t channels);
/* mldf_image_encode_jpeg with an encoder that stays: *kept is NULL at first, and mldfi_jpeg_encoder_free's at last. */
mldf_status mldfi_jpeg_encode(void **kept, const mldf_image_pixels *pixels, const mldf_jpeg_options *options,
                              mldf_buffer *out, mldf_error *err);
void mldfi_jpeg_encoder_free(void *kept);
/* mldf_image_encode_png with a profile, or NULL. */
mldf_status mldfi_png_encode(const mldf_image_pixels *pixels, int level, const void *icc, size_t icc_bytes,
                             mldf_buffer *out, mldf_error *err);
mldf_status mldfi_pixels_check(const mldf_image_pixels *pixels, const char *who, uint64_t *row_bytes, mldf_error *err);

static inline uint16_t mldfi_be16(const uint8_t *p) {
    return (uint16_t)(p[0] << 8 | p[1]);
}
static inline uint32_t mldfi_be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

#endif
