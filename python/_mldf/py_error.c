/* From a status to an exception: one table. The classes are Python's (python/mldf/errors.py), so that they have
 * documentation, types and the bases that a Python programmer catches (FileNotFoundError, IndexError ...). */
#include "py_extension.h"

#include <string.h>

static const struct {
    mldf_status status;
    const char *class_name;
} table[] = {
    {MLDF_E_ARGUMENT, "ArgumentError"},
    {MLDF_E_STATE, "StateError"},
    {MLDF_E_MEMORY, "OutOfMemoryError"},
    {MLDF_E_CANCELLED, "CancelledError"},
    {MLDF_E_LIMIT, "LimitError"},
    {MLDF_E_IO, "IoError"},
    {MLDF_E_NOT_FOUND, "NotFoundError"},
    {MLDF_E_PERMISSION, "NotAllowedError"},
    {MLDF_E_EXISTS, "ExistsError"},
    {MLDF_E_NO_SPACE, "NoSpaceError"},
    {MLDF_E_BUSY, "BusyError"},
    {MLDF_E_CHANGED, "ChangedError"},
    {MLDF_E_UNSUPPORTED, "UnsupportedError"},
    {MLDF_E_KEY_MISSING, "KeyMissingError"},
    {MLDF_E_KEY_WRONG, "KeyWrongError"},
    {MLDF_E_MAGIC, "MagicError"},
    {MLDF_E_VERSION, "VersionError"},
    {MLDF_E_FEATURE, "FeatureError"},
    {MLDF_E_TRUNCATED, "TruncatedError"},
    {MLDF_E_CORRUPT, "CorruptError"},
    {MLDF_E_CHECKSUM, "ChecksumError"},
    {MLDF_E_TAMPERED, "TamperedError"},
    {MLDF_E_UNFINISHED, "UnfinishedError"},
    {MLDF_E_SCHEMA, "SchemaError"},
    {MLDF_E_TYPE, "WrongTypeError"},
    {MLDF_E_RANGE, "RangeError"},
    {MLDF_E_NULL, "NullError"},
    {MLDF_E_KEY, "SampleKeyError"},
    {MLDF_E_NO_FIELD, "NoFieldError"},
    {MLDF_E_NO_SAMPLE, "NoSampleError"},
    {MLDF_E_SYNTAX, "SyntaxMistakeError"},
    {MLDF_OK, "Error"}, /* last: for a status that is not known here */
};
enum { CLASSES = sizeof table / sizeof table[0] };
_Static_assert((int)CLASSES == (int)EXCEPTION_COUNT, "module_state has a place for each class");

bool load_exceptions(struct module_state *state) {
    PyObject *errors = PyImport_ImportModule("mldf.errors");
    for (size_t i = 0; errors && i < CLASSES; i++) {
        state->exceptions[i] = PyObject_GetAttrString(errors, table[i].class_name);
        if (!state->exceptions[i])
            Py_CLEAR(errors);
    }
    Py_XDECREF(errors);
    return errors != NULL;
}

PyObject *words(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

PyObject *number_or_none(uint64_t n) {
    if (n == MLDF_NONE)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(n);
}

void list_take(PyObject **list, PyObject *item) {
    if (!item || PyList_Append(*list, item) < 0)
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

static bool set_attribute(PyObject *object, const char *name, PyObject *value) {
    bool done = value && PyObject_SetAttrString(object, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

PyObject *words_of(const mldf_error *err) {
    char text[MLDF_TEXT_MAX + 1];
    return words(mldf_error_text(err, text, sizeof text));
}

static PyObject *words_inside(const mldf_error *err) {
    mldf_error inside = *err;
    inside.path[0] = 0;
    return words_of(&inside);
}

PyObject *raise_error(struct module_state *state, const mldf_error *err) {
    size_t i = 0;
    while (i < CLASSES - 1 && table[i].status != err->status)
        i++;
    PyObject *message = words_of(err);
    PyObject *exception = message ? PyObject_CallFunctionObjArgs(state->exceptions[i], message, NULL) : NULL;
    Py_XDECREF(message);
    if (!exception)
        return NULL;
    bool done = set_attribute(exception, "status", PyUnicode_FromString(mldf_status_name(err->status))) &&
                set_attribute(exception, "offset", number_or_none(err->offset)) &&
                set_attribute(exception, "sample", number_or_none(err->sample)) &&
                set_attribute(exception, "field", err->field[0] ? words(err->field) : Py_NewRef(Py_None)) &&
                set_attribute(exception, "path", err->path[0] ? words(err->path) : Py_NewRef(Py_None)) &&
                set_attribute(exception, "message", words(err->message)) &&
                set_attribute(exception, "inside", words_inside(err));
    if (done && err->sys_errno)
        done = set_attribute(exception, "errno", PyLong_FromLong(err->sys_errno));
    if (done)
        PyErr_SetObject(state->exceptions[i], exception);
    Py_DECREF(exception);
    return NULL;
}

void place_error(PyObject *exception, uint64_t sample, const char *field) {
    if (set_attribute(exception, "sample", PyLong_FromUnsignedLongLong(sample)))
        set_attribute(exception, "field", words(field));
}

PyObject *raise_status(struct module_state *state, mldf_status status, const char *message) {
    mldf_error err = {.status = status, .offset = MLDF_NONE, .sample = MLDF_NONE};
    PyOS_snprintf(err.message, sizeof err.message, "%s", message);
    return raise_error(state, &err);
}
