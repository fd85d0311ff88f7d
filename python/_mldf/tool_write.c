/* Whole-file operations that write: pack, append, convert, merge, repack, repair, select, split, extract, add_field.
 * All have one shape:
 *
 *     operation(what from, where to, options, types, progress) -> (written, skipped, bytes, reports)
 *
 * An empty out means "in place". reports lists what the operation told on its way: (kind, source, message), parts as
 * ("part", path, samples, bytes). */
#include "extension.h"

#include <string.h>

/* What every operation needs, set up and torn down in one place. */
struct operation {
    struct module_state *state;
    PyObject *options, *progress, *reports;
    struct context *context;
    const char *out;           /* where to: the second argument of most */
    const char *path;          /* what from: the first argument is a path, */
    const char *const *paths;  /* or a list of them, */
    struct handle *source;     /* or an open reader */
    size_t path_count;         /* of paths */
    const char *const *own[3]; /* freed at the end, as paths are */
    mldf_schema *schema;
    struct call call;
    mldf_pack_result result;
    mldf_error err;
};

static void operation_clear(struct operation *op, PyObject *module) {
    memset(op, 0, sizeof *op);
    op->state = state_of(module);
}

static bool operation_types(struct operation *op, PyObject *types) {
    op->reports = PyList_New(0);
    op->context = op->reports ? context_new(op->state, types) : NULL;
    return op->context != NULL;
}

/* (sources, out, options, types, progress) */
static bool begin_sources(struct operation *op, PyObject *module, PyObject *args) {
    PyObject *sources, *types;
    operation_clear(op, module);
    return PyArg_ParseTuple(args, "O!yO!OO", &PyList_Type, &sources, &op->out, &PyDict_Type, &op->options, &types,
                            &op->progress) &&
           operation_types(op, types) && texts_from(sources, &op->paths, &op->path_count);
}

/* (path, out, options, types, progress); an empty out becomes NULL. */
static bool begin_path(struct operation *op, PyObject *module, PyObject *args) {
    PyObject *types;
    operation_clear(op, module);
    if (!PyArg_ParseTuple(args, "yyO!OO", &op->path, &op->out, &PyDict_Type, &op->options, &types, &op->progress))
        return false;
    op->out = *op->out ? op->out : NULL;
    return operation_types(op, types);
}

/* (reader, out, options, types, progress) */
static bool begin_reader(struct operation *op, PyObject *module, PyObject *args) {
    PyObject *object, *types;
    operation_clear(op, module);
    if (!PyArg_ParseTuple(args, "OyO!OO", &object, &op->out, &PyDict_Type, &op->options, &types, &op->progress))
        return false;
    struct reader *reader = reader_from(op->state, object);
    op->source = reader ? reader_borrow(reader) : NULL;
    return op->source && operation_types(op, types);
}

/* The common part of a writer's options, with the hooks of this call. */
static bool operation_writer(struct operation *op, mldf_writer_options *writer) {
    writer->context = context_get(op->context);
    writer->progress = call_progress;
    writer->progress_user = &op->call;
    return option_writer(op->options, writer);
}

static bool operation_texts(struct operation *op, size_t place, const char *name, const char *const **out,
                            size_t *count) {
    if (!option_texts(op->options, name, out, count))
        return false;
    op->own[place] = *out;
    return true;
}

static void operation_call(struct operation *op) {
    call_begin(&op->call, op->progress, op->reports);
}

