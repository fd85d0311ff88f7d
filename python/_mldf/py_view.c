/* Views: what a sample is. python/mldf/views.py is what users see; the loader takes the object as an option and keeps it. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>

struct view {
    PyObject_HEAD
    mldf_view *view;
    struct handle **handles;
    size_t handle_count;
};

static void view_dealloc(PyObject *object) {
    struct view *self = (struct view *)object;
    PyTypeObject *type = Py_TYPE(object);
    mldf_view_free(self->view);
    for (size_t i = 0; i < self->handle_count; i++)
        memory_release(&self->handles[i]->memory);
    free(self->handles);
    PyObject_Free(object);
    Py_DECREF(type);
}

const mldf_view *view_from(struct module_state *state, PyObject *object) {
    if (Py_TYPE(object) == state->view_type)
        return ((struct view *)object)->view;
    PyErr_Format(PyExc_TypeError, "a view is needed, not %R", object);
    return NULL;
}

/* Readers stay open for as long as the view is there. */
static bool make_view(struct module_state *state, struct view *self, PyObject *readers, const char *text,
                      const Py_buffer *rows) {
    Py_ssize_t count = PyTuple_Size(readers);
    const mldf_reader **list = calloc((size_t)count + 1, sizeof *list);
    mldf_error err;
    mldf_status status = MLDF_OK;
    self->handles = calloc((size_t)count + 1, sizeof *self->handles);
    if (!list || !self->handles)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count && list && self->handles; i++) {
        struct reader *reader = reader_from(state, PyTuple_GetItem(readers, i));
        struct handle *handle = reader ? reader_borrow(reader) : NULL;
        if (!handle)
            break;
        self->handles[self->handle_count++] = handle;
        list[i] = handle->reader;
    }
    if (!PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS
        status = mldf_view_new_of(list, (size_t)count, text, rows ? rows->buf : NULL,
                                  rows ? (uint64_t)rows->len / 8 : 0, &self->view, &err);
        Py_END_ALLOW_THREADS
        if (status < 0)
            raise_error(state, &err);
        for (size_t i = 0; i < self->handle_count && status >= 0; i++)
            if (self->handles[i]->context && !context_warn(self->handles[i]->context))
                status = MLDF_E_STATE; /* a warning that is an error */
    }
    free(list);
    return self->view != NULL && status >= 0;
}

