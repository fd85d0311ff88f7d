/* Operations that a user registered with the context: their functions behind ones that keep our promises, and the one place where the
 * compiler looks for them. The field layer holds the list without knowing what is in it.
 *
 * A C source is compiled when the operation's types are inferred, that is when a pipeline that names it meets a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "os/library.h"
#include "pipeline/code.h"
#include "pipeline/pipeline.h"
#include "util/buffer.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/options.h"

enum { OWN_MAX_SOURCE = 1 << 20, OWN_MAX_OPERATIONS = 4096 };

typedef int (*own_function)(const void *in, void *out, const unsigned long long *dims, const double *arguments,
                            const unsigned long long *random);

struct own_operation {
    struct user_operation base; /* first: what the rest of the pipeline sees */
    const mldf_context *context;
    mldf_operation call; /* the user's; name and source are ours */
    char name[MLDF_NAME_MAX + 1];
    char *source;
};
struct own_list {
    struct own_operation **items;
    size_t count, capacity;
};
struct own_state { /* of C source */
    struct os_library *library;
    own_function function;
};
struct own_draw {
    uint64_t random[4];
};

/* ---- Types --------------------------------------------------------------------------------------------------------------------- */

/* The user's error with a message in any case. What is neither fine nor an error counts as fine. */
static mldf_status settle(const struct own_operation *own, const char *what, mldf_status status, const mldf_error *from,
                          mldf_error *err) {
    if (status >= 0)
        return MLDF_OK;
    return from->message[0] ? mldfi_fail(err, status, "%.400s", from->message)
                            : mldfi_fail(err, status, "%s of operation %s gives no reason", what, own->name);
}

static mldf_status check_type(const mldf_tensor *t, mldf_error *err) {
    uint64_t bytes = mldf_dtype_bytes(t->dtype);
    if (bytes == 0 || t->ndim > MLDF_MAX_DIMS)
        return mldfi_fail(err, MLDF_E_TYPE, "infer gives a type that there is not: dtype %d of %u dimensions",
                          (int)t->dtype, t->ndim);
    for (uint32_t i = 0; i < t->ndim; i++)
        if (t->dims[i] != UINT64_MAX && (!mldfi_mul_u64(bytes, t->dims[i] ? t->dims[i] : 1, &bytes) || bytes >> 40))
            return mldfi_fail(err, MLDF_E_LIMIT, "infer gives a shape of more than 2^40 bytes");
    return MLDF_OK;
}

/* Both come filled alike. */
static mldf_status ask_type(const struct own_operation *own, const struct op *op, const mldf_tensor *in,
                            mldf_tensor *out, mldf_error *err) {
    mldf_error from = {.status = MLDF_OK, .offset = MLDF_NONE, .sample = MLDF_NONE};
    *out = *in;
    if (!own->call.infer)
        return MLDF_OK;
    mldf_status status = own->call.infer(own->call.user, op->args[0].list, op->args[0].count, in, out, &from);
    status = settle(own, "infer", status, &from, err);
    return status == MLDF_OK ? check_type(out, err) : status;
}

static bool is_pixel_type(mldf_dtype t) {
    return t == MLDF_U8 || t == MLDF_U16 || t == MLDF_F16 || t == MLDF_BF16 || t == MLDF_F32;
}

/* What came out is still an image when it has three dimensions of pixels and as many channels. */
static void take_type(const struct edge *in, const mldf_tensor *type, struct edge *out) {
    uint32_t channel = mldfi_axis(in->axes, 'c');
    *out = *in;
    out->dtype = type->dtype;
    out->ndim = type->ndim;
    for (uint32_t i = 0; i < type->ndim; i++) {
        bool varies = type->dims[i] == UINT64_MAX, same = varies && i < in->ndim && in->dims[i] == DIM_VARIES;
        out->dims[i] = varies ? DIM_VARIES : (int64_t)type->dims[i];
        out->most[i] = varies ? (same && out->ndim == in->ndim ? in->most[i] : MLDF_NONE) : type->dims[i];
    }
    bool image = in->kind == VALUE_IMAGE && type->ndim == 3 && is_pixel_type(type->dtype) &&
                 out->dims[channel] == in->dims[channel];
    bool same = out->dtype == in->dtype && out->ndim == in->ndim;
    if (!image && (in->kind == VALUE_IMAGE || !same)) {
        out->kind = VALUE_ARRAY;
        out->role = ROLE_NONE;
        mldfi_edge_unname(out);
    }
}

static void end_state(void *state) {
    struct own_state *s = state;
    if (s)
        mldfi_library_close(s->library);
    free(s);
}