static PyObject *operation_end(struct operation *op, bool called, mldf_status status) {
    PyObject *out = NULL;
    if (called)
        call_end(&op->call);
    if (called && call_check(&op->call, op->state, status, &op->err) && context_warn(op->context))
        out = Py_BuildValue("(KKKO)", (unsigned long long)op->result.written, (unsigned long long)op->result.skipped,
                            (unsigned long long)op->result.bytes, op->reports);
    for (size_t i = 0; i < sizeof op->own / sizeof op->own[0]; i++)
        PyMem_Free((void *)(uintptr_t)op->own[i]);
    PyMem_Free((void *)(uintptr_t)op->paths);
    if (op->source)
        memory_release(&op->source->memory);
    mldf_schema_free(op->schema);
    context_free(op->context);
    Py_XDECREF(op->reports);
    return out;
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static void report(struct call *call, const char *kind, const mldf_skip *skip) {
    if (call_resume(call)) {
        PyObject *source = PyUnicode_DecodeUTF8(skip->source, (Py_ssize_t)strlen(skip->source), "surrogateescape");
        PyObject *message = shown_text(skip->message);
        call_append(call, source && message ? Py_BuildValue("(sOO)", kind, source, message) : NULL);
        Py_XDECREF(source);
        Py_XDECREF(message);
    }
    call_pause(call);
}

static void on_skip(void *user, const mldf_skip *skip) {
    report(user, "skipped", skip);
}

static void on_warn(void *user, const mldf_skip *skip) {
    report(user, "warning", skip);
}

static void on_left_out(void *user, const mldf_skip *skip) {
    report(user, "left_out", skip);
}

static void on_part(void *user, const mldf_part *part) {
    struct call *call = user;
    if (call_resume(call)) {
        PyObject *path = PyUnicode_DecodeFSDefault(part->path);
        call_append(call, path ? Py_BuildValue("(sNKK)", "part", path, (unsigned long long)part->samples,
                                               (unsigned long long)part->bytes)
                               : NULL);
    }
    call_pause(call);
}

/* ---- pack and append --------------------------------------------------------------------------------------------- */

static bool fill_pack(struct operation *op, mldf_pack_options *o) {
    int format = MLDF_SOURCE_AUTO, layout = MLDF_LAYOUT_AUTO;
    bool fine = operation_writer(op, &o->writer) && option_int(op->options, "format", &format) &&
                option_int(op->options, "layout", &layout) &&
                option_schema(op->options, "schema", op->state, context_get(op->context), &op->schema) &&
                option_text(op->options, "key_column", &o->key_column) &&
                operation_texts(op, 0, "compress", &o->compress_fields, &o->compress_count) &&
                option_bool(op->options, "skip_bad_rows", &o->skip_bad_rows) &&
                option_bool(op->options, "resume", &o->resume) &&
                option_text(op->options, "image_arguments", &o->image_arguments) &&
                operation_texts(op, 1, "file_columns", &o->file_columns, &o->file_column_count) &&
                option_text(op->options, "file_root", &o->file_root) &&
                option_bool(op->options, "allow_outside", &o->allow_outside) &&
                option_bool(op->options, "number_keys", &o->number_keys);
    o->format = (mldf_source_format)format;
    o->layout = (mldf_layout)layout;
    o->schema = op->schema;
    o->skip = on_skip;
    o->warn = on_warn;
    o->left_out = on_left_out;
    o->skip_user = o->warn_user = o->left_out_user = &op->call;
    return fine;
}

typedef mldf_status pack_call(const struct operation *op, const mldf_pack_options *o, mldf_pack_result *result,
                              mldf_error *err);

static mldf_status pack_files(const struct operation *op, const mldf_pack_options *o, mldf_pack_result *result,
                              mldf_error *err) {
    return mldf_pack(op->paths, op->path_count, op->out, o, result, err);
}

static mldf_status append_files(const struct operation *op, const mldf_pack_options *o, mldf_pack_result *result,
                                mldf_error *err) {
    return mldf_append(op->out, op->paths, op->path_count, o, result, err);
}

static PyObject *pack_with(PyObject *module, PyObject *args, pack_call *run) {
    mldf_pack_options o = MLDF_PACK_OPTIONS_INIT;
    struct operation op;
    mldf_status status = MLDF_OK;
    bool ready = begin_sources(&op, module, args) && fill_pack(&op, &o);
    if (ready) {
        operation_call(&op);
        status = run(&op, &o, &op.result, &op.err);
    }
    return operation_end(&op, ready, status);
}

static PyObject *pack(PyObject *module, PyObject *args) {
    return pack_with(module, args, pack_files);
}

static PyObject *append(PyObject *module, PyObject *args) {
    return pack_with(module, args, append_files);
}

/* ---- convert, merge ---------------------------------------------------------------------------------------------- */

static bool fill_convert(struct operation *op, mldf_convert_options *o) {
    o->skip = on_skip;
    o->skip_user = &op->call;
    return operation_writer(op, &o->writer) && option_secret(op->options, "key", "passphrase", &o->source_secret) &&
           option_text(op->options, "format", &o->format) &&
           operation_texts(op, 0, "fields", &o->fields, &o->field_count) &&
           operation_texts(op, 1, "compress", &o->compress_fields, &o->compress_count) &&
           option_bool(op->options, "drop_fields", &o->drop_fields) && option_bool(op->options, "lz4", &o->lz4) &&
           option_u64(op->options, "dataset_version", &o->dataset_version) &&
           option_u64(op->options, "created", &o->created) &&
           option_bool(op->options, "skip_unfit",
                       &o->skip_bad_samples); /* the writer has a skip_bad_samples of its own */
}

static PyObject *convert(PyObject *module, PyObject *args) {
    mldf_convert_options o = MLDF_CONVERT_OPTIONS_INIT;
    struct operation op;
    mldf_status status = MLDF_OK;
    bool ready = begin_sources(&op, module, args) && fill_convert(&op, &o);
    if (ready) {
        operation_call(&op);
        status = mldf_convert(op.paths, op.path_count, op.out, &o, &op.result, &op.err);
    }
    return operation_end(&op, ready, status);
}

static PyObject *merge(PyObject *module, PyObject *args) {
    mldf_merge_options o = MLDF_MERGE_OPTIONS_INIT;
    struct operation op;
    mldf_status status = MLDF_OK;
    bool ready = begin_sources(&op, module, args) && operation_writer(&op, &o.writer) &&
                 option_secret(op.options, "key", "passphrase", &o.source_secret) &&
                 operation_texts(&op, 0, "compress", &o.compress_fields, &o.compress_count);
    if (ready) {
        operation_call(&op);
        status = mldf_merge(op.paths, op.path_count, op.out, &o, &op.result, &op.err);
    }
    return operation_end(&op, ready, status);
}

/* ---- repack, repair ---------------------------------------------------------------------------------------------- */

static PyObject *repack(PyObject *module, PyObject *args) {
    mldf_repack_options o = MLDF_REPACK_OPTIONS_INIT;
    struct operation op;
    mldf_status status = MLDF_OK;
    bool ready = begin_path(&op, module, args) && operation_writer(&op, &o.writer) &&
                 option_secret(op.options, "key", "passphrase", &o.source_secret) &&
                 option_bool(op.options, "decompress", &o.decompress) &&
                 operation_texts(&op, 0, "compress", &o.compress_fields, &o.compress_count);
    if (ready) {
        operation_call(&op);
        status = mldf_repack(op.path, op.out, &o, &op.result, &op.err);
    }
    return operation_end(&op, ready, status);
}

static void on_lost(void *user, const mldf_error *lost) {
    struct call *call = user;
    if (call_resume(call))
        call_append(call, Py_BuildValue("(sNN)", "lost", number_or_none(lost->sample), shown_text(lost->message)));
    call_pause(call);
}

/* Its reports end with ("action", text, changed, unchecked). */
static PyObject *repair(PyObject *module, PyObject *args) {
    mldf_repair_options o = MLDF_REPAIR_OPTIONS_INIT;
    mldf_repair_result result = {0};
    struct operation op;
    mldf_status status = MLDF_OK;
    bool ready = begin_path(&op, module, args) && option_bool(op.options, "overwrite", &o.overwrite) &&
                 option_int(op.options, "threads", &o.threads) &&
                 option_secret(op.options, "key", "passphrase", &o.secret);
    if (ready) {
        o.context = context_get(op.context);
        o.lost = on_lost;
        o.progress = call_progress;
        o.lost_user = o.progress_user = &op.call;
        operation_call(&op);
        status = mldf_repair(op.path, op.out, &o, &result, &op.err);
        op.result = (mldf_pack_result){result.samples_saved, result.samples_lost, result.bytes};
        if (status >= 0) {
            if (call_resume(&op.call))
                call_append(&op.call,
                            Py_BuildValue("(ssOO)", "action", result.action, result.changed ? Py_True : Py_False,
                                          result.unchecked ? Py_True : Py_False));
            call_pause(&op.call);
        }
    }
    return operation_end(&op, ready, status);
}

/* ---- select, split, extract: of an open reader ------------------------------------------------------------------- */

/* The list options[name] and room for its items, zeroed, owned by the caller; *list NULL: there is none, which is fine. */
static bool items_room(PyObject *options, const char *name, size_t item_bytes, PyObject **list, void **room,
                       size_t *count) {
    *list = PyDict_GetItemString(options, name);
    if (!*list || *list == Py_None) {
        *list = NULL;
        return true;
    }
    Py_ssize_t length = PyList_Size(*list);
    if (length < 0)
        return false;
    *count = (size_t)length;
    *room = PyMem_Calloc(*count + 1, item_bytes);
    if (!*room)
        PyErr_NoMemory();
    return *room != NULL;
}

/* A list of (begin, end). */
static bool ranges_from(PyObject *options, void **room, size_t *count) {
    PyObject *list;
    bool fine = items_room(options, "ranges", sizeof(mldf_sample_range), &list, room, count);
    mldf_sample_range *ranges = *room;
    for (size_t i = 0; fine && list && i < *count; i++) {
        unsigned long long begin, end;
        fine = PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i), "KK;ranges are (begin, end)", &begin, &end);
        if (fine)
            ranges[i] = (mldf_sample_range){begin, end};
    }
    return fine;
}

