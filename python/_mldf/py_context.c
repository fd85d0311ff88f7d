/* What the library calls an mldf_context: a warning hook and the user-defined types. Types of Python are stored as
 * the bytes that their encode() made when the sample was appended; here they are bytes in and bytes out, so no
 * worker ever needs the interpreter. Warnings may come from any thread: they wait in a list until the call is over. */
#include "py_extension.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WARNINGS_MAX = 32 };

struct context {
    mldf_context *context;
    pthread_mutex_t lock;         /* guards the two below */
    char *warnings[WARNINGS_MAX]; /* malloc */
    size_t warning_count;         /* may pass WARNINGS_MAX: those are only counted */
};

static void keep_warning(void *user, const char *message) {
    struct context *context = user;
    size_t bytes = strlen(message) + 1;
    char *copy = malloc(bytes);
    if (copy)
        memcpy(copy, message, bytes);
    pthread_mutex_lock(&context->lock);
    if (context->warning_count < WARNINGS_MAX)
        context->warnings[context->warning_count] = copy;
    else
        free(copy);
    context->warning_count++;
    pthread_mutex_unlock(&context->lock);
}

static mldf_status bind(void *user, const char *arguments, mldf_record_layout *layout, void **state, mldf_error *err) {
    (void)user, (void)arguments, (void)state, (void)err;
    *layout = (mldf_record_layout){16, 8, MLDF_FIELD_SIZE64, false};
    return MLDF_OK;
}

static mldf_status encode(void *user, const void *state, const mldf_value *value, uint8_t *record, mldf_buffer *scratch,
                          const void **payload, uint64_t *payload_bytes, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch;
    if (value->kind != MLDF_KIND_BYTES) {
        if (err)
            PyOS_snprintf(err->message, sizeof err->message,
                          "a user-defined field takes the bytes that its encode() made");
        return MLDF_E_TYPE;
    }
    *payload = value->data;
    *payload_bytes = value->bytes;
    return MLDF_OK;
}

static mldf_status decode(void *user, const void *state, const uint8_t *record, const void *payload,
                          uint64_t payload_bytes, mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)state, (void)record, (void)scratch, (void)err;
    out->kind = MLDF_KIND_BYTES;
    out->data = payload;
    out->bytes = payload_bytes;
    return MLDF_OK;
}

static bool register_types(struct module_state *state, struct context *context, PyObject *types) {
    Py_ssize_t count = PySequence_Size(types);
    for (Py_ssize_t i = 0; i < count; i++) {
        mldf_type type = MLDF_TYPE_INIT;
        mldf_error err;
        PyObject *item = PySequence_GetItem(types, i);
        bool read = item && PyArg_ParseTuple(item, "Hs;types are (id, name)", &type.id, &type.name);
        type.bind = bind;
        type.encode = encode;
        type.decode = decode;
        bool done = read && mldf_context_register_type(context->context, &type, &err) >= 0;
        if (read && !done)
            raise_error(state, &err);
        Py_XDECREF(item);
        if (!done)
            return false;
    }
    return count >= 0;
}

/* The library reads no environment. tempfile.gettempdir() would choose once and for all; TMPDIR may be set at any time. */
static mldf_status use_temporary_folder(mldf_context *context, mldf_error *err) {
    const char *folder = getenv("TMPDIR");
    return folder && folder[0] == '/' ? mldf_context_set_temporary_folder(context, folder, err) : MLDF_OK;
}

struct context *context_new(struct module_state *state, PyObject *types) {
    mldf_error err;
    struct context *context = calloc(1, sizeof *context);
    if (!context) {
        PyErr_NoMemory();
        return NULL;
    }
    pthread_mutex_init(&context->lock, NULL);
    if (mldf_context_new(&context->context, &err) < 0 || use_temporary_folder(context->context, &err) < 0) {
        raise_error(state, &err);
        context_free(context);
        return NULL;
    }
    mldf_context_set_warning(context->context, keep_warning, context);
    if (!register_types(state, context, types)) {
        context_free(context);
        return NULL;
    }
    return context;
}

void context_free(struct context *context) {
    if (!context)
        return;
    mldf_context_free(context->context);
    for (size_t i = 0; i < context->warning_count && i < WARNINGS_MAX; i++)
        free(context->warnings[i]);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

bool context_limits(struct context *context, PyObject *dict) {
    uint64_t max_unpacked = 0;
    if (!option_u64(dict, "max_unpacked", &max_unpacked))
        return false;
    mldf_context_set_max_unpacked(context->context, max_unpacked);
    return true;
}

const mldf_context *context_get(const struct context *context) {
    return context->context;
}

mldf_context *context_edit(struct context *context) {
    return context->context;
}

/* mldf.errors.warn finds the line of the user's program that it is about. */
static bool warn(const char *message) {
    PyObject *errors = PyImport_ImportModule("mldf.errors");
    PyObject *done = errors ? PyObject_CallMethod(errors, "warn", "N", words(message)) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(errors);
    return done != NULL;
}

bool context_warn(struct context *context) {
    char *taken[WARNINGS_MAX], more[64];
    pthread_mutex_lock(&context->lock);
    size_t total = context->warning_count, count = total < WARNINGS_MAX ? total : WARNINGS_MAX;
    memcpy(taken, context->warnings, count * sizeof taken[0]);
    context->warning_count = 0;
    pthread_mutex_unlock(&context->lock);
    bool fine = true;
    for (size_t i = 0; i < count; i++) {
        fine = fine && (!taken[i] || warn(taken[i]));
        free(taken[i]);
    }
    PyOS_snprintf(more, sizeof more, "and %zu more warnings", total - count);
    return fine && (total == count || warn(more));
}
