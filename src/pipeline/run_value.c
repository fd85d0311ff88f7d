/* The value that a chain begins with: a number, an array, bytes, a member of a struct, or what another chain made. Values that must be
 * decoded, of any family, begin in run_source.c; numbers and arrays that go into the batch as they are, in run_direct.c. */
#include <inttypes.h>
#include <string.h>

#include "field/field.h"
#include "os/memory.h"
#include "pipeline/null.h"
#include "pipeline/stage.h"
#include "util/buffer.h"
#include "util/error.h"

mldf_status mldfi_take_number(const mldf_value *v, mldf_dtype dtype, void *out, mldf_error *err) {
    double f = v->kind == MLDF_KIND_FLOAT ? v->as.f : 0.0;
    float f32 = (float)f;
    if (dtype == MLDF_F64)
        memcpy(out, &f, 8);
    else if (dtype == MLDF_F32)
        memcpy(out, &f32, 4);
    else if (v->kind == MLDF_KIND_INT || v->kind == MLDF_KIND_UINT)
        memcpy(out, &v->as.u, mldf_dtype_bytes(dtype)); /* little-endian: the lower bytes */
    else
        return mldfi_fail(err, MLDF_E_TYPE, "a value of kind %d where a number was expected", (int)v->kind);
    return MLDF_OK;
}

/* The leaf of a struct: its elements stand apart by strides. */
static mldf_status gather_member(const struct chain *c, const mldf_value *v, struct chain_memory *memory,
                                 mldf_error *err) {
    const mldf_member *m = &c->part->member;
    struct tensor *t = &memory->tensor;
    size_t element = mldf_dtype_bytes(t->dtype), bytes;
    for (uint32_t i = 0; i < t->ndim; i++)
        t->dims[i] = (uint64_t)c->source.dims[i];
    bytes = mldfi_tensor_bytes(t);
    TRY(mldfi_buffer_resize(&memory->buffers[0], bytes ? bytes : 1, err));
    /* A text of n bytes is one item of the leaf and n elements of the tensor. */
    size_t items = element && m->itemsize ? bytes / m->itemsize : 0;
    uint8_t *to = memory->buffers[0].data;
    for (size_t i = 0; i < items; i++, to += m->itemsize) {
        size_t rest = i, offset = m->offset;
        for (uint32_t k = m->ndim; k-- > 0; rest /= m->dims[k])
            offset += rest % m->dims[k] * m->strides[k];
        if (offset + m->itemsize > v->bytes)
            return mldfi_fail(err, MLDF_E_CORRUPT, "a record of %" PRIu64 " bytes, too short for its members",
                              v->bytes);
        memcpy(to, (const uint8_t *)v->data + offset, m->itemsize);
    }
    t->data = memory->buffers[0].data;
    memory->in = 0;
    return MLDF_OK;
}

/* The dims of an array's value; an image kept as an array of two dimensions has one channel. */
mldf_status mldfi_take_dims(const struct chain *c, const mldf_value *v, struct tensor *t, mldf_error *err) {
    const struct edge *e = &c->source;
    bool flat = e->kind == VALUE_IMAGE && e->ndim == 3 && v->ndim == 2;
    if ((v->ndim != t->ndim && !flat) || v->dtype != t->dtype)
        return mldfi_fail(err, MLDF_E_CORRUPT, "an array of another type than its field has");
    memcpy(t->dims, v->dims, sizeof t->dims);
    if (flat)
        t->dims[2] = 1;
    for (uint32_t i = 0; i < t->ndim; i++)
        if (e->dims[i] >= 0 && t->dims[i] != (uint64_t)e->dims[i])
            return mldfi_fail(err, MLDF_E_CORRUPT,
                              "dimension %" PRIu32 " is %" PRIu64 ", and the file said %" PRId64 " for all samples", i,
                              t->dims[i], e->dims[i]);
    return MLDF_OK;
}

static mldf_status take_array(const struct run *r, struct side *side, size_t chain, const mldf_value *v,
                              mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    struct tensor *t = &memory->tensor;
    mldf_status status = MLDF_OK;
    if (!mldfi_is_tabled(c)) /* its bytes are counted when they are read */
        mldfi_count_value(r, side, chain, v->bytes);
    if (c->part && c->part->strided)
        return gather_member(c, v, memory, err);
    if (v->kind == MLDF_KIND_ARRAY)
        status = mldfi_take_dims(c, v, t, err);
    else
        t->dims[0] = v->bytes;
    if (status < 0)
        return status;
    t->data = (void *)(uintptr_t)v->data;
    size_t bytes = mldfi_tensor_bytes(t), align = mldf_dtype_bytes(t->dtype);
    if (bytes > v->bytes)
        return mldfi_fail(err, MLDF_E_CORRUPT, "%" PRIu64 " bytes where the shape needs %zu", v->bytes, bytes);
    if (bytes && align > 1 && (uintptr_t)v->data % (align > 8 ? 8 : align)) {
        status = mldfi_buffer_resize(&memory->buffers[0], bytes, err);
        if (status < 0)
            return status;
        t->data = memcpy(memory->buffers[0].data, v->data, bytes);
        memory->in = 0;
    }
    return MLDF_OK;
}

