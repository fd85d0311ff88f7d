/* JPEG as a list of segments: probing, and dropping metadata without touching the image. image_jpeg.c decodes.
 *
 *     FF D8 · { FF marker · length u16 be · body }* · FF DA scan … · FF D9
 *
 * Source: ITU-T T.81 annex B; APP1 from EXIF 2.32, APP2 from ICC.1:2010 annex B, APP14 from Adobe's Technical Note 5116. */
#include <inttypes.h>
#include <string.h>

#include "codec/image.h"
#include "util/buffer.h"
#include "util/error.h"

enum { SOI = 0xd8, EOI = 0xd9, SOS = 0xda, APP0 = 0xe0, APP1 = 0xe1, APP2 = 0xe2, APP14 = 0xee, COM = 0xfe };

static bool jpeg_match(const uint8_t *data, size_t bytes) {
    return bytes >= 3 && data[0] == 0xff && data[1] == SOI && data[2] == 0xff;
}

static mldf_status cut(size_t bytes, mldf_error *err) {
    return mldfi_fail_at(err, MLDF_E_TRUNCATED, bytes, "the JPEG file ends after %zu bytes, before its pixels", bytes);
}

mldf_status mldfi_jpeg_next(const uint8_t *data, size_t bytes, size_t *at, struct jpeg_segment *out, mldf_error *err) {
    size_t p = *at;
    if (p >= bytes)
        return cut(bytes, err);
    if (data[p] != 0xff)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, p, "byte 0x%02x where a JPEG marker should be", data[p]);
    out->offset = p;
    while (p < bytes && data[p] == 0xff) /* any number of fill bytes */
        p++;
    if (p >= bytes)
        return cut(bytes, err);
    out->marker = data[p++];
    out->body = data + p;
    out->body_bytes = 0;
    if (out->marker == 0 || out->marker == EOI)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, p - 1, "JPEG marker 0x%02x before any pixels", out->marker);
    if (out->marker == SOI || out->marker == 0x01 || (out->marker >= 0xd0 && out->marker <= 0xd7)) {
        out->bytes = p - out->offset;
        *at = p;
        return MLDF_OK;
    }
    if (bytes - p < 2)
        return cut(bytes, err);
    size_t length = mldfi_be16(data + p);
    if (length < 2)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, p, "a JPEG segment of %zu bytes", length);
    if (bytes - p < length)
        return cut(bytes, err);
    out->body = data + p + 2;
    out->body_bytes = length - 2;
    out->bytes = p + length - out->offset;
    *at = p + length;
    return out->marker == SOS ? MLDF_END : MLDF_OK;
}

/* ---- Probing --------------------------------------------------------------------------------------------------------- */

struct probe_state {
    bool frame, adobe;
    uint8_t transform; /* Adobe: 0 none, 1 YCbCr, 2 YCCK */
};

static bool begins(const struct jpeg_segment *s, const char *text, size_t bytes) {
    return s->body_bytes >= bytes && memcmp(s->body, text, bytes) == 0;
}

/* C0 to CF are frames, but for DHT, JPG and DAC. */
static bool is_frame(uint8_t marker) {
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static mldf_status take_frame(const struct jpeg_segment *s, mldf_image_info *out, mldf_error *err) {
    if (s->body_bytes < 6)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, s->offset, "a JPEG frame header of %zu bytes", s->body_bytes);
    unsigned precision = s->body[0], components = s->body[5];
    out->height = mldfi_be16(s->body + 1);
    out->width = mldfi_be16(s->body + 3);
    out->progressive = s->marker == 0xc2 || s->marker == 0xca;
    if (precision != 8)
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, s->offset, "a JPEG of %u bits; 8 are decoded", precision);
    if (s->marker != 0xc0 && s->marker != 0xc1 && s->marker != 0xc2 && s->marker != 0xc9 && s->marker != 0xca)
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, s->offset,
                             "a lossless or hierarchical JPEG (marker 0x%02x), which is not decoded", s->marker);
    if (components != 1 && components != 3 && components != 4)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, s->offset, "a JPEG of %u components", components);
    if (s->body_bytes < 6 + 3 * (size_t)components)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, s->offset, "a JPEG frame header of %zu bytes for %u components",
                             s->body_bytes, components);
    if (out->height == 0)
        return mldfi_fail_at(err, MLDF_E_UNSUPPORTED, s->offset, "a JPEG that tells its height after its pixels (DNL)");
    out->channels = (uint8_t)components;
    return MLDF_OK;
}

