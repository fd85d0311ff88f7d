/* Loader: batches from worker threads that never take the GIL. py_loader_new.c makes one, py_loader_look.c has what it tells of itself.
 *
 * next() waits without the GIL and wakes every 50 ms to look for signals. The batch that it gives stays `pending`, and is given again, until
 * the caller stores None there: so an exception between here and the user (Ctrl-C, a failing callable) loses no batch.
 *
 * The library's loader is one thread's at a time. `busy` (under the GIL) keeps a second thread out; close() from another thread cancels
 * and leaves the freeing to the one that is inside. The loader keeps its files open by itself (handles), whatever becomes of the Reader. */
#include "py_loader_object.h"

#include <stdlib.h>

enum { WAKE_MS = 50 };

/* ---- Life -------------------------------------------------------------------------------------------------------------------- */

/* Joins threads: not under the GIL, which would stop the rest of the program for that long. Another thread may come here meanwhile
 * (close() twice at once), so all is taken out of the object first: what the workers use goes after them. */
static void free_all(struct loader *self) {
    struct loader mine = *self;
    self->loader = NULL;
    self->order = NULL;
    self->view = NULL;
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
    Py_XDECREF(mine.view);
    for (size_t i = 0; i < mine.handle_count; i++)
        memory_release(&mine.handles[i]->memory);
    free(mine.handles);
    context_free(mine.context);
    own_operations_free(mine.own);
}

bool loader_enter(struct loader *self) {
    struct module_state *state = state_of_self((PyObject *)self);
    if (!self->loader || self->closing)
        raise_status(state, MLDF_E_STATE, "this loader is closed");
    else if (self->busy)
        raise_status(state, MLDF_E_STATE, "this loader is in use by another thread; it serves one at a time");
    else
        return self->busy = true;
    return false;
}

void loader_leave(struct loader *self) {
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

/* ---- Batches ----------------------------------------------------------------------------------------------------------------------- */

/* form(type, picks, dtypes): how batches look from now on. */
static PyObject *loader_form(PyObject *object, PyObject *args) {
    struct loader *self = (struct loader *)object;
    if (!loader_enter(self))
        return NULL;
    bool set = batch_form_set(&self->form, args, mldf_loader_output_count(self->loader));
    loader_leave(self);
    if (!set)
        return NULL;
    Py_RETURN_NONE;
}

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
    if (PyErr_Occurred() || !loader_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_loader_begin(self->loader, epoch, 0, &err);
    Py_END_ALLOW_THREADS
    if (status >= 0)
        at_place(self, epoch, 0);
    loader_leave(self);
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
    if (!PyArg_ParseTuple(args, "s#KK", &json, &bytes, &epoch, &consumed) || !loader_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_loader_restore(self->loader, json, (size_t)bytes, &err);
    Py_END_ALLOW_THREADS
    if (status >= 0)
        at_place(self, epoch, consumed);
    bool fine = status < 0 || context_warn(self->context);
    loader_leave(self);
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
    if (!loader_enter(self))
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
    loader_leave(self);
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
    return PyLong_FromUnsignedLongLong(mldf_loader_batch_bound(self->loader));
}

/* count_batches(epoch): exactly, which takes a look at every sample where a budget cuts batches; signals are heard meanwhile. */
static PyObject *loader_count_batches(PyObject *object, PyObject *number) {
    struct loader *self = (struct loader *)object;
    unsigned long long epoch = PyLong_AsUnsignedLongLong(number);
    uint64_t count = 0;
    mldf_error err;
    mldf_status status;
    if (PyErr_Occurred() || !loader_enter(self))
        return NULL;
    do {
        Py_BEGIN_ALLOW_THREADS
        status = mldf_loader_batch_count(self->loader, epoch, WAKE_MS, &count, &err);
        Py_END_ALLOW_THREADS
    } while (status == MLDF_AGAIN && PyErr_CheckSignals() == 0);
    bool closing = self->closing;
    loader_leave(self);
    if (PyErr_Occurred())
        return NULL;
    if (closing)
        return raise_status(state_of_self(object), MLDF_E_STATE, "this loader was closed while it was waited for");
    return status < 0 ? raise_error(state_of_self(object), &err) : PyLong_FromUnsignedLongLong(count);
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
    {"batch_count", loader_count, METH_NOARGS, "batches of an epoch, with a budget at most"},
    {"count_batches", loader_count_batches, METH_O, "count_batches(epoch): exactly"},
    {"where", loader_where, METH_VARARGS, "where(epoch, document): [(epoch, batch, slot, rank)], None with weights"},
    {"skip", loader_skip, METH_VARARGS,
     "skip(epoch, begin, end, positions): batches, or positions, that are not to come"},
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
