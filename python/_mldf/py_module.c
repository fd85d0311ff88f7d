/* The module mldf._mldf: its types, functions and state. Multi-phase initialisation and heap types: nothing is
 * static but tables, so each interpreter has its own module. */
#include "py_extension.h"

struct module_state *state_of(PyObject *module) {
    return PyModule_GetState(module);
}

struct module_state *state_of_self(PyObject *self) {
    return PyType_GetModuleState(Py_TYPE(self));
}

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out && PyModule_AddType(module, *out) == 0;
}

static bool load_numpy(struct module_state *state) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy)
        return false;
    state->ndarray = PyObject_GetAttrString(numpy, "ndarray");
    state->dtype_u8 = PyObject_CallMethod(numpy, "dtype", "s", "|u1");
    state->dtype_u16 = PyObject_CallMethod(numpy, "dtype", "s", "<u2");
    Py_DECREF(numpy);
    return state->ndarray && state->dtype_u8 && state->dtype_u16;
}

static int module_exec(PyObject *module) {
    struct module_state *state = state_of(module);
    PyMethodDef *tables[] = {reader_functions,    writer_functions, tool_functions,   tool_write_functions,
                             plan_functions,      image_functions,  loader_functions, view_functions,
                             operation_functions, video_functions,  parts_functions,  gather_functions};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (PyModule_AddFunctions(module, tables[i]) < 0)
            return -1;
    if (!load_exceptions(state) || !load_numpy(state) || !add_type(module, &array_spec, &state->array_type) ||
        !add_type(module, &reader_spec, &state->reader_type) || !add_type(module, &plan_spec, &state->plan_type) ||
        !add_type(module, &writer_spec, &state->writer_type) || !add_type(module, &loader_spec, &state->loader_type) ||
        !add_type(module, &view_spec, &state->view_type))
        return -1;
    state->tuple_new = PyObject_GetAttrString((PyObject *)&PyTuple_Type, "__new__");
    state->empty_tuple = PyTuple_New(0);
    if (!state->tuple_new || !state->empty_tuple)
        return -1;
    return PyModule_AddStringConstant(module, "version", mldf_version()) < 0 ||
                   PyModule_AddStringConstant(module, "features", mldf_build_features()) < 0 ||
                   PyModule_AddIntConstant(module, "format_version", (long)mldf_format_version()) < 0
               ? -1
               : 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    struct module_state *state = state_of(module);
    for (size_t i = 0; i < EXCEPTION_COUNT; i++)
        Py_VISIT(state->exceptions[i]);
    Py_VISIT(state->array_type);
    Py_VISIT(state->reader_type);
    Py_VISIT(state->plan_type);
    Py_VISIT(state->writer_type);
    Py_VISIT(state->loader_type);
    Py_VISIT(state->view_type);
    Py_VISIT(state->ndarray);
    Py_VISIT(state->tuple_new);
    Py_VISIT(state->dtype_u8);
    Py_VISIT(state->dtype_u16);
    Py_VISIT(state->empty_tuple);
    return 0;
}

static int module_clear(PyObject *module) {
    struct module_state *state = state_of(module);
    for (size_t i = 0; i < EXCEPTION_COUNT; i++)
        Py_CLEAR(state->exceptions[i]);
    Py_CLEAR(state->array_type);
    Py_CLEAR(state->reader_type);
    Py_CLEAR(state->plan_type);
    Py_CLEAR(state->writer_type);
    Py_CLEAR(state->loader_type);
    Py_CLEAR(state->view_type);
    Py_CLEAR(state->ndarray);
    Py_CLEAR(state->tuple_new);
    Py_CLEAR(state->dtype_u8);
    Py_CLEAR(state->dtype_u16);
    Py_CLEAR(state->empty_tuple);
    return 0;
}

static void module_free(void *module) {
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "mldf._mldf",
    .m_doc = "The C side of the package mldf; use mldf itself.",
    .m_size = sizeof(struct module_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__mldf(void);
PyMODINIT_FUNC PyInit__mldf(void) {
    return PyModuleDef_Init(&definition);
}
