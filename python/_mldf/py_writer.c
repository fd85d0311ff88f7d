/* Writer: one file being written. Encoding runs on the library's threads; append waits without the GIL when they are
 * behind. A writer is one thread's at a time, and one process's: a forked child must neither finish nor remove its
 * parent's file. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct writer {
    PyObject_HEAD
    mldf_writer *writer; /* NULL: finished, aborted or failed */
    struct context *context;
    struct call call; /* progress_user of the library's writer */
    PyObject *progress;
    PyObject *skipped; /* list of (submitted, message, field) */
    struct fed *fed;
    size_t field_count;
    pid_t process;
    bool busy; /* inside the library, maybe without the GIL */
};

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

static void on_skipped(void *user, uint64_t submitted, const mldf_error *why) {
    struct writer *self = user;
    if (call_resume(&self->call))
        call_append(&self->call,
                    Py_BuildValue("(KNN)", (unsigned long long)submitted, words_of(why), words(why->field)));
    call_pause(&self->call);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static struct writer *writer_new(struct module_state *state, PyObject *types, PyObject *progress) {
    struct writer *self = PyObject_GC_New(struct writer, state->writer_type);
    if (!self)
        return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->progress = progress == Py_None ? NULL : Py_NewRef(progress);
    self->process = getpid();
    self->skipped = PyList_New(0);
    self->context = self->skipped ? context_new(state, types) : NULL;
    PyObject_GC_Track(self);
    if (!self->context)
        Py_CLEAR(self);
    return self;
}

static bool writer_ready(struct writer *self) {
    self->field_count = mldf_schema_field_count(mldf_writer_schema(self->writer));
    self->fed = PyMem_Calloc(self->field_count + 1, sizeof *self->fed);
    if (!self->fed)
        PyErr_NoMemory();
    return self->fed && context_warn(self->context);
}

/* open_writer(path, schema or None, options, types, progress): None appends to the file at path */
static PyObject *open_writer(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    mldf_schema *schema = NULL;
    const char *path, *text;
    Py_ssize_t text_bytes;
    PyObject *dict, *types, *progress;
    mldf_error err;
    mldf_status status = MLDF_OK;
    if (!PyArg_ParseTuple(args, "yz#O!OO", &path, &text, &text_bytes, &PyDict_Type, &dict, &types, &progress) ||
        !option_writer(dict, &options) || !option_bool(dict, "resume", &options.resume))
        return NULL;
    struct writer *self = writer_new(state, types, progress);
    if (!self)
        return NULL;
    options.context = context_get(self->context);
    options.progress = call_progress;
    options.progress_user = &self->call;
    options.skipped = on_skipped;
    options.skipped_user = self;
    call_begin(&self->call, progress, self->skipped);
    if (text)
        status = mldf_schema_parse(options.context, text, (size_t)text_bytes, &schema, &err);
    if (status >= 0)
        status = text ? mldf_writer_open(path, schema, &options, &self->writer, &err)
                      : mldf_writer_open_append(path, &options, &self->writer, &err);
    mldf_schema_free(schema);
    call_end(&self->call);
    if (status < 0)
        self->writer = NULL;
    if (!call_check(&self->call, state, status, &err) || !writer_ready(self))
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- Using ------------------------------------------------------------------------------------------------------- */

static bool writer_usable(struct writer *self) {
    struct module_state *state = state_of_self((PyObject *)self);
    const char *why = NULL;
    if (self->process != getpid())
        why = "this writer belongs to the process that opened it; after a fork, write in the parent";
    else if (self->busy)
        why = "another thread is using this writer; one thread at a time";
    else if (!self->writer)
        why = "this writer is finished, or failed before";
    if (why)
        raise_status(state, MLDF_E_STATE, why);
    return !why;
}

static void enter(struct writer *self) {
    self->busy = true;
    call_begin(&self->call, self->progress, self->skipped);
}

static void leave(struct writer *self) {
    call_end(&self->call);
    self->busy = false;
}

static bool feed_all(struct writer *self, PyObject *values, size_t *fed) {
    const mldf_schema *schema = mldf_writer_schema(self->writer);
    *fed = 0;
    if (!PyTuple_Check(values) || (size_t)PyTuple_Size(values) != self->field_count) {
        PyErr_Format(PyExc_TypeError, "a tuple of %zu values is needed", self->field_count);
        return false;
    }
    for (; *fed < self->field_count; ++*fed) {
        struct fed *one = &self->fed[*fed];
        if (!feed_value(mldf_schema_field(schema, *fed), PyTuple_GetItem(values, (Py_ssize_t)*fed), one)) {
            feed_release(one, 1);
            return false;
        }
    }
    return true;
}

/* append(values, key): key is bytes or None */
static PyObject *writer_append(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    struct writer *self = (struct writer *)object;
    mldf_value few[16], *values = few;
    char *key = NULL;
    Py_ssize_t key_bytes = 0;
    size_t fed;
    mldf_error err;
    mldf_status status = MLDF_E_MEMORY;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "append(values, key)");
        return NULL;
    }
    if (!writer_usable(self) || (args[1] != Py_None && PyBytes_AsStringAndSize(args[1], &key, &key_bytes) < 0))
        return NULL;
    if (self->field_count > sizeof few / sizeof few[0])
        values = PyMem_Malloc(self->field_count * sizeof *values);
    if (!values)
        return PyErr_NoMemory();
    self->busy = true; /* an object's own code may run here, and when its buffer is released */
    bool fine = feed_all(self, args[0], &fed);
    if (fine) {
        for (size_t i = 0; i < fed; i++)
            values[i] = self->fed[i].value;
        enter(self);
        status = mldf_writer_append(self->writer, values, self->field_count, key, (size_t)key_bytes, &err);
        leave(self);
        self->busy = true;
        fine = call_check(&self->call, state_of_self(object), status, &err);
    }
    feed_release(self->fed, fed);
    self->busy = false;
    if (values != few)
        PyMem_Free(values);
    if (!fine)
        return NULL;
    Py_RETURN_NONE;
}

