/* What the library says of its operations and of the text of pipelines. python/mldf/ops.py has a class for each of them. */
#include "py_extension.h"

static PyObject *parameters_of(size_t operation) {
    PyObject *list = PyList_New(0);
    mldf_parameter_info p;
    for (size_t i = 0; list && mldf_operation_parameter(operation, i, &p) == MLDF_OK; i++) {
        PyObject *choices = PyList_New(0), *item = NULL;
        for (size_t k = 0; choices && p.choices && p.choices[k]; k++) {
            PyObject *word = PyUnicode_FromString(p.choices[k]);
            list_take(&choices, word);
        }
        if (choices)
            item = Py_BuildValue("(sszsN)", p.name, p.type, p.fallback, p.help ? p.help : "", choices);
        list_take(&list, item);
    }
    return list;
}

/* operations(): [(name, help, random, [(name, type, default or None, help, choices)])] */
static PyObject *operations(PyObject *module, PyObject *ignored) {
    PyObject *list = PyList_New(0);
    mldf_operation_info o;
    (void)module, (void)ignored;
    for (size_t i = 0; list && mldf_operation_at(i, &o) == MLDF_OK; i++) {
        PyObject *parameters = parameters_of(i), *item = NULL;
        if (parameters)
            item = Py_BuildValue("(ssON)", o.name, o.help ? o.help : "", o.random ? Py_True : Py_False, parameters);
        list_take(&list, item);
    }
    return list;
}

/* A pipeline's text, parsed and written by one of the library's two writers. */
static PyObject *parsed(PyObject *module, PyObject *object,
                        mldf_status (*write)(const mldf_pipeline *, mldf_buffer *, mldf_error *)) {
    struct module_state *state = state_of(module);
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_pipeline *pipeline = NULL;
    PyObject *result = NULL;
    mldf_error err;
    Py_ssize_t bytes;
    const char *text = PyUnicode_AsUTF8AndSize(object, &bytes);
    if (!text)
        return NULL;
    mldf_status status = mldf_pipeline_parse(NULL, text, (size_t)bytes, &pipeline, &err);
    if (status >= 0)
        status = write(pipeline, &out, &err);
    if (status < 0)
        raise_error(state, &err);
    else
        result = PyUnicode_DecodeUTF8((const char *)out.data, (Py_ssize_t)out.size, NULL);
    mldf_pipeline_free(pipeline);
    mldf_buffer_free(&out);
    return result;
}

static PyObject *check_pipeline(PyObject *module, PyObject *object) {
    return parsed(module, object, mldf_pipeline_write);
}

static PyObject *parse_pipeline(PyObject *module, PyObject *object) {
    return parsed(module, object, mldf_pipeline_json);
}

PyMethodDef operation_functions[] = {
    {"operations", operations, METH_NOARGS, "operations(): what steps of a pipeline there are"},
    {"check_pipeline", check_pipeline, METH_O, "check_pipeline(text): the same in its canonical form"},
    {"parse_pipeline", parse_pipeline, METH_O, "parse_pipeline(text): its statements as JSON"},
    {NULL, NULL, 0, NULL},
};
