/* Option structs from dicts. python/mldf has checked names and filled in defaults; here each member is looked up by
 * the name that the C struct has. Texts are borrowed from the dict, which outlives the call. */
#include "py_extension.h"

#include <limits.h>
#include <string.h>

/* Not PyDict_GetItemString, for which an option is missing where there is no memory to look for it. */
PyObject *option_find(PyObject *dict, const char *name) {
    PyObject *key = PyUnicode_FromString(name), *value = key ? PyDict_GetItemWithError(dict, key) : NULL;
    Py_XDECREF(key);
    return value == Py_None ? NULL : value;
}

bool option_bool(PyObject *dict, const char *name, bool *out) {
    PyObject *value = option_find(dict, name);
    int truth = value ? PyObject_IsTrue(value) : *out;
    if (truth >= 0)
        *out = truth != 0;
    return !PyErr_Occurred();
}

bool option_int(PyObject *dict, const char *name, int *out) {
    PyObject *value = option_find(dict, name);
    long number = value ? PyLong_AsLong(value) : *out;
    if (PyErr_Occurred())
        return false;
    if (number < INT_MIN || number > INT_MAX) {
        PyErr_Format(PyExc_OverflowError, "%s=%ld is too large", name, number);
        return false;
    }
    *out = (int)number;
    return true;
}

bool option_u64(PyObject *dict, const char *name, uint64_t *out) {
    PyObject *value = option_find(dict, name);
    if (value)
        *out = PyLong_AsUnsignedLongLong(value);
    return !PyErr_Occurred();
}

bool option_u32(PyObject *dict, const char *name, uint32_t *out) {
    uint64_t found = *out;
    if (!option_u64(dict, name, &found))
        return false;
    if (found > UINT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "%s: %llu; the most is %lu", name, (unsigned long long)found,
                     (unsigned long)UINT32_MAX);
        return false;
    }
    *out = (uint32_t)found;
    return true;
}

bool option_double(PyObject *dict, const char *name, double *out) {
    PyObject *value = option_find(dict, name);
    if (!value)
        return !PyErr_Occurred();
    double found = PyFloat_AsDouble(value);
    if (found == -1.0 && PyErr_Occurred())
        return false;
    *out = found;
    return true;
}

bool option_limit(PyObject *dict, struct context *context) {
    uint64_t bytes = 0;
    if (!option_u64(dict, "max_decoded_bytes", &bytes))
        return false;
    mldf_context_set_max_decoded(context_edit(context), bytes);
    return true;
}

/* str or bytes, without a NUL inside. */
static const char *text_of(PyObject *value, const char *name, Py_ssize_t *bytes) {
    const char *text;
    if (PyBytes_Check(value)) {
        text = PyBytes_AsString(value);
        *bytes = PyBytes_Size(value);
    } else if (PyUnicode_Check(value)) {
        text = PyUnicode_AsUTF8AndSize(value, bytes);
    } else {
        PyErr_Format(PyExc_TypeError, "%s: a text is needed, not %R", name, value);
        return NULL;
    }
    if (text && memchr(text, 0, (size_t)*bytes)) {
        PyErr_Format(PyExc_ValueError, "%s: a text without null characters is needed, not %R", name, value);
        return NULL;
    }
    return text;
}

bool option_text(PyObject *dict, const char *name, const char **out) {
    PyObject *value = option_find(dict, name);
    Py_ssize_t bytes;
    if (!value)
        return !PyErr_Occurred();
    *out = text_of(value, name, &bytes);
    return *out != NULL;
}

bool option_text_bytes(PyObject *dict, const char *name, const char **out, size_t *bytes) {
    PyObject *value = option_find(dict, name);
    Py_ssize_t length = 0;
    if (!value)
        return !PyErr_Occurred();
    *out = text_of(value, name, &length);
    *bytes = (size_t)length;
    return *out != NULL;
}

/* Keys are bytes of any value. */
bool option_bytes(PyObject *dict, const char *name, const char **out, size_t *bytes) {
    PyObject *value = option_find(dict, name);
    char *data;
    Py_ssize_t length;
    if (!value)
        return !PyErr_Occurred();
    if (PyBytes_AsStringAndSize(value, &data, &length) < 0)
        return false;
    *out = data;
    *bytes = (size_t)length;
    return true;
}

bool option_secret(PyObject *dict, const char *key, const char *passphrase, mldf_secret *out) {
    const char *bytes = NULL;
    if (!option_bytes(dict, key, &bytes, &out->key_bytes) ||
        !option_bytes(dict, passphrase, &out->passphrase, &out->passphrase_bytes))
        return false;
    out->key = bytes;
    return true;
}

bool option_writer(PyObject *dict, mldf_writer_options *out) {
    return option_int(dict, "threads", &out->threads) && option_bool(dict, "overwrite", &out->overwrite) &&
           option_bool(dict, "no_checksums", &out->no_checksums) && option_bool(dict, "dictionary", &out->dictionary) &&
           option_u64(dict, "page_size", &out->page_size) &&
           option_text_bytes(dict, "card", &out->card, &out->card_bytes) &&
           option_secret(dict, "encrypt_key", "encrypt_passphrase", &out->secret) &&
           option_bool(dict, "encrypt_all", &out->encrypt_all) &&
           option_bool(dict, "skip_bad_samples", &out->skip_bad_samples) &&
           option_bool(dict, "check_values", &out->check_values);
}

bool texts_from(PyObject *list, const char *const **out, size_t *count) {
    Py_ssize_t length = PyList_Check(list) ? PyList_Size(list) : -1;
    if (length < 0) {
        PyErr_SetString(PyExc_TypeError, "a list of texts is needed");
        return false;
    }
    const char **texts = PyMem_Calloc((size_t)length + 1, sizeof *texts);
    if (!texts) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        Py_ssize_t bytes;
        texts[i] = text_of(PyList_GetItem(list, i), "a list of texts", &bytes);
        if (!texts[i]) {
            PyMem_Free(texts);
            return false;
        }
    }
    *out = texts;
    *count = (size_t)length;
    return true;
}

bool option_texts(PyObject *dict, const char *name, const char *const **out, size_t *count) {
    PyObject *value = option_find(dict, name);
    return value ? texts_from(value, out, count) : !PyErr_Occurred();
}

bool option_schema(PyObject *dict, const char *name, struct module_state *state, const mldf_context *context,
                   mldf_schema **out) {
    const char *text = NULL;
    size_t bytes = 0;
    mldf_error err;
    if (!option_text_bytes(dict, name, &text, &bytes))
        return false;
    if (!text)
        return true;
    if (mldf_schema_parse(context, text, bytes, out, &err) >= 0)
        return true;
    raise_error(state, &err);
    return false;
}
