/* Reader: an open file of any format, and what it says of itself. Samples are in py_access.c. The library's reader is
 * immutable and shared by threads; it lives in a counted handle, because arrays that look into the mapping may
 * outlive this object. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>

/* ---- Handles and workspaces -------------------------------------------------------------------------------------- */

static void release_handle(struct memory *memory) {
    struct handle *handle = (struct handle *)memory;
    mldf_reader_close(handle->reader);
    context_free(handle->context);
    free(handle);
}

struct handle *reader_borrow(struct reader *self) {
    if (!self->handle) {
        raise_status(state_of_self((PyObject *)self), MLDF_E_STATE, "this dataset is closed");
        return NULL;
    }
    memory_retain(&self->handle->memory);
    return self->handle;
}

PyObject *reader_again(struct module_state *state, struct handle *handle) {
    struct reader *self = PyObject_New(struct reader, state->reader_type);
    if (!self)
        return NULL;
    memory_retain(&handle->memory);
    self->handle = handle;
    self->idle = NULL;
    self->slow = true;
    return (PyObject *)self;
}

struct reader *reader_from(struct module_state *state, PyObject *object) {
    if (Py_TYPE(object) != state->reader_type) {
        PyErr_SetString(PyExc_TypeError, "a Reader is needed");
        return NULL;
    }
    struct reader *self = (struct reader *)object;
    if (!self->handle) {
        raise_status(state, MLDF_E_STATE, "this dataset is closed");
        return NULL;
    }
    return self;
}

struct workspace *workspace_take(struct reader *self) {
    struct workspace *workspace = self->idle;
    if (workspace) {
        self->idle = workspace->next;
        return workspace;
    }
    workspace = calloc(1, sizeof *workspace);
    if (!workspace)
        PyErr_NoMemory();
    return workspace;
}

void workspace_give(struct reader *self, struct workspace *workspace) {
    workspace->next = self->idle;
    self->idle = workspace;
}

