/* What a Loader tells of itself: its outputs, plan and state, where the time went, which samples were bad, where documents come; what it is to skip. */
#include "py_loader_object.h"

/* ---- Outputs --------------------------------------------------------------------------------------------------------------------- */

/* outputs(): [(name, dtype, shape with None where batches differ)] */
PyObject *loader_outputs(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    PyObject *list = NULL;
    mldf_output o;
    (void)ignored;
    if (!loader_enter(self))
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
        list_take(&list, item);
    }
    loader_leave(self);
    return list;
}

/* Other threads run meanwhile where it takes long, and only there: they would be told that the loader is in use. */
static PyObject *text_of(PyObject *object, mldf_status (*write)(const mldf_loader *, mldf_buffer *, mldf_error *),
                         bool takes_long) {
    struct loader *self = (struct loader *)object;
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_error err;
    PyObject *out = NULL;
    if (!loader_enter(self))
        return NULL;
    PyThreadState *paused = takes_long ? PyEval_SaveThread() : NULL;
    mldf_status status = write(self->loader, &text, &err);
    if (paused)
        PyEval_RestoreThread(paused);
    loader_leave(self);
    if (status < 0)
        raise_error(state_of_self(object), &err);
    else
        out = PyUnicode_DecodeUTF8((const char *)text.data, (Py_ssize_t)text.size, NULL);
    mldf_buffer_free(&text);
    return out;
}

PyObject *loader_explain(PyObject *object, PyObject *ignored) {
    (void)ignored;
    return text_of(object, mldf_loader_explain, false);
}

PyObject *loader_state(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    (void)ignored;
    PyObject *out = text_of(object, mldf_loader_state, !self->known);
    self->known = self->known || out;
    return out;
}

/* keys(numbers): of a batch's samples; numbers are a buffer of uint64. */
PyObject *loader_keys(PyObject *object, PyObject *numbers) {
    struct loader *self = (struct loader *)object;
    PyObject *out = NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(numbers, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    if (view.len % 8 != 0 || (uintptr_t)view.buf % 8 != 0) {
        PyErr_SetString(PyExc_ValueError, "an aligned array of 64-bit numbers is needed");
    } else if (loader_enter(self)) {
        out = keys_of(state_of_self(object), self->handles, self->handle_count, view.buf, (size_t)view.len / 8);
        loader_leave(self);
    }
    PyBuffer_Release(&view);
    return out;
}

/* ---- What happened -------------------------------------------------------------------------------------------------------------------- */

/* Any thread, also while another one waits in next(): the library locks. */
PyObject *loader_stats(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    struct module_state *state = state_of_self(object);
    mldf_loader_stats s = MLDF_LOADER_STATS_INIT;
    mldf_error err;
    (void)ignored;
    if (!self->loader || self->closing)
        return raise_status(state, MLDF_E_STATE, "this loader is closed");
    if (mldf_loader_get_stats(self->loader, &s, &err) < 0)
        return raise_error(state, &err);
    PyObject *steps = PyList_New(0);
    for (size_t i = 0; steps && i < s.step_count; i++) {
        PyObject *step = Py_BuildValue("(sd)", s.steps[i].name, s.steps[i].seconds);
        list_take(&steps, step);
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
    return Py_BuildValue("{s:I,s:K,s:K,s:K,s:K,s:N,s:s,s:N,s:N,s:N}", "file", bad->reader, "sample",
                         (unsigned long long)bad->sample, "item", (unsigned long long)bad->item, "epoch",
                         (unsigned long long)bad->epoch, "position", (unsigned long long)bad->position, "substitute",
                         number_or_none(bad->substitute), "status", mldf_status_name(bad->error.status), "field",
                         words(bad->error.field), "message", words_of(&bad->error), "offset",
                         number_or_none(bad->error.offset));
}

PyObject *loader_bad(PyObject *object, PyObject *ignored) {
    struct loader *self = (struct loader *)object;
    mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
    mldf_error err;
    (void)ignored;
    if (!loader_enter(self))
        return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < mldf_loader_bad_count(self->loader); i++) {
        if (mldf_loader_bad_sample(self->loader, i, &bad, &err) != MLDF_OK)
            break;
        PyObject *item = bad_object(&bad);
        list_take(&list, item);
    }
    loader_leave(self);
    return list;
}

/* ---- Where documents come ------------------------------------------------------------------------------------------------------------- */

/* where(epoch, document): [(epoch, batch, slot, rank)]; None: samples are drawn by weight. */
PyObject *loader_where(PyObject *object, PyObject *args) {
    struct loader *self = (struct loader *)object;
    unsigned long long epoch, document;
    mldf_loader_place *places = NULL;
    size_t count = 0, room = 0;
    mldf_error err;
    mldf_status status = MLDF_OK;
    if (!PyArg_ParseTuple(args, "KK", &epoch, &document) || !loader_enter(self))
        return NULL;
    do { /* once to count, once to know */
        room = count;
        PyMem_Free(places);
        places = PyMem_Calloc(room + 1, sizeof *places);
        if (!places)
            break;
        Py_BEGIN_ALLOW_THREADS
        status = mldf_loader_where(self->loader, epoch, document, places, room, &count, &err);
        Py_END_ALLOW_THREADS
    } while (status >= 0 && count > room);
    loader_leave(self);
    PyObject *list = NULL;
    if (!places)
        PyErr_NoMemory();
    else if (status == MLDF_E_STATE)
        list = Py_NewRef(Py_None);
    else if (status < 0)
        raise_error(state_of_self(object), &err);
    else
        list = PyList_New(0);
    for (size_t i = 0; i < count && list && status >= 0; i++)
        list_take(&list,
                  Py_BuildValue("(KKKK)", (unsigned long long)places[i].epoch, (unsigned long long)places[i].batch,
                                (unsigned long long)places[i].slot, (unsigned long long)places[i].rank));
    PyMem_Free(places);
    return list;
}

/* skip(epoch, begin, end, positions) */
PyObject *loader_skip(PyObject *object, PyObject *args) {
    struct loader *self = (struct loader *)object;
    unsigned long long epoch, begin, end;
    int positions;
    mldf_error err;
    mldf_status status;
    if (!PyArg_ParseTuple(args, "KKKp", &epoch, &begin, &end, &positions) || !loader_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = positions ? mldf_loader_skip_positions(self->loader, epoch, begin, end, &err)
                       : mldf_loader_skip(self->loader, epoch, begin, end, &err);
    Py_END_ALLOW_THREADS
    loader_leave(self);
    if (status < 0)
        return raise_error(state_of_self(object), &err);
    Py_RETURN_NONE;
}
