/* Operations of the user's own: C source, which the library compiles, and functions that are compiled already (Numba's cfunc, ctypes), of
 * which we have the address. Both have the signature that mldf/pipeline.h gives for C source. They run on worker threads, without the
 * GIL; whoever hands in an address keeps its function alive and pure C. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>

typedef int (*own_function)(const void *in, void *out, const unsigned long long *dims, const double *arguments,
                            const unsigned long long *random);

struct own_operation {
    own_function function;
    mldf_dtype dtype; /* NONE: as it comes */
    bool shaped;
    uint32_t ndim;
    uint64_t dims[MLDF_MAX_DIMS];
};
struct own_operations {
    size_t count;
    struct own_operation items[];
};

static mldf_status infer(void *user, const double *arguments, size_t argument_count, const mldf_tensor *in,
                         mldf_tensor *out, mldf_error *err) {
    const struct own_operation *own = user;
    (void)arguments, (void)argument_count, (void)in, (void)err;
    if (own->dtype != MLDF_DTYPE_NONE)
        out->dtype = own->dtype;
    if (own->shaped) {
        out->ndim = own->ndim;
        memcpy(out->dims, own->dims, sizeof own->dims);
    }
    return MLDF_OK;
}

static mldf_status run(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                       mldf_error *err) {
    const struct own_operation *own = user;
    unsigned long long dims[MLDF_MAX_DIMS] = {0}, random[4];
    for (uint32_t i = 0; i < in->ndim && i < MLDF_MAX_DIMS; i++)
        dims[i] = in->dims[i];
    for (int i = 0; i < 4; i++)
        random[i] = call->random[i];
    int result = own->function(in->data, out->data, dims, call->arguments, random);
    if (result == 0)
        return MLDF_OK;
    if (err) {
        err->status = MLDF_E_RANGE;
        PyOS_snprintf(err->message, sizeof err->message, "the function returned %d", result);
    }
    return MLDF_E_RANGE;
}

static bool read_shape(PyObject *shape, struct own_operation *out) {
    if (shape == Py_None)
        return true;
    Py_ssize_t count = PyTuple_Size(shape);
    if (count > MLDF_MAX_DIMS)
        PyErr_Format(PyExc_ValueError, "a shape of more than %d dimensions", MLDF_MAX_DIMS);
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++)
        out->dims[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape, i));
    if (PyErr_Occurred())
        return false;
    out->shaped = true;
    out->ndim = (uint32_t)count;
    return true;
}

/* (name, source, address, dtype, shape) */
static bool read_own(struct module_state *state, mldf_context *context, PyObject *item, struct own_operation *out) {
    mldf_operation operation = MLDF_OPERATION_INIT;
    const char *dtype;
    unsigned long long address;
    PyObject *shape;
    mldf_error err;
    if (!PyArg_ParseTuple(item, "szKzO", &operation.name, &operation.source, &address, &dtype, &shape) ||
        !read_shape(shape, out))
        return false;
    out->dtype = dtype ? mldf_dtype_parse(dtype, strlen(dtype)) : MLDF_DTYPE_NONE;
    if (dtype && out->dtype == MLDF_DTYPE_NONE) {
        PyErr_Format(PyExc_TypeError, "%s is no element type", dtype);
        return false;
    }
    uintptr_t pointer = (uintptr_t)address;
    memcpy(&out->function, &pointer, sizeof pointer);
    operation.user = out;
    operation.infer = infer;
    operation.run = operation.source ? NULL : run;
    if (mldf_context_register_operation(context, &operation, &err) >= 0)
        return true;
    raise_error(state, &err);
    return false;
}

struct own_operations *own_operations_new(struct module_state *state, mldf_context *context, PyObject *list) {
    size_t count = (size_t)PyList_Size(list);
    struct own_operations *own = calloc(1, sizeof *own + count * sizeof own->items[0]);
    if (!own) {
        PyErr_NoMemory();
        return NULL;
    }
    for (; own->count < count; own->count++)
        if (!read_own(state, context, PyList_GetItem(list, (Py_ssize_t)own->count), &own->items[own->count])) {
            free(own); /* the context ends without calling them */
            return NULL;
        }
    return own;
}

void own_operations_free(struct own_operations *own) {
    free(own);
}
