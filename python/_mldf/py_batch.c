/* A batch of the loader as a tuple of arrays. Each array holds the batch, so that a batch that the user keeps, whole or in part, stays
 * valid, also after its loader is closed; when the last array is gone its memory serves a later batch. What holds it is plain C
 * (py_memory.c): the last view may end on any thread, and after the interpreter. */
#include "py_extension.h"

#include <stdlib.h>

struct kept {
    struct memory memory;
    mldf_batch *batch;
};

static void release_kept(struct memory *memory) {
    struct kept *kept = (struct kept *)memory;
    mldf_batch_release(kept->batch);
    free(kept);
}

/* ---- The form -------------------------------------------------------------------------------------------------------------- */

void batch_form_clear(struct batch_form *form) {
    for (size_t i = 0; form->dtypes && i < form->count; i++)
        Py_XDECREF(form->dtypes[i]);
    Py_CLEAR(form->type);
    PyMem_Free(form->picks);
    PyMem_Free(form->dtypes);
    *form = (struct batch_form){0};
}

static bool set_pick(struct batch_form *form, size_t i, PyObject *pick, PyObject *dtype, size_t arrays) {
    form->picks[i] = pick ? PyLong_AsSize_t(pick) : 0;
    if (PyErr_Occurred())
        return false;
    if (form->picks[i] >= arrays) {
        PyErr_Format(PyExc_IndexError, "output %zu of %zu", form->picks[i], arrays);
        return false;
    }
    form->dtypes[i] = !dtype || dtype == Py_None ? NULL : Py_NewRef(dtype);
    return true;
}

bool batch_form_set(struct batch_form *form, PyObject *args, size_t arrays) {
    PyObject *type, *picks, *dtypes;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyType_Type, &type, &PyTuple_Type, &picks, &PyTuple_Type, &dtypes))
        return false;
    size_t count = (size_t)PyTuple_Size(picks);
    if ((size_t)PyTuple_Size(dtypes) != count || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "a subclass of tuple, and as many dtypes as outputs");
        return false;
    }
    batch_form_clear(form);
    form->picks = PyMem_Calloc(count + 1, sizeof *form->picks);
    form->dtypes = PyMem_Calloc(count + 1, sizeof(PyObject *));
    if (!form->picks || !form->dtypes) {
        batch_form_clear(form);
        PyErr_NoMemory();
        return false;
    }
    for (; form->count < count; form->count++)
        if (!set_pick(form, form->count, PyTuple_GetItem(picks, (Py_ssize_t)form->count),
                      PyTuple_GetItem(dtypes, (Py_ssize_t)form->count), arrays)) {
            batch_form_clear(form);
            return false;
        }
    form->type = Py_NewRef(type);
    return true;
}

/* ---- The tuple -------------------------------------------------------------------------------------------------------------- */

static PyObject *one_array(struct module_state *state, struct kept *kept, size_t index, PyObject *dtype) {
    mldf_array array;
    if (mldf_batch_array(kept->batch, index, &array) != MLDF_OK) {
        PyErr_SetString(PyExc_IndexError, "the batch has no such array");
        return NULL;
    }
    struct shape shape = {.dtype = array.dtype, .ndim = array.ndim};
    for (uint32_t i = 0; i < array.ndim && i < ARRAY_MAX_DIMS; i++)
        shape.dims[i] = array.dims[i];
    PyObject *view = array_new(state, memory_retain(&kept->memory), array.data, &shape, array.bytes, false);
    return view && dtype ? array_to_numpy(state, view, &shape, dtype) : view;
}

PyObject *batch_object(struct module_state *state, const struct batch_form *form, mldf_batch *batch) {
    struct kept *kept = malloc(sizeof *kept);
    if (!kept) {
        mldf_batch_release(batch);
        return PyErr_NoMemory();
    }
    memory_init(&kept->memory, release_kept);
    kept->batch = batch;
    PyObject *values = PyTuple_New((Py_ssize_t)form->count), *out = NULL;
    for (size_t i = 0; values && i < form->count; i++) {
        PyObject *value = one_array(state, kept, form->picks[i], form->dtypes[i]);
        if (!value || PyTuple_SetItem(values, (Py_ssize_t)i, value) < 0)
            Py_CLEAR(values);
    }
    memory_release(&kept->memory);
    if (values)
        out = PyObject_CallFunctionObjArgs(state->tuple_new, form->type, values, NULL);
    Py_XDECREF(values);
    return out;
}