static void free_workspaces(struct reader *self) {
    while (self->idle) {
        struct workspace *workspace = self->idle;
        self->idle = workspace->next;
        mldf_image_decoder_free(workspace->decoder);
        mldf_buffer_free(&workspace->scratch);
        free(workspace);
    }
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

static struct reader *wrap(struct module_state *state, mldf_reader *reader, struct context *context, bool slow) {
    struct reader *self = PyObject_New(struct reader, state->reader_type);
    struct handle *handle = self ? malloc(sizeof *handle) : NULL;
    if (self) {
        self->handle = NULL;
        self->idle = NULL;
        self->slow = slow;
    }
    if (!handle) {
        if (self)
            PyErr_NoMemory();
        Py_XDECREF((PyObject *)self);
        mldf_reader_close(reader);
        context_free(context);
        return NULL;
    }
    memory_init(&handle->memory, release_handle);
    handle->reader = reader;
    handle->context = context;
    self->handle = handle;
    return self;
}

/* open_reader(path, options, types) */
static PyObject *open_reader(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_token_file tokens;
    const char *path;
    PyObject *dict, *types;
    mldf_reader *reader = NULL;
    mldf_error err;
    mldf_status status;
    int backend = 0, tar_index = MLDF_TAR_INDEX_USE;
    if (!PyArg_ParseTuple(args, "yO!O", &path, &PyDict_Type, &dict, &types) || !option_int(dict, "backend", &backend) ||
        !option_int(dict, "tar_index", &tar_index) || !option_bool(dict, "verify", &options.verify) ||
        !option_bool(dict, "without_key", &options.without_key) ||
        !option_u64(dict, "max_decoded_bytes", &options.max_decoded_bytes) ||
        !option_bool(dict, "sequential", &options.sequential) ||
        !option_token_file(dict, &tokens, &options.token_file) ||
        !option_secret(dict, "key", "passphrase", &options.secret))
        return NULL;
    struct context *context = context_new(state, types);
    if (!context || !context_limits(context, dict)) {
        context_free(context);
        return NULL;
    }
    options.context = context_get(context);
    options.backend = backend ? MLDF_BACKEND_READ : MLDF_BACKEND_MAP;
    options.tar_index = (mldf_tar_index)tar_index;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_reader_open(path, &options, &reader, &err);
    Py_END_ALLOW_THREADS
    if (status < 0) {
        context_free(context);
        return raise_error(state, &err);
    }
    struct reader *self = wrap(state, reader, context, options.verify || !mldf_reader_is_mapped(reader));
    if (self && !context_warn(context))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void close_handle(struct reader *self) {
    struct handle *handle = self->handle;
    self->handle = NULL;
    free_workspaces(self);
    if (handle)
        memory_release(&handle->memory);
}

static PyObject *reader_close(PyObject *self, PyObject *ignored) {
    (void)ignored;
    close_handle((struct reader *)self);
    Py_RETURN_NONE;
}

static void reader_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    close_handle((struct reader *)object);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* ---- The schema -------------------------------------------------------------------------------------------------- */

static PyObject *shape_object(const mldf_field *field) {
    bool has = field->ndim || (field->dtype != MLDF_DTYPE_NONE && field->type_id != MLDF_INT);
    if (!has)
        Py_RETURN_NONE;
    PyObject *shape = PyTuple_New((Py_ssize_t)field->ndim);
    for (uint32_t i = 0; shape && i < field->ndim; i++) {
        PyObject *dim = field->dims[i] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(field->dims[i]);
        if (!dim || PyTuple_SetItem(shape, (Py_ssize_t)i, dim) < 0)
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *field_object(const mldf_field *f) {
    PyObject *shape = shape_object(f);
    if (!shape)
        return NULL;
    return Py_BuildValue("{s:s,s:I,s:s,s:s,s:O,s:O,s:O,s:I,s:I,s:I,s:s,s:N}", "name", f->name, "type_id",
                         (unsigned)f->type_id, "type", f->type_name, "arguments", f->arguments, "nullable",
                         f->flags & MLDF_FIELD_NULLABLE ? Py_True : Py_False, "compressed",
                         f->flags & MLDF_FIELD_COMPRESSED ? Py_True : Py_False, "known", f->known ? Py_True : Py_False,
                         "record_bytes", f->record_bytes, "record_align", f->record_align, "row_offset", f->row_offset,
                         "dtype", mldf_dtype_name(f->dtype), "shape", shape);
}

PyObject *schema_object(const mldf_schema *schema) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < mldf_schema_field_count(schema); i++) {
        PyObject *field = field_object(mldf_schema_field(schema, i));
        list_take(&list, field);
    }
    return list;
}

static PyObject *reader_fields(PyObject *object, PyObject *ignored) {
    struct handle *handle = reader_borrow((struct reader *)object);
    (void)ignored;
    if (!handle)
        return NULL;
    PyObject *list = schema_object(mldf_reader_schema(handle->reader));
    memory_release(&handle->memory);
    return list;
}

static PyObject *reader_find(PyObject *object, PyObject *name) {
    struct handle *handle = reader_borrow((struct reader *)object);
    const char *text = handle ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    mldf_error err;
    size_t field;
    PyObject *out = NULL;
    if (text && mldf_schema_find(mldf_reader_schema(handle->reader), text, &field, &err) < 0)
        raise_error(state_of_self(object), &err);
    else if (text)
        out = PyLong_FromSize_t(field);
    if (handle)
        memory_release(&handle->memory);
    return out;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static PyObject *sections_object(const mldf_reader *reader) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < mldf_reader_section_count(reader); i++) {
        mldf_section s;
        if (mldf_reader_section(reader, i, &s, NULL) < 0)
            continue;
        PyObject *item = Py_BuildValue("{s:I,s:s,s:K,s:K}", "kind", s.kind, "name", s.name, "ptr",
                                       (unsigned long long)s.ptr, "bytes", (unsigned long long)s.bytes);
        list_take(&list, item);
    }
    return list;
}

static PyObject *reader_info(PyObject *object, PyObject *ignored) {
    struct handle *handle = reader_borrow((struct reader *)object);
    mldf_file_info i = MLDF_FILE_INFO_INIT;
    (void)ignored;
    if (!handle)
        return NULL;
    mldf_status status = mldf_reader_info(handle->reader, &i, NULL);
    PyObject *sections = sections_object(handle->reader), *out = NULL;
    if (status == MLDF_OK && sections)
        out = Py_BuildValue(
            "{s:s,s:i,s:i,s:I,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:I,s:I,s:O,s:O,s:O,s:O,s:N}", "format",
            mldf_reader_format(handle->reader), "version_major", i.version_major, "version_minor", i.version_minor,
            "flags", i.flags, "num_samples", (unsigned long long)i.num_samples, "page_size",
            (unsigned long long)i.page_size, "file_bytes", (unsigned long long)i.file_bytes, "ignored_bytes",
            (unsigned long long)i.ignored_bytes, "data_ptr", (unsigned long long)i.data_ptr, "metadata_ptr",
            (unsigned long long)i.metadata_ptr, "allocation_ptr", (unsigned long long)i.allocation_ptr,
            "descriptor_ptr", (unsigned long long)i.descriptor_ptr, "directory_ptr",
            (unsigned long long)i.directory_ptr, "descriptor_bytes", (unsigned long long)i.descriptor_bytes,
            "metadata_bytes", (unsigned long long)i.metadata_bytes, "allocation_bytes",
            (unsigned long long)i.allocation_bytes, "generation", i.generation, "row_bytes",
            mldf_schema_row_bytes(mldf_reader_schema(handle->reader)), "authenticated",
            i.authenticated ? Py_True : Py_False, "header_recovered", i.header_recovered ? Py_True : Py_False,
            "is_mapped", mldf_reader_is_mapped(handle->reader) ? Py_True : Py_False, "has_keys",
            mldf_reader_has_keys(handle->reader) ? Py_True : Py_False, "sections", sections);
    memory_release(&handle->memory);
    return out;
}

/* The card's JSON text, or None. */
static PyObject *reader_card(PyObject *object, PyObject *ignored) {
    struct handle *handle = reader_borrow((struct reader *)object);
    mldf_buffer text = MLDF_BUFFER_INIT;
    PyObject *out = NULL;
    mldf_error err;
    mldf_status status;
    (void)ignored;
    if (!handle)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_reader_card(handle->reader, &text, &err);
    Py_END_ALLOW_THREADS
    if (status == MLDF_ABSENT)
        out = Py_NewRef(Py_None);
    else if (status < 0)
        raise_error(state_of_self(object), &err);
    else
        out = PyUnicode_DecodeUTF8((const char *)text.data, (Py_ssize_t)text.size, NULL);
    mldf_buffer_free(&text);
    memory_release(&handle->memory);
    return out;
}

/* Bytes of all payloads of a file of another format; None for MLDF, whose statistics say so. */
static PyObject *reader_payload_bytes(PyObject *object, PyObject *ignored) {
    struct handle *handle = reader_borrow((struct reader *)object);
    uint64_t bytes = MLDF_NONE;
    mldf_error err;
    mldf_status status;
    (void)ignored;
    if (!handle)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_reader_payload_bytes(handle->reader, &bytes, &err);
    Py_END_ALLOW_THREADS
    memory_release(&handle->memory);
    if (status < 0)
        return raise_error(state_of_self(object), &err);
    return number_or_none(status == MLDF_ABSENT ? MLDF_NONE : bytes);
}

static PyObject *stats_number(int kind, int64_t i, uint64_t u, double f) {
    switch (kind) {
    case 1:
        return PyLong_FromLongLong(i);
    case 2:
        return PyLong_FromUnsignedLongLong(u);
    case 3:
        return PyFloat_FromDouble(f);
    default:
        Py_RETURN_NONE;
    }
}

/* statistics(field): what the writer gathered, or None. */
static PyObject *reader_statistics(PyObject *object, PyObject *number) {
    struct handle *handle = reader_borrow((struct reader *)object);
    size_t field = handle ? PyLong_AsSize_t(number) : 0;
    mldf_field_stats s = MLDF_FIELD_STATS_INIT;
    mldf_error err;
    if (!handle)
        return NULL;
    mldf_status status = PyErr_Occurred() ? MLDF_ABSENT : mldf_reader_stats(handle->reader, field, &s, &err);
    memory_release(&handle->memory);
    if (PyErr_Occurred())
        return NULL;
    if (status < 0)
        return raise_error(state_of_self(object), &err);
    if (status == MLDF_ABSENT)
        Py_RETURN_NONE;
    PyObject *dims = PyList_New(0);
    for (uint32_t i = 0; dims && i < s.ndim && i < MLDF_MAX_DIMS; i++) {
        PyObject *dim = PyLong_FromUnsignedLong(s.dims_max[i]);
        list_take(&dims, dim);
    }
    if (!dims)
        return NULL;
    if (s.ndim == 0) {
        Py_DECREF(dims);
        dims = Py_NewRef(Py_None);
    }
    PyObject *out = Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:N,s:N,s:N,s:N}", "present", (unsigned long long)s.present, "nulls",
        (unsigned long long)s.nulls, "stored_bytes", (unsigned long long)s.stored_bytes, "stored_bytes_max",
        (unsigned long long)s.stored_bytes_max, "value_bytes_max", (unsigned long long)s.value_bytes_max, "nonfinite",
        (unsigned long long)s.nonfinite, "min", stats_number(s.number_kind, s.min.i, s.min.u, s.min.f), "max",
        stats_number(s.number_kind, s.max.i, s.max.u, s.max.f), "mean",
        s.number_kind && !s.units_max ? PyFloat_FromDouble(s.mean) : Py_NewRef(Py_None), "dims_max", dims);
    PyObject *tokens = out && s.units_max ? Py_BuildValue("{s:K,s:K}", "tokens", (unsigned long long)s.units,
                                                          "tokens_max", (unsigned long long)s.units_max)
                                          : NULL;
    if (tokens && PyDict_Update(out, tokens) < 0)
        Py_CLEAR(out);
    Py_XDECREF(tokens);
    return out;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static PyObject *reader_key(PyObject *object, PyObject *number) {
    struct handle *handle = reader_borrow((struct reader *)object);
    unsigned long long sample = handle ? PyLong_AsUnsignedLongLong(number) : 0;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    PyObject *out = NULL;
    const char *key;
    size_t bytes;
    mldf_error err;
    if (!handle)
        return NULL;
    if (!PyErr_Occurred()) {
        mldf_status status;
        Py_BEGIN_ALLOW_THREADS
        status = mldf_reader_key(handle->reader, sample, &scratch, &key, &bytes, &err);
        Py_END_ALLOW_THREADS
        if (status < 0)
            raise_error(state_of_self(object), &err);
        else
            out = PyUnicode_DecodeUTF8(key, (Py_ssize_t)bytes, "surrogateescape");
    }
    mldf_buffer_free(&scratch);
    memory_release(&handle->memory);
    return out;
}

