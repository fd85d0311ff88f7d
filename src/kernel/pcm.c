/* Stored audio as float: pcm.h. Sources are read byte by byte or by memcpy of one number, which compilers turn into unaligned
 * vector loads. */
#include "kernel/pcm.h"

#include <string.h>

unsigned mldfi_pcm_bytes(unsigned codec, unsigned bits) {
    switch (codec) {
    case MLDF_AUDIO_PCM:
        return bits == 8 || bits == 16 || bits == 24 || bits == 32 ? bits / 8 : 0;
    case MLDF_AUDIO_FLOAT:
        return bits == 32 || bits == 64 ? bits / 8 : 0;
    case MLDF_AUDIO_ALAW:
    case MLDF_AUDIO_MULAW:
        return bits == 8 ? 1 : 0;
    default:
        return 0;
    }
}

static void from_u8(const uint8_t *src, size_t count, float *dst) {
    for (size_t i = 0; i < count; i++)
        dst[i] = (float)((int)src[i] - 128) * 0x1p-7f;
}

static void from_i16(const uint8_t *src, size_t count, float *dst) {
    for (size_t i = 0; i < count; i++) {
        int16_t v;
        memcpy(&v, src + 2 * i, 2);
        dst[i] = (float)v * 0x1p-15f;
    }
}

/* Three bytes in the upper part of an i32: the sign is in its place, and its value is exact as float. */
static float i24(uint32_t low_bytes) {
    return (float)(int32_t)(low_bytes << 8) * 0x1p-31f;
}

static void from_i24(const uint8_t *src, size_t count, float *dst) {
    for (size_t i = 0; i + 1 < count; i++) { /* a byte of the next one comes along, and is shifted out */
        uint32_t four;
        memcpy(&four, src + 3 * i, 4);
        dst[i] = i24(four);
    }
    const uint8_t *last = src + 3 * (count - 1);
    dst[count - 1] = i24(last[0] | (uint32_t)last[1] << 8 | (uint32_t)last[2] << 16);
}

static void from_i32(const uint8_t *src, size_t count, float *dst) {
    for (size_t i = 0; i < count; i++) {
        int32_t v;
        memcpy(&v, src + 4 * i, 4);
        dst[i] = (float)v * 0x1p-31f;
    }
}

static void from_f64(const uint8_t *src, size_t count, float *dst) {
    for (size_t i = 0; i < count; i++) {
        double v;
        memcpy(&v, src + 8 * i, 8);
        dst[i] = (float)v;
    }
}

/* G.711: sign, three bits of segment, four of mantissa; every other bit is inverted. */
static int alaw(unsigned byte) {
    unsigned code = byte ^ 0x55, segment = code >> 4 & 7, mantissa = code & 15;
    int size = segment ? (int)((mantissa * 16 + 264) << (segment - 1)) : (int)(mantissa * 16 + 8);
    return code & 0x80 ? size : -size;
}

/* G.711: all bits are inverted, and 132 is added before the segment is found. */
static int mulaw(unsigned byte) {
    unsigned code = ~byte & 0xff, segment = code >> 4 & 7, mantissa = code & 15;
    int size = (int)((mantissa * 8 + 132) << segment) - 132;
    return code & 0x80 ? -size : size;
}

static void from_law(int (*law)(unsigned), const uint8_t *src, size_t count, float *dst) {
    float table[256];
    if (count < 256) {
        for (size_t i = 0; i < count; i++)
            dst[i] = (float)law(src[i]) * 0x1p-15f;
        return;
    }
    for (unsigned i = 0; i < 256; i++)
        table[i] = (float)law(i) * 0x1p-15f;
    for (size_t i = 0; i < count; i++)
        dst[i] = table[src[i]];
}

void mldfi_pcm_to_f32(unsigned codec, unsigned bits, const void *src, size_t count, float *dst) {
    if (count == 0)
        return;
    if (codec == MLDF_AUDIO_ALAW)
        from_law(alaw, src, count, dst);
    else if (codec == MLDF_AUDIO_MULAW)
        from_law(mulaw, src, count, dst);
    else if (codec == MLDF_AUDIO_FLOAT && bits == 32)
        memcpy(dst, src, 4 * count);
    else if (codec == MLDF_AUDIO_FLOAT)
        from_f64(src, count, dst);
    else if (bits == 8)
        from_u8(src, count, dst);
    else if (bits == 16)
        from_i16(src, count, dst);
    else if (bits == 24)
        from_i24(src, count, dst);
    else
        from_i32(src, count, dst);
}

void mldfi_pcm_swap(unsigned bytes, const void *src, size_t count, void *dst) {
    const uint8_t *from = src;
    uint8_t *to = dst;
    for (size_t i = 0; i < count; i++, from += bytes, to += bytes) {
        uint8_t number[8];
        memcpy(number, from, bytes);
        for (unsigned k = 0; k < bytes; k++)
            to[k] = number[bytes - 1 - k];
    }
}
