/* From a value of the library to a Python object, in two steps: cell_load finds it, decodes images (and recordings in numbers
 * that NumPy does not have) and copies what
 * must not point into the file, all without the interpreter; cell_object makes the object. A plan says how, field by
 * field. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE_COPY = 32 * 1024 }; /* bytes; copying more takes longer than giving up the GIL */

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

static bool lies_in(const mldf_buffer *buffer, const void *data) {
    uintptr_t base = (uintptr_t)buffer->data, at = (uintptr_t)data;
    return base && at >= base && at - base < buffer->capacity;
}

mldf_status cell_decode_image(struct cell *cell, const mldf_image_options *options, mldf_image_decoder **decoder,
                              mldf_error *err) {
    mldf_image_shape shape;
    mldf_buffer pixels = MLDF_BUFFER_INIT;
    mldf_status status = *decoder ? MLDF_OK : mldf_image_decoder_new(decoder, err);
    if (status >= 0)
        status = mldf_image_value_shape(&cell->value, options, &shape, err);
    if (status >= 0)
        status = mldf_buffer_reserve(&pixels, (size_t)shape.bytes, err);
    if (status >= 0)
        status = mldf_image_value_decode(*decoder, &cell->value, options, pixels.data, (size_t)shape.bytes, err);
    if (status < 0) {
        mldf_buffer_free(&pixels);
        return status;
    }
    mldf_buffer_free(&cell->own);
    cell->own = pixels;
    cell->owned = true;
    cell->value = (mldf_value){.kind = MLDF_KIND_ARRAY,
                               .dtype = shape.bits == 16 ? MLDF_U16 : MLDF_U8,
                               .data = pixels.data,
                               .bytes = shape.bytes,
                               .ndim = 3,
                               .dims = {shape.height, shape.width, shape.channels}};
    return MLDF_OK;
}

static mldf_status decode_image(const struct plan *plan, struct workspace *workspace, struct cell *cell,
                                mldf_error *err) {
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_status status = mldf_image_record(&cell->value, &info, err);
    if (status < 0 || info.mode == MLDF_IMAGE_MODE_OTHER ||
        (info.mode == MLDF_IMAGE_MODE_RAW && plan->pixels_as_stored))
        return status;
    return cell_decode_image(cell, &plan->image, &workspace->decoder, err);
}

/* Numbers that NumPy has no dtype for (24 bits, A-law, mu-law, packets) as float32; all others stay as they are stored. */
static mldf_status decode_audio(const mldf_reader *reader, struct cell *cell, mldf_error *err) {
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    uint64_t limit = mldf_reader_max_decoded(reader);
    mldf_buffer floats = MLDF_BUFFER_INIT;
    if (cell->value.kind != MLDF_KIND_BYTES)
        return MLDF_OK;
    mldf_status status = mldf_audio_record(&cell->value, &info, err);
    if (status < 0)
        return status;
    if ((status = mldf_audio_check_room(&info, cell->value.bytes, limit, err)) < 0)
        return status;
    uint64_t count = info.samples * info.channels;
    status = mldf_buffer_reserve(&floats, (size_t)(count ? count * sizeof(float) : 1), err);
    if (status >= 0)
        status = mldf_audio_value_read(&cell->value, 0, info.samples, (float *)(void *)floats.data, err);
    if (status < 0) {
        mldf_buffer_free(&floats);
        return status;
    }
    mldf_buffer_free(&cell->own);
    cell->own = floats;
    cell->owned = true;
    cell->value = (mldf_value){.kind = MLDF_KIND_ARRAY,
                               .dtype = MLDF_F32,
                               .data = floats.data,
                               .bytes = count * sizeof(float),
                               .ndim = 2,
                               .dims = {info.samples, info.channels}};
    return MLDF_OK;
}

/* The payload as an array of bytes, and the record beside it. */
static void take_video(struct cell *cell) {
    mldf_value *v = &cell->value;
    cell->record_bytes = v->record_bytes <= sizeof cell->record ? v->record_bytes : 0;
    if (cell->record_bytes)
        memcpy(cell->record, v->record, cell->record_bytes);
    *v = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_U8, .data = v->data, .bytes = v->bytes, .ndim = 1, .dims = {v->bytes}};
}

