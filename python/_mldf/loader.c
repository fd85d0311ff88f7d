/* Loader: batches from worker threads that never take the GIL.
 *
 * next() waits without the GIL and wakes every 50 ms to look for signals. The batch that it gives stays `pending`, and is given again, until
 * the caller stores None there: so an exception between here and the user (Ctrl-C, a failing callable) loses no batch.
 *
 * The library's loader is one thread's at a time. `busy` (under the GIL) keeps a second thread out; close() from another thread cancels
 * and leaves the freeing to the one that is inside. The loader keeps its files open by itself (handles), whatever becomes of the Reader. */
#include "extension.h"

#include <stdlib.h>
#include <string.h>

enum { WAKE_MS = 50 };

struct loader {
    PyObject_HEAD
    mldf_loader *loader; /* NULL when closed */
    mldf_order *order;   /* own, or NULL */
    struct context *context;
    struct own_operations *own; /* outlives the context, which calls them */
    struct handle **handles;
    size_t handle_count;
    struct batch_form form;
    PyObject *pending;           /* given by next, not yet taken; or NULL */
    uint64_t epoch, consumed;    /* up to what was taken */
    uint64_t epoch_after, after; /* with what is pending */
    bool busy, closing;          /* under the GIL */
    bool ended;                  /* the epoch, until another begins; the library would begin the next one by itself */
};

/* ---- Life -------------------------------------------------------------------------------------------------------------------- */

/* Joins threads: not under the GIL, which would stop the rest of the program for that long. Another thread may come here meanwhile
 * (close() twice at once), so all is taken out of the object first: what the workers use goes after them. */
static void free_all(struct loader *self) {
    struct loader mine = *self;
    self->loader = NULL;
    self->order = NULL;
    self->handles = NULL;
    self->handle_count = 0;
    self->context = NULL;
    self->own = NULL;
    self->pending = NULL;
    Py_XDECREF(mine.pending);
    if (mine.loader) {
        Py_BEGIN_ALLOW_THREADS
        mldf_loader_free(mine.loader);
        Py_END_ALLOW_THREADS
    }
    mldf_order_free(mine.order);
    for (size_t i = 0; i < mine.handle_count; i++)
        memory_release(&mine.handles[i]->memory);
    free(mine.handles);
    context_free(mine.context);
    own_operations_free(mine.own);
}

static bool enter(struct loader *self) {
    struct module_state *state = state_of_self((PyObject *)self);
    if (!self->loader || self->closing)
        raise_status(state, MLDF_E_STATE, "this loader is closed");
    else if (self->busy)
        raise_status(state, MLDF_E_STATE, "this loader is in use by another thread; it serves one at a time");
    else
        return self->busy = true;
    return false;
}

static void leave(struct loader *self) {
    self->busy = false;
    if (self->closing)
        free_all(self);
}

/* close(): from any thread and in any state; a next() that waits elsewhere ends with StateError. */
static PyObject *loader_close(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    (void)ignored;
    if (self->busy) {
        self->closing = true;
        mldf_loader_cancel(self->loader);
    } else {
        free_all(self);
    }
    Py_RETURN_NONE;
}

static void loader_dealloc(PyObject *object) {
    struct loader *self = (struct loader *)object;
    PyTypeObject *type = Py_TYPE(object);
    free_all(self);
    batch_form_clear(&self->form);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* ---- Making one ---------------------------------------------------------------------------------------------------------------- */

static bool read_options(PyObject *dict, mldf_loader_options *o) {
    int order = (int)o->order, last = (int)o->last, bad = (int)o->bad, codegen = (int)o->codegen;
    uint64_t rank = o->rank, world = o->world_size, in_flight = o->in_flight;
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
        !option_bool(dict, "want_valid", &o->want_valid) || !option_bool(dict, "exact", &o->exact) ||
        !option_bool(dict, "reference", &o->reference) || !option_text(dict, "isa", &o->isa) ||
        !option_int(dict, "codegen", &codegen) || !option_int(dict, "decode_channels", &o->decode_channels) ||
        !option_bool(dict, "decode_orient", &o->decode_orient))
        return false;
    if (rank > UINT32_MAX || world > UINT32_MAX || in_flight > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "rank, world_size and in_flight are 32-bit numbers");
        return false;
    }
    o->order = (mldf_order_kind)order;
    o->last = (mldf_last)last;
    o->bad = (mldf_bad)bad;
    o->codegen = (mldf_codegen)codegen;
    o->rank = (uint32_t)rank;
    o->world_size = (uint32_t)world;
    o->in_flight = (uint32_t)in_flight;
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
    if (made) {
        options.context = context_get(self->context);
        made = make_loader(state, self, &options) && context_warn(self->context);
    }
    if (!made)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- Outputs --------------------------------------------------------------------------------------------------------------------- */