static PyObject *select_samples(PyObject *module, PyObject *args) {
    mldf_select_options o = MLDF_SELECT_OPTIONS_INIT;
    struct operation op;
    void *ranges = NULL;
    mldf_status status = MLDF_OK;
    bool ready = begin_reader(&op, module, args) && operation_writer(&op, &o.writer) &&
                 operation_texts(&op, 0, "compress", &o.compress_fields, &o.compress_count) &&
                 operation_texts(&op, 1, "fields", &o.fields, &o.field_count) &&
                 option_text(op.options, "where", &o.where) && ranges_from(op.options, &ranges, &o.range_count);
    o.ranges = ranges;
    if (ready) {
        operation_call(&op);
        status = mldf_select(op.source->reader, op.out, &o, &op.result, &op.err);
    }
    PyObject *result = operation_end(&op, ready, status);
    PyMem_Free(ranges);
    return result;
}

static bool fractions_from(PyObject *options, void **room, size_t *count) {
    PyObject *list;
    bool fine = items_room(options, "fractions", sizeof(double), &list, room, count);
    double *fractions = *room;
    for (size_t i = 0; fine && list && i < *count; i++) {
        fractions[i] = PyFloat_AsDouble(PyList_GetItem(list, (Py_ssize_t)i));
        fine = !PyErr_Occurred();
    }
    return fine;
}

