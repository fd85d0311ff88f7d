/* py_loader_object.h: the Loader's object, for py_loader.c (life, batches), py_loader_new.c (making) and py_loader_look.c (what it tells). */
#ifndef MLDF_PYTHON_PY_LOADER_OBJECT_H
#define MLDF_PYTHON_PY_LOADER_OBJECT_H

#include "py_extension.h"

struct loader {
    PyObject_HEAD
    mldf_loader *loader; /* NULL when closed */
    mldf_order *order;   /* own, or NULL */
    PyObject *view;      /* own, or NULL */
    struct context *context;
    struct own_operations *own; /* outlives the context, which calls them */
    struct handle **handles;
    size_t handle_count;
    struct batch_form form;
    PyObject *pending;           /* given by next, not yet taken; or NULL */
    uint64_t epoch, consumed;    /* up to what was taken */
    uint64_t epoch_after, after; /* with what is pending */
    bool busy, closing;          /* under the GIL */
    bool known;                  /* a state was taken: the next ones read no samples */
    bool ended;                  /* the epoch, until another begins; the library would begin the next one by itself */
};

/* One thread at a time; false with StateError when it is closed or another one is inside. */
bool loader_enter(struct loader *self);
void loader_leave(struct loader *self);

/* py_loader_look.c; methods */
PyObject *loader_outputs(PyObject *object, PyObject *ignored);
PyObject *loader_explain(PyObject *object, PyObject *ignored);
PyObject *loader_state(PyObject *object, PyObject *ignored);
PyObject *loader_keys(PyObject *object, PyObject *numbers);
PyObject *loader_stats(PyObject *object, PyObject *ignored);
PyObject *loader_bad(PyObject *object, PyObject *ignored);
PyObject *loader_where(PyObject *object, PyObject *args);
PyObject *loader_skip(PyObject *object, PyObject *args);

#endif
