/* How results of different lengths lie in a batch. Lengths are what pad, ragged and the loader reckon with: dim 0 of a list, both sides of an
 * image, frames and sides of a clip (plan.h). The loader asks for the batch's longest and lays its arrays out; here a sample's result comes to
 * its place and is filled up: a list at its end, an image at the right and below. Pixels keep their coordinates, so boxes, points and masks
 * that moved with them are right as they are.
 *
 * op_collate.c is where the text's `pad` and `ragged` are understood; run.c measures. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/stage.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

/* ---- Lengths ------------------------------------------------------------------------------------------------------------- */

int mldfi_length_compare(const struct plan_length *a, const struct plan_length *b) {
    for (uint32_t i = 0; i < PLAN_LENGTHS; i++)
        if (a->n[i] != b->n[i])
            return a->n[i] < b->n[i] ? -1 : 1;
    return 0;
}

struct plan_length mldfi_length_most(struct plan_length a, struct plan_length b) {
    for (uint32_t i = 0; i < PLAN_LENGTHS; i++)
        a.n[i] = a.n[i] > b.n[i] ? a.n[i] : b.n[i];
    return a;
}

/* One dimension: as pad says, or the longest, rounded up. */
static uint64_t dim_room(uint64_t fixed, uint64_t longest, uint64_t multiple) {
    uint64_t missing = longest % multiple ? multiple - longest % multiple : 0, room;
    if (fixed)
        return fixed;
    return mldfi_add_u64(longest, missing, &room) ? room : UINT64_MAX;
}

struct plan_length mldfi_length_room(const struct plan_output *output, struct plan_length longest) {
    for (uint32_t i = 0; i < output->length_count && output->collate == COLLATE_PAD; i++)
        longest.n[i] = dim_room(output->length.n[i], longest.n[i], output->multiple);
    return longest;
}

uint64_t mldfi_length_count(const struct plan_output *output, struct plan_length length) {
    uint64_t count = 1;
    bool fits = true;
    for (uint32_t i = 0; i < output->length_count; i++) {
        if (length.n[i] == 0)
            return 0;
        fits = fits && mldfi_mul_u64(count, length.n[i], &count);
    }
    return fits ? count : UINT64_MAX;
}

bool mldfi_length_open(const struct plan_output *output) {
    bool open = output->collate == COLLATE_RAGGED;
    for (uint32_t i = 0; i < output->length_count; i++)
        open = open || output->length.n[i] == 0;
    return open;
}

uint32_t mldfi_length_at(const struct plan_output *output, uint32_t dim) {
    for (uint32_t i = 0; i < output->length_count; i++)
        if (output->length_dims[i] == dim)
            return i;
    return PLAN_LENGTHS;
}

/* ---- A sample's place ---------------------------------------------------------------------------------------------------- */

/* Elements of dimension `dim` in a sample's place. */
static uint64_t room_at(const struct plan_output *output, const struct plan_target *target, uint32_t dim) {
    uint32_t length = mldfi_length_at(output, dim);
    return length < PLAN_LENGTHS ? target->room.n[length] : (uint64_t)output->edge.dims[dim];
}

size_t mldfi_room_bytes(const struct plan_output *output, const struct plan_target *target) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < output->edge.ndim; i++)
        n *= room_at(output, target, i);
    return (size_t)n * mldf_dtype_bytes(output->edge.dtype);
}

static void fill_rest(uint8_t *at, size_t bytes, mldf_dtype dtype, double value) {
    uint64_t element[2];
    size_t size = mldf_dtype_bytes(dtype);
    if (value == 0.0) {
        memset(at, 0, bytes);
        return;
    }
    mldfi_dtype_element(dtype, value, element);
    for (size_t i = 0; i + size <= bytes; i += size)
        memcpy(at + i, element, size);
}

static bool fits(const struct plan_output *output, const struct tensor *t, const struct plan_target *target) {
    if (t->ndim != output->edge.ndim)
        return false;
    for (uint32_t i = 0; i < t->ndim; i++) {
        bool length = mldfi_length_at(output, i) < PLAN_LENGTHS;
        uint64_t room = room_at(output, target, i);
        if (length ? t->dims[i] > room : t->dims[i] != room)
            return false;
    }
    return true;
}

