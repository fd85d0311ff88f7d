/* Array: counted memory as a buffer (PEP 3118) and as a DLPack tensor. NumPy's arrays are made over it
 * (array_to_numpy); torch and JAX take it by __dlpack__. A DLPack tensor holds the memory itself, not this object,
 * and its deleter is plain C. */
#include "py_extension.h"

#include <stdlib.h>
#include <string.h>

struct array {
    PyObject_HEAD
    struct memory *memory;
    uint8_t *data;
    mldf_dtype dtype;
    int ndim;
    Py_ssize_t itemsize, bytes;
    Py_ssize_t shape[ARRAY_MAX_DIMS], strides[ARRAY_MAX_DIMS];
    bool readonly;
};

/* ---- DLPack's structs, as its version 1.0 lays them out ---------------------------------------------------------- */

struct dl_device {
    int32_t type, id;
};
struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};
struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t ndim;
    struct dl_dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct dl_managed { /* before 1.0 */
    struct dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed *self);
};
struct dl_versioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};
enum { DL_CPU = 1, DL_READ_ONLY = 1, DL_COPIED = 2 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

static const struct {
    const char *format; /* struct module's; bfloat16 has none and shows its bits */
    struct dl_dtype dl;
} kinds[] = {
    [MLDF_DTYPE_NONE] = {"B", {DL_UINT, 8, 1}}, [MLDF_BOOL] = {"?", {DL_BOOL, 8, 1}},
    [MLDF_I8] = {"b", {DL_INT, 8, 1}},          [MLDF_U8] = {"B", {DL_UINT, 8, 1}},
    [MLDF_I16] = {"h", {DL_INT, 16, 1}},        [MLDF_U16] = {"H", {DL_UINT, 16, 1}},
    [MLDF_I32] = {"i", {DL_INT, 32, 1}},        [MLDF_U32] = {"I", {DL_UINT, 32, 1}},
    [MLDF_I64] = {"q", {DL_INT, 64, 1}},        [MLDF_U64] = {"Q", {DL_UINT, 64, 1}},
    [MLDF_F16] = {"e", {DL_FLOAT, 16, 1}},      [MLDF_BF16] = {"H", {DL_BFLOAT, 16, 1}},
    [MLDF_F32] = {"f", {DL_FLOAT, 32, 1}},      [MLDF_F64] = {"d", {DL_FLOAT, 64, 1}},
    [MLDF_C64] = {"Zf", {DL_COMPLEX, 64, 1}},   [MLDF_C128] = {"Zd", {DL_COMPLEX, 128, 1}},
};

/* ---- Making one -------------------------------------------------------------------------------------------------- */

static uint8_t nothing[64]; /* what an array without elements points to; never written */

PyObject *array_new(struct module_state *state, struct memory *memory, const void *data, const struct shape *shape,
                    uint64_t bytes, bool readonly) {
    struct array *self = PyObject_New(struct array, state->array_type);
    if (!self) {
        memory_release(memory);
        return NULL;
    }
    self->memory = memory;
    /* A reader never hands out a view that may be written: readonly goes with the mapping. */
    self->data = data ? (uint8_t *)(uintptr_t)data : nothing;
    self->dtype = shape->dtype;
    self->itemsize = shape->dtype == MLDF_DTYPE_NONE ? 1 : (Py_ssize_t)mldf_dtype_bytes(shape->dtype);
    self->bytes = (Py_ssize_t)bytes;
    self->readonly = readonly;
    self->ndim = (int)shape->ndim;
    Py_ssize_t stride = self->itemsize;
    for (int i = self->ndim; i-- > 0;) {
        self->shape[i] = (Py_ssize_t)shape->dims[i];
        self->strides[i] = stride;
        stride *= self->shape[i] ? self->shape[i] : 1;
    }
    return (PyObject *)self;
}

PyObject *array_to_numpy(struct module_state *state, PyObject *array, const struct shape *shape, PyObject *dtype) {
    PyObject *dims = array ? PyTuple_New((Py_ssize_t)shape->ndim) : NULL, *out = NULL;
    for (uint32_t i = 0; dims && i < shape->ndim; i++) {
        PyObject *dim = PyLong_FromUnsignedLongLong(shape->dims[i]);
        if (!dim || PyTuple_SetItem(dims, (Py_ssize_t)i, dim) < 0)
            Py_CLEAR(dims);
    }
    if (dims)
        out = PyObject_CallFunctionObjArgs(state->ndarray, dims, dtype, array, NULL);
    Py_XDECREF(dims);
    Py_XDECREF(array);
    return out;
}

static void array_dealloc(PyObject *object) {
    struct array *self = (struct array *)object;
    PyTypeObject *type = Py_TYPE(object);
    memory_release(self->memory);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- The buffer protocol ----------------------------------------------------------------------------------------- */

static int array_getbuffer(PyObject *object, Py_buffer *view, int flags) {
    struct array *self = (struct array *)object;
    if ((flags & PyBUF_WRITABLE) && self->readonly) {
        PyErr_SetString(PyExc_BufferError, "this memory belongs to a file and is read-only");
        view->obj = NULL;
        return -1;
    }
    view->obj = Py_NewRef(object);
    view->buf = self->data;
    view->len = self->bytes;
    view->itemsize = self->itemsize;
    view->readonly = self->readonly;
    view->ndim = self->ndim;
    view->format = (flags & PyBUF_FORMAT) ? (char *)(uintptr_t)kinds[self->dtype].format : NULL;
    view->shape = (flags & PyBUF_ND) ? self->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    if (!(flags & PyBUF_ND)) /* a plain run of bytes */
        view->ndim = 1;
    return 0;
}

/* ---- DLPack ------------------------------------------------------------------------------------------------------ */

/* A tensor in either form, with its sizes behind it: one allocation, freed by the deleter. */
struct exported {
    union {
        struct dl_managed managed;
        struct dl_versioned versioned;
    } as;
    struct memory *memory;
    int64_t shape[ARRAY_MAX_DIMS], strides[ARRAY_MAX_DIMS];
};

static void delete_exported(struct exported *exported) {
    memory_release(exported->memory);
    free(exported);
}

static void delete_managed(struct dl_managed *self) {
    delete_exported(self->manager);
}

static void delete_versioned(struct dl_versioned *self) {
    delete_exported(self->manager);
}

/* A capsule that nobody took. Consumers rename what they take. */
static void capsule_destroy(PyObject *capsule) {
    void *tensor;
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        tensor = PyCapsule_GetPointer(capsule, "dltensor");
        delete_managed(tensor);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        tensor = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        delete_versioned(tensor);
    }
}

static void fill_tensor(const struct array *self, struct exported *exported, struct dl_tensor *tensor) {
    for (int i = 0; i < self->ndim; i++) {
        exported->shape[i] = self->shape[i];
        exported->strides[i] = self->itemsize ? self->strides[i] / self->itemsize : 0;
    }
    *tensor = (struct dl_tensor){self->data,      {DL_CPU, 0},       self->ndim, kinds[self->dtype].dl,
                                 exported->shape, exported->strides, 0};
}

static PyObject *export_tensor(const struct array *self, bool versioned) {
    struct exported *exported = calloc(1, sizeof *exported);
    PyObject *capsule = NULL;
    if (!exported)
        return PyErr_NoMemory();
    exported->memory = memory_retain(self->memory);
    if (versioned) {
        struct dl_versioned *v = &exported->as.versioned;
        v->major = 1;
        v->manager = exported;
        v->deleter = delete_versioned;
        v->flags = self->readonly ? DL_READ_ONLY : 0;
        fill_tensor(self, exported, &v->tensor);
        capsule = PyCapsule_New(v, "dltensor_versioned", capsule_destroy);
    } else {
        struct dl_managed *m = &exported->as.managed;
        m->manager = exported;
        m->deleter = delete_managed;
        fill_tensor(self, exported, &m->tensor);
        capsule = PyCapsule_New(m, "dltensor", capsule_destroy);
    }
    if (!capsule)
        delete_exported(exported);
    return capsule;
}

/* None, or (DL_CPU, 0). */
static bool is_our_device(PyObject *device) {
    int type, id;
    if (!device || device == Py_None)
        return true;
    if (!PyArg_ParseTuple(device, "ii;dl_device is a pair of integers", &type, &id))
        return false;
    if (type == DL_CPU && id == 0)
        return true;
    PyErr_SetString(PyExc_BufferError, "this memory is the CPU's; another device was asked for");
    return false;
}

/* __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) */
static PyObject *array_dlpack(PyObject *object, PyObject *args, PyObject *kwargs) {
    struct array *self = (struct array *)object;
    PyObject *version = NULL, *device = NULL, *copy = NULL, *stream = NULL;
    unsigned major = 0, minor = 0;
    if (PyTuple_Size(args) > 0) {
        PyErr_SetString(PyExc_TypeError, "__dlpack__ takes keyword arguments only");
        return NULL;
    }
    if (kwargs) {
        stream = PyDict_GetItemString(kwargs, "stream");
        version = PyDict_GetItemString(kwargs, "max_version");
        device = PyDict_GetItemString(kwargs, "dl_device");
        copy = PyDict_GetItemString(kwargs, "copy");
    }
    if (version && version != Py_None &&
        !PyArg_ParseTuple(version, "II;max_version is a pair of integers", &major, &minor))
        return NULL;
    if (!is_our_device(device))
        return NULL;
    if (stream && stream != Py_None) {
        PyErr_SetString(PyExc_BufferError, "memory of the CPU has no stream");
        return NULL;
    }
    if (copy == Py_True) {
        PyErr_SetString(PyExc_BufferError, "this object exports its own memory only; copy what comes of it");
        return NULL;
    }
    if (major < 1 && self->readonly) {
        PyErr_SetString(PyExc_BufferError, "read-only memory needs DLPack 1.0 (max_version); make a copy first");
        return NULL;
    }
    return export_tensor(self, major >= 1);
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *ignored) {
    (void)self, (void)ignored;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "This memory as a DLPack capsule."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS, "(kDLCPU, 0)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_methods, methods},
    {Py_bf_getbuffer, array_getbuffer},
    {Py_tp_doc, DOC("Memory of the library, for NumPy (buffer protocol), PyTorch and JAX (DLPack).")},
    {0, NULL},
};
PyType_Spec array_spec = {"mldf._mldf.Array", sizeof(struct array), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
