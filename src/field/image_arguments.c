/* The arguments of image fields. Names and meanings follow FFCV's RGBImageField where it has them; what equals the default is
 * left out of the canonical form, so that two ways to say one thing give the same bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "field/image_type.h"
#include "util/buffer.h"
#include "util/error.h"

/* In order of name, as the canonical form has them. */
const char *const mldfi_image_argument_names[] = {"baseline", "compress_probability", "encode",         "fast_limit",
                                                  "icc",      "max_resolution",       "min_resolution", "orientation",
                                                  "quality",  "smart_threshold",      "subsampling",    NULL};
static const char *const defaults[] = {"false", "0.5", "keep", "1.03", "keep", "", "", "record", "90", "", "420"};

static const char *const encode_names[] = {"keep", "jpeg", "raw", "smart", "proportion", "yuv420", "fast-jpeg", NULL};
static const char *const subsampling_names[] = {"420", "444", "422", NULL};
static const char *const icc_names[] = {"keep", "drop", "card", NULL};
static const char *const orientation_names[] = {"record", "apply", NULL};

static mldf_status get_choice(const struct json *json, const char *name, const char *const *choices, unsigned *out,
                              mldf_error *err) {
    char all[128] = "";
    uint32_t at = mldfi_json_find(json, 0, name);
    if (at == UINT32_MAX)
        return MLDF_OK;
    for (unsigned i = 0; choices[i]; i++) {
        if (mldfi_json_is_text(json, at, choices[i])) {
            *out = i;
            return MLDF_OK;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s\"%s\"", i ? ", " : "", choices[i]);
    }
    return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"%s\" is not one of %s", name, all);
}

static mldf_status get_number(const struct json *json, const char *name, uint64_t least, uint64_t most, uint64_t *out,
                              mldf_error *err) {
    uint32_t at = mldfi_json_find(json, 0, name);
    if (at == UINT32_MAX)
        return MLDF_OK;
    if (!mldfi_json_u64(json, at, out) || *out < least || *out > most)
        return mldfi_fail(err, MLDF_E_SCHEMA, "argument \"%s\" is not an integer from %" PRIu64 " to %" PRIu64, name,
                          least, most);
    return MLDF_OK;
}

static mldf_status get_numbers(const struct json *json, struct image_state *s, mldf_error *err) {
    uint64_t quality = 90, most = 0, least = 0;
    mldf_status status = get_number(json, "quality", 1, 100, &quality, err);
    if (status == MLDF_OK)
        status = get_number(json, "max_resolution", 1, 65535, &most, err);
    if (status == MLDF_OK)
        status = get_number(json, "min_resolution", 1, 65535, &least, err);
    if (status == MLDF_OK)
        status = get_number(json, "smart_threshold", 0, UINT64_MAX - 1, &s->smart_threshold, err);
    s->quality = (int)quality;
    s->max_resolution = (uint32_t)most;
    s->min_resolution = (uint32_t)least;
    uint32_t at = mldfi_json_find(json, 0, "compress_probability");
    if (status == MLDF_OK && at != UINT32_MAX &&
        (!mldfi_json_double(json, at, &s->probability) || !(s->probability >= 0.0 && s->probability <= 1.0)))
        status = mldfi_fail(err, MLDF_E_SCHEMA, "argument \"compress_probability\" is not a number from 0 to 1");
    at = mldfi_json_find(json, 0, "fast_limit");
    if (status == MLDF_OK && at != UINT32_MAX &&
        (!mldfi_json_double(json, at, &s->fast_limit) || !(s->fast_limit > 0.0 && s->fast_limit <= 100.0)))
        status = mldfi_fail(err, MLDF_E_SCHEMA, "argument \"fast_limit\" is not a number above 0, up to 100");
    s->quality_given = mldfi_json_find(json, 0, "quality") != UINT32_MAX;
    return status;
}