static mldf_status compile(const struct own_operation *own, struct op *op, mldf_error *err) {
    bool cached;
    if (op->state) /* infer may run twice */
        return MLDF_OK;
    struct own_state *state = mldfi_alloc_zero(1, sizeof *state, err);
    if (!state)
        return MLDF_E_MEMORY;
    op->state = state;
    TRY(mldfi_code_build(own->context, mldfi_kernels_best()->isa, own->source, strlen(own->source), true, NULL,
                         &state->library, &cached, err));
    void *symbol = mldfi_library_symbol(state->library, "mldf_run");
    if (!symbol)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "its C source does not define mldf_run");
    memcpy(&state->function, &symbol, sizeof symbol);
    return MLDF_OK;
}

static mldf_status own_infer(struct op *op, const struct edge *in, struct edge *out, mldf_error *err) {
    const struct own_operation *own = op->user;
    mldf_tensor from = {.dtype = in->dtype, .ndim = in->ndim}, to;
    *out = *in;
    if (in->kind == VALUE_ENCODED)
        return mldfi_edge_refuse(op, in, "a decoded image or an array", err);
    for (uint32_t i = 0; i < in->ndim; i++)
        from.dims[i] = in->dims[i] == DIM_VARIES ? UINT64_MAX : (uint64_t)in->dims[i];
    mldf_status status = ask_type(own, op, &from, &to, err);
    if (status == MLDF_OK)
        take_type(in, &to, out);
    if (status == MLDF_OK && own->source)
        status = compile(own, op, err);
    return status;
}

/* ---- Samples -------------------------------------------------------------------------------------------------------------------- */

static mldf_status own_draw(const struct op *op, struct rng *rng, const struct frame *frame, void *draw,
                            struct frame *next, mldf_error *err) {
    struct own_draw *d = draw;
    (void)op, (void)frame, (void)next, (void)err;
    for (int i = 0; i < 4; i++)
        d->random[i] = mldfi_rng_u64(rng);
    return MLDF_OK;
}

static mldf_tensor plain(const struct tensor *t) {
    mldf_tensor out = {.data = t->data, .dtype = t->dtype, .ndim = t->ndim};
    memcpy(out.dims, t->dims, t->ndim * sizeof t->dims[0]);
    return out;
}

/* The same question with this sample's dims; the answer must fit the one for all samples. */
static mldf_status own_shape(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                             mldf_error *err) {
    mldf_tensor from = plain(in), to;
    (void)draw;
    from.data = NULL;
    TRY(ask_type(op->user, op, &from, &to, err));
    bool fits = to.dtype == op->out.dtype && to.ndim == op->out.ndim;
    for (uint32_t i = 0; fits && i < to.ndim; i++)
        fits = to.dims[i] != UINT64_MAX && (op->out.dims[i] == DIM_VARIES || to.dims[i] == (uint64_t)op->out.dims[i]);
    if (!fits)
        return mldfi_fail(err, MLDF_E_TYPE, "infer gives another type for a sample than for all of them");
    memcpy(out->dims, to.dims, sizeof out->dims);
    return MLDF_OK;
}

static mldf_status run_source(const struct op *op, const struct own_draw *d, const struct tensor *in,
                              struct tensor *out, mldf_error *err) {
    const struct own_state *state = op->state;
    unsigned long long dims[MLDF_MAX_DIMS + 1] = {0}, random[4];
    for (uint32_t i = 0; i < in->ndim; i++)
        dims[i] = in->dims[i];
    for (int i = 0; i < 4; i++)
        random[i] = d->random[i];
    int result = state->function(in->data, out->data, dims, op->args[0].list, random);
    return result == 0 ? MLDF_OK : mldfi_fail(err, MLDF_E_RANGE, "mldf_run returned %d", result);
}

static mldf_status own_run(const struct op *op, const void *draw, const struct tensor *in, struct tensor *out,
                           struct op_work *work, mldf_error *err) {
    const struct own_operation *own = op->user;
    const struct own_draw *d = draw;
    if (own->source)
        return run_source(op, d, in, out, err);
    mldf_error from = {.status = MLDF_OK, .offset = MLDF_NONE, .sample = MLDF_NONE};
    mldf_tensor a = plain(in), b = plain(out);
    mldf_operation_call call = {.arguments = op->args[0].list,
                                .argument_count = op->args[0].count,
                                .epoch = work->epoch,
                                .position = work->position,
                                .sample = work->sample};
    memcpy(call.random, d->random, sizeof call.random);
    return settle(own, "run", own->call.run(own->call.user, &call, &a, &b, &from), &from, err);
}

/* ---- The context's list --------------------------------------------------------------------------------------------------------------- */

static struct own_operation *find(const mldf_context *context, const char *name, size_t bytes) {
    const struct own_list *list = context ? context->operations : NULL;
    for (size_t i = 0; list && i < list->count; i++)
        if (strlen(list->items[i]->name) == bytes && memcmp(list->items[i]->name, name, bytes) == 0)
            return list->items[i];
    return NULL;
}

const struct user_operation *mldfi_context_operation(const mldf_context *context, const char *name, size_t bytes) {
    const struct own_operation *own = find(context, name, bytes);
    return own ? &own->base : NULL;
}

static void free_own(struct own_operation *own) {
    if (own)
        free(own->source);
    free(own);
}

