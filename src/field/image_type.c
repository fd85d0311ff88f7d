/* IMAGE_RAW, IMAGE_JPEG, IMAGE_PNG and IMAGE (any mode): one record, whose mode decides what the payload is.
 *
 *     0 ptr u64 · 8 size u32 · 12 height u16 · 14 width u16 · 16 channels u8 · 17 mode u8 · 18 bits u8 · 19 color u8 ·
 *     20 orientation u8 · 21 zero u8[3]
 *
 * Reading gives raw pixels as an array and everything else as bytes; image_value.c decodes those. image_encode.c writes. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/fast_jpeg.h"
#include "field/image_fast.h"
#include "field/image_type.h"
#include "kernel/yuv.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

static mldf_status bind_image(uint16_t id, const char *arguments, mldf_record_layout *layout, void **state,
                              mldf_error *err) {
    struct json json = {0};
    struct image_state *s = mldfi_alloc_zero(1, sizeof *s, err);
    if (!s)
        return MLDF_E_MEMORY;
    s->id = id;
    mldf_status status = mldfi_arguments_parse(&json, arguments, strlen(arguments), err);
    if (status == MLDF_OK)
        status = mldfi_image_arguments(&json, s, err);
    mldfi_json_free(&json);
    if (status == MLDF_OK && s->encode == ENCODE_FAST_JPEG && !(s->tally = mldfi_alloc_zero(1, sizeof *s->tally, err)))
        status = MLDF_E_MEMORY;
    if (status < 0) {
        free(s);
        return status;
    }
    /* Where raw pixels may stand they begin on a multiple of 64. */
    bool viewable = id == MLDF_IMAGE_RAW || id == MLDF_IMAGE;
    *layout = (mldf_record_layout){IMAGE_RECORD, 8, MLDF_FIELD_SIZE32, viewable};
    *state = s;
    return MLDF_OK;
}

#define BIND(NAME, ID) \
    static mldf_status NAME(void *user, const char *arguments, mldf_record_layout *layout, void **state, \
                            mldf_error *err) { \
        (void)user; \
        return bind_image(ID, arguments, layout, state, err); \
    }
BIND(bind_raw, MLDF_IMAGE_RAW)
BIND(bind_jpeg, MLDF_IMAGE_JPEG)
BIND(bind_png, MLDF_IMAGE_PNG)
BIND(bind_any, MLDF_IMAGE)

static void image_unbind(void *user, void *state) {
    struct image_state *s = state;
    (void)user;
    if (s)
        free(s->tally);
    free(s);
}

/* ---- Reading ------------------------------------------------------------------------------------------------------------ */

void mldfi_image_record_info(const uint8_t *record, mldf_image_info *out) {
    memset(out, 0, sizeof *out);
    out->height = mldfi_load_u16(record + IMAGE_HEIGHT);
    out->width = mldfi_load_u16(record + IMAGE_WIDTH);
    out->channels = record[IMAGE_CHANNELS];
    out->mode = (mldf_image_mode)record[IMAGE_MODE];
    out->bits = record[IMAGE_BITS] ? record[IMAGE_BITS] : 8;
    out->color = (mldf_image_color)record[IMAGE_COLOR];
    out->orientation = record[IMAGE_ORIENTATION];
    out->exif_offset = out->icc_offset = MLDF_NONE;
}

uint64_t mldfi_image_raw_bytes(const mldf_image_info *info) {
    if (info->mode == MLDF_IMAGE_MODE_YUV420)
        return mldfi_yuv420_bytes(info->width, info->height);
    return (uint64_t)info->width * info->height * info->channels * (info->bits / 8);
}

/* The record's members that decoding relies on. */
static mldf_status check_record(const mldf_image_info *info, uint64_t payload_bytes, mldf_error *err) {
    bool raw = info->mode == MLDF_IMAGE_MODE_RAW, yuv = info->mode == MLDF_IMAGE_MODE_YUV420;
    if (info->mode > MLDF_IMAGE_MODE_FAST_JPEG && info->mode != MLDF_IMAGE_MODE_OTHER)
        return mldfi_fail_at(err, MLDF_E_FEATURE, IMAGE_MODE, "image mode %u is not known; 0 to 7 and 255 are",
                             (unsigned)info->mode);
    if (info->orientation > 8)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, IMAGE_ORIENTATION, "orientation %u; 0 to 8 are known",
                             info->orientation);
    /* No pixels at all are what a value that is missing in a 1.0 file looks like. */
    if ((!raw && !yuv) || (payload_bytes == 0 && mldfi_image_raw_bytes(info) == 0))
        return MLDF_OK;
    if (raw && (info->channels < 1 || info->channels > 4))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, IMAGE_CHANNELS, "a raw image of %u channels", info->channels);
    if (info->bits != 8 && (info->bits != 16 || yuv))
        return mldfi_fail_at(err, MLDF_E_CORRUPT, IMAGE_BITS, "a raw image of %u bits", info->bits);
    if (mldfi_image_raw_bytes(info) != payload_bytes)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, IMAGE_SIZE,
                             "%" PRIu64 " bytes, and %s of %" PRIu32 " x %" PRIu32
                             " with %u channels of %u bits need %" PRIu64,
                             payload_bytes, yuv ? "YUV pixels" : "raw pixels", info->width, info->height,
                             info->channels, info->bits, mldfi_image_raw_bytes(info));
    return MLDF_OK;
}

