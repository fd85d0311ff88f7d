/* Parts of uint8 images, resized bilinearly, for mldf.compat.turboloader: batches of normalised floats, and mosaics. Python has checked shapes and
 * numbers; the buffers are looked at again. The work runs without the GIL. */
#include <string.h>

#include "py_extension.h"

enum { CHANNELS = 3 };

/* An output pixel lies between two of the image along each side. */
struct between {
    size_t first, second;
    float share; /* of the second one */
};

static void find_places(double start, double length, size_t count, size_t size, bool mirrored, struct between *out) {
    for (size_t i = 0; i < count; i++) {
        double at = start + ((double)i + 0.5) / (double)count * length - 0.5;
        at = at > 0 ? at < (double)(size - 1) ? at : (double)(size - 1) : 0; /* NaN becomes 0 */
        size_t first = (size_t)at;
        out[mirrored ? count - 1 - i : i] =
            (struct between){first, first + 1 < size ? first + 1 : first, (float)(at - (double)first)};
    }
}

struct u8_image {
    const uint8_t *pixels;
    size_t height, width;
};

/* One row of the result, `columns` pixels. */
static void sample_row(const struct u8_image *image, const struct between *row, const struct between *columns,
                       size_t count, float *out) {
    const uint8_t *above = image->pixels + row->first * image->width * CHANNELS;
    const uint8_t *below = image->pixels + row->second * image->width * CHANNELS;
    for (size_t x = 0; x < count; x++) {
        const struct between *c = &columns[x];
        float left = 1 - c->share, top = 1 - row->share;
        for (size_t k = 0; k < CHANNELS; k++) {
            float a = (float)above[c->first * CHANNELS + k] * left + (float)above[c->second * CHANNELS + k] * c->share;
            float b = (float)below[c->first * CHANNELS + k] * left + (float)below[c->second * CHANNELS + k] * c->share;
            out[x * CHANNELS + k] = a * top + b * row->share;
        }
    }
}

struct gather {
    Py_buffer images, chosen, crops, flips, out;
    int64_t *indices; /* a copy of `chosen`, which another thread may change after it was checked */
    Py_ssize_t n, height, width, count, out_height, out_width;
    int planar, normal;
    float mean[CHANNELS], std[CHANNELS];
};

static void write_row(const struct gather *g, const float *row, float *image, size_t y) {
    size_t width = (size_t)g->out_width, plane = (size_t)g->out_height * width;
    for (size_t k = 0; k < CHANNELS; k++) {
        float *to = g->planar ? image + k * plane + y * width : image + y * width * CHANNELS + k;
        size_t step = g->planar ? 1 : CHANNELS;
        for (size_t x = 0; x < width; x++) {
            float value = row[x * CHANNELS + k] / 255.0F;
            to[x * step] = g->normal ? (value - g->mean[k]) / g->std[k] : value;
        }
    }
}

static void gather_all(const struct gather *g, struct between *rows, struct between *columns, float *line) {
    size_t width = (size_t)g->out_width, height = (size_t)g->out_height, all = width * height * CHANNELS;
    const float *crops = g->crops.buf;
    const uint8_t *flips = g->flips.buf;
    for (Py_ssize_t i = 0; i < g->count; i++) {
        struct u8_image image = {(const uint8_t *)g->images.buf +
                                     (size_t)g->indices[i] * (size_t)g->height * (size_t)g->width * CHANNELS,
                                 (size_t)g->height, (size_t)g->width};
        const float *c = crops + 4 * i; /* x, y, width, height */
        find_places(c[1], c[3], height, image.height, false, rows);
        find_places(c[0], c[2], width, image.width, flips[i] != 0, columns);
        for (size_t y = 0; y < height; y++) {
            sample_row(&image, &rows[y], columns, width, line);
            write_row(g, line, (float *)g->out.buf + (size_t)i * all, y);
        }
    }
}

static bool gather_fits(const struct gather *g) {
    if (g->n < 0 || g->height < 1 || g->width < 1 || g->count < 0 || g->out_height < 1 || g->out_width < 1 ||
        g->images.len != g->n * g->height * g->width * CHANNELS || g->chosen.len != g->count * 8 ||
        g->crops.len != g->count * 16 || g->flips.len != g->count ||
        g->out.len != g->count * g->out_height * g->out_width * CHANNELS * (Py_ssize_t)sizeof(float))
        return false;
    for (Py_ssize_t i = 0; i < g->count; i++)
        if (g->indices[i] < 0 || g->indices[i] >= g->n)
            return false;
    return true;
}

