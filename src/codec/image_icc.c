/* The colour profile of an image file, whole: JPEG has it in numbered parts of 64 KiB, PNG deflated, WebP and TIFF as it is. Source:
 * ICC.1:2010 annex B, PNG third edition 11.3.2.3. What is damaged counts as no profile, as Pillow and browsers have it. */
#include <string.h>

#include <spng.h>

#include "codec/image.h"
#include "codec/memory.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"

enum { PARTS_MAX = 255, PART_HEAD = 14, APP2 = 0xe2, PROFILE_LEAST = 132, PROFILE_MOST = 1 << 24 };

/* All parts from 1 to the count that each of them says, in any order, each once. */
static mldf_status take_jpeg(const uint8_t *data, size_t bytes, mldf_buffer *out, mldf_error *err) {
    const uint8_t *parts[PARTS_MAX + 1] = {NULL};
    size_t sizes[PARTS_MAX + 1] = {0}, at = 2;
    unsigned count = 0;
    struct jpeg_segment s;
    while (mldfi_jpeg_next(data, bytes, &at, &s, NULL) == MLDF_OK) {
        if (s.marker != APP2 || s.body_bytes < PART_HEAD || memcmp(s.body, "ICC_PROFILE\0", 12) != 0)
            continue;
        unsigned number = s.body[12];
        if (number == 0 || number > s.body[13] || (count && count != s.body[13]) || parts[number])
            return MLDF_ABSENT;
        count = s.body[13];
        parts[number] = s.body + PART_HEAD;
        sizes[number] = s.body_bytes - PART_HEAD;
    }
    mldf_status status = count ? MLDF_OK : MLDF_ABSENT;
    for (unsigned i = 1; status == MLDF_OK && i <= count; i++)
        status = parts[i] ? mldf_buffer_append(out, parts[i], sizes[i], err) : MLDF_ABSENT;
    return status;
}

static mldf_status take_png(const uint8_t *data, size_t bytes, mldf_buffer *out, mldf_error *err) {
    struct spng_iccp iccp;
    mldfi_memory_watch();
    spng_ctx *ctx = spng_ctx_new(0);
    if (!ctx)
        return mldfi_fail(err, MLDF_E_MEMORY, "no memory for a colour profile");
    int code = spng_set_chunk_limits(ctx, PROFILE_MOST, 4 * (size_t)PROFILE_MOST);
    if (!code)
        code = spng_set_png_buffer(ctx, data, bytes);
    if (!code)
        code = spng_get_iccp(ctx, &iccp);
    bool no_memory = code && (code == SPNG_EMEM || mldfi_memory_failed());
    mldf_status status = code ? MLDF_ABSENT : mldf_buffer_append(out, iccp.profile, iccp.profile_len, err);
    spng_ctx_free(ctx);
    return no_memory ? mldfi_fail(err, MLDF_E_MEMORY, "no memory for a colour profile") : status;
}

/* The header's own size and signature. */
static bool is_profile(const uint8_t *profile, size_t bytes) {
    return bytes >= PROFILE_LEAST && bytes <= PROFILE_MOST && mldfi_be32(profile) <= bytes &&
           memcmp(profile + 36, "acsp", 4) == 0;
}

mldf_status mldf_image_icc(const void *data, size_t bytes, mldf_buffer *out, mldf_error *err) {
    mldf_image_info info;
    const uint8_t *p = data;
    if (!out)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_image_icc: out is NULL");
    mldf_status status = mldfi_image_probe(data, bytes, &info, err);
    size_t before = out->size;
    if (status < 0)
        return status;
    if (info.icc_bytes == 0)
        return MLDF_ABSENT;
    if (info.mode == MLDF_IMAGE_MODE_JPEG)
        status = take_jpeg(p, bytes, out, err);
    else if (info.mode == MLDF_IMAGE_MODE_PNG)
        status = take_png(p, bytes, out, err);
    else if (mldfi_range_inside(info.icc_offset, info.icc_bytes, bytes) && info.icc_bytes <= PROFILE_MOST)
        status = mldf_buffer_append(out, p + info.icc_offset, (size_t)info.icc_bytes, err);
    else
        status = MLDF_ABSENT;
    if (status == MLDF_OK && !is_profile(out->data + before, out->size - before))
        status = MLDF_ABSENT;
    if (status != MLDF_OK)
        out->size = before;
    return status;
}

bool mldfi_icc_fits(const uint8_t *profile, size_t bytes, uint32_t channels) {
    return bytes >= PROFILE_LEAST && memcmp(profile + 16, channels < 3 ? "GRAY" : "RGB ", 4) == 0;
}