/* new_view(readers, text, rows): rows are None, or a buffer of uint64 */
static PyObject *new_view(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    PyObject *readers, *rows;
    Py_buffer buffer = {0};
    const char *text;
    if (!PyArg_ParseTuple(args, "O!sO", &PyTuple_Type, &readers, &text, &rows))
        return NULL;
    if (rows != Py_None && PyObject_GetBuffer(rows, &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    struct view *self = PyObject_New(struct view, state->view_type);
    if (self) {
        memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
        if (!make_view(state, self, readers, text, rows == Py_None ? NULL : &buffer))
            Py_CLEAR(self);
    }
    if (rows != Py_None)
        PyBuffer_Release(&buffer);
    return (PyObject *)self;
}

/* locate(item, draw): [(reader, row, from, length)] */
static PyObject *view_locate(PyObject *object, PyObject *args) {
    struct view *self = (struct view *)object;
    unsigned long long item, draw;
    mldf_piece first, *pieces = &first;
    size_t count;
    mldf_error err;
    if (!PyArg_ParseTuple(args, "KK", &item, &draw))
        return NULL;
    mldf_status status = mldf_view_locate(self->view, item, draw, &first, 1, &count, &err);
    if (status >= 0 && count > 1) {
        pieces = calloc(count, sizeof *pieces);
        if (!pieces)
            return PyErr_NoMemory();
        status = mldf_view_locate(self->view, item, draw, pieces, count, &count, &err);
    }
    PyObject *list = status < 0 ? raise_error(state_of_self(object), &err) : PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        list_take(&list, Py_BuildValue("(IKKK)", pieces[i].reader, (unsigned long long)pieces[i].row,
                                       (unsigned long long)pieces[i].from, (unsigned long long)pieces[i].length));
    if (pieces != &first)
        free(pieces);
    return list;
}

/* items(rows): for a buffer of uint64, as bytes: first and count of each. */
static PyObject *view_items(PyObject *object, PyObject *rows) {
    struct view *self = (struct view *)object;
    Py_buffer buffer;
    mldf_error err;
    mldf_status status = MLDF_OK;
    if (PyObject_GetBuffer(rows, &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    size_t count = (size_t)buffer.len / 8;
    PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * 16));
    char *to = out ? PyBytes_AsString(out) : NULL;
    for (size_t i = 0; to && i < count && status >= 0; i++) {
        uint64_t row, pair[2];
        memcpy(&row, (const char *)buffer.buf + 8 * i, 8);
        status = mldf_view_items(self->view, row, &pair[0], &pair[1], &err);
        memcpy(to + 16 * i, pair, sizeof pair);
    }
    PyBuffer_Release(&buffer);
    if (status < 0) {
        Py_CLEAR(out);
        raise_error(state_of_self(object), &err);
    }
    return out;
}

/* find(row): the items that have a piece of it */
static PyObject *view_find(PyObject *object, PyObject *number) {
    struct view *self = (struct view *)object;
    unsigned long long row = PyLong_AsUnsignedLongLong(number);
    uint64_t *items = NULL;
    size_t count = 0;
    mldf_error err;
    if (PyErr_Occurred())
        return NULL;
    mldf_status status = mldf_view_find(self->view, row, NULL, 0, &count, &err);
    if (status >= 0 && count && !(items = calloc(count, sizeof *items)))
        return PyErr_NoMemory();
    if (status >= 0 && count)
        status = mldf_view_find(self->view, row, items, count, &count, &err);
    PyObject *list = status < 0 ? raise_error(state_of_self(object), &err) : PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        list_take(&list, PyLong_FromUnsignedLongLong(items[i]));
    free(items);
    return list;
}

/* get(item, draw, field): the bytes of a field that the view makes, and its record, which arrays do not have */
static PyObject *view_get(PyObject *object, PyObject *args) {
    struct view *self = (struct view *)object;
    unsigned long long item, draw;
    Py_ssize_t field;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_value value;
    mldf_error err;
    if (!PyArg_ParseTuple(args, "KKn", &item, &draw, &field))
        return NULL;
    mldf_status status = mldf_view_get(self->view, item, draw, (size_t)field, &scratch, &value, &err);
    PyObject *data = status < 0 ? raise_error(state_of_self(object), &err)
                                : PyByteArray_FromStringAndSize(value.data, (Py_ssize_t)value.bytes);
    PyObject *out =
        data ? Py_BuildValue("(Ny#)", data, value.record ? value.record : "", (Py_ssize_t)value.record_bytes) : NULL;
    mldf_buffer_free(&scratch);
    return out;
}

/* fields(): None where they are the rows'; else the schema, and which of them a batch has without being asked */
static PyObject *view_fields(PyObject *object, PyObject *ignored) {
    struct view *self = (struct view *)object;
    const mldf_schema *schema = mldf_view_schema(self->view);
    (void)ignored;
    if (!mldf_view_makes_fields(self->view))
        Py_RETURN_NONE;
    PyObject *defaults = PyList_New(0);
    for (size_t i = 0; defaults && i < mldf_schema_field_count(schema); i++)
        list_take(&defaults, PyBool_FromLong(mldf_view_field_is_default(self->view, i)));
    return defaults ? Py_BuildValue("(NN)", schema_object(schema), defaults) : NULL;
}

/* describe(): (text, field, digest, count, length, counts of the readers, rows, rows without items, rows unmeasured, along) */
static PyObject *view_describe(PyObject *object, PyObject *ignored) {
    struct view *self = (struct view *)object;
    uint64_t rows, without, unmeasured;
    uint8_t digest[16];
    PyObject *counts = PyList_New(0);
    (void)ignored;
    for (size_t i = 0; counts && i < self->handle_count; i++)
        list_take(&counts, PyLong_FromUnsignedLongLong(mldf_view_count_of(self->view, i)));
    if (!counts)
        return NULL;
    mldf_view_digest(self->view, digest);
    mldf_view_rows(self->view, &rows, &without, &unmeasured);
    return Py_BuildValue("(ssy#KKNKKKs)", mldf_view_text(self->view), mldf_view_field(self->view), (char *)digest,
                         (Py_ssize_t)sizeof digest, (unsigned long long)mldf_view_count(self->view),
                         (unsigned long long)mldf_view_length(self->view), counts, (unsigned long long)rows,
                         (unsigned long long)without, (unsigned long long)unmeasured, mldf_view_along(self->view));
}

static PyMethodDef methods[] = {
    {"describe", view_describe, METH_NOARGS, "text, field, digest, counts ..."},
    {"locate", view_locate, METH_VARARGS, "locate(item, draw): [(reader, row, from, length)]"},
    {"items", view_items, METH_O, "items(rows): (first, count) of each, as bytes"},
    {"find", view_find, METH_O, "find(row): the items that have a piece of it"},
    {"get", view_get, METH_VARARGS, "get(item, draw, field): bytes and record of a field that the view makes"},
    {"fields", view_fields, METH_NOARGS, "fields(): (schema, defaults) of fields that the view makes, or None"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, view_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, DOC("What a sample is.")},
    {0, NULL},
};
PyType_Spec view_spec = {"mldf._mldf.View", sizeof(struct view), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

PyMethodDef view_functions[] = {
    {"new_view", new_view, METH_VARARGS, "new_view(readers, text, rows): a View"},
    {NULL, NULL, 0, NULL},
};
