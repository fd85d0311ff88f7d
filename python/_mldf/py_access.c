/* Samples of a Reader, one or many in a call. Where nothing can block (rows and raw payloads of a mapped file) the
 * GIL stays, since giving it up costs more than the access; else it is given up once for the whole call. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 8, FEW = 16 }; /* from MANY cheap samples on, a call may take 10 µs */

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static bool wants(Py_ssize_t count, Py_ssize_t wanted) {
    if (count == wanted)
        return true;
    PyErr_Format(PyExc_TypeError, "%zd arguments are needed, %zd were given", wanted, count);
    return false;
}

static struct plan *plan_from(struct module_state *state, PyObject *object) {
    if (Py_TYPE(object) == state->plan_type)
        return (struct plan *)object;
    PyErr_SetString(PyExc_TypeError, "a Plan is needed");
    return NULL;
}

static struct slot *slot_from(struct plan *plan, PyObject *number) {
    size_t slot = PyLong_AsSize_t(number);
    if (PyErr_Occurred())
        return NULL;
    if (slot < plan->slot_count)
        return &plan->slots[slot];
    PyErr_Format(PyExc_IndexError, "no slot %zu", slot);
    return NULL;
}

static bool sample_from(PyObject *number, uint64_t *out) {
    *out = PyLong_AsUnsignedLongLong(number);
    return !PyErr_Occurred();
}

/* Sample numbers: a C-contiguous buffer of uint64. */
static bool indices_from(PyObject *object, Py_buffer *view) {
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS) < 0)
        return false;
    if (view->itemsize == 8)
        return true;
    PyErr_SetString(PyExc_TypeError, "sample numbers are an array of uint64");
    PyBuffer_Release(view);
    return false;
}

/* ---- One sample -------------------------------------------------------------------------------------------------- */

/* A run of cells, for `slot_count` slots of each of `count` samples. *failed: how many were loaded before the error. */
static mldf_status load(const mldf_reader *reader, const struct plan *plan, const struct slot *slots, size_t slot_count,
                        const uint64_t *samples, size_t count, bool copy, struct workspace *workspace,
                        struct cell *cells, size_t *loaded, mldf_error *err) {
    mldf_status status = MLDF_OK;
    *loaded = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < slot_count; s++) {
            struct cell *cell = &cells[*loaded];
            status = cell_load(reader, plan, &slots[s], samples[i], copy, workspace, cell, err);
            if (status < 0) {
                cell_free(cell);
                return status;
            }
            ++*loaded;
        }
    return status;
}

static PyObject *make_sample(struct module_state *state, struct handle *handle, const struct plan *plan,
                             struct cell *cells) {
    PyObject *values = PyTuple_New((Py_ssize_t)plan->slot_count);
    for (size_t s = 0; values && s < plan->slot_count; s++) {
        PyObject *value = cell_object(state, handle, &plan->slots[s], &cells[s]);
        if (!value || PyTuple_SetItem(values, (Py_ssize_t)s, value) < 0)
            Py_CLEAR(values);
    }
    PyObject *out = values ? PyObject_CallFunctionObjArgs(state->tuple_new, plan->sample_type, values, NULL) : NULL;
    Py_XDECREF(values);
    return out;
}

/* What the public functions below have in common: load without the GIL where it matters, then make objects. */
struct job {
    struct module_state *state;
    struct reader *self;
    struct plan *plan;
    const struct slot *slots;
    size_t slot_count;
    const uint64_t *samples;
    size_t count;
    bool copy, cheap;
    struct handle *handle;
    struct cell *few; /* the caller's, FEW of them: most calls need no more, and no allocation */
    struct cell *cells;
    size_t loaded;
};

