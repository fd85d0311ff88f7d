/* A run of point-wise steps: by its C function when that is there, else one step after the other. */
#include <string.h>

#include "pipeline/frames.h"
#include "pipeline/op_help.h"
#include "pipeline/stage.h"

static mldf_status run_steps(const struct run *r, struct side *side, size_t chain, const struct stage *stage, void *dst,
                             size_t dst_bytes, mldf_error *err) {
    const struct op *ops = r->plan->graph.chains[chain].ops + stage->first;
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < stage->count && status == MLDF_OK; i++) {
        bool last = i + 1 == stage->count;
        status = mldfi_run_op(r, side, chain, &ops[i], last ? dst : NULL, last ? dst_bytes : 0, err);
    }
    return status;
}

mldf_status mldfi_run_code(const struct run *r, struct side *side, size_t chain, const struct stage *stage, void *dst,
                           size_t dst_bytes, mldf_error *err) {
    code_function function = mldfi_code_get(r->plan->code, stage->code);
    if (!function)
        return run_steps(r, side, chain, stage, dst, dst_bytes, err);
    struct chain_memory *memory = &side->chains[chain];
    const struct op *first = &r->plan->graph.chains[chain].ops[stage->first], *last = first + stage->count - 1;
    struct tensor frame = memory->tensor, out = mldfi_tensor_of(&last->out);
    const struct tensor *in = &frame;
    uint64_t frames = first->frames ? memory->tensor.dims[0] : 1;
    if (first->frames)
        mldfi_frame_at(&memory->tensor, 0, &frame);
    uint64_t count = mldfi_tensor_count(in), period = in->ndim ? in->dims[in->ndim - 1] : 1;
    int where;
    out.ndim = in->ndim;
    memcpy(out.dims, in->dims, sizeof out.dims);
    if (first->in.kind == VALUE_IMAGE) {
        period = mldfi_tensor_channels(in);
        mldfi_tensor_set_image(&out, mldfi_tensor_height(in), mldfi_tensor_width(in), period);
    }
    size_t from = mldfi_tensor_bytes(in), to = mldfi_tensor_bytes(&out);
    if (first->frames)
        mldfi_clip_of(&out, frames, &memory->tensor, &out);
    mldf_status status = mldfi_stage_room(memory, &out, dst, dst_bytes, &where, err);
    for (uint64_t k = 0; k < frames && status == MLDF_OK && count; k++)
        function((uint8_t *)in->data + k * from, (uint8_t *)out.data + k * to, count / period, period,
                 &mldfi_code_functions);
    memory->tensor = out;
    memory->in = where;
    return status;
}