static void free_list(void *operations) {
    struct own_list *list = operations;
    for (size_t i = 0; list && i < list->count; i++)
        free_own(list->items[i]);
    if (list)
        free(list->items);
    free(list);
}

static bool is_name(const char *name) {
    size_t bytes = name ? strlen(name) : 0;
    return bytes > 0 && bytes <= MLDF_NAME_MAX && !(name[0] >= '0' && name[0] <= '9') &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == bytes;
}

static mldf_status check(const mldf_context *context, const mldf_operation *o, mldf_error *err) {
    const struct own_list *list = context->operations;
    if (!is_name(o->name))
        return mldfi_fail(err, MLDF_E_ARGUMENT,
                          "mldf_operation: the name \"%.80s\" is not 1 to %d of a-z 0-9 _, no digit first",
                          o->name ? o->name : "", MLDF_NAME_MAX);
    if (mldfi_op_find(o->name, strlen(o->name)))
        return mldfi_fail(err, MLDF_E_EXISTS, "operation %s: there is a built-in one of this name", o->name);
    if (find(context, o->name, strlen(o->name)))
        return mldfi_fail(err, MLDF_E_EXISTS, "operation %s is registered already", o->name);
    if (!o->run == !o->source)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "operation %s: either run or source is needed", o->name);
    if (o->source && strlen(o->source) > OWN_MAX_SOURCE)
        return mldfi_fail(err, MLDF_E_LIMIT, "operation %s: a source of %zu bytes; at most %d are allowed", o->name,
                          strlen(o->source), OWN_MAX_SOURCE);
    if (list && list->count == OWN_MAX_OPERATIONS)
        return mldfi_fail(err, MLDF_E_LIMIT, "more than %d operations", OWN_MAX_OPERATIONS);
    return MLDF_OK;
}

static struct own_operation *make_own(const mldf_context *context, const mldf_operation *o, mldf_error *err) {
    struct own_operation *own = mldfi_alloc_zero(1, sizeof *own, err);
    if (!own)
        return NULL;
    memcpy(own->name, o->name, strlen(o->name));
    own->context = context;
    own->call = *o;
    own->source = o->source ? mldfi_copy_text(o->source, strlen(o->source), err) : NULL;
    own->call.name = own->name;
    own->call.source = own->source;
    own->base.type = (struct op_type){
        .name = own->name,
        .help = "an operation of your own",
        .flags = OP_DRAWS | OP_RANDOM | OP_GROUP,
        .draw_bytes = sizeof(struct own_draw),
        .infer = own_infer,
        .free_state = end_state,
        .draw = own_draw,
        .shape = own_shape,
        .run = own_run,
    };
    if (o->source && !own->source) {
        free(own);
        return NULL;
    }
    return own;
}

mldf_status mldf_context_register_operation(mldf_context *context, const mldf_operation *given, mldf_error *err) {
    mldf_operation taken = MLDF_OPERATION_INIT;
    const mldf_operation *operation = &taken;
    if (!context || !given)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_context_register_operation: %s is NULL",
                          context ? "operation" : "context");
    mldf_status status = mldfi_take_options(&taken, sizeof taken, "mldf_operation", given, err);
    if (status >= 0)
        status = check(context, operation, err);
    if (status < 0)
        return status;
    if (!context->operations) {
        context->operations = mldfi_alloc_zero(1, sizeof(struct own_list), err);
        context->free_operations = free_list;
        if (!context->operations)
            return MLDF_E_MEMORY;
    }
    struct own_list *list = context->operations;
    status = mldfi_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof list->items[0], err);
    struct own_operation *own = status == MLDF_OK ? make_own(context, operation, err) : NULL;
    if (!own)
        return MLDF_E_MEMORY;
    list->items[list->count++] = own;
    return MLDF_OK;
}

static mldf_status copy_path(const char *what, const char *path, char **out, mldf_error *err) {
    *out = NULL;
    if (!path)
        return MLDF_OK;
    if (path[0] == 0 || strlen(path) > 900)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_context_set_compiler: %s is %s", what,
                          path[0] ? "longer than 900 bytes" : "empty");
    *out = mldfi_copy_text(path, strlen(path), err);
    return *out ? MLDF_OK : MLDF_E_MEMORY;
}

mldf_status mldf_context_set_compiler(mldf_context *context, const char *cache_folder, const char *compiler,
                                      mldf_error *err) {
    char *folder = NULL, *program = NULL;
    if (!context)
        return mldfi_fail(err, MLDF_E_ARGUMENT, "mldf_context_set_compiler: context is NULL");
    mldf_status status = copy_path("cache_folder", cache_folder, &folder, err);
    if (status == MLDF_OK)
        status = copy_path("compiler", compiler, &program, err);
    if (status < 0) {
        free(folder);
        return status;
    }
    free(context->cache_folder);
    free(context->compiler);
    context->cache_folder = folder;
    context->compiler = program;
    return MLDF_OK;
}