/* The modes that an encoding may give must be those of the type. */
static mldf_status check_encode(const struct image_state *s, mldf_error *err) {
    enum image_encode e = s->encode;
    bool good = s->id == MLDF_IMAGE || e == ENCODE_KEEP ||
                (s->id == MLDF_IMAGE_RAW && (e == ENCODE_RAW || e == ENCODE_YUV420)) ||
                (s->id == MLDF_IMAGE_JPEG && (e == ENCODE_JPEG || e == ENCODE_FAST_JPEG));
    if (!good)
        return mldfi_fail(err, MLDF_E_SCHEMA, "\"encode\":\"%s\" is not for this type; the type \"image\" takes it",
                          encode_names[e]);
    return MLDF_OK;
}

mldf_status mldfi_image_arguments(const struct json *json, struct image_state *s, mldf_error *err) {
    unsigned encode = ENCODE_KEEP, subsampling = 0, icc = 0, orientation = 0;
    s->smart_threshold = MLDF_NONE;
    s->probability = 0.5;
    s->fast_limit = 1.03;
    mldf_status status = get_choice(json, "encode", encode_names, &encode, err);
    if (status == MLDF_OK)
        status = get_choice(json, "subsampling", subsampling_names, &subsampling, err);
    if (status == MLDF_OK)
        status = get_choice(json, "icc", icc_names, &icc, err);
    if (status == MLDF_OK)
        status = get_choice(json, "orientation", orientation_names, &orientation, err);
    if (status == MLDF_OK)
        status = get_numbers(json, s, err);
    uint32_t at = mldfi_json_find(json, 0, "baseline");
    if (status == MLDF_OK && at != UINT32_MAX && json->nodes[at].kind != MLDFI_JSON_TRUE &&
        json->nodes[at].kind != MLDFI_JSON_FALSE)
        status = mldfi_fail(err, MLDF_E_SCHEMA, "argument \"baseline\" is neither true nor false");
    if (status < 0)
        return status;
    s->encode = (enum image_encode)encode;
    s->subsampling = (mldf_image_subsampling)subsampling;
    s->icc = (enum image_icc)icc;
    s->apply_orientation = orientation == 1;
    s->baseline = at != UINT32_MAX && json->nodes[at].kind == MLDFI_JSON_TRUE;
    return check_encode(s, err);
}

static bool is_default(const struct json *json, uint32_t at, const char *text) {
    const struct json_node *node = &json->nodes[at];
    double value;
    if (node->kind == MLDFI_JSON_FALSE)
        return strcmp(text, "false") == 0;
    if (node->kind == MLDFI_JSON_NUMBER)
        return mldfi_json_double(json, at, &value) && ((strcmp(text, "90") == 0 && value >= 90.0 && value <= 90.0) ||
                                                       (strcmp(text, "0.5") == 0 && value >= 0.5 && value <= 0.5) ||
                                                       (strcmp(text, "1.03") == 0 && value >= 1.03 && value <= 1.03));
    return mldfi_json_is_text(json, at, text);
}

/* Then a quality, also the default one, asks for JPEGs of images that are none. */
static bool makes_fast(const struct json *json) {
    uint32_t at = mldfi_json_find(json, 0, "encode");
    return at != UINT32_MAX && mldfi_json_is_text(json, at, "fast-jpeg");
}

mldf_status mldfi_image_canonical(const struct json *json, mldf_buffer *out, mldf_error *err) {
    mldf_status status = mldfi_buffer_append_text(out, "{", err);
    bool first = true;
    for (size_t i = 0; status == MLDF_OK && mldfi_image_argument_names[i]; i++) {
        uint32_t at = mldfi_json_find(json, 0, mldfi_image_argument_names[i]);
        bool says_more = strcmp(mldfi_image_argument_names[i], "quality") == 0 && makes_fast(json);
        if (at == UINT32_MAX || (!says_more && is_default(json, at, defaults[i])))
            continue;
        status = mldfi_buffer_printf(out, err, "%s\"%s\":", first ? "" : ",", mldfi_image_argument_names[i]);
        if (status == MLDF_OK)
            status = mldfi_json_canonical(json, at, out, err);
        first = false;
    }
    return status == MLDF_OK ? mldfi_buffer_append_text(out, "}", err) : status;
}
