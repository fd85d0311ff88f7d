/* py_extension.h: what the files of the extension module share.
 *
 * The module is thin: it turns Python values into the structs of include/mldf and back, releases the GIL around the
 * library, and knows nothing that the C interface does not say. What a user sees (Dataset, Writer ...) is written in
 * Python, in python/mldf.
 *
 *     py_module.c   the module, its state        py_error.c   status -> exception
 *     py_memory.c   memory behind views          py_array.c   that memory as buffer and DLPack
 *     py_call.c     GIL, signals, progress       py_context.c warnings, user-defined types
 *     py_reader.c   files, their description     py_access.c  samples      py_value.c  a value -> a Python object
 *     py_writer.c   writing                      py_feed.c    a Python object -> a value
 *     loader*.c  batches                      py_batch.c   a batch -> arrays    py_order.c  orders   py_view.c  views   py_operation.c, py_own.c  operations
 *     py_options.c  dicts -> option structs      tool*.c   whole-file operations     py_image.c  images
 *
 * The limited API of Python 3.11 (buffers came in then), so one binary serves every later version. NumPy is called,
 * never compiled against: its arrays look at our memory through the buffer protocol. */
#ifndef MLDF_PYTHON_PY_EXTENSION_H
#define MLDF_PYTHON_PY_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mldf/mldf.h>

/* A slot's text: the struct has no const. */
#define DOC(TEXT) ((void *)(uintptr_t)(TEXT))

/* ---- py_module.c ---------------------------------------------------------------------------------------------------- */

enum { EXCEPTION_COUNT = 32 };

/* Everything that would be global. */
struct module_state {
    PyObject *exceptions[EXCEPTION_COUNT]; /* classes of mldf.errors, in the order of py_error.c's table */
    PyTypeObject *array_type, *reader_type, *plan_type, *writer_type, *loader_type, *view_type;
    PyObject *ndarray;   /* numpy.ndarray */
    PyObject *tuple_new; /* tuple.__new__ */
    PyObject *dtype_u8, *dtype_u16;
    PyObject *empty_tuple;
};
struct module_state *state_of(PyObject *module);
/* Of an object whose type is one of the state's. */
struct module_state *state_of_self(PyObject *self);

/* Method tables of the files, joined by py_module.c. */
extern PyMethodDef reader_functions[], writer_functions[], tool_functions[], tool_write_functions[], plan_functions[],
    image_functions[], loader_functions[], operation_functions[], parts_functions[], video_functions[],
    view_functions[], gather_functions[];

/* py_view.c: what a sample is; NULL with TypeError when it is no View. */
extern PyType_Spec view_spec;
const mldf_view *view_from(struct module_state *state, PyObject *object);

/* ---- py_error.c ----------------------------------------------------------------------------------------------------- */

bool load_exceptions(struct module_state *state);
/* Sets the exception of err->status, with status, offset, sample and field as attributes. Returns NULL. */
PyObject *raise_error(struct module_state *state, const mldf_error *err);
PyObject *raise_status(struct module_state *state, mldf_status status, const char *message);
/* Where it happened, on an exception of ours that does not know. */
void place_error(PyObject *exception, uint64_t sample, const char *field);
/* What the library says, as a str: it may name a file whose name is no UTF-8, or be cut inside a letter. */
PyObject *words(const char *text);
PyObject *words_of(const mldf_error *err); /* mldf_error_text */
/* n, or None for MLDF_NONE. */
PyObject *number_or_none(uint64_t n);
/* Takes the item over into the list. Without an item, or without memory, an error is set and the list is gone. */
void list_take(PyObject **list, PyObject *item);

/* ---- py_memory.c ---------------------------------------------------------------------------------------------------- */

/* Memory with a count of those who look at it. No Python object: views may end on any thread and after the
 * interpreter. */
struct memory {
    atomic_size_t references;
    void (*release)(struct memory *memory); /* at zero */
};
void memory_init(struct memory *memory, void (*release)(struct memory *memory));
struct memory *memory_retain(struct memory *memory);
void memory_release(struct memory *memory); /* NULL is fine */
/* Takes over a buffer, which is left empty. NULL with MemoryError. */
struct memory *memory_from_buffer(mldf_buffer *buffer);

/* ---- py_array.c ----------------------------------------------------------------------------------------------------- */

enum { ARRAY_MAX_DIMS = MLDF_MAX_DIMS + 1 }; /* a batch has one more than its samples */

/* n-dimensional, C order. */
struct shape {
    mldf_dtype dtype; /* NONE: bytes */
    uint32_t ndim;
    uint64_t dims[ARRAY_MAX_DIMS];
};
extern PyType_Spec array_spec;
/* An object with the buffer protocol and __dlpack__ over `data`, which lives as long as `memory`; that reference is
 * taken over, also on failure. */
PyObject *array_new(struct module_state *state, struct memory *memory, const void *data, const struct shape *shape,
                    uint64_t bytes, bool readonly);