static PyObject *split(PyObject *module, PyObject *args) {
    mldf_split_options o = MLDF_SPLIT_OPTIONS_INIT;
    struct operation op;
    void *fractions = NULL;
    size_t name_count = 0;
    mldf_status status = MLDF_OK;
    bool ready = begin_reader(&op, module, args) && operation_writer(&op, &o.writer) &&
                 operation_texts(&op, 0, "compress", &o.compress_fields, &o.compress_count) &&
                 operation_texts(&op, 1, "names", &o.names, &name_count) && option_u64(op.options, "count", &o.count) &&
                 option_u64(op.options, "bytes", &o.bytes) && option_text(op.options, "by", &o.by) &&
                 option_bool(op.options, "shuffle", &o.shuffle) && option_u64(op.options, "seed", &o.seed) &&
                 fractions_from(op.options, &fractions, &o.fraction_count);
    o.fractions = fractions;
    o.part = on_part;
    o.part_user = &op.call;
    if (ready) {
        operation_call(&op);
        status = mldf_split(op.source->reader, op.out, &o, &op.result, &op.err);
    }
    PyObject *result = operation_end(&op, ready, status);
    PyMem_Free(fractions);
    return result;
}

static PyObject *extract(PyObject *module, PyObject *args) {
    mldf_extract_options o = MLDF_EXTRACT_OPTIONS_INIT;
    struct operation op;
    mldf_status status = MLDF_OK;
    bool ready = begin_reader(&op, module, args) && option_bool(op.options, "overwrite", &o.overwrite) &&
                 operation_texts(&op, 0, "fields", &o.fields, &o.field_count);
    o.progress = call_progress;
    o.progress_user = &op.call;
    if (ready) {
        operation_call(&op);
        status = mldf_extract(op.source->reader, op.out, &o, &op.result, &op.err);
    }
    return operation_end(&op, ready, status);
}