/* str or bytes as bytes. No key has half of a surrogate pair. */
static PyObject *key_bytes(struct module_state *state, PyObject *key) {
    char message[128];
    if (PyBytes_Check(key))
        return Py_NewRef(key);
    if (!PyUnicode_Check(key)) {
        PyObject *name = PyType_GetName(Py_TYPE(key));
        const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        if (text) {
            PyOS_snprintf(message, sizeof message, "a sample's key is a str, not a %.80s", text);
            raise_status(state, MLDF_E_TYPE, message);
        }
        Py_XDECREF(name);
        return NULL;
    }
    PyObject *out = PyUnicode_AsEncodedString(key, "utf-8", "surrogateescape");
    if (!out && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        raise_status(state, MLDF_E_NO_SAMPLE, "no sample has such a key: it cannot be written as UTF-8");
    }
    return out;
}

static PyObject *reader_find_key(PyObject *object, PyObject *key) {
    struct handle *handle = reader_borrow((struct reader *)object);
    PyObject *text = handle ? key_bytes(state_of_self(object), key) : NULL, *out = NULL;
    uint64_t sample;
    mldf_error err;
    mldf_status status;
    if (text) {
        const char *bytes = PyBytes_AsString(text);
        size_t length = (size_t)PyBytes_Size(text);
        Py_BEGIN_ALLOW_THREADS
        status = mldf_reader_find_key(handle->reader, bytes, length, &sample, &err);
        Py_END_ALLOW_THREADS
        out = status < 0 ? raise_error(state_of_self(object), &err) : PyLong_FromUnsignedLongLong(sample);
    }
    Py_XDECREF(text);
    if (handle)
        memory_release(&handle->memory);
    return out;
}