static bool job_load(struct job *job) {
    mldf_error err;
    mldf_status status;
    size_t total = job->slot_count * job->count;
    struct workspace *workspace;
    job->loaded = 0;
    job->cells = job->few;
    job->handle = reader_borrow(job->self);
    if (!job->handle)
        return false;
    if (total > FEW)
        job->cells = total <= SIZE_MAX / sizeof *job->cells ? malloc(total * sizeof *job->cells) : NULL;
    workspace = job->cells ? workspace_take(job->self) : NULL;
    if (!workspace) {
        if (!job->cells)
            PyErr_NoMemory();
        return false;
    }
    if (job->cheap && !job->self->slow && job->count < MANY) {
        status = load(job->handle->reader, job->plan, job->slots, job->slot_count, job->samples, job->count, job->copy,
                      workspace, job->cells, &job->loaded, &err);
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = load(job->handle->reader, job->plan, job->slots, job->slot_count, job->samples, job->count, job->copy,
                      workspace, job->cells, &job->loaded, &err);
        Py_END_ALLOW_THREADS
    }
    workspace_give(job->self, workspace);
    if (status < 0)
        raise_error(job->state, &err);
    return status >= 0;
}

static void job_end(struct job *job) {
    for (size_t i = 0; i < job->loaded; i++)
        cell_free(&job->cells[i]);
    if (job->cells != job->few)
        free(job->cells);
    if (job->handle)
        memory_release(&job->handle->memory);
}

PyObject *reader_sample(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    struct module_state *state = state_of_self(self);
    struct plan *plan = wants(count, 2) ? plan_from(state, args[0]) : NULL;
    uint64_t sample;
    PyObject *out = NULL;
    if (!plan || !sample_from(args[1], &sample))
        return NULL;
    struct cell few[FEW];
    struct job job = {.few = few,
                      .state = state,
                      .self = (struct reader *)self,
                      .plan = plan,
                      .slots = plan->slots,
                      .slot_count = plan->slot_count,
                      .samples = &sample,
                      .count = 1,
                      .cheap = plan->cheap};
    if (job_load(&job))
        out = make_sample(state, job.handle, plan, job.cells);
    job_end(&job);
    return out;
}

PyObject *reader_field(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    struct module_state *state = state_of_self(self);
    struct plan *plan = wants(count, 3) ? plan_from(state, args[0]) : NULL;
    struct slot *slot = plan ? slot_from(plan, args[1]) : NULL;
    uint64_t sample;
    PyObject *out = NULL;
    if (!slot || !sample_from(args[2], &sample))
        return NULL;
    struct cell few[FEW];
    struct job job = {.few = few,
                      .state = state,
                      .self = (struct reader *)self,
                      .plan = plan,
                      .slots = slot,
                      .slot_count = 1,
                      .samples = &sample,
                      .count = 1,
                      .cheap = slot->cheap};
    if (job_load(&job))
        out = cell_object(state, job.handle, slot, &job.cells[0]);
    job_end(&job);
    return out;
}

/* ---- Many samples ------------------------------------------------------------------------------------------------ */