/* numpy.ndarray(shape, dtype, array); steals array. */
PyObject *array_to_numpy(struct module_state *state, PyObject *array, const struct shape *shape, PyObject *dtype);

/* ---- py_call.c ------------------------------------------------------------------------------------------------------ */

/* A call of the library without the GIL, whose hooks take it for a moment: to look for signals, and to tell the
 * user. */
struct call {
    PyThreadState *thread;
    PyObject *progress; /* callable, or NULL; borrowed */
    PyObject *list;     /* where report hooks append; borrowed */
    const char *phase;  /* the last that was told */
    int64_t told_at;    /* nanoseconds */
    bool failed;        /* a hook left a Python exception */
};
void call_begin(struct call *call, PyObject *progress, PyObject *list);
void call_end(struct call *call);
bool call_progress(void *user, const mldf_progress *progress); /* mldf_progress_fn */
/* From inside a hook. resume gives false when an exception is pending; every resume is followed by pause. */
bool call_resume(struct call *call);
void call_pause(struct call *call);
/* Takes over `item`; NULL counts as failure. */
void call_append(struct call *call, PyObject *item);
/* After call_end: the hook's exception goes before the status that it caused. True: all is well. */
bool call_check(struct call *call, struct module_state *state, mldf_status status, const mldf_error *err);

/* ---- py_context.c --------------------------------------------------------------------------------------------------- */

/* An mldf_context with the user-defined types of Python; warnings are kept until Python can hear them. */
struct context;
/* types: a sequence of (id, name). NULL with an exception. */
struct context *context_new(struct module_state *state, PyObject *types);
void context_free(struct context *context);
/* What the options say for a context: max_unpacked. */
bool context_limits(struct context *context, PyObject *dict);
const mldf_context *context_get(const struct context *context);
mldf_context *context_edit(struct context *context);
/* Warns of what came up; false when a warning became an exception. */
bool context_warn(struct context *context);

/* ---- py_options.c --------------------------------------------------------------------------------------------------- */

/* Members of a dict that python/mldf filled; a missing one or None leaves *out alone. False with an exception. */
bool option_bool(PyObject *dict, const char *name, bool *out);
/* The member itself, borrowed; NULL when it is missing or None, or with an exception. */
PyObject *option_find(PyObject *dict, const char *name);
bool option_int(PyObject *dict, const char *name, int *out);
bool option_u64(PyObject *dict, const char *name, uint64_t *out);
bool option_u32(PyObject *dict, const char *name, uint32_t *out);
/* "max_decoded_bytes", for all files that are opened with the context. */
bool option_double(PyObject *dict, const char *name, double *out);
bool option_limit(PyObject *dict, struct context *context);
bool option_text(PyObject *dict, const char *name, const char **out);
bool option_text_bytes(PyObject *dict, const char *name, const char **out, size_t *bytes);
bool option_bytes(PyObject *dict, const char *name, const char **out, size_t *bytes);
/* The names of the members that hold a key and a passphrase. */
bool option_token_file(PyObject *dict, mldf_token_file *tokens, const mldf_token_file **out); /* py_plan.c */
bool option_secret(PyObject *dict, const char *key, const char *passphrase, mldf_secret *out);
bool option_writer(PyObject *dict, mldf_writer_options *out);
/* A list of strings or bytes; the array is freed with PyMem_Free, the texts are the list's. */
bool option_texts(PyObject *dict, const char *name, const char *const **out, size_t *count);
bool texts_from(PyObject *list, const char *const **out, size_t *count);
bool option_schema(PyObject *dict, const char *name, struct module_state *state, const mldf_context *context,
                   mldf_schema **out);

/* ---- py_reader.c ---------------------------------------------------------------------------------------------------- */

/* An open file; views hold it, so it outlives the Python object. */
struct handle {
    struct memory memory; /* first: a view's memory is its file */
    mldf_reader *reader;
    struct context *context;
};

/* What one call needs to write on; taken and given back under the GIL. */
struct workspace {
    struct workspace *next;
    mldf_image_decoder *decoder;
    mldf_buffer scratch;
};

struct reader {
    PyObject_HEAD
    struct handle *handle;  /* NULL when closed */
    struct workspace *idle; /* under the GIL */
    bool slow;              /* every access may block: positional reads or checksums */
};
extern PyType_Spec reader_spec;
/* NULL with an exception when self is closed; the reference must be given back with memory_release. */
struct handle *reader_borrow(struct reader *self);
/* Another Reader of the same file, which outlives the first one's close. */
PyObject *reader_again(struct module_state *state, struct handle *handle);
PyObject *reader_token_plans(PyObject *object, PyObject *none); /* py_plan.c */
struct workspace *workspace_take(struct reader *self);
void workspace_give(struct reader *self, struct workspace *workspace);
/* A reader argument of a function. */
struct reader *reader_from(struct module_state *state, PyObject *object);

/* py_keys.c: the keys of samples that are numbered through all files, as a list of str, in one go without the GIL. */
PyObject *keys_of(struct module_state *state, struct handle *const *handles, size_t handle_count,
                  const uint64_t *numbers, size_t count);

