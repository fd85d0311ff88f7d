/* What a packet's bytes say: does decoding begin again with it? Is its image one that no other needs? */
#include <string.h>

#include "field/video_decode.h"

/* Bytes of the next unit of H.264 or HEVC: after its length, where the configuration says how long that is, or between start codes. */
static bool next_unit(const uint8_t *data, size_t bytes, unsigned length_bytes, size_t *at, const uint8_t **unit,
                      size_t *unit_bytes) {
    size_t i = *at;
    if (length_bytes) {
        size_t n = 0;
        if (bytes - i < length_bytes)
            return false;
        for (unsigned k = 0; k < length_bytes; k++)
            n = n << 8 | data[i + k];
        if (n > bytes - i - length_bytes)
            return false;
        *unit = data + i + length_bytes;
        *unit_bytes = n;
        *at = i + length_bytes + n;
        return true;
    }
    while (i + 3 < bytes && !(data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1))
        i++;
    if (i + 3 >= bytes)
        return false;
    size_t end = i + 3;
    while (end + 3 <= bytes && !(data[end] == 0 && data[end + 1] == 0 && data[end + 2] <= 1))
        end++;
    if (end + 3 > bytes)
        end = bytes;
    *unit = data + i + 3;
    *unit_bytes = end - i - 3;
    *at = end;
    return true;
}

static unsigned length_bytes(uint32_t codec, const uint8_t *extra, uint32_t bytes) {
    if (codec == AV_VIDEO_H264 && bytes > 6 && extra[0] == 1)
        return (extra[4] & 3U) + 1;
    if (codec == AV_VIDEO_HEVC && bytes > 22 && extra[0] == 1)
        return (extra[21] & 3U) + 1;
    return 0;
}

bool mldfi_video_is_clean(uint32_t codec, const uint8_t *extra, uint32_t extra_bytes, const uint8_t *data,
                          uint32_t data_bytes) {
    const unsigned length = length_bytes(codec, extra, extra_bytes);
    const uint8_t *unit;
    size_t at = 0, bytes;
    bool any = false;
    switch (codec) {
    case AV_VIDEO_MJPEG:
        return true;
    case AV_VIDEO_VP9: /* frame marker 2, profile below 3, not show_existing, frame_type 0 */
        return data_bytes > 0 && data[0] >> 6 == 2 && (data[0] >> 4 & 3) != 3 && (data[0] & 0x0C) == 0;
    case AV_VIDEO_H264:
        while (next_unit(data, data_bytes, length, &at, &unit, &bytes)) {
            unsigned type = bytes ? unit[0] & 31U : 0;
            if (type >= 1 && type <= 4)
                return false;
            any = any || type == 5;
        }
        return any;
    case AV_VIDEO_HEVC:
        while (next_unit(data, data_bytes, length, &at, &unit, &bytes)) {
            unsigned type = bytes ? unit[0] >> 1 & 63U : 63;
            if (type < 32 && type != 19 && type != 20)
                return false;
            any = any || type == 19 || type == 20;
        }
        return any;
    default:
        return false;
    }
}

unsigned mldfi_video_layer(uint32_t codec, const uint8_t *extra, uint32_t extra_bytes, const uint8_t *data,
                           uint32_t data_bytes) {
    const unsigned length = length_bytes(codec, extra, extra_bytes);
    const uint8_t *unit;
    size_t at = 0, bytes;
    unsigned highest = 0;
    while (codec == AV_VIDEO_HEVC && next_unit(data, data_bytes, length, &at, &unit, &bytes)) {
        unsigned layer = bytes > 1 ? unit[1] & 7U : 0; /* TemporalId + 1 */
        if (bytes > 1 && (unit[0] >> 1 & 63U) < 32)
            highest = layer > highest ? layer : highest;
    }
    return highest;
}

bool mldfi_video_is_spare(uint32_t codec, unsigned highest, const uint8_t *extra, uint32_t extra_bytes,
                          const uint8_t *data, uint32_t data_bytes) {
    const unsigned length = length_bytes(codec, extra, extra_bytes);
    const uint8_t *unit;
    size_t at = 0, bytes;
    bool any = false;
    if (codec != AV_VIDEO_H264 && codec != AV_VIDEO_HEVC)
        return false;
    while (next_unit(data, data_bytes, length, &at, &unit, &bytes)) {
        unsigned type = !bytes ? 0 : codec == AV_VIDEO_H264 ? unit[0] & 31U : unit[0] >> 1 & 63U;
        if (codec == AV_VIDEO_H264) {
            bool slice = type >= 1 && type <= 5;
            if ((slice && unit[0] >> 5 & 3) || type == 5 || type == 7 || type == 8 || type == 14 || type == 20)
                return false; /* a reference; parameter sets, which later packets may need; scalable and 3D streams */
            any = any || slice;
        } else {
            bool slice = bytes > 1 && type < 32;
            if (type >= 32 && type <= 34)
                return false;
            if (slice && (type > 14 || type % 2 || (unit[1] & 7U) != highest || (unit[0] & 1U) || unit[1] >> 3))
                return false;
            any = any || slice;
        }
    }
    return any;
}
