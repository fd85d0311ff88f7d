/* From a Python object to a value for the writer. python/mldf/values.py has brought it into one of few forms: None,
 * int, float, str, bytes, or an object with a C-contiguous buffer. The library copies what it needs, so an object's
 * memory is held for the call only. */
#include "py_extension.h"

#include <string.h>

/* The element type of a buffer, from its struct-module format; '<' or '@' may stand in front. */
static mldf_dtype dtype_of(const char *format, Py_ssize_t itemsize) {
    static const mldf_dtype ints[9] = {[1] = MLDF_I8, [2] = MLDF_I16, [4] = MLDF_I32, [8] = MLDF_I64};
    static const mldf_dtype uints[9] = {[1] = MLDF_U8, [2] = MLDF_U16, [4] = MLDF_U32, [8] = MLDF_U64};
    if (!format)
        return MLDF_U8;
    if (*format == '<' || *format == '@' || *format == '=')
        format++;
    if (strcmp(format, "Zf") == 0)
        return MLDF_C64;
    if (strcmp(format, "Zd") == 0)
        return MLDF_C128;
    if (!format[0] || format[1] || itemsize < 1 || itemsize > 8)
        return MLDF_DTYPE_NONE;
    switch (*format) {
    case '?':
        return MLDF_BOOL;
    case 'e':
        return MLDF_F16;
    case 'f':
        return MLDF_F32;
    case 'd':
        return MLDF_F64;
    default:
        return strchr("bhilqn", *format)   ? ints[itemsize]
               : strchr("BHILQN", *format) ? uints[itemsize]
                                           : MLDF_DTYPE_NONE;
    }
}

static bool feed_int(PyObject *object, mldf_value *out) {
    int overflow;
    out->kind = MLDF_KIND_INT;
    out->as.i = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow > 0) {
        out->kind = MLDF_KIND_UINT;
        out->as.u = PyLong_AsUnsignedLongLong(object);
    } else if (overflow < 0) {
        PyErr_SetString(PyExc_OverflowError, "the integer is below -2^63");
    }
    return !PyErr_Occurred();
}

static bool feed_buffer(const mldf_field *field, PyObject *object, struct fed *out) {
    mldf_value *v = &out->value;
    if (PyObject_GetBuffer(object, &out->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return false;
    out->viewed = true;
    v->kind = MLDF_KIND_ARRAY;
    v->dtype = dtype_of(out->view.format, out->view.itemsize);
    if (v->dtype == MLDF_U16 && field->dtype == MLDF_BF16)
        v->dtype = MLDF_BF16; /* bfloat16 comes as its bits */
    v->data = out->view.buf;
    v->bytes = (uint64_t)out->view.len;
    v->ndim = (uint32_t)out->view.ndim;
    if (v->dtype == MLDF_DTYPE_NONE || out->view.ndim > MLDF_MAX_DIMS) {
        PyErr_Format(PyExc_TypeError, "an array of %d dimensions and format '%s'", out->view.ndim,
                     out->view.format ? out->view.format : "B");
        return false;
    }
    for (int i = 0; i < out->view.ndim; i++)
        v->dims[i] = (uint64_t)out->view.shape[i];
    return true;
}

bool feed_value(const mldf_field *field, PyObject *object, struct fed *out) {
    mldf_value *v = &out->value;
    Py_ssize_t bytes;
    char *data;
    memset(out, 0, sizeof *out);
    if (object == Py_None)
        return true;
    if (PyLong_Check(object))
        return feed_int(object, v);
    if (PyFloat_Check(object)) {
        v->kind = MLDF_KIND_FLOAT;
        v->as.f = PyFloat_AsDouble(object);
        return true;
    }
    if (PyUnicode_Check(object)) {
        v->kind = MLDF_KIND_TEXT;
        v->data = PyUnicode_AsUTF8AndSize(object, &bytes);
        v->bytes = (uint64_t)bytes;
        return v->data != NULL;
    }
    if (PyBytes_Check(object)) {
        if (PyBytes_AsStringAndSize(object, &data, &bytes) < 0)
            return false;
        v->kind = MLDF_KIND_BYTES;
        v->data = data;
        v->bytes = (uint64_t)bytes;
        return true;
    }
    return feed_buffer(field, object, out);
}

void feed_release(struct fed *fed, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (fed[i].viewed)
            PyBuffer_Release(&fed[i].view);
}