/* A dict for each field. */
PyObject *schema_object(const mldf_schema *schema);

/* py_access.c; also methods of the reader */
PyObject *reader_sample(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *reader_field(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *reader_samples(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *reader_field_many(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *reader_raw(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *reader_gather(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *reader_valid(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *reader_rows(PyObject *self, PyObject *ignored);
/* recording(field, sample): its numbers as they are stored, or as float32; window(field, sample, from, count): float32 (channels, count). */
PyObject *reader_recording(PyObject *self, PyObject *args);
PyObject *reader_window(PyObject *self, PyObject *args);

/* ---- py_value.c ----------------------------------------------------------------------------------------------------- */

/* HOW_RECORDING: found by its record alone; `decode` makes the object (mldf.Recording), which asks again for its numbers. */
enum how { HOW_PLAIN, HOW_IMAGE, HOW_RECORDING, HOW_VIDEO, HOW_ABSENT };

/* How one field of a sample becomes a Python object. */
struct slot {
    size_t field;
    enum how how;
    bool cheap;       /* found without blocking in a mapped file: the GIL may stay */
    PyObject *dtype;  /* NumPy's, of arrays and structs; or NULL */
    PyObject *decode; /* callable(str or bytes), of videos (payload, record), or NULL */
};

/* Which fields of a reader, and how. */
struct plan {
    PyObject_HEAD
    struct slot *slots;
    size_t slot_count;
    PyObject *sample_type; /* a subclass of tuple */
    mldf_image_options image;
    bool pixels_as_stored; /* raw pixels need no decoding: no channels, no orientation asked for */
    bool cheap;            /* all slots are */
};
extern PyType_Spec plan_spec;
PyObject *plan_new(PyObject *module, PyObject *args);

/* A value on its way: found without the GIL, made an object with it. */
struct cell {
    mldf_value value;
    mldf_buffer own; /* holds value.data, unless that lies in the file */
    bool owned;
    uint64_t sample;
    uint8_t record[80]; /* of a video */
    uint32_t record_bytes;
};
mldf_status cell_load(const mldf_reader *reader, const struct plan *plan, const struct slot *slot, uint64_t sample,
                      bool copy, struct workspace *workspace, struct cell *out, mldf_error *err);
/* Pixels in a buffer of their own in place of an image file's bytes. *decoder is made at the first call. */
mldf_status cell_decode_image(struct cell *cell, const mldf_image_options *options, mldf_image_decoder **decoder,
                              mldf_error *err);
void cell_free(struct cell *cell);
PyObject *cell_object(struct module_state *state, struct handle *handle, const struct slot *slot, struct cell *cell);
/* A value that no reader is needed for, as its kind says: a copy, in the cell's own memory. */
PyObject *value_object(struct module_state *state, struct cell *cell);
/* The numbers of a recording, whole. */
PyObject *recording_object(struct module_state *state, struct handle *handle, size_t field, uint64_t sample);

/* ---- py_feed.c ------------------------------------------------------------------------------------------------------ */

/* Python objects as values of a writer. The views keep their objects' memory in place until they are released. */
struct fed {
    mldf_value value;
    Py_buffer view;
    bool viewed;
};
bool feed_value(const mldf_field *field, PyObject *object, struct fed *out);
void feed_release(struct fed *fed, size_t count);

/* ---- py_writer.c ---------------------------------------------------------------------------------------------------- */

extern PyType_Spec writer_spec;

/* ---- py_loader.c, py_batch.c, py_order.c --------------------------------------------------------------------------------------- */

extern PyType_Spec loader_spec;

/* How batches become Python objects. */
struct batch_form {
    PyObject *type;    /* a subclass of tuple */
    size_t *picks;     /* which arrays of a batch, in the tuple's order */
    PyObject **dtypes; /* NumPy's, for each pick; NULL: an Array, for DLPack */
    size_t count;
};
/* (type, picks, dtypes): a class, a tuple of numbers below `arrays`, a tuple of dtypes or None. */
bool batch_form_set(struct batch_form *form, PyObject *args, size_t arrays);
void batch_form_clear(struct batch_form *form);
/* Takes over the batch, also on failure. */
PyObject *batch_object(struct module_state *state, const struct batch_form *form, mldf_batch *batch);

/* ("subset", numbers) | ("weighted", weights, draws) | ("mixture", [(numbers or count, ratio), ...], count), over options as in
 * mldf_loader_options. Numbers and weights are buffers of uint64 and float64. */
mldf_order *order_from(struct module_state *state, PyObject *description, const mldf_order_options *options);

/* Operations of the user's own, [(name, C source or None, address, dtype or None, shape or None)], registered with the context, which must
 * end before what is returned is freed. NULL with an exception. */
struct own_operations;
struct own_operations *own_operations_new(struct module_state *state, mldf_context *context, PyObject *list);
void own_operations_free(struct own_operations *own);

#endif