static mldf_status refuse(const struct plan_output *output, const struct tensor *t, mldf_error *err) {
    const uint64_t *length = output->length.n;
    bool image = output->edge.kind == VALUE_IMAGE;
    char text[160];
    size_t at = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < t->ndim && at < sizeof text - 24; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%" PRIu64, i ? " x " : "", t->dims[i]);
    if (output->collate == COLLATE_PAD && !image && length[0] && t->ndim && t->dims[output->length_dims[0]] > length[0])
        return mldfi_fail(err, MLDF_E_RANGE, "a result of %s is longer than pad's %" PRIu64 "; truncate it first", text,
                          length[0]);
    if (output->collate == COLLATE_PAD && output->length_count == 2 && !mldfi_length_open(output))
        return mldfi_fail(err, MLDF_E_RANGE, "an image of %s is larger than pad's %" PRIu64 " x %" PRIu64, text,
                          length[0], length[1]);
    if (output->collate == COLLATE_PAD && output->length_count == 3 && !mldfi_length_open(output))
        return mldfi_fail(err, MLDF_E_RANGE, "a clip of %s is larger than pad's %" PRIu64 " x %" PRIu64 " x %" PRIu64,
                          text, length[0], length[1], length[2]);
    return mldfi_fail(err, MLDF_E_RANGE, "a result of %s does not fit its place in the batch", text);
}

/* Runs of a dense value to their places, and what lies between is filled. A run goes from the last dimension that is a length to the value's
 * end; runs are taken from the last to the first, because the value may lie at the beginning of the place itself. */
static void spread(const struct plan_output *output, const struct tensor *t, const struct plan_target *target) {
    uint32_t last = output->length_dims[output->length_count - 1];
    size_t inner = mldf_dtype_bytes(t->dtype), runs = 1;
    for (uint32_t i = last + 1; i < t->ndim; i++)
        inner *= (size_t)t->dims[i];
    for (uint32_t i = 0; i < last; i++)
        runs *= (size_t)room_at(output, target, i);
    size_t bytes = (size_t)t->dims[last] * inner, room = (size_t)room_at(output, target, last) * inner;
    for (size_t run = runs; run-- > 0;) {
        uint8_t *to = (uint8_t *)target->data + run * room;
        size_t from = 0, rest = run, step = 1;
        bool there = true;
        for (uint32_t i = last; i-- > 0;) {
            size_t size = (size_t)room_at(output, target, i), index = rest % size;
            there = there && index < t->dims[i];
            from += index * step;
            step *= (size_t)t->dims[i];
            rest /= size;
        }
        if (there && bytes)
            memmove(to, (const uint8_t *)t->data + from * bytes, bytes);
        fill_rest(there ? to + bytes : to, there ? room - bytes : room, t->dtype, output->fill);
    }
}

mldf_status mldfi_deliver(const struct plan_output *output, const struct tensor *t, const struct plan_target *target,
                          mldf_error *err) {
    size_t room = mldfi_room_bytes(output, target), bytes = mldfi_tensor_bytes(t);
    if (!fits(output, t, target))
        return refuse(output, t, err);
    if (output->text) {
        size_t valid = mldfi_utf8_valid_prefix(t->data, bytes);
        if (valid < bytes)
            return mldfi_fail_at(err, MLDF_E_CORRUPT, valid, "strings: byte %zu of %zu is not UTF-8 (0x%02x)", valid,
                                 bytes, ((const uint8_t *)t->data)[valid]);
    }
    if (output->length_count && output->length_dims[output->length_count - 1] > 0 && bytes < room) {
        spread(output, t, target);
        return MLDF_OK;
    }
    if (t->data != target->data && bytes)
        memcpy(target->data, t->data, bytes);
    if (output->collate == COLLATE_PAD && bytes < room)
        fill_rest((uint8_t *)target->data + bytes, room - bytes, t->dtype, output->fill);
    return MLDF_OK;
}
