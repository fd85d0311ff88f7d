/* Makes a Loader: options, files, the user's own order and operations. */
#include "py_loader_object.h"

#include <stdlib.h>
#include <string.h>

static bool read_options(PyObject *dict, mldf_loader_options *o) {
    int order = (int)o->order, last = (int)o->last, bad = (int)o->bad, codegen = (int)o->codegen;
    int curriculum = (int)o->curriculum;
    uint64_t rank = o->rank, world = o->world_size, in_flight = o->in_flight, cycles = o->cycles;
    if (!option_text(dict, "pipeline", &o->pipeline) || !option_int(dict, "order", &order) ||
        !option_u64(dict, "seed", &o->seed) || !option_u64(dict, "block", &o->block) ||
        !option_u64(dict, "window", &o->window) || !option_u64(dict, "batch_size", &o->batch_size) ||
        !option_u64(dict, "global_batch_size", &o->global_batch_size) || !option_u64(dict, "rank", &rank) ||
        !option_u64(dict, "world_size", &world) || !option_int(dict, "last", &last) ||
        !option_int(dict, "threads", &o->threads) || !option_u64(dict, "in_flight", &in_flight) ||
        !option_int(dict, "bad", &bad) || !option_u64(dict, "bucket_window", &o->bucket_window) ||
        !option_text(dict, "bucket_output", &o->bucket_output) || !option_u64(dict, "budget", &o->budget) ||
        !option_bool(dict, "prefetch", &o->prefetch) || !option_bool(dict, "forget_behind", &o->forget_behind) ||
        !option_bool(dict, "direct", &o->direct) || !option_bool(dict, "want_index", &o->want_index) ||
        !option_bool(dict, "want_valid", &o->want_valid) || !option_bool(dict, "want_row", &o->want_row) ||
        !option_bool(dict, "want_samples", &o->want_samples) || !option_int(dict, "curriculum", &curriculum) ||
        !option_u64(dict, "cycles", &cycles) || !option_double(dict, "budget_seconds", &o->budget_seconds) ||
        !option_bool(dict, "exact", &o->exact) || !option_bool(dict, "reference", &o->reference) ||
        !option_text(dict, "isa", &o->isa) || !option_int(dict, "codegen", &codegen) ||
        !option_text(dict, "decode", &o->decode))
        return false;
    if (rank > UINT32_MAX || world > UINT32_MAX || in_flight > UINT32_MAX || cycles > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "rank, world_size, in_flight and cycles are 32-bit numbers");
        return false;
    }
    o->order = (mldf_order_kind)order;
    o->last = (mldf_last)last;
    o->bad = (mldf_bad)bad;
    o->codegen = (mldf_codegen)codegen;
    o->rank = (uint32_t)rank;
    o->world_size = (uint32_t)world;
    o->in_flight = (uint32_t)in_flight;
    o->curriculum = (mldf_curriculum)curriculum;
    o->cycles = (uint32_t)cycles;
    return true;
}

static bool hold_readers(struct module_state *state, struct loader *self, PyObject *readers) {
    Py_ssize_t count = PyTuple_Size(readers);
    self->handles = calloc((size_t)count + 1, sizeof *self->handles);
    if (!self->handles) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        struct reader *reader = reader_from(state, PyTuple_GetItem(readers, i));
        struct handle *handle = reader ? reader_borrow(reader) : NULL;
        if (!handle)
            return false;
        self->handles[self->handle_count++] = handle;
    }
    return true;
}

static bool make_loader(struct module_state *state, struct loader *self, const mldf_loader_options *options) {
    const mldf_reader **readers = calloc(self->handle_count + 1, sizeof *readers);
    mldf_error err;
    mldf_status status;
    if (!readers) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < self->handle_count; i++)
        readers[i] = self->handles[i]->reader;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_loader_new(readers, self->handle_count, options, &self->loader, &err);
    Py_END_ALLOW_THREADS
    free(readers);
    if (status < 0)
        raise_error(state, &err);
    return status >= 0;
}

/* The compiler for generated code and C source, and the user's own operations. */
static bool prepare_context(struct module_state *state, struct loader *self, PyObject *dict, PyObject *own) {
    const char *compiler = NULL, *cache = NULL;
    mldf_error err;
    if (!option_text(dict, "compiler", &compiler) || !option_text(dict, "cache", &cache))
        return false;
    if (compiler && mldf_context_set_compiler(context_edit(self->context), cache, compiler, &err) < 0) {
        raise_error(state, &err);
        return false;
    }
    self->own = own_operations_new(state, context_edit(self->context), own);
    return self->own != NULL;
}

/* new_loader(readers, options, order, types, own) */
static PyObject *new_loader(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_loader_options options = MLDF_LOADER_OPTIONS_INIT;
    PyObject *readers, *dict, *order, *types, *own;
    if (!PyArg_ParseTuple(args, "O!O!OOO!", &PyTuple_Type, &readers, &PyDict_Type, &dict, &order, &types, &PyList_Type,
                          &own) ||
        !read_options(dict, &options))
        return NULL;
    struct loader *self = PyObject_New(struct loader, state->loader_type);
    if (!self)
        return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    bool made = (self->context = context_new(state, types)) && prepare_context(state, self, dict, own) &&
                hold_readers(state, self, readers);
    if (made && order != Py_None) {
        mldf_order_options how = MLDF_ORDER_OPTIONS_INIT;
        how.kind = options.order;
        how.seed = options.seed;
        how.block = options.block;
        how.window = options.window;
        self->order = order_from(state, order, &how);
        options.own_order = self->order;
        made = self->order != NULL;
    }
    PyObject *view = made ? option_find(dict, "view") : NULL;
    if (view) {
        options.view = view_from(state, view);
        self->view = Py_NewRef(view);
        made = options.view != NULL;
    }
    made = made && !PyErr_Occurred();
    if (made) {
        options.context = context_get(self->context);
        made = make_loader(state, self, &options) && context_warn(self->context);
    }
    if (!made)
        Py_CLEAR(self);
    return (PyObject *)self;
}

PyMethodDef loader_functions[] = {
    {"new_loader", new_loader, METH_VARARGS, "new_loader(readers, options, order, types, own): a Loader"},
    {NULL, NULL, 0, NULL},
};
