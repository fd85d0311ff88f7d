/* Images without a file: what bytes say they are, decoding, encoding, resizing. The work runs without the GIL. */
#include "py_extension.h"

/* probe_image(data): a dict */
static PyObject *probe_image(PyObject *module, PyObject *args) {
    mldf_image_info i = MLDF_IMAGE_INFO_INIT;
    mldf_error err;
    Py_buffer data;
    if (!PyArg_ParseTuple(args, "y*", &data))
        return NULL;
    mldf_status status = mldf_image_probe(data.buf, (size_t)data.len, &i, &err);
    PyBuffer_Release(&data);
    if (status < 0)
        return raise_error(state_of(module), &err);
    static const char *const colors[] = {"channels", "cmyk", "ycck", "palette"};
    return Py_BuildValue("{s:s,s:I,s:I,s:i,s:i,s:s,s:i,s:O,s:I}", "format", mldf_image_mode_name(i.mode), "width",
                         i.width, "height", i.height, "channels", (int)i.channels, "bits", (int)i.bits, "color",
                         colors[i.color], "orientation", (int)i.orientation, "progressive",
                         i.progressive ? Py_True : Py_False, "frames", i.frames);
}

/* A buffer that was filled with pixels, as a NumPy array. */
static PyObject *pixels_object(struct module_state *state, mldf_buffer *pixels, const mldf_image_shape *s) {
    struct shape shape = {s->bits == 16 ? MLDF_U16 : MLDF_U8, 3, {s->height, s->width, s->channels}};
    void *data = pixels->data;
    struct memory *memory = memory_from_buffer(pixels);
    if (!memory)
        return NULL;
    PyObject *array = array_new(state, memory, data, &shape, s->bytes, false);
    return array_to_numpy(state, array, &shape, s->bits == 16 ? state->dtype_u16 : state->dtype_u8);
}

/* The pixels, or the error, as the status says; the buffer's end. */
static PyObject *pixels_end(struct module_state *state, mldf_status status, mldf_buffer *pixels,
                            const mldf_image_shape *shape, const mldf_error *err) {
    PyObject *out = NULL;
    if (status < 0)
        raise_error(state, err);
    else
        out = pixels_object(state, pixels, shape);
    mldf_buffer_free(pixels);
    return out;
}

/* decode_image(data, options, region or None): a NumPy array. The options are members of mldf_image_options. */
static PyObject *decode_image(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_image_options options = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_shape shape;
    mldf_buffer pixels = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_status status;
    Py_buffer data;
    PyObject *dict, *region;
    if (!PyArg_ParseTuple(args, "y*O!O", &data, &PyDict_Type, &dict, &region))
        return NULL;
    options.region = region != Py_None;
    if (!option_int(dict, "channels", &options.channels) || !option_int(dict, "bits", &options.bits) ||
        !option_int(dict, "scale", &options.scale) || !option_int(dict, "eighths", &options.eighths) ||
        !option_bool(dict, "orient", &options.orient) || !option_bool(dict, "fast_dct", &options.fast_dct) ||
        !option_bool(dict, "tolerant", &options.tolerant) || !option_u64(dict, "max_pixels", &options.max_pixels) ||
        (options.region && !PyArg_ParseTuple(region, "IIII;region is (x, y, width, height)", &options.x, &options.y,
                                             &options.width, &options.height))) {
        PyBuffer_Release(&data);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = mldf_image_decoded_shape(data.buf, (size_t)data.len, &options, &shape, &err);
    if (status >= 0)
        status = mldf_buffer_reserve(&pixels, (size_t)shape.bytes, &err);
    if (status >= 0)
        status = mldf_image_decode(NULL, data.buf, (size_t)data.len, &options, pixels.data, (size_t)shape.bytes, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&data);
    return pixels_end(state, status, &pixels, &shape, &err);
}

/* A C-contiguous array of u8 or u16, [height, width] or [height, width, channels]. */
static bool pixels_from(PyObject *object, Py_buffer *view, mldf_image_pixels *out) {
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS) < 0)
        return false;
    if ((view->ndim != 2 && view->ndim != 3) || (view->itemsize != 1 && view->itemsize != 2) ||
        view->shape[0] > UINT32_MAX || view->shape[1] > UINT32_MAX ||
        (view->ndim == 3 && (view->shape[2] < 1 || view->shape[2] > 4))) {
        PyErr_SetString(PyExc_TypeError, "pixels are uint8 or uint16, [height, width] or [height, width, 1 to 4]");
        PyBuffer_Release(view);
        return false;
    }
    *out = (mldf_image_pixels){view->buf, (uint32_t)view->shape[1], (uint32_t)view->shape[0],
                               view->ndim == 3 ? (uint32_t)view->shape[2] : 1, (uint32_t)view->itemsize * 8};
    return true;
}