static mldf_status image_decode(void *user, const void *state, const uint8_t *record, const void *payload,
                                uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    mldf_image_info info;
    (void)user, (void)state, (void)scratch;
    mldfi_image_record_info(record, &info);
    memset(out, 0, sizeof *out);
    out->kind = MLDF_KIND_BYTES;
    out->data = payload;
    out->bytes = payload_bytes;
    if (info.mode == MLDF_IMAGE_MODE_RAW) {
        out->kind = MLDF_KIND_ARRAY;
        out->dtype = info.bits == 16 ? MLDF_U16 : MLDF_U8;
        out->ndim = 3;
        out->dims[0] = info.height;
        out->dims[1] = info.width;
        out->dims[2] = info.channels;
    }
    return check_record(&info, payload_bytes, err);
}

static void image_observe(const void *state, const uint8_t *record, struct observation *out) {
    (void)state;
    memset(out, 0, sizeof *out);
    out->ndim = 3;
    out->dims[0] = mldfi_load_u16(record + IMAGE_HEIGHT);
    out->dims[1] = mldfi_load_u16(record + IMAGE_WIDTH);
    out->dims[2] = record[IMAGE_CHANNELS];
}

static bool image_is_packed(const uint8_t *record) {
    return record[IMAGE_MODE] == MLDF_IMAGE_MODE_FAST_JPEG;
}

/* The JPEG that was packed, and the record that it would have. */
static mldf_status image_unpack(const uint8_t *record, const void *payload, uint64_t payload_bytes, uint64_t most,
                                uint8_t *out_record, mldf_buffer *out, mldf_error *err) {
    size_t before = out->size;
    TRY(mldfi_fast_restore(payload, (size_t)payload_bytes, most, out, err));
    if (out->size - before > UINT32_MAX)
        return mldfi_fail(err, MLDF_E_CORRUPT, "fast JPEG: a file of %zu bytes", out->size - before);
    memcpy(out_record, record, IMAGE_RECORD);
    out_record[IMAGE_MODE] = MLDF_IMAGE_MODE_JPEG;
    mldfi_store_u32(out_record + IMAGE_SIZE, (uint32_t)(out->size - before));
    return MLDF_OK;
}

/* A file's own header against the record; the decoder looks at its pixels. What cannot be judged passes: features that this build lacks. */
static mldf_status image_check_deep(const void *state, const uint8_t *record, const void *payload,
                                    uint64_t payload_bytes, mldf_error *err) {
    mldf_image_info info, found;
    mldf_error why;
    (void)state;
    mldfi_image_record_info(record, &info);
    if (image_is_packed(record))
        return mldfi_fast_image_info(payload, (size_t)payload_bytes, &info, err);
    if (info.mode < MLDF_IMAGE_MODE_JPEG || info.mode > MLDF_IMAGE_MODE_TIFF)
        return MLDF_OK;
    mldf_status status = mldfi_image_probe(payload, (size_t)payload_bytes, &found, &why);
    if (status == MLDF_E_UNSUPPORTED)
        return MLDF_END;
    if (status < 0)
        return mldfi_fail(err, MLDF_E_CORRUPT, "the record says %s: %s", mldf_image_mode_name(info.mode), why.message);
    if (found.mode != info.mode)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, IMAGE_MODE, "the record says %s, and the payload is %s",
                             mldf_image_mode_name(info.mode), mldf_image_mode_name(found.mode));
    if (found.width != info.width || found.height != info.height)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, IMAGE_HEIGHT,
                             "the record says %" PRIu32 " x %" PRIu32 " pixels, and the payload %" PRIu32 " x %" PRIu32,
                             info.width, info.height, found.width, found.height);
    if (found.channels != info.channels || found.bits != info.bits)
        return mldfi_fail_at(err, MLDF_E_CORRUPT, IMAGE_CHANNELS,
                             "the record says %u channels of %u bits, and the payload %u of %u", info.channels,
                             info.bits, found.channels, found.bits);
    return MLDF_OK;
}

