/* The keys of a batch: gathered without the GIL into one block, then made into str one by one. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>

struct gathering {
    struct handle *const *handles;
    size_t handle_count;
    uint64_t *starts; /* number of each file's first sample, and of the first behind all */
    mldf_buffer block, scratch;
    size_t *ends; /* where each key ends in the block */
    bool lost;    /* a number that no file has */
};

/* Which file a number belongs to; handle_count: none. */
static size_t part_of(const struct gathering *g, uint64_t number) {
    size_t low = 0, high = g->handle_count;
    if (number >= g->starts[high])
        return high;
    while (high - low > 1) { /* starts[low] <= number < starts[high] */
        size_t middle = low + (high - low) / 2;
        if (g->starts[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static mldf_status gather(struct gathering *g, const uint64_t *numbers, size_t count, mldf_error *err) {
    mldf_status status = MLDF_OK;
    for (size_t i = 0; i < count && status >= 0; i++) {
        size_t part = part_of(g, numbers[i]), bytes;
        const char *key;
        g->lost = part == g->handle_count;
        if (g->lost)
            return MLDF_E_NO_SAMPLE;
        status =
            mldf_reader_key(g->handles[part]->reader, numbers[i] - g->starts[part], &g->scratch, &key, &bytes, err);
        if (status >= 0)
            status = mldf_buffer_append(&g->block, key, bytes, err);
        g->ends[i] = g->block.size;
    }
    return status;
}

static PyObject *as_list(const struct gathering *g, size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    size_t at = 0;
    for (size_t i = 0; list && i < count; at = g->ends[i++]) {
        const char *key = g->block.size ? (const char *)g->block.data + at : "";
        PyObject *text = PyUnicode_DecodeUTF8(key, (Py_ssize_t)(g->ends[i] - at), "surrogateescape");
        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *keys_of(struct module_state *state, struct handle *const *handles, size_t handle_count,
                  const uint64_t *numbers, size_t count) {
    struct gathering g = {.handles = handles, .handle_count = handle_count};
    PyObject *out = NULL;
    mldf_error err;
    mldf_status status;
    g.starts = calloc(handle_count + 1, sizeof *g.starts);
    g.ends = calloc(count + 1, sizeof *g.ends);
    if (!g.starts || !g.ends) {
        PyErr_NoMemory();
    } else {
        for (size_t i = 0; i < handle_count; i++)
            g.starts[i + 1] = g.starts[i] + mldf_reader_sample_count(handles[i]->reader);
        Py_BEGIN_ALLOW_THREADS
        status = gather(&g, numbers, count, &err);
        Py_END_ALLOW_THREADS
        if (g.lost)
            raise_status(state, MLDF_E_NO_SAMPLE, "a sample that no file has");
        else
            out = status < 0 ? raise_error(state, &err) : as_list(&g, count);
    }
    free(g.starts);
    free(g.ends);
    mldf_buffer_free(&g.block);
    mldf_buffer_free(&g.scratch);
    return out;
}
