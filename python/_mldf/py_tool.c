/* Whole-file operations that only read: verify, diff, stats, plan. Each makes plain dicts and lists;
 * python/mldf/tools.py gives them their shape. py_tool_write.c has those that write. */
#include "py_extension.h"

#include <string.h>

/* ---- verify ------------------------------------------------------------------------------------------------------ */

static void on_problem(void *user, const mldf_error *p) {
    struct call *call = user;
    if (call_resume(call))
        call_append(call, Py_BuildValue("(sNNNN)", mldf_status_name(p->status), number_or_none(p->offset),
                                        number_or_none(p->sample), words(p->field), words_of(p)));
    call_pause(call);
}

/* verify(path, options, types, progress): (counts, problems) */
static PyObject *verify(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
    mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
    const char *path;
    PyObject *dict, *types, *progress;
    struct call call;
    mldf_error err;
    if (!PyArg_ParseTuple(args, "yO!OO", &path, &PyDict_Type, &dict, &types, &progress) ||
        !option_bool(dict, "deep", &options.deep) || !option_int(dict, "threads", &options.threads) ||
        !option_secret(dict, "key", "passphrase", &options.secret))
        return NULL;
    PyObject *problems = PyList_New(0);
    struct context *context = problems ? context_new(state, types) : NULL;
    if (!context || !option_limit(dict, context) || !context_limits(context, dict)) {
        Py_XDECREF(problems);
        context_free(context);
        return NULL;
    }
    options.context = context_get(context);
    options.problem = on_problem;
    options.problem_user = &call;
    options.progress = call_progress;
    options.progress_user = &call;
    call_begin(&call, progress, problems);
    mldf_status status = mldf_verify(path, &options, &result, &err);
    call_end(&call);
    bool fine = call_check(&call, state, status, &err) && context_warn(context);
    context_free(context);
    if (!fine) {
        Py_DECREF(problems);
        return NULL;
    }
    return Py_BuildValue("{s:K,s:K,s:O,s:O,s:O,s:N}", "num_samples", (unsigned long long)result.num_samples,
                         "good_samples", (unsigned long long)result.good_samples, "checksummed",
                         result.checksummed ? Py_True : Py_False, "authenticated",
                         result.authenticated ? Py_True : Py_False, "encrypted", result.encrypted ? Py_True : Py_False,
                         "problems", problems);
}

/* ---- diff -------------------------------------------------------------------------------------------------------- */

struct diff_call {
    struct call call; /* first */
    Py_ssize_t limit, count;
};

static bool on_difference(void *user, const mldf_difference *d) {
    struct diff_call *diff = user;
    if (call_resume(&diff->call))
        call_append(&diff->call,
                    Py_BuildValue("(NNsN)", number_or_none(d->sample), words(d->field), d->what, words(d->message)));
    call_pause(&diff->call);
    return !diff->call.failed && ++diff->count < diff->limit;
}

/* diff(a, b, limit, progress): a list of (sample, field, what, message) */
static PyObject *diff(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_diff_options options = MLDF_DIFF_OPTIONS_INIT;
    PyObject *a, *b, *progress;
    struct diff_call diff = {.count = 0};
    mldf_error err;
    uint64_t differences;
    if (!PyArg_ParseTuple(args, "OOnO", &a, &b, &diff.limit, &progress))
        return NULL;
    struct reader *first = reader_from(state, a), *second = first ? reader_from(state, b) : NULL;
    if (!second)
        return NULL;
    struct handle *left = reader_borrow(first), *right = reader_borrow(second);
    PyObject *list = PyList_New(0);
    if (!list) {
        memory_release(&left->memory);
        memory_release(&right->memory);
        return NULL;
    }
    options.difference = on_difference;
    options.difference_user = &diff;
    options.progress = call_progress;
    options.progress_user = &diff.call;
    call_begin(&diff.call, progress, list);
    mldf_status status = mldf_diff(left->reader, right->reader, &options, &differences, &err);
    call_end(&diff.call);
    memory_release(&left->memory);
    memory_release(&right->memory);
    if (!call_check(&diff.call, state, status, &err))
        Py_CLEAR(list);
    return list;
}

/* ---- stats ------------------------------------------------------------------------------------------------------- */