/* encode_image(pixels, png, options): bytes. The options are members of mldf_jpeg_options; png_level is zlib's. */
static PyObject *encode_image(PyObject *module, PyObject *args) {
    mldf_jpeg_options jpeg = MLDF_JPEG_OPTIONS_INIT;
    mldf_buffer file = MLDF_BUFFER_INIT;
    mldf_image_pixels pixels;
    mldf_error err;
    mldf_status status;
    Py_buffer view;
    PyObject *object, *dict, *out = NULL;
    const char *icc = NULL;
    int png, subsampling = 420, level = -1;
    if (!PyArg_ParseTuple(args, "OpO!", &object, &png, &PyDict_Type, &dict) ||
        !option_int(dict, "quality", &jpeg.quality) || !option_int(dict, "subsampling", &subsampling) ||
        !option_bool(dict, "optimize", &jpeg.optimize) || !option_bool(dict, "progressive", &jpeg.progressive) ||
        !option_bytes(dict, "icc", &icc, &jpeg.icc_bytes) || !option_int(dict, "png_level", &level) ||
        !pixels_from(object, &view, &pixels))
        return NULL;
    jpeg.icc = icc;
    jpeg.subsampling = subsampling == 444 ? MLDF_IMAGE_444 : subsampling == 422 ? MLDF_IMAGE_422 : MLDF_IMAGE_420;
    Py_BEGIN_ALLOW_THREADS
    status =
        png ? mldf_image_encode_png(&pixels, level, &file, &err) : mldf_image_encode_jpeg(&pixels, &jpeg, &file, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    if (status < 0)
        raise_error(state_of(module), &err);
    else
        out = PyBytes_FromStringAndSize((const char *)file.data, (Py_ssize_t)file.size);
    mldf_buffer_free(&file);
    return out;
}

/* image_icc(data): bytes, or None */
static PyObject *image_icc(PyObject *module, PyObject *args) {
    mldf_buffer profile = MLDF_BUFFER_INIT;
    mldf_error err;
    Py_buffer data;
    PyObject *out = NULL;
    if (!PyArg_ParseTuple(args, "y*", &data))
        return NULL;
    mldf_status status = mldf_image_icc(data.buf, (size_t)data.len, &profile, &err);
    PyBuffer_Release(&data);
    if (status < 0)
        raise_error(state_of(module), &err);
    else if (status == MLDF_ABSENT)
        out = Py_NewRef(Py_None);
    else
        out = PyBytes_FromStringAndSize((const char *)profile.data, (Py_ssize_t)profile.size);
    mldf_buffer_free(&profile);
    return out;
}

/* resize_image(pixels, width, height, filter): a NumPy array */
static PyObject *resize_image(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_buffer pixels = MLDF_BUFFER_INIT;
    mldf_image_pixels source;
    mldf_error err;
    mldf_status status;
    Py_buffer view;
    PyObject *object;
    unsigned width, height;
    int filter;
    if (!PyArg_ParseTuple(args, "OIIi", &object, &width, &height, &filter) || !pixels_from(object, &view, &source))
        return NULL;
    mldf_image_shape shape = {width, height, source.channels, source.bits,
                              (uint64_t)width * height * source.channels * (source.bits / 8)};
    Py_BEGIN_ALLOW_THREADS
    status = mldf_buffer_reserve(&pixels, (size_t)shape.bytes, &err);
    if (status >= 0)
        status = mldf_image_resize(&source, width, height, (mldf_image_filter)filter, NULL, pixels.data,
                                   (size_t)shape.bytes, &err);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return pixels_end(state, status, &pixels, &shape, &err);
}

PyMethodDef image_functions[] = {
    {"probe_image", probe_image, METH_VARARGS, "probe_image(data): a dict"},
    {"decode_image", decode_image, METH_VARARGS, "decode_image(data, options, region)"},
    {"encode_image", encode_image, METH_VARARGS, "encode_image(pixels, png, options)"},
    {"image_icc", image_icc, METH_VARARGS, "image_icc(data): bytes or None"},
    {"resize_image", resize_image, METH_VARARGS, "resize_image(pixels, width, height, filter)"},
    {NULL, NULL, 0, NULL},
};