mldf_status mldfi_take_null(const struct run *r, struct side *side, size_t chain, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    if (!c->fill)
        return mldfi_fail(err, MLDF_E_NULL, "the value is null; the step fill makes a constant of it");
    mldf_status status = mldfi_null_value(c->fill, &memory->buffers[0], &memory->tensor, err);
    memory->in = 0;
    memory->null = memory->filled = true;
    memory->frame = mldfi_frame_of(&memory->tensor);
    return status;
}

static mldf_status fetch_value(const struct run *r, struct side *side, size_t chain, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    struct tensor *t = &memory->tensor;
    mldf_value v;
    memory->null = memory->filled = false;
    mldf_status status = mldfi_is_tabled(c) ? mldfi_part_fetch(r, side, chain, r->measuring, &v, err)
                                            : mldfi_read_value(r, side, chain, r->measuring, &v, err);
    if (status < 0)
        return status;
    if (v.kind == MLDF_KIND_NULL)
        return mldfi_take_null(r, side, chain, err);
    memory->in = -1;
    if (c->source.kind == VALUE_BYTES && v.kind != MLDF_KIND_BYTES && v.kind != MLDF_KIND_TEXT)
        return mldfi_fail(err, MLDF_E_TYPE, "a user-defined type gives a value of kind %d; a pipeline reads bytes",
                          (int)v.kind);
    *t = mldfi_tensor_of(&c->source);
    if (v.kind == MLDF_KIND_INT || v.kind == MLDF_KIND_UINT || v.kind == MLDF_KIND_FLOAT) {
        status = mldfi_buffer_resize(&memory->buffers[0], 8, err);
        if (status < 0)
            return status;
        t->data = memory->buffers[0].data;
        memory->in = 0;
        status = mldfi_take_number(&v, t->dtype, t->data, err);
    } else {
        status = take_array(r, side, chain, &v, err);
    }
    memory->frame = mldfi_frame_of(&memory->tensor);
    return status;
}

/* The feed makes the value where it belongs. */
static mldf_status fetch_made(const struct run *r, struct side *side, size_t chain, void *dst, mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    double start = mldfi_worker_clock(r->worker);
    memory->null = memory->filled = false;
    memory->in = -1;
    memory->tensor = mldfi_tensor_of(&c->source);
    for (uint32_t i = 0; i < memory->tensor.ndim; i++)
        memory->tensor.dims[i] = (uint64_t)c->source.dims[i];
    memory->tensor.data = dst;
    memory->frame = mldfi_frame_of(&memory->tensor);
    mldf_status status = r->feed->into(r->feed->user, side->position, c->field, dst, err);
    r->worker->times[0] += mldfi_worker_clock(r->worker) - start;
    return status;
}

mldf_status mldfi_fetch_value(const struct run *r, struct side *side, size_t chain, void *dst, size_t dst_bytes,
                              mldf_error *err) {
    double start = mldfi_worker_clock(r->worker);
    if (r->feed->into && dst && !r->measuring && !mldfi_is_tabled(&r->plan->graph.chains[chain]))
        return fetch_made(r, side, chain, dst, err);
    mldf_status status = r->plan->graph.chains[chain].into ? mldfi_fetch_into(r, side, chain, dst, dst_bytes, err)
                                                           : fetch_value(r, side, chain, err);
    r->worker->times[0] += mldfi_worker_clock(r->worker) - start;
    return status;
}

void mldfi_await_bytes(const struct run *r, const void *data, size_t bytes) {
    if (!r->worker->timing)
        return;
    double start = mldfi_worker_clock(r->worker);
    mldfi_memory_touch(data, bytes);
    r->worker->times[0] += mldfi_worker_clock(r->worker) - start;
}

void mldfi_take_input(const struct run *r, struct side *side, size_t chain) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    memory->tensor = side->chains[c->inputs[0]].tensor;
    memory->filled = side->chains[c->inputs[0]].filled;
    memory->start = side->chains[c->inputs[0]].start;
    memory->in = -1;
    if (c->source.kind == VALUE_IMAGE && c->source.ndim == 3 && memory->tensor.ndim == 2) /* as in take_dims */
        memory->tensor.dims[memory->tensor.ndim++] = 1;
    if (c->source.kind == VALUE_IMAGE) /* the text may say so of an array */
        mldfi_set_axes(memory->tensor.axes, c->source.axes);
    memory->frame = mldfi_frame_of(&memory->tensor);
}

/* What a chain begins with: a field's value, or the value of another chain. Decoding and joining begin by themselves. */
mldf_status mldfi_begin_chain(const struct run *r, struct side *side, size_t chain, void *dst, size_t dst_bytes,
                              mldf_error *err) {
    const struct chain *c = &r->plan->graph.chains[chain];
    struct chain_memory *memory = &side->chains[chain];
    memory->null = memory->filled = false;
    if (c->stage_count && (c->stages[0].kind == STAGE_SOURCE || c->stages[0].kind == STAGE_JOIN))
        return MLDF_OK;
    if (c->field != SIZE_MAX) {
        mldf_status status = mldfi_fetch_value(r, side, chain, dst, dst_bytes, err);
        if (status == MLDF_OK && !memory->null && !c->into)
            mldfi_await_bytes(r, memory->tensor.data, mldfi_tensor_bytes(&memory->tensor));
        return status;
    }
    mldfi_take_input(r, side, chain);
    return MLDF_OK;
}