/* ---- add_field --------------------------------------------------------------------------------------------------- */

/* add_field(path, name, source, options, types, progress) */
static PyObject *add_field(PyObject *module, PyObject *args) {
    mldf_add_field_options o = MLDF_ADD_FIELD_OPTIONS_INIT;
    struct operation op;
    PyObject *types;
    const char *path, *name, *source;
    int format = MLDF_SOURCE_AUTO;
    mldf_status status = MLDF_OK;
    operation_clear(&op, module);
    bool ready =
        PyArg_ParseTuple(args, "ysyO!OO", &path, &name, &source, &PyDict_Type, &op.options, &types, &op.progress) &&
        operation_types(&op, types) && option_int(op.options, "threads", &o.threads) &&
        option_secret(op.options, "key", "passphrase", &o.secret) && option_int(op.options, "format", &format) &&
        option_schema(op.options, "schema", op.state, context_get(op.context), &op.schema) &&
        option_text(op.options, "column", &o.column) && option_text(op.options, "key_column", &o.key_column) &&
        option_int(op.options, "compress_level", &o.compress_level);
    if (ready) {
        o.context = context_get(op.context);
        o.format = (mldf_source_format)format;
        o.schema = op.schema;
        o.progress = call_progress;
        o.progress_user = &op.call;
        operation_call(&op);
        status = mldf_add_field(path, name, source, &o, &op.result, &op.err);
    }
    return operation_end(&op, ready, status);
}

PyMethodDef tool_write_functions[] = {
    {"pack", pack, METH_VARARGS, "pack(sources, out, options, types, progress)"},
    {"append", append, METH_VARARGS, "append(sources, path, options, types, progress)"},
    {"convert", convert, METH_VARARGS, "convert(sources, out, options, types, progress)"},
    {"merge", merge, METH_VARARGS, "merge(sources, out, options, types, progress)"},
    {"repack", repack, METH_VARARGS, "repack(path, out, options, types, progress)"},
    {"repair", repair, METH_VARARGS, "repair(path, out, options, types, progress)"},
    {"select", select_samples, METH_VARARGS, "select(reader, out, options, types, progress)"},
    {"split", split, METH_VARARGS, "split(reader, pattern, options, types, progress)"},
    {"extract", extract, METH_VARARGS, "extract(reader, folder, options, types, progress)"},
    {"add_field", add_field, METH_VARARGS, "add_field(path, name, source, options, types, progress)"},
    {NULL, NULL, 0, NULL},
};