/* crop_gather(images u8, (n, height, width), chosen i64, crops f32, flips u8, out f32, (height, width), planar, mean and std or None) */
static PyObject *crop_gather(PyObject *module, PyObject *args) {
    struct gather g = {.count = 0};
    PyObject *statistics;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*(nnn)y*y*y*w*(nn)pO", &g.images, &g.n, &g.height, &g.width, &g.chosen, &g.crops,
                          &g.flips, &g.out, &g.out_height, &g.out_width, &g.planar, &statistics))
        return NULL;
    g.normal = statistics != Py_None;
    g.count = g.chosen.len / 8;
    g.indices = PyMem_Malloc((size_t)g.chosen.len + 1);
    if (g.indices)
        memcpy(g.indices, g.chosen.buf, (size_t)g.chosen.len);
    bool fine = (g.indices || (PyErr_NoMemory(), false)) &&
                (!g.normal || PyArg_ParseTuple(statistics, "(fff)(fff)", &g.mean[0], &g.mean[1], &g.mean[2], &g.std[0],
                                               &g.std[1], &g.std[2])) &&
                (gather_fits(&g) || (PyErr_SetString(PyExc_ValueError, "sizes that do not fit each other"), false));
    if (fine) {
        size_t pixels = (size_t)g.out_height + (size_t)g.out_width;
        struct between *places = PyMem_Malloc(pixels * sizeof *places);
        float *line = PyMem_Malloc((size_t)g.out_width * CHANNELS * sizeof *line);
        fine = places && line;
        if (fine) {
            Py_BEGIN_ALLOW_THREADS
            gather_all(&g, places, places + g.out_height, line);
            Py_END_ALLOW_THREADS
        } else {
            PyErr_NoMemory();
        }
        PyMem_Free(places);
        PyMem_Free(line);
    }
    PyMem_Free(g.indices);
    PyBuffer_Release(&g.images);
    PyBuffer_Release(&g.chosen);
    PyBuffer_Release(&g.crops);
    PyBuffer_Release(&g.flips);
    PyBuffer_Release(&g.out);
    if (!fine)
        return NULL;
    Py_RETURN_NONE;
}

/* resize_into(image u8, (height, width), out u8, size, (y, x, height, width)): the image over that part of the square of `size` pixels. */
static PyObject *resize_into(PyObject *module, PyObject *args) {
    Py_buffer image, out;
    Py_ssize_t height, width, size, y, x, h, w;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*(nn)w*n(nnnn)", &image, &height, &width, &out, &size, &y, &x, &h, &w))
        return NULL;
    bool fine = height > 0 && width > 0 && h > 0 && w > 0 && x >= 0 && y >= 0 && x <= size - w && y <= size - h &&
                image.len == height * width * CHANNELS && out.len == size * size * CHANNELS;
    struct between *places = fine ? PyMem_Malloc((size_t)(h + w) * sizeof *places) : NULL;
    float *line = fine ? PyMem_Malloc((size_t)w * CHANNELS * sizeof *line) : NULL;
    bool room = places && line;
    if (room) {
        struct u8_image from = {image.buf, (size_t)height, (size_t)width};
        Py_BEGIN_ALLOW_THREADS
        find_places(0, (double)height, (size_t)h, from.height, false, places);
        find_places(0, (double)width, (size_t)w, from.width, false, places + h);
        for (Py_ssize_t row = 0; row < h; row++) {
            uint8_t *to = (uint8_t *)out.buf + ((y + row) * size + x) * CHANNELS;
            sample_row(&from, &places[row], places + h, (size_t)w, line);
            for (size_t i = 0; i < (size_t)w * CHANNELS; i++)
                to[i] = (uint8_t)(line[i] + 0.5F);
        }
        Py_END_ALLOW_THREADS
    }
    PyMem_Free(places);
    PyMem_Free(line);
    PyBuffer_Release(&image);
    PyBuffer_Release(&out);
    if (!fine)
        return PyErr_SetString(PyExc_ValueError, "sizes that do not fit each other"), NULL;
    if (!room)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

PyMethodDef gather_functions[] = {
    {"crop_gather", crop_gather, METH_VARARGS,
     "crop_gather(images, shape, chosen, crops, flips, out, size, planar, statistics)"},
    {"resize_into", resize_into, METH_VARARGS, "resize_into(image, shape, out, size, place)"},
    {NULL, NULL, 0, NULL},
};
