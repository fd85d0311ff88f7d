/* Little-endian loads and stores on bytes, and arithmetic that cannot wrap. Header-only: these vanish into moves. */
#ifndef MLDF_UTIL_BYTES_H
#define MLDF_UTIL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The configure step refuses big-endian machines, so a memcpy is the little-endian load. */
static inline uint16_t mldfi_load_u16(const void *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t mldfi_load_u32(const void *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t mldfi_load_u64(const void *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline double mldfi_load_f64(const void *p) {
    double v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void mldfi_store_u16(void *p, uint16_t v) {
    memcpy(p, &v, sizeof v);
}
static inline void mldfi_store_u32(void *p, uint32_t v) {
    memcpy(p, &v, sizeof v);
}
static inline void mldfi_store_u64(void *p, uint64_t v) {
    memcpy(p, &v, sizeof v);
}
static inline void mldfi_store_f64(void *p, double v) {
    memcpy(p, &v, sizeof v);
}

/* True when the sum or product fits; then *out holds it. */
static inline bool mldfi_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline bool mldfi_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
/* Is [offset, offset + bytes) inside [0, end)? */
static inline bool mldfi_range_inside(uint64_t offset, uint64_t bytes, uint64_t end) {
    return offset <= end && bytes <= end - offset;
}

static inline bool mldfi_is_power_of_two(uint64_t v) {
    return v != 0 && (v & (v - 1)) == 0;
}
/* align is a power of two. Caller knows that value + align does not wrap. */
static inline uint64_t mldfi_align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) & ~(align - 1);
}

#endif