/* finish(): (samples, skipped, file_bytes). The writer is gone, whatever comes out. */
static PyObject *writer_finish(PyObject *object, PyObject *ignored) {
    struct writer *self = (struct writer *)object;
    mldf_write_result result = MLDF_WRITE_RESULT_INIT;
    mldf_error err;
    (void)ignored;
    if (!writer_usable(self))
        return NULL;
    mldf_writer *writer = self->writer;
    self->writer = NULL;
    enter(self);
    mldf_status status = mldf_writer_finish(writer, &result, &err);
    leave(self);
    if (!call_check(&self->call, state_of_self(object), status, &err) || !context_warn(self->context))
        return NULL;
    return Py_BuildValue("(KKK)", (unsigned long long)result.samples, (unsigned long long)result.skipped,
                         (unsigned long long)result.file_bytes);
}

/* Removes what was written. Does nothing when there is nothing to do. */
static void give_up(struct writer *self) {
    mldf_writer *writer = self->writer;
    self->writer = NULL;
    if (!writer || self->process != getpid())
        return; /* in a forked child the threads and the file are the parent's: they are left alone */
    enter(self);
    mldf_writer_abort(writer);
    leave(self);
}

static PyObject *writer_abort(PyObject *object, PyObject *ignored) {
    struct writer *self = (struct writer *)object;
    (void)ignored;
    if (self->busy) {
        raise_status(state_of_self(object), MLDF_E_STATE, "another thread is using this writer; one thread at a time");
        return NULL;
    }
    give_up(self);
    Py_RETURN_NONE;
}

/* checkpoint(position): whether something was saved */
static PyObject *writer_checkpoint(PyObject *object, PyObject *position) {
    struct writer *self = (struct writer *)object;
    char *data;
    Py_ssize_t bytes;
    mldf_error err;
    if (!writer_usable(self) || PyBytes_AsStringAndSize(position, &data, &bytes) < 0)
        return NULL;
    enter(self);
    mldf_status status = mldf_writer_checkpoint(self->writer, data, (size_t)bytes, &err);
    leave(self);
    if (!call_check(&self->call, state_of_self(object), status, &err))
        return NULL;
    return PyBool_FromLong(status != MLDF_AGAIN);
}

/* position(): of the checkpoint that this writer goes on from, or None */
static PyObject *writer_position(PyObject *object, PyObject *ignored) {
    struct writer *self = (struct writer *)object;
    size_t bytes;
    (void)ignored;
    if (!writer_usable(self))
        return NULL;
    const void *position = mldf_writer_position(self->writer, &bytes);
    return position ? PyBytes_FromStringAndSize(position, (Py_ssize_t)bytes) : Py_NewRef(Py_None);
}

static PyObject *writer_count(PyObject *object, PyObject *ignored) {
    struct writer *self = (struct writer *)object;
    (void)ignored;
    return writer_usable(self) ? PyLong_FromUnsignedLongLong(mldf_writer_sample_count(self->writer)) : NULL;
}

static PyObject *writer_fields(PyObject *object, PyObject *ignored) {
    struct writer *self = (struct writer *)object;
    (void)ignored;
    return writer_usable(self) ? schema_object(mldf_writer_schema(self->writer)) : NULL;
}

static PyObject *writer_skipped(PyObject *object, PyObject *ignored) {
    (void)ignored;
    return Py_NewRef(((struct writer *)object)->skipped);
}

/* ---- The type ---------------------------------------------------------------------------------------------------- */

static int writer_traverse(PyObject *object, visitproc visit, void *arg) {
    struct writer *self = (struct writer *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->progress);
    Py_VISIT(self->skipped);
    return 0;
}

static int writer_clear(PyObject *object) {
    struct writer *self = (struct writer *)object;
    Py_CLEAR(self->progress);
    return 0;
}

static void writer_dealloc(PyObject *object) {
    struct writer *self = (struct writer *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->progress); /* nobody is told any more */
    give_up(self);
    if (self->process == getpid())
        context_free(self->context);
    Py_CLEAR(self->skipped);
    PyMem_Free(self->fed);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"append", (PyCFunction)(void (*)(void))writer_append, METH_FASTCALL, "append(values, key)"},
    {"finish", writer_finish, METH_NOARGS, "finish(): (samples, skipped, file_bytes)"},
    {"abort", writer_abort, METH_NOARGS, "Removes what was written."},
    {"checkpoint", writer_checkpoint, METH_O, "checkpoint(position): whether something was saved"},
    {"position", writer_position, METH_NOARGS, "Of the checkpoint that this writer goes on from."},
    {"sample_count", writer_count, METH_NOARGS, "Samples so far."},
    {"fields", writer_fields, METH_NOARGS, "A dict for each field."},
    {"skipped", writer_skipped, METH_NOARGS, "A list of (submitted, message, field)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, writer_dealloc}, {Py_tp_traverse, writer_traverse},         {Py_tp_clear, writer_clear},
    {Py_tp_methods, methods},        {Py_tp_doc, DOC("A file being written.")}, {0, NULL},
};
PyType_Spec writer_spec = {
    "mldf._mldf.Writer", sizeof(struct writer), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

PyMethodDef writer_functions[] = {
    {"open_writer", open_writer, METH_VARARGS, "open_writer(path, schema, options, types, progress): a Writer"},
    {NULL, NULL, 0, NULL},
};