bool mldfi_image_of_no_format(const struct schema_field *field, const uint8_t *record, const void *payload,
                              uint64_t bytes) {
    mldf_image_info found;
    return field->info.known && field->info.type_id >= MLDF_IMAGE_RAW && field->info.type_id <= MLDF_IMAGE &&
           record[IMAGE_MODE] >= MLDF_IMAGE_MODE_JPEG && record[IMAGE_MODE] <= MLDF_IMAGE_MODE_TIFF &&
           mldfi_image_probe(payload, (size_t)bytes, &found, NULL) == MLDF_E_TYPE;
}

/* As pixels, not as a file. */
static bool image_expects_array(const void *state, uint64_t bytes) {
    const struct image_state *s = state;
    bool smart = s->encode == ENCODE_SMART && bytes <= s->smart_threshold;
    return s->encode == ENCODE_RAW || smart || (s->id == MLDF_IMAGE_RAW && s->encode == ENCODE_KEEP);
}

bool mldfi_image_icc_in_card(const struct schema_field *field) {
    return field->type && field->type->files == &mldfi_image_files && field->state &&
           ((const struct image_state *)field->state)->icc == ICC_CARD;
}

/* "3 of 10 JPEG files are stored as they are: 2 progressive, 1 larger" */
static void image_report(const void *state, char *out, size_t room) {
    const struct image_state *s = state;
    uint64_t all = 0, kept = 0;
    out[0] = 0;
    if (!s->tally)
        return;
    for (unsigned i = 0; i < FAST_REASONS; i++) {
        uint64_t n = atomic_load_explicit(&s->tally->files[i], memory_order_relaxed);
        all += n;
        kept += i == FAST_TAKEN ? 0 : n;
    }
    if (kept == 0)
        return;
    size_t used = (size_t)snprintf(
        out, room, "%" PRIu64 " of %" PRIu64 " JPEG files are stored as they are, not as fast JPEG: ", kept, all);
    const char *comma = "";
    for (unsigned i = FAST_TAKEN + 1; i < FAST_REASONS && used < room; i++) {
        uint64_t n = atomic_load_explicit(&s->tally->files[i], memory_order_relaxed);
        if (n == 0)
            continue;
        used += (size_t)snprintf(out + used, room - used, "%s%" PRIu64 " %s", comma, n,
                                 mldfi_fast_reason_name((enum fast_reason)i));
        comma = ", ";
    }
}

/* A raw image is an array; a file is read from its first byte to its last. */
static bool image_is_viewable(const uint8_t *record) {
    return record[IMAGE_MODE] == MLDF_IMAGE_MODE_RAW;
}

/* Raw pixels are not. */
static const char *image_compressed_already(const struct schema_field *field) {
    const struct image_state *s = field->state;
    bool raw = s && (s->encode == ENCODE_RAW || s->encode == ENCODE_YUV420 ||
                     (s->id == MLDF_IMAGE_RAW && s->encode == ENCODE_KEEP));
    return raw ? NULL : "JPEG, PNG or WebP images";
}

#define IMAGE_TYPE(VARIABLE, ID, NAME, BIND_FN) \
    const struct field_type VARIABLE = { \
        .type = {sizeof(mldf_type), ID, NAME, NULL, BIND_FN, image_unbind, mldfi_image_encode, image_decode}, \
        .name = NAME, \
        .observe = image_observe, \
        .is_viewable = image_is_viewable, \
        .expects_array = image_expects_array, \
        .argument_names = mldfi_image_argument_names, \
        .canonical = mldfi_image_canonical, \
        .check_deep = image_check_deep, \
        .report = image_report, \
        .is_packed = image_is_packed, \
        .unpack = image_unpack, \
        .edge = mldfi_image_edge, \
        .see = mldfi_image_see, \
        .see_value = mldfi_image_see_value, \
        .self_describing = FAMILY_IMAGE, \
        .compressed_already = image_compressed_already, \
        .files = &mldfi_image_files, \
        .export = mldfi_image_export, \
        .value_json = mldfi_image_json, \
        .same = mldfi_image_same, \
        .letter = 'p', \
    }
IMAGE_TYPE(mldfi_type_image_raw, MLDF_IMAGE_RAW, "image_raw", bind_raw);
IMAGE_TYPE(mldfi_type_image_jpeg, MLDF_IMAGE_JPEG, "image_jpeg", bind_jpeg);
IMAGE_TYPE(mldfi_type_image_png, MLDF_IMAGE_PNG, "image_png", bind_png);
IMAGE_TYPE(mldfi_type_image, MLDF_IMAGE, "image", bind_any);
