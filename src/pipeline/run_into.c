/* The beginning of a chain whose field's type decodes into memory (field_type.decode_into): a user-defined type that describes an array. The
 * thread's worker of the type decodes the stored bytes straight into the batch where no step follows, otherwise into the chain's memory. When
 * lengths are measured, only the dims are asked for. */
#include <string.h>

#include "field/field.h"
#include "pipeline/stage.h"
#include "util/buffer.h"
#include "util/error.h"

/* The type counts from the record's first byte, and the loader from the payload's: what it names is the value. */
static mldf_status at_value(mldf_status status, mldf_error *err) {
    if (status < 0 && err)
        err->offset = MLDF_NONE;
    return status;
}

static mldf_status find_room(struct chain_memory *memory, size_t bytes, void *dst, size_t dst_bytes, mldf_error *err) {
    struct tensor *t = &memory->tensor;
    if (dst && bytes && bytes <= dst_bytes) {
        t->data = dst;
        memory->in = -1;
        return MLDF_OK;
    }
    mldf_status status = mldfi_buffer_resize(&memory->buffers[0], bytes ? bytes : 1, err);
    t->data = memory->buffers[0].data;
    memory->in = 0;
    return status;
}

mldf_status mldfi_fetch_into(const struct run *r, struct side *side, size_t chain, void *dst, size_t dst_bytes,
                             mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    const struct schema_field *of = NULL;
    uint64_t most = r->plan->options.max_bytes;
    if (most == 0 || most > MEDIA_MAX_BYTES)
        most = MEDIA_MAX_BYTES;
    mldf_value v, shape = {.kind = MLDF_KIND_ARRAY};
    void *worker;
    memory->null = memory->filled = false;
    TRY(mldfi_read_stored(r, side, chain, &v, &of, err));
    if (v.kind == MLDF_KIND_NULL)
        return mldfi_take_null(r, side, chain, err);
    if (!of->type || !of->type->decode_into)
        return mldfi_fail(err, MLDF_E_TYPE, "type %s has no decode_into here, and has it in the first file",
                          of->info.type_name);
    mldf_status status = mldfi_kit_type_worker(&r->worker->kit, of->type, &worker, err);
    if (status == MLDF_OK)
        status =
            at_value(of->type->decode_into(of, worker, v.record, v.data, v.bytes, most, NULL, shape.dims, err), err);
    if (status < 0)
        return status;
    mldfi_count_value(r, side, chain, v.bytes);
    shape.dtype = of->info.dtype;
    shape.ndim = of->info.ndim;
    memory->tensor = mldfi_tensor_of(&c->source);
    memory->in = -1;
    status = mldfi_take_dims(c, &shape, &memory->tensor, err);
    if (status == MLDF_OK && !r->measuring)
        status = find_room(memory, mldfi_tensor_bytes(&memory->tensor), dst, dst_bytes, err);
    if (status == MLDF_OK && !r->measuring)
        status = at_value(
            of->type->decode_into(of, worker, v.record, v.data, v.bytes, most, memory->tensor.data, shape.dims, err),
            err);
    memory->frame = mldfi_frame_of(&memory->tensor);
    return status;
}