static PyObject *make_list(struct job *job, bool whole) {
    PyObject *list = PyList_New((Py_ssize_t)job->count);
    for (size_t i = 0; list && i < job->count; i++) {
        struct cell *cells = &job->cells[i * job->slot_count];
        PyObject *item = whole ? make_sample(job->state, job->handle, job->plan, cells)
                               : cell_object(job->state, job->handle, job->slots, cells);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *many(PyObject *self, struct plan *plan, const struct slot *slot, PyObject *indices, bool copy) {
    struct module_state *state = state_of_self(self);
    Py_buffer view;
    PyObject *out = NULL;
    if (!indices_from(indices, &view))
        return NULL;
    struct cell few[FEW];
    struct job job = {.few = few,
                      .state = state,
                      .self = (struct reader *)self,
                      .plan = plan,
                      .slots = slot ? slot : plan->slots,
                      .slot_count = slot ? 1 : plan->slot_count,
                      .samples = view.buf,
                      .count = (size_t)view.len / 8,
                      .copy = copy,
                      .cheap = slot ? slot->cheap : plan->cheap};
    if (job_load(&job))
        out = make_list(&job, !slot);
    job_end(&job);
    PyBuffer_Release(&view);
    return out;
}

PyObject *reader_samples(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    struct plan *plan = wants(count, 3) ? plan_from(state_of_self(self), args[0]) : NULL;
    return plan ? many(self, plan, NULL, args[1], args[2] == Py_True) : NULL;
}

PyObject *reader_field_many(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    struct plan *plan = wants(count, 3) ? plan_from(state_of_self(self), args[0]) : NULL;
    struct slot *slot = plan ? slot_from(plan, args[1]) : NULL;
    return slot ? many(self, plan, slot, args[2], false) : NULL;
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

PyObject *reader_raw(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    struct module_state *state = state_of_self(self);
    size_t field = wants(count, 3) ? PyLong_AsSize_t(args[0]) : 0;
    struct cell cell = {.own = MLDF_BUFFER_INIT};
    uint64_t sample;
    PyObject *out = NULL;
    mldf_error err;
    mldf_status status;
    if (PyErr_Occurred() || !sample_from(args[1], &sample))
        return NULL;
    struct handle *handle = reader_borrow((struct reader *)self);
    if (!handle)
        return NULL;
    const mldf_field *info = mldf_schema_field(mldf_reader_schema(handle->reader), field);
    bool image =
        args[2] != Py_True && info && info->known && info->type_id >= MLDF_IMAGE_RAW && info->type_id <= MLDF_IMAGE;
    Py_BEGIN_ALLOW_THREADS
    /* A fast JPEG is given as the JPEG, unless it is asked for as stored. */
    status = image ? mldf_reader_get(handle->reader, sample, field, &cell.own, &cell.value, &err)
                   : mldf_reader_get_stored(handle->reader, sample, field, &cell.own, &cell.value, &err);
    Py_END_ALLOW_THREADS
    if (status < 0) {
        raise_error(state, &err);
    } else if (cell.value.kind == MLDF_KIND_NULL) {
        out = Py_NewRef(Py_None);
    } else {
        uintptr_t base = (uintptr_t)cell.own.data, at = (uintptr_t)cell.value.data;
        bool owned = base && at >= base && at - base < cell.own.capacity;
        struct shape shape = {MLDF_U8, 1, {cell.value.bytes}};
        struct memory *memory = owned ? memory_from_buffer(&cell.own) : memory_retain(&handle->memory);
        if (memory)
            out = array_new(state, memory, cell.value.data, &shape, cell.value.bytes, !owned);
    }
    mldf_buffer_free(&cell.own);
    memory_release(&handle->memory);
    return out;
}

/* An Array over a fresh buffer that one call of the library fills. */
typedef mldf_status (*fill_fn)(const mldf_reader *reader, const uint64_t *samples, size_t count, size_t field,
                               void *out, size_t item_bytes, mldf_error *err);

static mldf_status fill_valid(const mldf_reader *reader, const uint64_t *samples, size_t count, size_t field, void *out,
                              size_t item_bytes, mldf_error *err) {
    (void)item_bytes;
    return mldf_reader_valid(reader, samples, count, field, out, err);
}

static PyObject *filled(PyObject *self, size_t field, PyObject *indices, size_t item_bytes, fill_fn fill) {
    struct module_state *state = state_of_self(self);
    struct handle *handle = reader_borrow((struct reader *)self);
    mldf_buffer buffer = MLDF_BUFFER_INIT;
    Py_buffer view;
    PyObject *out = NULL;
    mldf_error err;
    mldf_status status = MLDF_OK;
    if (!handle)
        return NULL;
    if (!indices_from(indices, &view)) {
        memory_release(&handle->memory);
        return NULL;
    }
    size_t count = (size_t)view.len / 8;
    if (item_bytes && count > SIZE_MAX / item_bytes) {
        PyErr_NoMemory();
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = mldf_buffer_reserve(&buffer, count * item_bytes + 1, &err);
        if (status >= 0)
            status = fill(handle->reader, view.buf, count, field, buffer.data, item_bytes, &err);
        Py_END_ALLOW_THREADS
        if (status < 0) {
            raise_error(state, &err);
        } else {
            struct shape shape = {MLDF_U8, 1, {count * item_bytes}};
            void *data = buffer.data;
            struct memory *memory = memory_from_buffer(&buffer);
            if (memory)
                out = array_new(state, memory, data, &shape, count * item_bytes, false);
        }
    }
    mldf_buffer_free(&buffer);
    PyBuffer_Release(&view);
    memory_release(&handle->memory);
    return out;
}

PyObject *reader_gather(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    size_t field = wants(count, 3) ? PyLong_AsSize_t(args[0]) : 0;
    size_t item_bytes = PyErr_Occurred() ? 0 : PyLong_AsSize_t(args[2]);
    return PyErr_Occurred() ? NULL : filled(self, field, args[1], item_bytes, mldf_reader_gather);
}

PyObject *reader_valid(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    size_t field = wants(count, 2) ? PyLong_AsSize_t(args[0]) : 0;
    return PyErr_Occurred() ? NULL : filled(self, field, args[1], 1, fill_valid);
}

PyObject *reader_rows(PyObject *self, PyObject *ignored) {
    struct handle *handle = reader_borrow((struct reader *)self);
    const void *rows;
    uint64_t bytes;
    mldf_error err;
    (void)ignored;
    if (!handle)
        return NULL;
    if (mldf_reader_rows(handle->reader, &rows, &bytes, &err) < 0) {
        memory_release(&handle->memory);
        return raise_error(state_of_self(self), &err);
    }
    struct shape shape = {MLDF_U8, 1, {bytes}};
    return array_new(state_of_self(self), &handle->memory, rows, &shape, bytes, true);
}

/* ---- Recordings -------------------------------------------------------------------------------------------------- */

PyObject *reader_recording(PyObject *object, PyObject *args) {
    struct module_state *state = state_of_self(object);
    Py_ssize_t field;
    unsigned long long sample;
    if (!PyArg_ParseTuple(args, "nK", &field, &sample))
        return NULL;
    struct handle *handle = reader_borrow((struct reader *)object);
    PyObject *out = handle ? recording_object(state, handle, (size_t)field, sample) : NULL;
    if (handle)
        memory_release(&handle->memory);
    return out;
}

PyObject *reader_window(PyObject *object, PyObject *args) {
    struct module_state *state = state_of_self(object);
    Py_ssize_t field;
    unsigned long long sample, from, count;
    mldf_value value;
    mldf_audio_info info = MLDF_AUDIO_INFO_INIT;
    float nothing = 0;
    mldf_buffer floats = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_status status;
    PyObject *out = NULL;
    if (!PyArg_ParseTuple(args, "nKKK", &field, &sample, &from, &count))
        return NULL;
    struct handle *handle = reader_borrow((struct reader *)object);
    if (!handle)
        return NULL;
    uint64_t limit = mldf_reader_max_decoded(handle->reader);
    Py_BEGIN_ALLOW_THREADS
    status = mldf_reader_get_range(handle->reader, sample, (size_t)field, 0, 0, &floats, &value, &err);
    if (status >= 0)
        status = mldf_audio_record(&value, &info, &err);
    if (status >= 0 && count > info.samples) /* get_window says it, without room for them */
        status = mldf_reader_get_window(handle->reader, sample, (size_t)field, from, count, &nothing, &err);
    info.samples = count;
    if (status >= 0)
        status = mldf_audio_check_room(&info, value.as.u == MLDF_NONE ? value.bytes : value.as.u, limit, &err);
    if (status >= 0)
        status = mldf_buffer_reserve(&floats, (size_t)(count * info.channels * sizeof(float) + 1), &err);
    if (status >= 0)
        status = mldf_reader_get_window(handle->reader, sample, (size_t)field, from, count,
                                        (float *)(void *)floats.data, &err);
    Py_END_ALLOW_THREADS
    if (status < 0) {
        raise_error(state, &err);
        mldf_buffer_free(&floats);
    } else {
        struct shape shape = {MLDF_F32, 2, {info.channels, count}};
        const void *data = floats.data;
        struct memory *memory = memory_from_buffer(&floats);
        PyObject *array =
            memory ? array_new(state, memory, data, &shape, count * info.channels * sizeof(float), false) : NULL;
        PyObject *dtype = memory ? PyUnicode_FromString("<f4") : NULL;
        out = array && dtype ? array_to_numpy(state, array, &shape, dtype) : NULL;
        Py_XDECREF(dtype);
    }
    memory_release(&handle->memory);
    return out;
}