static PyObject *number_object(const mldf_value *v) {
    switch (v->kind) {
    case MLDF_KIND_INT:
        return PyLong_FromLongLong(v->as.i);
    case MLDF_KIND_UINT:
        return PyLong_FromUnsignedLongLong(v->as.u);
    case MLDF_KIND_FLOAT:
        return PyFloat_FromDouble(v->as.f);
    case MLDF_KIND_TEXT:
        return PyUnicode_DecodeUTF8(v->data ? v->data : "", (Py_ssize_t)v->bytes, "replace");
    default:
        Py_RETURN_NONE;
    }
}

static PyObject *bins_object(const mldf_distribution *d) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < d->bin_count; i++) {
        PyObject *bin = Py_BuildValue("{s:d,s:d,s:K}", "low", d->bins[i].low, "high", d->bins[i].high, "count",
                                      (unsigned long long)d->bins[i].count);
        list_take(&list, bin);
    }
    return list;
}

static PyObject *distribution_object(const mldf_distribution *d) {
    if (!d)
        Py_RETURN_NONE;
    PyObject *bins = bins_object(d);
    if (!bins)
        return NULL;
    if (d->count == 0)
        return Py_BuildValue("{s:i,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:O,s:N}", "count", 0, "min", Py_None, "max", Py_None,
                             "mean", Py_None, "std", Py_None, "p50", Py_None, "p90", Py_None, "p99", Py_None,
                             "percentiles", Py_None, "histogram", bins);
    return Py_BuildValue("{s:K,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:s,s:N}", "count", (unsigned long long)d->count, "min",
                         d->min, "max", d->max, "mean", d->mean, "std", d->std, "p50", d->p50, "p90", d->p90, "p99",
                         d->p99, "percentiles", d->exact ? "exact" : "estimated", "histogram", bins);
}

static PyObject *classes_object(const mldf_field_summary *f) {
    if (!f->classes)
        Py_RETURN_NONE;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < f->class_count; i++) {
        PyObject *item = Py_BuildValue("{s:N,s:K}", "value", number_object(&f->classes[i].value), "count",
                                       (unsigned long long)f->classes[i].count);
        list_take(&list, item);
    }
    return list;
}

static PyObject *dims_object(const mldf_field_summary *f) {
    if (!f->dims)
        Py_RETURN_NONE;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < f->ndim; i++) {
        PyObject *item = distribution_object(&f->dims[i]);
        list_take(&list, item);
    }
    return list;
}

static PyObject *measures_object(const mldf_field_summary *f) {
    PyObject *out = PyDict_New();
    for (size_t i = 0; out && i < f->measure_count; i++) {
        PyObject *item = distribution_object(f->measures[i].values);
        if (!item || PyDict_SetItemString(out, f->measures[i].name, item) < 0)
            Py_CLEAR(out);
        Py_XDECREF(item);
    }
    return out;
}

static PyObject *members_object(const mldf_field_summary *f);

static PyObject *summary_object(const mldf_field_summary *f) {
    return Py_BuildValue(
        "{s:s,s:s,s:K,s:K,s:K,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "name", f->name, "type", f->type, "count",
        (unsigned long long)f->present, "nulls", (unsigned long long)f->nulls, "nonfinite",
        (unsigned long long)f->nonfinite, "elements", number_or_none(f->elements ? f->elements : MLDF_NONE), "min",
        number_object(&f->min), "max", number_object(&f->max), "values", distribution_object(f->values), "lengths",
        distribution_object(f->lengths), "bytes", distribution_object(f->bytes), "dims", dims_object(f), "classes",
        classes_object(f), "measures", measures_object(f), "members", members_object(f));
}

/* Of a struct; a member has none itself. */
static PyObject *members_object(const mldf_field_summary *f) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < f->member_count; i++) {
        PyObject *item = summary_object(&f->members[i]);
        list_take(&list, item);
    }
    return list;
}

