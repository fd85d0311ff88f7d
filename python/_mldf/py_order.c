/* Orders that the loader's own options cannot say: subsets, weights, mixtures. python/mldf/sampling.py describes them as tuples. */
#include "py_extension.h"

#include <stdlib.h>

/* A buffer of items of eight bytes; NULL with an exception. */
static const void *items_of(PyObject *object, Py_buffer *view, uint64_t *count) {
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) < 0)
        return NULL;
    if (view->len % 8 != 0 || (uintptr_t)view->buf % 8 != 0) {
        PyErr_SetString(PyExc_ValueError, "an aligned array of 64-bit numbers is needed");
        PyBuffer_Release(view);
        return NULL;
    }
    *count = (uint64_t)view->len / 8;
    return view->buf ? view->buf : "";
}

static mldf_order *checked(struct module_state *state, mldf_status status, const mldf_error *err, mldf_order *order) {
    if (status >= 0)
        return order;
    raise_error(state, err);
    return NULL;
}

/* Numbers as a buffer, or a count that stands for all below it. */
static mldf_order *over(struct module_state *state, PyObject *samples, const mldf_order_options *options) {
    mldf_order *order = NULL;
    mldf_error err;
    mldf_status status;
    Py_buffer view;
    uint64_t count;
    if (PyLong_Check(samples)) {
        count = PyLong_AsUnsignedLongLong(samples);
        if (PyErr_Occurred())
            return NULL;
        status = mldf_order_new(count, options, &order, &err);
        return checked(state, status, &err, order);
    }
    const void *numbers = items_of(samples, &view, &count);
    if (!numbers)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_order_new_subset(numbers, count, options, &order, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return checked(state, status, &err, order);
}

static mldf_order *weighted(struct module_state *state, PyObject *weights, uint64_t draws,
                            const mldf_order_options *options) {
    mldf_order *order = NULL;
    mldf_error err;
    mldf_status status;
    Py_buffer view;
    uint64_t count;
    const void *values = items_of(weights, &view, &count);
    if (!values)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_order_new_weighted(values, count, draws, options, &order, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return checked(state, status, &err, order);
}

static bool part_from(struct module_state *state, PyObject *pair, const mldf_order_options *options, mldf_order **order,
                      mldf_order_part *out) {
    PyObject *samples;
    unsigned long long ratio;
    if (!PyArg_ParseTuple(pair, "OK;a part is (samples, ratio)", &samples, &ratio))
        return false;
    *order = over(state, samples, options);
    *out = (mldf_order_part){*order, ratio};
    return *order != NULL;
}

static mldf_order *mixture(struct module_state *state, PyObject *pairs, uint64_t count,
                           const mldf_order_options *options) {
    Py_ssize_t length = PyList_Size(pairs), made = 0;
    mldf_order_part *parts = length < 0 ? NULL : calloc((size_t)length + 1, sizeof *parts);
    mldf_order **orders = length < 0 ? NULL : calloc((size_t)length + 1, sizeof(mldf_order *));
    mldf_order *order = NULL;
    mldf_error err;
    if (length >= 0 && (!parts || !orders))
        PyErr_NoMemory();
    if (parts && orders)
        while (made < length && part_from(state, PyList_GetItem(pairs, made), options, &orders[made], &parts[made]))
            made++;
    if (parts && orders && made == length) {
        mldf_status status = mldf_order_new_mixture(parts, (size_t)length, count, options, &order, &err);
        order = checked(state, status, &err, order);
    }
    for (Py_ssize_t i = 0; i < made; i++)
        mldf_order_free(orders[i]);
    free(parts);
    free(orders);
    return order;
}

mldf_order *order_from(struct module_state *state, PyObject *description, const mldf_order_options *options) {
    const char *kind;
    PyObject *what;
    unsigned long long count = 0;
    if (!PyArg_ParseTuple(description, "sO|K;an order is (kind, what, count)", &kind, &what, &count))
        return NULL;
    switch (kind[0]) {
    case 's':
        return over(state, what, options);
    case 'w':
        return weighted(state, what, count, options);
    default:
        return mixture(state, what, count, options);
    }
}
