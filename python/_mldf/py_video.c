/* Videos: what a stored value is, when its frames are shown, and any of them as pixels. A value is its field's type and arguments, its record and its
 * payload; frames are decoded without the GIL. */
#include "py_extension.h"

#include <string.h>

struct video {
    mldf_schema *schema; /* of one field */
    mldf_value value;
    Py_buffer record, payload;
};

static void video_end(struct video *v) {
    mldf_schema_free(v->schema);
    if (v->record.obj)
        PyBuffer_Release(&v->record);
    if (v->payload.obj)
        PyBuffer_Release(&v->payload);
}

/* From a tuple (type_id, arguments, record, payload). */
static bool video_begin(PyObject *module, PyObject *tuple, struct video *v) {
    mldf_error err;
    int id;
    const char *arguments;
    memset(v, 0, sizeof *v);
    if (!PyArg_ParseTuple(tuple, "isy*y*;a video is (type, arguments, record, payload)", &id, &arguments, &v->record,
                          &v->payload))
        return false;
    mldf_status status = mldf_schema_new(NULL, &v->schema, &err);
    if (status >= 0)
        status = mldf_schema_add(v->schema, "video", (uint16_t)id, arguments, 0, &err);
    if (status < 0) {
        raise_error(state_of(module), &err);
        video_end(v);
        return false;
    }
    v->value = (mldf_value){.kind = MLDF_KIND_BYTES,
                            .data = v->payload.buf,
                            .bytes = (uint64_t)v->payload.len,
                            .record = v->record.buf,
                            .record_bytes = (uint32_t)v->record.len};
    return true;
}

/* video_info(video): (frames, height, width, channels, bits, tick numerator, tick denominator, pts) */
static PyObject *video_info(PyObject *module, PyObject *tuple) {
    struct video v;
    mldf_video_info info = MLDF_VIDEO_INFO_INIT;
    mldf_error err;
    PyObject *out = NULL;
    if (!video_begin(module, tuple, &v))
        return NULL;
    if (mldf_video_info_of(v.schema, 0, &v.value, &info, &err) < 0)
        raise_error(state_of(module), &err);
    else
        out = Py_BuildValue("(KIIIIIIO)", (unsigned long long)info.frames, info.height, info.width, info.channels,
                            info.bits, info.tick_num, info.tick_den, info.pts ? Py_True : Py_False);
    video_end(&v);
    return out;
}

/* video_times(video): the frames' ticks, i64 as bytes */
static PyObject *video_times(PyObject *module, PyObject *tuple) {
    struct video v;
    mldf_video_info info = MLDF_VIDEO_INFO_INIT;
    mldf_error err;
    PyObject *out = NULL;
    if (!video_begin(module, tuple, &v))
        return NULL;
    mldf_status status = mldf_video_info_of(v.schema, 0, &v.value, &info, &err);
    if (status >= 0 && !(out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)info.frames * 8))) {
        video_end(&v);
        return NULL;
    }
    if (status >= 0)
        status = mldf_video_times(v.schema, 0, &v.value, (int64_t *)(void *)PyBytes_AsString(out), (size_t)info.frames,
                                  &err);
    if (status < 0) {
        raise_error(state_of(module), &err);
        Py_CLEAR(out);
    }
    video_end(&v);
    return out;
}

/* video_find(video, seconds): the number of the frame that is shown then */
static PyObject *video_find(PyObject *module, PyObject *args) {
    struct video v;
    mldf_error err;
    PyObject *tuple, *out = NULL;
    double seconds;
    uint64_t number;
    if (!PyArg_ParseTuple(args, "O!d", &PyTuple_Type, &tuple, &seconds) || !video_begin(module, tuple, &v))
        return NULL;
    if (mldf_video_find(v.schema, 0, &v.value, seconds, &number, &err) < 0)
        raise_error(state_of(module), &err);
    else
        out = PyLong_FromUnsignedLongLong(number);
    video_end(&v);
    return out;
}

/* video_frame(video, number): its stored bytes */
static PyObject *video_frame(PyObject *module, PyObject *args) {
    struct video v;
    mldf_error err;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    PyObject *tuple, *out = NULL;
    unsigned long long number;
    const void *data;
    size_t bytes;
    if (!PyArg_ParseTuple(args, "O!K", &PyTuple_Type, &tuple, &number) || !video_begin(module, tuple, &v))
        return NULL;
    if (mldf_video_frame(v.schema, 0, &v.value, number, &scratch, &data, &bytes, &err) < 0)
        raise_error(state_of(module), &err);
    else
        out = PyBytes_FromStringAndSize(data, (Py_ssize_t)bytes);
    mldf_buffer_free(&scratch);
    video_end(&v);
    return out;
}

