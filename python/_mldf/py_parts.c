/* Multimodal samples: a list of Python objects as the value that a writer takes, and the parts of a stored one as Python objects. A field is its
 * arguments as JSON; parts are copied out, so that they outlive the file. */
#include "py_extension.h"

#include <string.h>

static mldf_schema *schema_of(PyObject *module, const char *arguments) {
    mldf_schema *schema = NULL;
    mldf_error err;
    mldf_status status = mldf_schema_new(NULL, &schema, &err);
    if (status >= 0)
        status = mldf_schema_add(schema, "parts", MLDF_MULTIMODAL, arguments, 0, &err);
    if (status >= 0)
        return schema;
    raise_error(state_of(module), &err);
    mldf_schema_free(schema);
    return NULL;
}

/* parts_schema(arguments): a dict for each kind */
static PyObject *parts_schema(PyObject *module, PyObject *text) {
    const mldf_schema *kinds;
    mldf_error err;
    PyObject *out = NULL;
    const char *arguments = PyUnicode_AsUTF8AndSize(text, NULL);
    mldf_schema *schema = arguments ? schema_of(module, arguments) : NULL;
    if (!schema)
        return NULL;
    if (mldf_parts_schema(schema, 0, &kinds, &err) < 0)
        raise_error(state_of(module), &err);
    else
        out = schema_object(kinds);
    mldf_schema_free(schema);
    return out;
}

/* ---- Writing ------------------------------------------------------------------------------------------------------------------ */

struct listed {
    mldf_sample_part *parts;
    struct fed *fed;
    size_t count, fed_count;
};

static bool take_part(const mldf_schema *kinds, PyObject *item, struct listed *list, size_t i) {
    mldf_sample_part *part = &list->parts[i];
    unsigned long group;
    long long begin;
    PyObject *value;
    Py_ssize_t kind;
    if (!PyArg_ParseTuple(item, "nkLO;parts are (kind, group, begin, value)", &kind, &group, &begin, &value))
        return false;
    const mldf_field *field = kind >= 0 ? mldf_schema_field(kinds, (size_t)kind) : NULL;
    if (!field) {
        PyErr_Format(PyExc_IndexError, "no kind %zd", kind);
        return false;
    }
    list->fed_count = i + 1;
    if (!feed_value(field, value, &list->fed[i]))
        return false;
    *part =
        (mldf_sample_part){.role = field->name, .group = (uint32_t)group, .begin = begin, .value = list->fed[i].value};
    return true;
}

/* parts_list(arguments, parts): the bytes that a writer takes; parts are (kind, group, begin, value) */
static PyObject *parts_list(PyObject *module, PyObject *args) {
    const char *arguments;
    const mldf_schema *kinds;
    mldf_buffer list = MLDF_BUFFER_INIT;
    mldf_error err;
    PyObject *items, *out = NULL;
    if (!PyArg_ParseTuple(args, "sO!", &arguments, &PyTuple_Type, &items))
        return NULL;
    mldf_schema *schema = schema_of(module, arguments);
    if (!schema)
        return NULL;
    struct listed l = {.count = (size_t)PyTuple_Size(items)};
    l.parts = PyMem_Calloc(l.count + 1, sizeof *l.parts);
    l.fed = PyMem_Calloc(l.count + 1, sizeof *l.fed);
    bool fine = l.parts && l.fed;
    if (!fine)
        PyErr_NoMemory();
    else if (mldf_parts_schema(schema, 0, &kinds, &err) < 0) {
        raise_error(state_of(module), &err);
        fine = false;
    }
    for (size_t i = 0; fine && i < l.count; i++)
        fine = take_part(kinds, PyTuple_GetItem(items, (Py_ssize_t)i), &l, i);
    if (fine && mldf_parts_list(schema, 0, l.parts, l.count, &list, &err) < 0)
        raise_error(state_of(module), &err);
    else if (fine)
        out = PyBytes_FromStringAndSize((const char *)list.data, (Py_ssize_t)list.size);
    feed_release(l.fed, l.fed_count);
    PyMem_Free(l.fed);
    PyMem_Free(l.parts);
    mldf_buffer_free(&list);
    mldf_schema_free(schema);
    return out;
}

/* ---- Reading ------------------------------------------------------------------------------------------------------------------ */

struct stored {
    mldf_schema *schema;
    const mldf_schema *kinds;
    mldf_value value;
    mldf_image_decoder *decoder;
};

static mldf_status load_image(struct stored *s, struct cell *cell, mldf_error *err) {
    const mldf_image_options options = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_status status = mldf_image_record(&cell->value, &info, err);
    if (status < 0 || info.mode == MLDF_IMAGE_MODE_OTHER)
        return status;
    return cell_decode_image(cell, &options, &s->decoder, err);
}

/* The value in memory of its own. */
static mldf_status load_copy(struct cell *cell, mldf_error *err) {
    mldf_buffer own = MLDF_BUFFER_INIT;
    if (!cell->value.bytes || !cell->value.data)
        return MLDF_OK;
    mldf_status status = mldf_buffer_append(&own, cell->value.data, (size_t)cell->value.bytes, err);
    if (status < 0)
        return status;
    mldf_buffer_free(&cell->own);
    cell->own = own;
    cell->value.data = own.data;
    return MLDF_OK;
}