static mldf_status copy_out(struct cell *cell, mldf_error *err) {
    bool array = cell->value.kind == MLDF_KIND_ARRAY || cell->value.kind == MLDF_KIND_STRUCT;
    if (!array || cell->owned || cell->value.bytes == 0)
        return MLDF_OK;
    mldf_status status = mldf_buffer_reserve(&cell->own, (size_t)cell->value.bytes, err);
    if (status < 0)
        return status;
    memcpy(cell->own.data, cell->value.data, (size_t)cell->value.bytes);
    cell->value.data = cell->own.data;
    cell->owned = true;
    return MLDF_OK;
}

/* Where it happened, for errors of decoding, which know nothing of samples. */
static mldf_status place(const mldf_reader *reader, const struct slot *slot, uint64_t sample, mldf_error *err,
                         mldf_status status) {
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(reader), slot->field);
    if (err->sample == MLDF_NONE) {
        err->sample = sample;
        PyOS_snprintf(err->field, sizeof err->field, "%s", field->name);
        err->offset = MLDF_NONE; /* it counts from the image's first byte */
    }
    return status;
}

static bool is_encrypted(const mldf_reader *reader) {
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    return mldf_reader_info(reader, &info, NULL) >= 0 && (info.flags & 8);
}

mldf_status cell_load(const mldf_reader *reader, const struct plan *plan, const struct slot *slot, uint64_t sample,
                      bool copy, struct workspace *workspace, struct cell *out, mldf_error *err) {
    out->own = (mldf_buffer)MLDF_BUFFER_INIT;
    out->owned = false;
    out->sample = sample;
    if (slot->how == HOW_ABSENT) {
        out->value.kind = MLDF_KIND_NULL;
        return MLDF_OK;
    }
    /* Of a recording the record says enough; in a mapped file the whole value costs no more, and is checked, unless it must be decrypted. */
    bool record = slot->how == HOW_RECORDING && (!mldf_reader_is_mapped(reader) || is_encrypted(reader));
    mldf_status status = record ? mldf_reader_get_range(reader, sample, slot->field, 0, 0, &out->own, &out->value, err)
                                : mldf_reader_get(reader, sample, slot->field, &out->own, &out->value, err);
    if (status < 0 || slot->how == HOW_RECORDING)
        return status;
    out->owned = lies_in(&out->own, out->value.data);
    if (out->value.kind == MLDF_KIND_NULL)
        return MLDF_OK;
    if (slot->how == HOW_IMAGE && (status = decode_image(plan, workspace, out, err)) < 0)
        return place(reader, slot, sample, err, status);
    if (slot->how == HOW_VIDEO)
        take_video(out);
    return copy ? copy_out(out, err) : MLDF_OK;
}