static void take_application(const uint8_t *data, const struct jpeg_segment *s, struct probe_state *state,
                             mldf_image_info *out) {
    uint64_t body = (uint64_t)(s->body - data);
    if (s->marker == APP1 && begins(s, "Exif\0\0", 6) && out->exif_bytes == 0) {
        out->exif_offset = body + 6;
        out->exif_bytes = s->body_bytes - 6;
        out->orientation = (uint8_t)mldfi_exif_orientation(s->body + 6, s->body_bytes - 6);
    } else if (s->marker == APP2 && begins(s, "ICC_PROFILE\0", 12) && s->body_bytes >= 14) {
        if (out->icc_bytes == 0)
            out->icc_offset = body + 14;
        out->icc_bytes += s->body_bytes - 14;
    } else if (s->marker == APP14 && begins(s, "Adobe", 5) && s->body_bytes >= 12) {
        state->adobe = true;
        state->transform = s->body[11];
    }
}

mldf_status mldfi_jpeg_probe(const uint8_t *data, size_t bytes, mldf_image_info *out, mldf_error *err) {
    struct probe_state state = {false, false, 0};
    struct jpeg_segment segment;
    size_t at = 2;
    mldf_status status;
    while ((status = mldfi_jpeg_next(data, bytes, &at, &segment, err)) == MLDF_OK) {
        if (is_frame(segment.marker)) {
            if (state.frame)
                return mldfi_fail_at(err, MLDF_E_CORRUPT, segment.offset, "a second frame header in a JPEG");
            state.frame = true;
            status = take_frame(&segment, out, err);
            if (status < 0)
                return status;
        } else {
            take_application(data, &segment, &state, out);
        }
    }
    if (status < 0)
        return status;
    if (!state.frame)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, segment.offset, "a JPEG scan before any frame header");
    if (out->channels == 4)
        out->color = state.adobe && state.transform == 2 ? MLDF_IMAGE_YCCK : MLDF_IMAGE_CMYK;
    return MLDF_OK;
}

/* ---- Dropping -------------------------------------------------------------------------------------------------------- */

bool mldfi_jpeg_segment_dropped(uint8_t marker, const uint8_t *body, size_t body_bytes, unsigned drop) {
    struct jpeg_segment s = {marker, 0, 0, body, body_bytes};
    if (marker == APP1 && begins(&s, "Exif\0\0", 6))
        return drop & MLDF_JPEG_DROP_EXIF;
    if (marker == APP2 && begins(&s, "ICC_PROFILE\0", 12))
        return drop & MLDF_JPEG_DROP_ICC;
    if (marker == APP0 || marker == APP14) /* JFIF and Adobe say which colours these are */
        return false;
    return (marker == COM || (marker >= APP1 && marker <= 0xef)) && (drop & MLDF_JPEG_DROP_OTHER);
}

mldf_status mldf_image_strip(const void *data, size_t bytes, unsigned drop, mldf_buffer *out, mldf_error *err) {
    struct jpeg_segment segment;
    const uint8_t *p = data;
    if (!out || (!data && bytes))
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_strip: %s is NULL", out ? "data" : "out");
    const struct image_codec *codec = mldfi_image_detect(p, bytes);
    if (codec == &mldfi_codec_png)
        return mldfi_png_strip(p, bytes, drop, out, err);
    if (codec != &mldfi_codec_jpeg)
        return mldfi_fail(err, MLDF_E_TYPE, "metadata can be dropped from JPEG and PNG files, and this is neither");
    size_t at = 2, before = out->size;
    mldf_status status = mldf_buffer_append(out, p, 2, err), next = MLDF_OK;
    while (status == MLDF_OK && (next = mldfi_jpeg_next(p, bytes, &at, &segment, err)) == MLDF_OK)
        if (!mldfi_jpeg_segment_dropped(segment.marker, segment.body, segment.body_bytes, drop))
            status = mldf_buffer_append(out, p + segment.offset, segment.bytes, err);
    if (status == MLDF_OK && next == MLDF_END)
        status = mldf_buffer_append(out, p + segment.offset, bytes - segment.offset, err);
    else if (status == MLDF_OK)
        status = next;
    if (status < 0)
        out->size = before;
    return status;
}

/* libjpeg converts gray to RGB and adds an opaque alpha on its way. */
static void jpeg_native(const mldf_image_info *info, uint32_t want, uint32_t *channels, uint32_t *bits) {
    *bits = 8;
    *channels = info->channels == 4 ? 3 : info->channels;
    if (info->channels == 3 && want == 4)
        *channels = 4;
    if (info->channels == 1 && want >= 3)
        *channels = want;
}

const struct image_codec mldfi_codec_jpeg = {
    .mode = MLDF_IMAGE_MODE_JPEG,
    .name = "jpeg",
    .match = jpeg_match,
    .probe = mldfi_jpeg_probe,
    .native = jpeg_native,
    .decode = mldfi_jpeg_decode,
};