/* stats(reader, progress): a dict for each field */
static PyObject *stats(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_summary_options options = MLDF_SUMMARY_OPTIONS_INIT;
    mldf_summary *summary = NULL;
    PyObject *object, *progress;
    struct call call;
    mldf_error err;
    if (!PyArg_ParseTuple(args, "OO", &object, &progress))
        return NULL;
    struct reader *reader = reader_from(state, object);
    struct handle *handle = reader ? reader_borrow(reader) : NULL;
    if (!handle)
        return NULL;
    options.progress = call_progress;
    options.progress_user = &call;
    call_begin(&call, progress, NULL);
    mldf_status status = mldf_summary_new(handle->reader, &options, &summary, &err);
    call_end(&call);
    PyObject *list = call_check(&call, state, status, &err) ? PyList_New(0) : NULL;
    for (size_t i = 0; list && i < mldf_schema_field_count(mldf_reader_schema(handle->reader)); i++) {
        PyObject *item = summary_object(mldf_summary_field(summary, i));
        list_take(&list, item);
    }
    if (status >= 0)
        mldf_summary_free(summary);
    memory_release(&handle->memory);
    return list;
}

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static bool payload_bytes_from(PyObject *list, uint64_t *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(list, (Py_ssize_t)i); /* borrowed; NULL past the end */
        if (!item)
            return false;
        out[i] = item == Py_None ? MLDF_NONE : PyLong_AsUnsignedLongLong(item);
        if (PyErr_Occurred())
            return false;
    }
    return true;
}

/* plan_file(payload_bytes, options, types): [(name, begin, end)]; the schema is one of the options */
static PyObject *plan_file(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_plan_options options = MLDF_PLAN_OPTIONS_INIT;
    mldf_region regions[MLDF_PLAN_REGIONS];
    mldf_schema *schema = NULL;
    size_t count = 0;
    PyObject *sizes, *dict, *types, *list = NULL;
    mldf_error err;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyList_Type, &sizes, &PyDict_Type, &dict, &types) ||
        !option_u64(dict, "samples", &options.samples) || !option_u64(dict, "page_size", &options.page_size) ||
        !option_bool(dict, "no_checksums", &options.no_checksums))
        return NULL;
    struct context *context = context_new(state, types);
    if (!context)
        return NULL;
    uint64_t *bytes = NULL;
    if (option_schema(dict, "schema", state, context_get(context), &schema) && schema) {
        size_t fields = mldf_schema_field_count(schema);
        bytes = PyMem_Calloc(fields + 1, sizeof *bytes);
        options.payload_bytes = bytes;
        if (!bytes)
            PyErr_NoMemory();
        else if (payload_bytes_from(sizes, bytes, fields) && mldf_plan(schema, &options, regions, &count, &err) < 0)
            raise_error(state, &err);
        if (!PyErr_Occurred())
            list = PyList_New(0);
    }
    for (size_t i = 0; list && i < count; i++) {
        PyObject *item =
            Py_BuildValue("(sNN)", regions[i].name, number_or_none(regions[i].begin), number_or_none(regions[i].end));
        list_take(&list, item);
    }
    PyMem_Free(bytes);
    mldf_schema_free(schema);
    context_free(context);
    return list;
}

/* check_schema(json, types): the canonical JSON text */
static PyObject *check_schema(PyObject *module, PyObject *args) {
    struct module_state *state = state_of(module);
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_schema *schema = NULL;
    const char *json;
    Py_ssize_t bytes;
    PyObject *types, *out = NULL;
    mldf_error err;
    if (!PyArg_ParseTuple(args, "s#O", &json, &bytes, &types))
        return NULL;
    struct context *context = context_new(state, types);
    if (!context)
        return NULL;
    if (mldf_schema_parse(context_get(context), json, (size_t)bytes, &schema, &err) < 0 ||
        mldf_schema_write(schema, &text, &err) < 0)
        raise_error(state, &err);
    else
        out = PyUnicode_DecodeUTF8((const char *)text.data, (Py_ssize_t)text.size, NULL);
    mldf_schema_free(schema);
    mldf_buffer_free(&text);
    context_free(context);
    return out;
}

PyMethodDef tool_functions[] = {
    {"verify", verify, METH_VARARGS, "verify(path, options, types, progress)"},
    {"diff", diff, METH_VARARGS, "diff(a, b, limit, progress)"},
    {"stats", stats, METH_VARARGS, "stats(reader, progress)"},
    {"plan_file", plan_file, METH_VARARGS, "plan_file(payload_bytes, options, types)"},
    {"check_schema", check_schema, METH_VARARGS, "check_schema(json, types)"},
    {NULL, NULL, 0, NULL},
};