/* outputs(): [(name, dtype, shape with None where batches differ)] */
static PyObject *loader_outputs(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    PyObject *list = NULL;
    mldf_output o;
    (void)ignored;
    if (!enter(self))
        return NULL;
    list = PyList_New(0);
    for (size_t i = 0; list && mldf_loader_output(self->loader, i, &o) == MLDF_OK; i++) {
        PyObject *shape = PyTuple_New((Py_ssize_t)o.ndim), *item = NULL;
        for (uint32_t k = 0; shape && k < o.ndim; k++) {
            PyObject *dim = o.dims[k] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(o.dims[k]);
            if (!dim || PyTuple_SetItem(shape, (Py_ssize_t)k, dim) < 0)
                Py_CLEAR(shape);
        }
        if (shape)
            item = Py_BuildValue("(ssN)", o.name, mldf_dtype_name(o.dtype), shape);
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    leave(self);
    return list;
}

/* form(type, picks, dtypes): how batches look from now on. */
static PyObject *loader_form(PyObject *object, PyObject *args) {
    struct loader *self = (struct loader *)object;
    if (!enter(self))
        return NULL;
    bool set = batch_form_set(&self->form, args, mldf_loader_output_count(self->loader));
    leave(self);
    if (!set)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *text_result(struct loader *self, mldf_status status, mldf_buffer *text, const mldf_error *err) {
    PyObject *out = NULL;
    if (status < 0)
        raise_error(state_of_self((PyObject *)self), err);
    else
        out = PyUnicode_DecodeUTF8((const char *)text->data, (Py_ssize_t)text->size, NULL);
    mldf_buffer_free(text);
    return out;
}

static PyObject *loader_explain(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_error err;
    (void)ignored;
    if (!enter(self))
        return NULL;
    mldf_status status = mldf_loader_explain(self->loader, &text, &err);
    leave(self);
    return text_result(self, status, &text, &err);
}

/* ---- Batches ----------------------------------------------------------------------------------------------------------------------- */

static void at_place(struct loader *self, uint64_t epoch, uint64_t consumed) {
    Py_CLEAR(self->pending);
    self->epoch = self->epoch_after = epoch;
    self->consumed = self->after = consumed;
    self->ended = false;
}

/* begin(epoch) */
static PyObject *loader_begin(PyObject *object, PyObject *number) {
    struct loader *self = (struct loader *)object;
    unsigned long long epoch = PyLong_AsUnsignedLongLong(number);
    mldf_error err;
    mldf_status status;
    if (PyErr_Occurred() || !enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_loader_begin(self->loader, epoch, 0, &err);
    Py_END_ALLOW_THREADS
    if (status >= 0)
        at_place(self, epoch, 0);
    leave(self);
    if (status < 0)
        return raise_error(state_of_self(object), &err);
    Py_RETURN_NONE;
}

/* restore(json, epoch, consumed): the two numbers are the state's own. */
static PyObject *loader_restore(PyObject *object, PyObject *args) {
    struct loader *self = (struct loader *)object;
    const char *json;
    Py_ssize_t bytes;
    unsigned long long epoch, consumed;
    mldf_error err;
    mldf_status status;
    if (!PyArg_ParseTuple(args, "s#KK", &json, &bytes, &epoch, &consumed) || !enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_loader_restore(self->loader, json, (size_t)bytes, &err);
    Py_END_ALLOW_THREADS
    if (status >= 0)
        at_place(self, epoch, consumed);
    bool fine = status < 0 || context_warn(self->context);
    leave(self);
    if (status < 0)
        return raise_error(state_of_self(object), &err);
    if (!fine)
        return NULL;
    Py_RETURN_NONE;
}

/* The next batch of the library, or END, or an error; MLDF_AGAIN: a signal handler raised. */
static mldf_status wait_for_batch(struct loader *self, mldf_batch **batch, mldf_error *err) {
    mldf_status status;
    do {
        Py_BEGIN_ALLOW_THREADS
        status = mldf_loader_next(self->loader, WAKE_MS, batch, err);
        Py_END_ALLOW_THREADS
    } while (status == MLDF_AGAIN && PyErr_CheckSignals() == 0);
    return status;
}

/* next(): the batch, until it is taken; None at the epoch's end. */
static PyObject *loader_next(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    struct module_state *state = state_of_self(object);
    mldf_batch *batch = NULL;
    mldf_error err;
    (void)ignored;
    if (self->pending)
        return Py_NewRef(self->pending);
    if (self->ended)
        Py_RETURN_NONE;
    if (!self->form.type)
        return raise_status(state, MLDF_E_STATE, "form() comes before next()");
    if (!enter(self))
        return NULL;
    mldf_status status = wait_for_batch(self, &batch, &err);
    bool closing = self->closing;
    if (status == MLDF_OK) {
        uint64_t ordinal;
        mldf_batch_place(batch, &self->epoch_after, &ordinal, &self->after);
        self->pending = closing ? NULL : batch_object(state, &self->form, batch);
        if (closing)
            mldf_batch_release(batch);
    } else if (status == MLDF_END) {
        at_place(self, self->epoch + 1, 0);
        self->ended = true;
    }
    PyObject *out = status == MLDF_END ? Py_None : self->pending;
    Py_XINCREF(out);
    bool fine = PyErr_Occurred() || closing || context_warn(self->context);
    leave(self);
    if (closing && !PyErr_Occurred()) {
        Py_XDECREF(out);
        return raise_status(state, MLDF_E_STATE, "this loader was closed while it was waited for");
    }
    if (status < 0)
        raise_error(state, &err);
    if (!fine || PyErr_Occurred())
        Py_CLEAR(out);
    return out;
}

static PyObject *get_pending(PyObject *object, void *ignored) {
    struct loader *self = (struct loader *)object;
    (void)ignored;
    return Py_NewRef(self->pending ? self->pending : Py_None);
}

/* pending = None: the batch has reached the user. A plain store: no signal handler runs between it and the return that follows it. */
static int set_pending(PyObject *object, PyObject *value, void *ignored) {
    struct loader *self = (struct loader *)object;
    (void)ignored;
    if (value != Py_None) {
        PyErr_SetString(PyExc_ValueError, "pending can be set to None alone");
        return -1;
    }
    at_place(self, self->epoch_after, self->after);
    return 0;
}

/* place: (epoch, consumed) up to the last batch that was taken. */
static PyObject *get_place(PyObject *object, void *ignored) {
    struct loader *self = (struct loader *)object;
    (void)ignored;
    return Py_BuildValue("(KK)", (unsigned long long)self->epoch, (unsigned long long)self->consumed);
}

/* Any thread: it follows from the options alone. */
static PyObject *loader_count(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    (void)ignored;
    if (!self->loader || self->closing)
        return raise_status(state_of_self(object), MLDF_E_STATE, "this loader is closed");
    return PyLong_FromUnsignedLongLong(mldf_loader_batch_count(self->loader));
}

static PyObject *loader_state(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_error err;
    (void)ignored;
    if (!enter(self))
        return NULL;
    mldf_status status = mldf_loader_state(self->loader, &text, &err);
    leave(self);
    return text_result(self, status, &text, &err);
}

/* keys(numbers): of a batch's samples; numbers are a buffer of uint64. */
static PyObject *loader_keys(PyObject *object, PyObject *numbers) {
    struct loader *self = (struct loader *)object;
    PyObject *out = NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(numbers, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    if (view.len % 8 != 0 || (uintptr_t)view.buf % 8 != 0) {
        PyErr_SetString(PyExc_ValueError, "an aligned array of 64-bit numbers is needed");
    } else if (enter(self)) {
        out = keys_of(state_of_self(object), self->handles, self->handle_count, view.buf, (size_t)view.len / 8);
        leave(self);
    }
    PyBuffer_Release(&view);
    return out;
}

/* ---- What happened -------------------------------------------------------------------------------------------------------------------- */

/* Any thread, also while another one waits in next(): the library locks. */
static PyObject *loader_stats(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    struct module_state *state = state_of_self(object);
    mldf_loader_stats s;
    mldf_error err;
    (void)ignored;
    if (!self->loader || self->closing)
        return raise_status(state, MLDF_E_STATE, "this loader is closed");
    if (mldf_loader_get_stats(self->loader, &s, &err) < 0)
        return raise_error(state, &err);
    PyObject *steps = PyList_New(0);
    for (size_t i = 0; steps && i < s.step_count; i++) {
        PyObject *step = Py_BuildValue("(sd)", s.steps[i].name, s.steps[i].seconds);
        if (!step || PyList_Append(steps, step) < 0)
            Py_CLEAR(steps);
        Py_XDECREF(step);
    }
    if (!steps)
        return NULL;
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:d,s:d,s:d,s:i,s:s,s:N}", "samples", (unsigned long long)s.samples,
                         "batches", (unsigned long long)s.batches, "bad_samples", (unsigned long long)s.bad_samples,
                         "bytes_read", (unsigned long long)s.bytes_read, "seconds", s.seconds, "wait_consumer",
                         s.wait_consumer, "wait_loader", s.wait_loader, "threads", s.threads, "verdict", s.verdict,
                         "steps", steps);
}

static PyObject *bad_object(const mldf_bad_sample *bad) {
    PyObject *substitute = number_or_none(bad->substitute), *offset = number_or_none(bad->error.offset);
    if (!substitute || !offset) {
        Py_XDECREF(substitute);
        Py_XDECREF(offset);
        return NULL;
    }
    return Py_BuildValue("{s:I,s:K,s:K,s:K,s:N,s:s,s:s,s:s,s:N}", "file", bad->reader, "sample",
                         (unsigned long long)bad->sample, "epoch", (unsigned long long)bad->epoch, "position",
                         (unsigned long long)bad->position, "substitute", substitute, "status",
                         mldf_status_name(bad->error.status), "field", bad->error.field, "message", bad->error.message,
                         "offset", offset);
}

static PyObject *loader_bad(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    mldf_bad_sample bad;
    mldf_error err;
    (void)ignored;
    if (!enter(self))
        return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < mldf_loader_bad_count(self->loader); i++) {
        if (mldf_loader_bad_sample(self->loader, i, &bad, &err) != MLDF_OK)
            break;
        PyObject *item = bad_object(&bad);
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    leave(self);
    return list;
}

/* ---- The type ---------------------------------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"outputs", loader_outputs, METH_NOARGS, "[(name, dtype, shape)]"},
    {"form", loader_form, METH_VARARGS, "form(type, picks, dtypes): how batches look"},
    {"explain", loader_explain, METH_NOARGS, "what the compiler did, as text"},
    {"begin", loader_begin, METH_O, "begin(epoch)"},
    {"restore", loader_restore, METH_VARARGS, "restore(json, epoch, consumed)"},
    {"next", loader_next, METH_NOARGS, "the next batch, until pending is set to None; None at the end"},
    {"keys", loader_keys, METH_O, "keys(numbers): of samples, as a list"},
    {"batch_count", loader_count, METH_NOARGS, "batches of an epoch"},
    {"state", loader_state, METH_NOARGS, "the state's JSON"},
    {"stats", loader_stats, METH_NOARGS, "where the time went"},
    {"bad", loader_bad, METH_NOARGS, "the samples that were bad"},
    {"close", loader_close, METH_NOARGS, "Ends the threads. Batches stay valid."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"pending", get_pending, set_pending, "the batch that next() gave and that nobody has taken", NULL},
    {"place", get_place, NULL, "(epoch, consumed)", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, loader_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_tp_doc, DOC("Batches from worker threads.")},
    {0, NULL},
};
PyType_Spec loader_spec = {"mldf._mldf.Loader", sizeof(struct loader), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

PyMethodDef loader_functions[] = {
    {"new_loader", new_loader, METH_VARARGS, "new_loader(readers, options, order, types, own): a Loader"},
    {NULL, NULL, 0, NULL},
};