/* (kind, group, begin, value, record) */
static PyObject *part_object(PyObject *module, struct stored *s, uint64_t index, bool decode) {
    struct cell cell = {.own = MLDF_BUFFER_INIT, .owned = true};
    mldf_sample_part part;
    mldf_error err;
    size_t kind = 0;
    mldf_status status;
    PyObject *out = NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_parts_get(s->schema, 0, &s->value, index, &cell.own, &part, &kind, &err);
    if (status >= 0 && part.value.kind != MLDF_KIND_NULL && part.value.record_bytes <= sizeof cell.record) {
        /* It may lie in the buffer that decoding replaces. */
        memcpy(cell.record, part.value.record, part.value.record_bytes);
        part.value.record = cell.record;
    }
    if (status >= 0) {
        uint16_t type = mldf_schema_field(s->kinds, kind)->type_id;
        bool image = type >= MLDF_IMAGE_RAW && type <= MLDF_IMAGE && part.value.kind != MLDF_KIND_NULL;
        cell.value = part.value;
        if (image && decode)
            status = load_image(s, &cell, &err);
        if (status >= 0 && cell.value.data != cell.own.data)
            status = load_copy(&cell, &err);
    }
    Py_END_ALLOW_THREADS
    if (status < 0) {
        raise_error(state_of(module), &err);
    } else {
        PyObject *value = value_object(state_of(module), &cell);
        PyObject *record = PyBytes_FromStringAndSize(part.value.kind == MLDF_KIND_NULL ? "" : part.value.record,
                                                     part.value.kind == MLDF_KIND_NULL ? 0 : part.value.record_bytes);
        if (value && record)
            out = Py_BuildValue("(nkLOO)", (Py_ssize_t)kind, (unsigned long)part.group, (long long)part.begin, value,
                                record);
        Py_XDECREF(value);
        Py_XDECREF(record);
    }
    cell_free(&cell);
    return out;
}

/* parts_get(arguments, record, payload, decode): a tuple for each part */
static PyObject *parts_get(PyObject *module, PyObject *args) {
    const char *arguments;
    Py_buffer record, payload;
    struct stored s = {0};
    uint64_t count = 0;
    mldf_error err;
    PyObject *out = NULL;
    int decode;
    if (!PyArg_ParseTuple(args, "sy*y*p", &arguments, &record, &payload, &decode))
        return NULL;
    s.schema = schema_of(module, arguments);
    s.value = (mldf_value){.kind = MLDF_KIND_BYTES,
                           .data = payload.buf,
                           .bytes = (uint64_t)payload.len,
                           .record = record.buf,
                           .record_bytes = (uint32_t)record.len};
    if (s.schema && (mldf_parts_schema(s.schema, 0, &s.kinds, &err) < 0 ||
                     mldf_parts_count(s.schema, 0, &s.value, &count, &err) < 0))
        raise_error(state_of(module), &err);
    else if (s.schema)
        out = PyList_New(0);
    for (uint64_t i = 0; out && i < count; i++) {
        PyObject *part = part_object(module, &s, i, decode);
        if (!part || PyList_Append(out, part) < 0)
            Py_CLEAR(out);
        Py_XDECREF(part);
    }
    mldf_image_decoder_free(s.decoder);
    mldf_schema_free(s.schema);
    PyBuffer_Release(&record);
    PyBuffer_Release(&payload);
    return out;
}

/* parts_audio(record, payload): (numbers as float32 bytes, samples, rate, channels, bits, codec) */
static PyObject *parts_audio(PyObject *module, PyObject *args) {
    Py_buffer record, payload;
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    mldf_error err;
    mldf_status status;
    PyObject *out = NULL, *numbers = NULL;
    if (!PyArg_ParseTuple(args, "y*y*", &record, &payload))
        return NULL;
    mldf_value value = {.kind = MLDF_KIND_BYTES,
                        .data = payload.buf,
                        .bytes = (uint64_t)payload.len,
                        .record = record.buf,
                        .record_bytes = (uint32_t)record.len};
    status = mldf_audio_record(&value, &info, &err);
    if (status >= 0)
        status = mldf_audio_check_room(&info, value.bytes, 0, &err);
    if (status >= 0 &&
        (numbers = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(info.samples * info.channels * sizeof(float))))) {
        float *to = (float *)(void *)PyBytes_AsString(numbers);
        Py_BEGIN_ALLOW_THREADS
        status = mldf_audio_value_read(&value, 0, info.samples, to, &err);
        Py_END_ALLOW_THREADS
    }
    if (status < 0)
        raise_error(state_of(module), &err);
    else if (numbers)
        out = Py_BuildValue("(OKkkks)", numbers, (unsigned long long)info.samples, (unsigned long)info.rate,
                            (unsigned long)info.channels, (unsigned long)info.bits, mldf_audio_codec_name(info.codec));
    Py_XDECREF(numbers);
    PyBuffer_Release(&record);
    PyBuffer_Release(&payload);
    return out;
}

PyMethodDef parts_functions[] = {
    {"parts_schema", parts_schema, METH_O, "parts_schema(arguments): a dict for each kind"},
    {"parts_list", parts_list, METH_VARARGS, "parts_list(arguments, parts): what a writer takes"},
    {"parts_get", parts_get, METH_VARARGS, "parts_get(arguments, record, payload, decode): the parts"},
    {"parts_audio", parts_audio, METH_VARARGS, "parts_audio(record, payload): a recording's numbers and form"},
    {NULL, NULL, 0, NULL},
};