/* Room for the frames, and they themselves. */
static mldf_status decode(const struct video *v, const Py_buffer *numbers, mldf_video_info *info, mldf_buffer *pixels,
                          mldf_error *err) {
    size_t count = (size_t)numbers->len / 8;
    mldf_status status = mldf_video_info_of(v->schema, 0, &v->value, info, err);
    if (status < 0)
        return status;
    if (info->frame_bytes && count > SIZE_MAX / 4 / info->frame_bytes) {
        PyOS_snprintf(err->message, sizeof err->message, "%zu frames do not fit into memory", count);
        return err->status = MLDF_E_LIMIT;
    }
    size_t bytes = count * (size_t)info->frame_bytes;
    status = mldf_buffer_reserve(pixels, bytes ? bytes : 1, err);
    if (status >= 0)
        status = mldf_video_decode(v->schema, 0, &v->value, numbers->buf, count, pixels->data, bytes, err);
    return status;
}

/* video_decode(video, numbers as u64 bytes): an array (frames, height, width, channels) */
static PyObject *video_decode(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    struct video v;
    mldf_error err = {0};
    mldf_video_info info = MLDF_VIDEO_INFO_INIT;
    mldf_buffer pixels = MLDF_BUFFER_INIT;
    mldf_status status;
    Py_buffer numbers;
    PyObject *tuple, *out = NULL;
    if (!PyArg_ParseTuple(args, "O!y*", &PyTuple_Type, &tuple, &numbers))
        return NULL;
    if (!video_begin(module, tuple, &v)) {
        PyBuffer_Release(&numbers);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = decode(&v, &numbers, &info, &pixels, &err);
    Py_END_ALLOW_THREADS
    if (status < 0) {
        raise_error(state, &err);
    } else {
        uint64_t count = (uint64_t)numbers.len / 8;
        struct shape shape = {info.bits == 16 ? MLDF_U16 : MLDF_U8, 4, {count, info.height, info.width, info.channels}};
        void *data = pixels.data;
        struct memory *memory = memory_from_buffer(&pixels);
        PyObject *array = memory ? array_new(state, memory, data, &shape, count * info.frame_bytes, false) : NULL;
        out =
            memory ? array_to_numpy(state, array, &shape, info.bits == 16 ? state->dtype_u16 : state->dtype_u8) : NULL;
    }
    mldf_buffer_free(&pixels);
    PyBuffer_Release(&numbers);
    video_end(&v);
    return out;
}

/* What mldf_video_pack and mldf_video_cut made: (record, value), or NULL with an exception. */
static PyObject *give_packed(PyObject *module, mldf_status status, const mldf_buffer *made, const mldf_error *err) {
    if (status < 0) {
        raise_error(state_of(module), err);
        return NULL;
    }
    return Py_BuildValue("(y#y#)", made->data + MLDF_VIDEO_PACKED_RECORD,
                         (Py_ssize_t)(MLDF_VIDEO_PACKED_PAYLOAD - MLDF_VIDEO_PACKED_RECORD), made->data,
                         (Py_ssize_t)made->size);
}

/* video_pack(arguments, file): (record, the value for a writer: its payload is from byte 80 on) */
static PyObject *video_pack(PyObject *module, PyObject *args) {
    mldf_buffer made = MLDF_BUFFER_INIT;
    mldf_schema *schema = NULL;
    mldf_error err = {0};
    const char *arguments;
    mldf_status status;
    Py_buffer file;
    if (!PyArg_ParseTuple(args, "sy*", &arguments, &file))
        return NULL;
    status = mldf_schema_new(NULL, &schema, &err);
    if (status >= 0)
        status = mldf_schema_add(schema, "video", MLDF_VIDEO_COMPRESSED, arguments, 0, &err);
    if (status >= 0) {
        Py_BEGIN_ALLOW_THREADS
        status = mldf_video_pack(schema, 0, file.buf, (size_t)file.len, &made, &err);
        Py_END_ALLOW_THREADS
    }
    PyObject *out = give_packed(module, status, &made, &err);
    mldf_schema_free(schema);
    mldf_buffer_free(&made);
    PyBuffer_Release(&file);
    return out;
}

/* video_cut(video, first, count): likewise, of some of its frames */
static PyObject *video_cut(PyObject *module, PyObject *args) {
    mldf_buffer made = MLDF_BUFFER_INIT;
    mldf_error err = {0};
    unsigned long long first, count;
    mldf_status status;
    struct video v;
    PyObject *tuple;
    if (!PyArg_ParseTuple(args, "O!KK", &PyTuple_Type, &tuple, &first, &count) || !video_begin(module, tuple, &v))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_video_cut(v.schema, 0, &v.value, first, count, &made, &err);
    Py_END_ALLOW_THREADS
    PyObject *out = give_packed(module, status, &made, &err);
    mldf_buffer_free(&made);
    video_end(&v);
    return out;
}

PyMethodDef video_functions[] = {
    {"video_info", video_info, METH_O, "video_info(video): what it is"},
    {"video_times", video_times, METH_O, "video_times(video): the frames' ticks"},
    {"video_find", video_find, METH_VARARGS, "video_find(video, seconds): a frame's number"},
    {"video_frame", video_frame, METH_VARARGS, "video_frame(video, number): its stored bytes"},
    {"video_decode", video_decode, METH_VARARGS, "video_decode(video, numbers): an array"},
    {"video_pack", video_pack, METH_VARARGS, "video_pack(arguments, file): (record, value)"},
    {"video_cut", video_cut, METH_VARARGS, "video_cut(video, first, count): (record, value)"},
    {NULL, NULL, 0, NULL},
};
