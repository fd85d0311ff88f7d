/* Pack plans of token fields: making one, and those that a file has, as dicts. */
#include "py_extension.h"

static PyObject *id_or_none(int64_t id) {
    return id < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(id);
}

static PyObject *plan_dict(const mldf_token_plan *p) {
    return Py_BuildValue("{s:z,s:s,s:I,s:I,s:s,s:I,s:N,s:N,s:K,s:K,s:I,s:K,s:K,s:K,s:K,s:K}", "field", p->field,
                         "algorithm", p->algorithm, "length", p->length, "align", p->align, "long", p->long_documents,
                         "max_pieces", p->max_pieces, "bos", id_or_none(p->bos), "eos", id_or_none(p->eos), "bins",
                         (unsigned long long)p->bins, "pieces", (unsigned long long)p->pieces, "most_pieces",
                         p->most_pieces, "documents", (unsigned long long)p->rows, "tokens",
                         (unsigned long long)p->tokens, "left_out", (unsigned long long)p->left_out, "cut_documents",
                         (unsigned long long)p->cut_documents, "seed", (unsigned long long)p->seed);
}

/* token_plans(): a list of dicts. */
PyObject *reader_token_plans(PyObject *object, PyObject *none) {
    struct handle *handle = reader_borrow((struct reader *)object);
    PyObject *out = handle ? PyList_New(0) : NULL;
    mldf_status status = MLDF_OK;
    mldf_token_plan plan = MLDF_TOKEN_PLAN_INIT;
    mldf_error err;
    (void)none;
    if (!handle)
        return NULL;
    for (size_t i = 0; out && (status = mldf_reader_token_plan(handle->reader, i, &plan, &err)) == MLDF_OK; i++)
        list_take(&out, plan_dict(&plan));
    memory_release(&handle->memory);
    if (status >= 0)
        return out;
    Py_XDECREF(out);
    return raise_error(state_of_self(object), &err);
}

static bool get_u32(PyObject *dict, const char *name, uint32_t *out) {
    uint64_t number = *out;
    bool fine = option_u64(dict, name, &number);
    *out = (uint32_t)number; /* python/mldf keeps it below 2^32 */
    return fine;
}

static bool get_id(PyObject *dict, const char *name, int64_t *out) {
    uint64_t number = UINT64_MAX;
    bool fine = option_u64(dict, name, &number);
    *out = number == UINT64_MAX ? -1 : (int64_t)number;
    return fine;
}

/* token_format and so on; *out stays NULL where none is given. */
bool option_token_file(PyObject *dict, mldf_token_file *tokens, const mldf_token_file **out) {
    int place = -1;
    *tokens = (mldf_token_file)MLDF_TOKEN_FILE_INIT;
    if (!option_text(dict, "token_format", &tokens->format) || !option_text(dict, "token_dtype", &tokens->dtype) ||
        !get_id(dict, "token_eos", &tokens->eos) || !option_int(dict, "token_eos_at", &place) ||
        !option_u64(dict, "token_vocabulary", &tokens->vocabulary))
        return false;
    tokens->eos_at_given = place >= 0;
    tokens->eos_at_start = place == 0;
    if (tokens->format || tokens->dtype || tokens->eos >= 0 || place >= 0 || tokens->vocabulary)
        *out = tokens;
    return true;
}

/* (path, options) -> dict */
static PyObject *plan_tokens(PyObject *module, PyObject *args) {
    mldf_plan_tokens_options o = MLDF_PLAN_TOKENS_OPTIONS_INIT;
    const char *path;
    PyObject *options;
    mldf_token_plan plan = MLDF_TOKEN_PLAN_INIT;
    mldf_error err;
    mldf_status status;
    if (!PyArg_ParseTuple(args, "yO!", &path, &PyDict_Type, &options) ||
        !option_secret(options, "key", "passphrase", &o.secret) || !option_text(options, "field", &o.field) ||
        !option_text(options, "algorithm", &o.algorithm) || !option_text(options, "long", &o.long_documents) ||
        !get_u32(options, "length", &o.length) || !get_u32(options, "align", &o.align) ||
        !get_u32(options, "max_pieces", &o.max_pieces) || !get_id(options, "bos", &o.bos) ||
        !get_id(options, "eos", &o.eos) || !option_u64(options, "seed", &o.seed))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = mldf_plan_tokens(path, &o, &plan, &err);
    Py_END_ALLOW_THREADS;
    return status < 0 ? raise_error(state_of(module), &err) : plan_dict(&plan);
}

PyMethodDef plan_functions[] = {
    {"plan_tokens", plan_tokens, METH_VARARGS, "plan_tokens(path, options)"},
    {NULL, NULL, 0, NULL},
};
