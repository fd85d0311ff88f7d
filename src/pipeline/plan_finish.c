/* Runs of point-wise steps as one pass over the pixels. Either they are one affine map and a change of type and layout, which the kernels
 * do in registers, or, for 8-bit pixels, a table of 256 values for each channel, made by running the very steps on a ramp: so it is
 * exact whatever they are. Where steps that give bytes are followed by an affine map, the table is of bytes, and the kernels do both. */
#include <stdlib.h>
#include <string.h>

#include "kernel/lookup.h"
#include "pipeline/op_affine.h"
#include "pipeline/op_help.h"
#include "pipeline/stage.h"
#include "util/buffer.h"
#include "util/error.h"

/* chw, hwc, cast: an operation that changes layout and type alone. */
static bool is_layout(const struct op *op) {
    const char *name = op->type->name;
    return strcmp(name, "chw") == 0 || strcmp(name, "hwc") == 0 || strcmp(name, "cast") == 0;
}

static bool is_float_type(mldf_dtype t) {
    return t == MLDF_F32 || t == MLDF_F16 || t == MLDF_BF16;
}

/* One affine map at most, narrowed at most once, at the end. */
static bool plan_affine(const struct op *ops, size_t count, struct finish *f) {
    mldf_dtype now = ops[0].in.dtype;
    for (size_t i = 0; i < count; i++) {
        const struct op *op = &ops[i];
        mldf_dtype to = op->out.dtype;
        float scale[4], shift[4];
        if (is_layout(op)) {
            if (to == now)
                continue;
            bool widens = now == MLDF_U8 && is_float_type(to);
            if (!widens && !(now == MLDF_F32 && is_float_type(to)))
                return false;
            if (widens) {
                f->affine = true;
                for (int c = 0; c < 4; c++)
                    f->scale[c] = 1.0f, f->shift[c] = 0.0f;
            }
        } else if ((now == MLDF_U8 || now == MLDF_U16) && to == MLDF_F32 && mldfi_op_affine(op, scale, shift)) {
            f->affine = true;
            memcpy(f->scale, scale, sizeof scale);
            memcpy(f->shift, shift, sizeof shift);
        } else {
            return false;
        }
        now = to;
    }
    f->dtype = now;
    f->planar = mldfi_planar(ops[count - 1].out.axes);
    return true;
}

/* The least number of leading steps that give bytes, such that the steps after them are one affine map or a layout; 0: there is none. */
static size_t plan_bytes(const struct op *ops, size_t count, struct finish *f) {
    for (size_t n = 1; n <= count; n++) {
        const struct edge *between = &ops[n - 1].out;
        if (between->dtype != MLDF_U8 || mldfi_planar(between->axes))
            return 0;
        *f = (struct finish){.dtype = MLDF_U8};
        if (n == count || plan_affine(ops + n, count - n, f))
            return n;
    }
    return 0;
}

void mldfi_plan_finish(const struct plan *plan, const struct chain *chain, size_t first, struct finish_plan *out) {
    size_t end = chain->op_count, count = 0;
    *out = (struct finish_plan){.first = first};
    if (plan->options.reference || first >= end)
        return;
    const struct op *op = &chain->ops[first];
    const struct edge *in = &op->in;
    if (in->kind != VALUE_IMAGE || in->role == ROLE_MASK || mldfi_planar(in->axes) || in->dims[2] < 1 ||
        in->dims[2] > 4 || (in->dtype != MLDF_U8 && in->dtype != MLDF_U16))
        return;
    while (first + count < end && ((op[count].type->flags & OP_POINT) || is_layout(&op[count])) &&
           op[count].out.kind == VALUE_IMAGE && op[count].frames == op->frames) {
        out->random |= (op[count].type->flags & OP_DRAWS) != 0;
        count++;
    }
    if (count == 0)
        return;
    out->count = count;
    out->affine = out->use = plan_affine(op, count, &out->finish);
    const struct edge *result = &op[count - 1].out;
    if (!out->affine)
        out->use = in->dtype == MLDF_U8 && mldfi_edge_channels(result) == in->dims[2];
    if (out->use && !out->affine)
        out->bytes = plan_bytes(op, count, &out->finish);
}