void cell_free(struct cell *cell) {
    mldf_buffer_free(&cell->own);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static PyObject *bytes_object(const void *data, uint64_t bytes) {
    PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (!out || bytes == 0)
        return out;
    char *to = PyBytes_AsString(out);
    if (bytes < LARGE_COPY) {
        memcpy(to, data, (size_t)bytes);
        return out;
    }
    Py_BEGIN_ALLOW_THREADS /* pages of the file may have to come from disk; nobody else knows `out` yet */
    memcpy(to, data, (size_t)bytes);
    Py_END_ALLOW_THREADS
    return out;
}

static PyObject *array_object(struct module_state *state, struct handle *handle, const struct slot *slot,
                              struct cell *cell) {
    const mldf_value *v = &cell->value;
    struct shape shape = {v->dtype, v->ndim, {0}};
    PyObject *dtype = slot->dtype, *named = NULL;
    bool is_struct = v->kind == MLDF_KIND_STRUCT, readonly = !cell->owned;
    if (!dtype && (v->dtype == MLDF_U8 || v->dtype == MLDF_U16)) /* pixels */
        dtype = v->dtype == MLDF_U16 ? state->dtype_u16 : state->dtype_u8;
    else if (!dtype && !(dtype = named = PyUnicode_FromString(mldf_dtype_name(v->dtype)))) /* each value has its own */
        return NULL;
    memcpy(shape.dims, v->dims, sizeof v->dims); /* a batch's shape has room for one more */
    struct shape memory_shape = shape;
    if (is_struct)
        memory_shape = (struct shape){MLDF_DTYPE_NONE, 1, {v->bytes}};
    struct memory *memory = cell->owned ? memory_from_buffer(&cell->own) : memory_retain(&handle->memory);
    PyObject *array = memory ? array_new(state, memory, v->data, &memory_shape, v->bytes, readonly) : NULL;
    PyObject *out = memory ? array_to_numpy(state, array, &shape, dtype) : NULL;
    Py_XDECREF(named);
    return out;
}

/* One record as a NumPy scalar. */
static PyObject *struct_object(struct module_state *state, struct handle *handle, const struct slot *slot,
                               struct cell *cell) {
    cell->value.ndim = 0;
    PyObject *array = array_object(state, handle, slot, cell);
    PyObject *out = array ? PyObject_GetItem(array, state->empty_tuple) : NULL;
    Py_XDECREF(array);
    return out;
}

/* What a decode in Python raised goes up as it is, with a note of where; an error of ours has members for that, too. */
static void note_place(struct module_state *state, const struct handle *handle, const struct slot *slot,
                       const struct cell *cell) {
    const mldf_field *field = mldf_schema_field(mldf_reader_schema(handle->reader), slot->field);
    PyObject *type, *error, *trace, *note = NULL, *done = NULL;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (error && PyObject_IsInstance(error, state->exceptions[EXCEPTION_COUNT - 1]) == 1)
        place_error(error, cell->sample, field->name);
    if (error)
        note = PyUnicode_FromFormat("in field '%s' of sample %llu", field->name, (unsigned long long)cell->sample);
    if (note)
        done = PyObject_CallMethod(error, "add_note", "O", note);
    PyErr_Clear(); /* a note that cannot be made is not missed */
    Py_XDECREF(note);
    Py_XDECREF(done);
    PyErr_Restore(type, error, trace);
}

/* Text that is none: the file was damaged, or written by something else. */
static PyObject *text_object(struct module_state *state, const struct handle *handle, const struct slot *slot,
                             const struct cell *cell) {
    const mldf_value *v = &cell->value;
    PyObject *out = PyUnicode_DecodeUTF8(v->data ? v->data : "", (Py_ssize_t)v->bytes, NULL);
    if (out || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        return out;
    PyErr_Clear();
    raise_status(state, MLDF_E_CORRUPT, "the text is not UTF-8");
    note_place(state, handle, slot, cell);
    return NULL;
}

static PyObject *plain_object(struct module_state *state, struct handle *handle, const struct slot *slot,
                              struct cell *cell) {
    const mldf_value *v = &cell->value;
    switch (v->kind) {
    case MLDF_KIND_NULL:
        Py_RETURN_NONE;
    case MLDF_KIND_INT:
        return v->dtype == MLDF_BOOL ? PyBool_FromLong((long)v->as.i) : PyLong_FromLongLong(v->as.i);
    case MLDF_KIND_UINT:
        return PyLong_FromUnsignedLongLong(v->as.u);
    case MLDF_KIND_FLOAT:
        return PyFloat_FromDouble(v->as.f);
    case MLDF_KIND_TEXT:
        return text_object(state, handle, slot, cell);
    case MLDF_KIND_ARRAY:
        return array_object(state, handle, slot, cell);
    case MLDF_KIND_STRUCT:
        return struct_object(state, handle, slot, cell);
    case MLDF_KIND_BYTES:
    case MLDF_KIND_STORED:
        break;
    }
    return bytes_object(v->data, v->bytes);
}

PyObject *value_object(struct module_state *state, struct cell *cell) {
    static const struct slot slot = {0};
    const mldf_value *v = &cell->value;
    if (v->kind == MLDF_KIND_TEXT) {
        PyObject *text = PyUnicode_DecodeUTF8(v->data ? v->data : "", (Py_ssize_t)v->bytes, NULL);
        if (!text && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
            PyErr_Clear();
            raise_status(state, MLDF_E_CORRUPT, "the text is not UTF-8");
        }
        return text;
    }
    return plain_object(state, NULL, &slot, cell);
}

/* decode(reader, field, sample, samples, rate, channels, bits, codec) */
static PyObject *lazy_recording(struct module_state *state, struct handle *handle, const struct slot *slot,
                                const struct cell *cell) {
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    mldf_error err;
    if (cell->value.kind == MLDF_KIND_NULL)
        Py_RETURN_NONE;
    if (mldf_audio_record(&cell->value, &info, &err) < 0) {
        raise_error(state, &err);
        return NULL;
    }
    PyObject *reader = reader_again(state, handle), *out = NULL;
    if (reader)
        out = PyObject_CallFunction(slot->decode, "OnKKkkks", reader, (Py_ssize_t)slot->field,
                                    (unsigned long long)cell->sample, (unsigned long long)info.samples,
                                    (unsigned long)info.rate, (unsigned long)info.channels, (unsigned long)info.bits,
                                    mldf_audio_codec_name(info.codec));
    Py_XDECREF(reader);
    return out;
}

PyObject *recording_object(struct module_state *state, struct handle *handle, size_t field, uint64_t sample) {
    struct slot slot = {.field = field};
    struct cell cell = {.own = MLDF_BUFFER_INIT, .sample = sample};
    mldf_error err;
    mldf_status status;
    PyObject *out = NULL;
    Py_BEGIN_ALLOW_THREADS
    status = mldf_reader_get(handle->reader, sample, field, &cell.own, &cell.value, &err);
    cell.owned = status >= 0 && lies_in(&cell.own, cell.value.data);
    if (status >= 0 && cell.value.kind != MLDF_KIND_NULL && (status = decode_audio(handle->reader, &cell, &err)) < 0)
        status = place(handle->reader, &slot, sample, &err, status);
    Py_END_ALLOW_THREADS
    if (status < 0)
        raise_error(state, &err);
    else
        out = plain_object(state, handle, &slot, &cell);
    cell_free(&cell);
    return out;
}

PyObject *cell_object(struct module_state *state, struct handle *handle, const struct slot *slot, struct cell *cell) {
    if (slot->how == HOW_RECORDING)
        return lazy_recording(state, handle, slot, cell);
    PyObject *plain = plain_object(state, handle, slot, cell);
    if (!plain || !slot->decode || cell->value.kind == MLDF_KIND_NULL)
        return plain;
    PyObject *record = NULL, *out = NULL;
    if (slot->how == HOW_VIDEO)
        record = PyBytes_FromStringAndSize((const char *)cell->record, (Py_ssize_t)cell->record_bytes);
    if (record || slot->how != HOW_VIDEO)
        out = PyObject_CallFunctionObjArgs(slot->decode, plain, record, NULL);
    Py_XDECREF(record);
    Py_DECREF(plain);
    if (!out)
        note_place(state, handle, slot, cell);
    return out;
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

static int plan_traverse(PyObject *object, visitproc visit, void *arg) {
    struct plan *self = (struct plan *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->sample_type);
    for (size_t i = 0; i < self->slot_count; i++) {
        Py_VISIT(self->slots[i].dtype);
        Py_VISIT(self->slots[i].decode);
    }
    return 0;
}

static int plan_clear(PyObject *object) {
    struct plan *self = (struct plan *)object;
    Py_CLEAR(self->sample_type);
    for (size_t i = 0; i < self->slot_count; i++) {
        Py_CLEAR(self->slots[i].dtype);
        Py_CLEAR(self->slots[i].decode);
    }
    return 0;
}

static void plan_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    plan_clear(object);
    PyMem_Free(((struct plan *)object)->slots);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyObject *object_or_null(PyObject *object) {
    return object == Py_None ? NULL : Py_NewRef(object);
}

static bool fill_slot(const mldf_reader *reader, PyObject *item, struct slot *slot) {
    const mldf_schema *schema = mldf_reader_schema(reader);
    Py_ssize_t field;
    PyObject *dtype, *decode;
    int pixels;
    if (!PyArg_ParseTuple(item, "npOO;slots are (field, pixels, dtype, decode)", &field, &pixels, &dtype, &decode))
        return false;
    if (field == -1) {
        slot->how = HOW_ABSENT;
        slot->cheap = true;
        return true;
    }
    if (field < 0 || (size_t)field >= mldf_schema_field_count(schema)) {
        PyErr_Format(PyExc_IndexError, "no field %zd", field);
        return false;
    }
    const mldf_field *info = mldf_schema_field(schema, (size_t)field);
    bool image = info->type_id >= MLDF_IMAGE_RAW && info->type_id <= MLDF_IMAGE;
    slot->field = (size_t)field;
    bool audio = (info->type_id == MLDF_AUDIO_WAVEFORM || info->type_id == MLDF_AUDIO_COMPRESSED) && info->known;
    bool made = info->known && decode != Py_None;
    bool parts = info->type_id == MLDF_MULTIMODAL && made; /* its parts are decoded or not */
    bool video = (info->type_id == MLDF_VIDEO_FRAMES || info->type_id == MLDF_VIDEO_COMPRESSED) && made;
    bool recording = audio && pixels && decode != Py_None;
    slot->how = image && pixels              ? HOW_IMAGE
                : recording                  ? HOW_RECORDING
                : (video && pixels) || parts ? HOW_VIDEO
                                             : HOW_PLAIN;
    slot->cheap = (slot->how == HOW_PLAIN || slot->how == HOW_RECORDING) && !(info->flags & MLDF_FIELD_COMPRESSED);
    slot->dtype = object_or_null(dtype);
    slot->decode = video && !pixels ? NULL : object_or_null(decode);
    return true;
}

/* plan(reader, slots, sample_type, channels, orient): slots are (field, pixels, dtype, decode); field -1 is None in
 * every sample */
PyObject *plan_new(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    PyObject *reader_object, *slots, *sample_type;
    int channels, orient;
    if (!PyArg_ParseTuple(args, "OOOip", &reader_object, &slots, &sample_type, &channels, &orient))
        return NULL;
    struct reader *reader = reader_from(state, reader_object);
    Py_ssize_t count = reader ? PySequence_Size(slots) : -1;
    struct plan *self = count >= 0 ? PyObject_GC_New(struct plan, state->plan_type) : NULL;
    if (!self)
        return NULL;
    self->sample_type = Py_NewRef(sample_type);
    self->slot_count = 0;
    self->image = (mldf_image_options)MLDF_IMAGE_OPTIONS_INIT;
    self->image.channels = channels;
    self->image.orient = orient;
    uint64_t limit = mldf_reader_max_decoded(reader->handle->reader);
    self->image.max_bytes = limit < MLDF_IMAGE_MAX_BYTES ? limit : 0;
    self->pixels_as_stored = !channels && !orient;
    self->cheap = true;
    self->slots = PyMem_Calloc((size_t)count + 1, sizeof *self->slots);
    bool fine = self->slots != NULL;
    if (!fine)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; fine && i < count; i++) {
        PyObject *item = PySequence_GetItem(slots, i);
        fine = item && fill_slot(reader->handle->reader, item, &self->slots[i]);
        Py_XDECREF(item);
        self->slot_count = fine ? (size_t)i + 1 : (size_t)i;
        self->cheap = self->cheap && (!fine || self->slots[i].cheap);
    }
    PyObject_GC_Track(self);
    if (!fine)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyType_Slot plan_slots[] = {
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_traverse, plan_traverse},
    {Py_tp_clear, plan_clear},
    {Py_tp_doc, DOC("Which fields of a reader a sample has, and how each becomes a Python object.")},
    {0, NULL},
};
PyType_Spec plan_spec = {
    "mldf._mldf.Plan", sizeof(struct plan), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, plan_slots};
