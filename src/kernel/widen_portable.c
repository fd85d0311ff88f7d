/* The loops of widen_loops.h in plain C. */
#define WIDEN_NAME(x) x##_portable
#define WIDEN_BLOCK 4
#define FOUR(in, out) ((out)[0] = (in)[0], (out)[1] = (in)[1], (out)[2] = (in)[2], (out)[3] = (in)[3])
#define f16_f32_BLOCK(in, out) \
    ((out)[0] = half_number((in)[0]), (out)[1] = half_number((in)[1]), (out)[2] = half_number((in)[2]), \
     (out)[3] = half_number((in)[3]))
#define u8_i64_BLOCK FOUR
#define u16_i64_BLOCK FOUR
#define u32_i64_BLOCK FOUR
#define i32_i64_BLOCK FOUR
#define u8_i32_BLOCK FOUR
#define u16_i32_BLOCK FOUR
#include "kernel/widen_loops.h"