/* The steps on a ramp: an image of 256 x 1 pixels, every channel 0 to 255. */
static mldf_status make_table(const struct run *r, struct side *side, const struct chain *chain,
                              const struct finish_plan *plan, mldf_buffer *out, mldf_error *err) {
    const struct op *ops = chain->ops + plan->first;
    size_t channels = (size_t)ops[0].in.dims[2], bytes = 256 * channels * 8;
    mldf_status status = mldfi_buffer_resize(out, 3 * bytes, err);
    if (status < 0)
        return status;
    struct tensor t = {out->data + bytes, MLDF_U8, "hwc", 3, {1, 256, channels}};
    for (size_t v = 0; v < 256; v++)
        memset((uint8_t *)t.data + v * channels, (int)v, channels);
    uint8_t *room[2] = {out->data + 2 * bytes, out->data + bytes};
    struct frame frame = side->chains[chain - r->plan->graph.chains].frame;
    for (size_t i = 0; i < (plan->bytes ? plan->bytes : plan->count); i++) {
        const void *draw;
        struct tensor next = mldfi_tensor_of(&ops[i].out);
        next.data = room[i % 2];
        mldfi_tensor_set_image(&next, mldfi_tensor_height(&t), mldfi_tensor_width(&t), mldfi_tensor_channels(&t));
        status = mldfi_draw(r, side, &ops[i], &frame, &draw, err);
        if (status == MLDF_OK)
            status = ops[i].type->run(&ops[i], draw, &t, &next, &r->worker->work, err);
        if (status < 0)
            return status;
        t = next;
    }
    size_t size = mldf_dtype_bytes(t.dtype);
    for (size_t c = 0; c < channels; c++)
        for (size_t v = 0; v < 256; v++)
            memcpy(out->data + (c * 256 + v) * size,
                   (uint8_t *)t.data + (mldfi_planar(t.axes) ? c * 256 + v : v * channels + c) * size, size);
    return MLDF_OK;
}

/* The table of a sample, or the one that all have, in the chain's memory. */
static mldf_status get_table(const struct run *r, struct side *side, const struct chain *chain,
                             const struct finish_plan *plan, void **out, mldf_error *err) {
    struct chain_memory *memory = &side->chains[chain - r->plan->graph.chains];
    if (plan->random || memory->table_of != plan) {
        memory->table_of = NULL;
        TRY(make_table(r, side, chain, plan, &memory->table, err));
        memory->table_of = plan;
    }
    *out = memory->table.data;
    return MLDF_OK;
}

mldf_status mldfi_finish_of(const struct run *r, struct side *side, const struct chain *chain,
                            const struct finish_plan *plan, struct finish *out, mldf_error *err) {
    void *table = NULL;
    mldf_status status = plan->affine ? MLDF_OK : get_table(r, side, chain, plan, &table, err);
    *out = plan->finish;
    out->table = (const uint8_t(*)[256])table;
    return status;
}

mldf_status mldfi_run_finish(const struct run *r, struct side *side, const struct chain *chain,
                             const struct finish_plan *plan, const struct raster *image, bool mirror_x, bool mirror_y,
                             void *dst, mldf_error *err) {
    mldf_status status;
    if (mldfi_finish_is_kernel(plan)) {
        struct finish finish;
        status = mldfi_finish_of(r, side, chain, plan, &finish, err);
        if (status == MLDF_OK)
            mldfi_finish(r->worker->work.kernels, image, mirror_x, mirror_y, &finish, dst);
        return status;
    }
    const struct edge *out = &chain->ops[plan->first + plan->count - 1].out;
    void *table;
    TRY(get_table(r, side, chain, plan, &table, err));
    mldfi_lookup(image, mirror_x, mirror_y, table, mldf_dtype_bytes(out->dtype), mldfi_planar(out->axes), dst);
    return MLDF_OK;
}