/* ---- The type ---------------------------------------------------------------------------------------------------- */

#define FAST(FUNCTION) ((PyCFunction)(void (*)(void))(FUNCTION)), METH_FASTCALL

static PyMethodDef methods[] = {
    {"sample", FAST(reader_sample), "sample(plan, i): one sample"},
    {"field", FAST(reader_field), "field(plan, slot, i): one field of one sample"},
    {"samples", FAST(reader_samples),
     "samples(plan, indices, copy): a list of samples; indices are a buffer of uint64"},
    {"field_many", FAST(reader_field_many), "field_many(plan, slot, indices): a list of values"},
    {"raw", FAST(reader_raw), "raw(field, i, stored): the bytes of a value, undecoded, as an Array, or None"},
    {"gather", FAST(reader_gather), "gather(field, indices, item_bytes): values of fixed size, one after the other"},
    {"valid", FAST(reader_valid), "valid(field, indices): an Array of bytes, 0 for nulls"},
    {"rows", reader_rows, METH_NOARGS, "the table of rows as an Array of bytes"},
    {"recording", reader_recording, METH_VARARGS, "recording(field, i): its numbers, whole"},
    {"window", reader_window, METH_VARARGS, "window(field, i, begin, count): float32 (channels, count)"},
    {"fields", reader_fields, METH_NOARGS, "a dict for each field"},
    {"find", reader_find, METH_O, "find(name): the field's number"},
    {"info", reader_info, METH_NOARGS, "what the file says of itself"},
    {"card", reader_card, METH_NOARGS, "the card's JSON text, or None"},
    {"payload_bytes", reader_payload_bytes, METH_NOARGS, "bytes of all payloads of a file of another format"},
    {"token_plans", reader_token_plans, METH_NOARGS, "token_plans(): the pack plans of the file"},
    {"statistics", reader_statistics, METH_O, "statistics(field): what the writer gathered, or None"},
    {"key", reader_key, METH_O, "key(i)"},
    {"find_key", reader_find_key, METH_O, "find_key(text): the sample's number"},
    {"close", reader_close, METH_NOARGS, "Forgets the file; it is closed when the last view of it is gone."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, DOC("An open file of any format.")},
    {0, NULL},
};
PyType_Spec reader_spec = {"mldf._mldf.Reader", sizeof(struct reader), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

PyMethodDef reader_functions[] = {
    {"open_reader", open_reader, METH_VARARGS, "open_reader(path, options, types): a Reader"},
    {"plan", plan_new, METH_VARARGS, "plan(reader, slots, sample_type, channels, orient): a Plan"},
    {NULL, NULL, 0, NULL},
};
