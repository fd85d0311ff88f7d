/* Whole-file operations that write: pack, append, convert, merge, repack, repair, select, split, extract, add_field.
 * All have one shape:
 *
 *     operation(what from, where to, options, types, progress) -> (written, skipped, bytes, reports)
 *
 * An empty out means "in place". reports lists what the operation told on its way: (kind, source, message), parts as
 * ("part", path, samples, bytes). */
#include "py_extension.h"

#include <string.h>

/* What every operation needs, set up and torn down in one place. */
struct operation {
    mldf_token_file tokens; /* of convert's sources */
    struct module_state *state;
    PyObject *options, *progress, *reports;
    struct context *context;
    const char *out;           /* where to: the second argument of most */
    const char *name;          /* of a new field */
    const char *path;          /* what from: the first argument is a path, */
    const char *const *paths;  /* or a list of them, */
    struct handle *source;     /* or an open reader */
    size_t path_count;         /* of paths */
    const char *const *own[3]; /* freed at the end, as paths and items are */
    void *items;               /* ranges, fractions */
    mldf_schema *schema;
    const char *tokenizer; /* of pack; NULL: none */
    mldf_tokenizer_options tokenizer_options;
    mldf_tokenize_options tokenize;
    mldf_writer_options writer;
    union {
        mldf_pack_options pack;
        mldf_convert_options convert;
        mldf_merge_options merge;
        mldf_repack_options repack;
        mldf_repair_options repair;
        mldf_select_options select;
        mldf_split_options split;
        mldf_extract_options extract;
        mldf_add_field_options add_field;
    } how;
    struct call call;
    mldf_pack_result result;
    mldf_error err;
};

/* The three steps of an operation: its arguments, its options, the call. */
typedef bool step_begin(struct operation *op, PyObject *args);
typedef bool step_fill(struct operation *op);
typedef mldf_status step_call(struct operation *op);

static bool operation_types(struct operation *op, PyObject *types) {
    op->reports = PyList_New(0);
    op->context = op->reports ? context_new(op->state, types) : NULL;
    return op->context && option_limit(op->options, op->context) && context_limits(op->context, op->options);
}

/* (sources, out, options, types, progress) */
static bool begin_sources(struct operation *op, PyObject *args) {
    PyObject *sources, *types;
    return PyArg_ParseTuple(args, "O!yO!OO", &PyList_Type, &sources, &op->out, &PyDict_Type, &op->options, &types,
                            &op->progress) &&
           operation_types(op, types) && texts_from(sources, &op->paths, &op->path_count);
}

/* (path, out, options, types, progress); an empty out becomes NULL. */
static bool begin_path(struct operation *op, PyObject *args) {
    PyObject *types;
    if (!PyArg_ParseTuple(args, "yyO!OO", &op->path, &op->out, &PyDict_Type, &op->options, &types, &op->progress))
        return false;
    op->out = *op->out ? op->out : NULL;
    return operation_types(op, types);
}

/* (reader, out, options, types, progress) */
static bool begin_reader(struct operation *op, PyObject *args) {
    PyObject *object, *types;
    if (!PyArg_ParseTuple(args, "OyO!OO", &object, &op->out, &PyDict_Type, &op->options, &types, &op->progress))
        return false;
    struct reader *reader = reader_from(op->state, object);
    op->source = reader ? reader_borrow(reader) : NULL;
    return op->source && operation_types(op, types);
}

/* The common part of a writer's options, with the hooks of this call. */
static bool operation_writer(struct operation *op, const mldf_writer_options **out) {
    mldf_writer_options *writer = &op->writer;
    *writer = (mldf_writer_options)MLDF_WRITER_OPTIONS_INIT;
    *out = writer;
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

static PyObject *operation_result(struct operation *op, mldf_status status) {
    if (!call_check(&op->call, op->state, status, &op->err) || !context_warn(op->context))
        return NULL;
    return Py_BuildValue("(KKKO)", (unsigned long long)op->result.written, (unsigned long long)op->result.skipped,
                         (unsigned long long)op->result.bytes, op->reports);
}

static PyObject *operate(PyObject *module, PyObject *args, step_begin *begin, step_fill *fill, step_call *call) {
    struct operation op;
    PyObject *out = NULL;
    memset(&op, 0, sizeof op);
    op.state = state_of(module);
    op.result = (mldf_pack_result)MLDF_PACK_RESULT_INIT;
    if (begin(&op, args) && fill(&op)) {
        call_begin(&op.call, op.progress, op.reports);
        mldf_status status = call(&op);
        call_end(&op.call);
        out = operation_result(&op, status);
    }
    for (size_t i = 0; i < sizeof op.own / sizeof op.own[0]; i++)
        PyMem_Free((void *)(uintptr_t)op.own[i]);
    PyMem_Free((void *)(uintptr_t)op.paths);
    PyMem_Free(op.items);
    if (op.source)
        memory_release(&op.source->memory);
    mldf_schema_free(op.schema);
    context_free(op.context);
    Py_XDECREF(op.reports);
    return out;
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static void report(struct call *call, const char *kind, const mldf_skip *skip) {
    if (call_resume(call)) {
        PyObject *source = PyUnicode_DecodeUTF8(skip->source, (Py_ssize_t)strlen(skip->source), "surrogateescape");
        call_append(call, source ? Py_BuildValue("(sNN)", kind, source, words(skip->message)) : NULL);
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

static bool fill_pack(struct operation *op) {
    mldf_pack_options *o = &op->how.pack;
    *o = (mldf_pack_options)MLDF_PACK_OPTIONS_INIT;
    int format = MLDF_SOURCE_AUTO, layout = MLDF_LAYOUT_AUTO, delimiter = 0;
    bool fine = operation_writer(op, &o->writer) && option_int(op->options, "format", &format) &&
                option_int(op->options, "layout", &layout) && option_int(op->options, "delimiter", &delimiter) &&
                option_schema(op->options, "schema", op->state, context_get(op->context), &op->schema) &&
                option_text(op->options, "key_column", &o->key_column) &&
                operation_texts(op, 0, "compress", &o->compress_fields, &o->compress_count) &&
                option_bool(op->options, "skip_bad_rows", &o->skip_bad_rows) &&
                option_bool(op->options, "resume", &o->resume) &&
                option_text(op->options, "image_arguments", &o->image_arguments) &&
                option_text(op->options, "audio_arguments", &o->audio_arguments) &&
                operation_texts(op, 1, "file_columns", &o->file_columns, &o->file_column_count) &&
                option_text(op->options, "file_root", &o->file_root) &&
                option_bool(op->options, "allow_outside", &o->allow_outside) &&
                option_bool(op->options, "number_keys", &o->number_keys) && option_bool(op->options, "cut", &o->cut) &&
                option_u32(op->options, "audio_rate", &o->audio_rate) &&
                option_bool(op->options, "audio_mono", &o->audio_mono) &&
                option_u32(op->options, "fps_num", &o->fps_num) && option_u32(op->options, "fps_den", &o->fps_den);
    int limit = 0, processes = 0, eos = -1, bos = -1;
    op->tokenizer_options = (mldf_tokenizer_options)MLDF_TOKENIZER_OPTIONS_INIT;
    op->tokenize = (mldf_tokenize_options)MLDF_TOKENIZE_OPTIONS_INIT;
    fine = fine && option_text(op->options, "text", &o->text_field) &&
           option_text(op->options, "tokenizer", &op->tokenizer) &&
           option_bool(op->options, "eos", &op->tokenize.eos) && option_bool(op->options, "bos", &op->tokenize.bos) &&
           option_int(op->options, "eos_id", &eos) && option_int(op->options, "bos_id", &bos) &&
           option_bool(op->options, "replace_utf8", &op->tokenize.replace) &&
           option_int(op->options, "tokenizer_timeout", &limit) &&
           option_int(op->options, "tokenizer_processes", &processes);
    op->tokenizer_options.timeout_seconds = (unsigned)limit;
    op->tokenizer_options.processes = (unsigned)processes;
    op->tokenizer_options.eos = eos;
    op->tokenizer_options.bos = bos;
    o->format = (mldf_source_format)format;
    o->layout = (mldf_layout)layout;
    o->delimiter = (char)delimiter;
    o->schema = op->schema;
    o->skip = on_skip;
    o->warn = on_warn;
    o->left_out = on_left_out;
    o->skip_user = o->warn_user = o->left_out_user = &op->call;
    return fine;
}

/* With the tokenizer that the options name, which lives as long as the work. */
static mldf_status with_tokenizer(struct operation *op, mldf_status (*work)(struct operation *op)) {
    mldf_status status = MLDF_OK;
    if (op->tokenizer) {
        status = mldf_tokenizer_open(op->tokenizer, &op->tokenizer_options, &op->tokenize.tokenizer, &op->err);
        op->how.pack.tokenize = &op->tokenize;
    }
    if (status == MLDF_OK)
        status = work(op);
    /* How its program ends after the last answer, which was checked, changes nothing. */
    if (op->tokenize.tokenizer && status == MLDF_OK)
        (void)(mldf_tokenizer_finish(op->tokenize.tokenizer, NULL) < 0);
    else
        mldf_tokenizer_free(op->tokenize.tokenizer);
    return status;
}

static mldf_status pack_files(struct operation *op) {
    return mldf_pack(op->paths, op->path_count, op->out, &op->how.pack, &op->result, &op->err);
}

static mldf_status call_pack(struct operation *op) {
    return with_tokenizer(op, pack_files);
}

static PyObject *pack(PyObject *module, PyObject *args) {
    return operate(module, args, begin_sources, fill_pack, call_pack);
}

static mldf_status append_files(struct operation *op) {
    return mldf_append(op->out, op->paths, op->path_count, &op->how.pack, &op->result, &op->err);
}

static mldf_status call_append_files(struct operation *op) {
    return with_tokenizer(op, append_files);
}

static PyObject *append(PyObject *module, PyObject *args) {
    return operate(module, args, begin_sources, fill_pack, call_append_files);
}

/* ---- convert, merge ---------------------------------------------------------------------------------------------- */

static bool fill_convert(struct operation *op) {
    mldf_convert_options *o = &op->how.convert;
    *o = (mldf_convert_options)MLDF_CONVERT_OPTIONS_INIT;
    o->skip = on_skip;
    o->skip_user = &op->call;
    return operation_writer(op, &o->writer) && option_secret(op->options, "key", "passphrase", &o->source_secret) &&
           option_text(op->options, "format", &o->format) &&
           option_token_file(op->options, &op->tokens, &o->token_file) &&
           operation_texts(op, 0, "fields", &o->fields, &o->field_count) &&
           operation_texts(op, 1, "compress", &o->compress_fields, &o->compress_count) &&
           option_bool(op->options, "keep_secret", &o->keep_secret) &&
           option_bool(op->options, "drop_fields", &o->drop_fields) && option_bool(op->options, "lz4", &o->lz4) &&
           option_u64(op->options, "dataset_version", &o->dataset_version) &&
           option_u64(op->options, "created", &o->created) && option_text(op->options, "encode", &o->encode) &&
           option_double(op->options, "fast_limit", &o->fast_limit) &&
           option_bool(op->options, "skip_unfit",
                       &o->skip_bad_samples); /* the writer has a skip_bad_samples of its own */
}

static mldf_status call_convert(struct operation *op) {
    return mldf_convert(op->paths, op->path_count, op->out, &op->how.convert, &op->result, &op->err);
}

static PyObject *convert(PyObject *module, PyObject *args) {
    return operate(module, args, begin_sources, fill_convert, call_convert);
}

static bool fill_merge(struct operation *op) {
    mldf_merge_options *o = &op->how.merge;
    *o = (mldf_merge_options)MLDF_MERGE_OPTIONS_INIT;
    return operation_writer(op, &o->writer) && option_secret(op->options, "key", "passphrase", &o->source_secret) &&
           operation_texts(op, 0, "compress", &o->compress_fields, &o->compress_count);
}

static mldf_status call_merge(struct operation *op) {
    return mldf_merge(op->paths, op->path_count, op->out, &op->how.merge, &op->result, &op->err);
}

static PyObject *merge(PyObject *module, PyObject *args) {
    return operate(module, args, begin_sources, fill_merge, call_merge);
}

/* ---- repack, repair ---------------------------------------------------------------------------------------------- */

static bool fill_repack(struct operation *op) {
    mldf_repack_options *o = &op->how.repack;
    *o = (mldf_repack_options)MLDF_REPACK_OPTIONS_INIT;
    return operation_writer(op, &o->writer) && option_secret(op->options, "key", "passphrase", &o->source_secret) &&
           option_bool(op->options, "decompress", &o->decompress) && option_text(op->options, "encode", &o->encode) &&
           option_double(op->options, "fast_limit", &o->fast_limit) &&
           operation_texts(op, 0, "compress", &o->compress_fields, &o->compress_count);
}

static mldf_status call_repack(struct operation *op) {
    return mldf_repack(op->path, op->out, &op->how.repack, &op->result, &op->err);
}

static PyObject *repack(PyObject *module, PyObject *args) {
    return operate(module, args, begin_path, fill_repack, call_repack);
}

static void on_lost(void *user, const mldf_error *lost) {
    struct call *call = user;
    if (call_resume(call))
        call_append(call, Py_BuildValue("(sNN)", "lost", number_or_none(lost->sample), words_of(lost)));
    call_pause(call);
}

static bool fill_repair(struct operation *op) {
    mldf_repair_options *o = &op->how.repair;
    *o = (mldf_repair_options)MLDF_REPAIR_OPTIONS_INIT;
    o->context = context_get(op->context);
    o->lost = on_lost;
    o->progress = call_progress;
    o->lost_user = o->progress_user = &op->call;
    return option_bool(op->options, "overwrite", &o->overwrite) && option_int(op->options, "threads", &o->threads) &&
           option_secret(op->options, "key", "passphrase", &o->secret);
}

static PyObject *losses(const mldf_repair_lost *lost) {
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:O,s:O,s:O,s:O}", "samples", (unsigned long long)lost->samples, "keys",
                         (unsigned long long)lost->keys, "values", (unsigned long long)lost->values, "sections",
                         (unsigned long long)lost->sections, "directory", lost->directory ? Py_True : Py_False, "card",
                         lost->card ? Py_True : Py_False, "dictionary", lost->dictionary ? Py_True : Py_False,
                         "history", lost->history ? Py_True : Py_False);
}

/* Its reports end with ("action", text, changed, unchecked, losses, problems). */
static mldf_status call_repair(struct operation *op) {
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_status status = mldf_repair(op->path, op->out, &op->how.repair, &result, &op->err);
    op->result = (mldf_pack_result){sizeof op->result, result.samples_saved, result.samples_lost, result.bytes};
    if (status < 0)
        return status;
    if (call_resume(&op->call))
        call_append(&op->call, Py_BuildValue("(sNOONK)", "action", words(result.action),
                                             result.changed ? Py_True : Py_False, result.unchecked ? Py_True : Py_False,
                                             losses(&result.lost), (unsigned long long)result.problems));
    call_pause(&op->call);
    return status;
}

static PyObject *repair(PyObject *module, PyObject *args) {
    return operate(module, args, begin_path, fill_repair, call_repair);
}

/* ---- select, split, extract: of an open reader ------------------------------------------------------------------- */

/* The list options[name] and, as op->items, room for its items, zeroed; *list NULL: there is none, which is fine. */
static bool items_room(struct operation *op, const char *name, size_t item_bytes, PyObject **list, size_t *count) {
    *list = option_find(op->options, name);
    if (!*list)
        return !PyErr_Occurred();
    Py_ssize_t length = PyList_Size(*list);
    if (length < 0)
        return false;
    *count = (size_t)length;
    op->items = PyMem_Calloc(*count + 1, item_bytes);
    if (!op->items)
        PyErr_NoMemory();
    return op->items != NULL;
}

/* A list of (begin, end). */
static bool ranges_from(struct operation *op, const mldf_sample_range **out, size_t *count) {
    PyObject *list;
    bool fine = items_room(op, "ranges", sizeof(mldf_sample_range), &list, count);
    mldf_sample_range *ranges = op->items;
    for (size_t i = 0; fine && list && i < *count; i++) {
        unsigned long long begin, end;
        fine = PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)i), "KK;ranges are (begin, end)", &begin, &end);
        if (fine)
            ranges[i] = (mldf_sample_range){begin, end};
    }
    *out = ranges;
    return fine;
}

static bool fill_select(struct operation *op) {
    mldf_select_options *o = &op->how.select;
    *o = (mldf_select_options)MLDF_SELECT_OPTIONS_INIT;
    return operation_writer(op, &o->writer) &&
           operation_texts(op, 0, "compress", &o->compress_fields, &o->compress_count) &&
           operation_texts(op, 1, "fields", &o->fields, &o->field_count) &&
           option_text(op->options, "where", &o->where) && ranges_from(op, &o->ranges, &o->range_count);
}

static mldf_status call_select(struct operation *op) {
    return mldf_select(op->source->reader, op->out, &op->how.select, &op->result, &op->err);
}

static PyObject *select_samples(PyObject *module, PyObject *args) {
    return operate(module, args, begin_reader, fill_select, call_select);
}

static bool fractions_from(struct operation *op, const double **out, size_t *count) {
    PyObject *list;
    bool fine = items_room(op, "fractions", sizeof(double), &list, count);
    double *fractions = op->items;
    for (size_t i = 0; fine && list && i < *count; i++) {
        fractions[i] = PyFloat_AsDouble(PyList_GetItem(list, (Py_ssize_t)i));
        fine = !PyErr_Occurred();
    }
    *out = fractions;
    return fine;
}

static bool fill_split(struct operation *op) {
    mldf_split_options *o = &op->how.split;
    size_t name_count = 0; /* as many as fractions */
    *o = (mldf_split_options)MLDF_SPLIT_OPTIONS_INIT;
    o->part = on_part;
    o->part_user = &op->call;
    return operation_writer(op, &o->writer) &&
           operation_texts(op, 0, "compress", &o->compress_fields, &o->compress_count) &&
           operation_texts(op, 1, "names", &o->names, &name_count) && option_u64(op->options, "count", &o->count) &&
           option_u64(op->options, "bytes", &o->bytes) && option_text(op->options, "by", &o->by) &&
           option_bool(op->options, "shuffle", &o->shuffle) && option_u64(op->options, "seed", &o->seed) &&
           fractions_from(op, &o->fractions, &o->fraction_count);
}

static mldf_status call_split(struct operation *op) {
    return mldf_split(op->source->reader, op->out, &op->how.split, &op->result, &op->err);
}

static PyObject *split(PyObject *module, PyObject *args) {
    return operate(module, args, begin_reader, fill_split, call_split);
}

static bool fill_extract(struct operation *op) {
    mldf_extract_options *o = &op->how.extract;
    *o = (mldf_extract_options)MLDF_EXTRACT_OPTIONS_INIT;
    o->progress = call_progress;
    o->progress_user = &op->call;
    int video = 0;
    bool fine = option_bool(op->options, "overwrite", &o->overwrite) &&
                operation_texts(op, 0, "fields", &o->fields, &o->field_count) &&
                option_int(op->options, "video", &video) && option_u64(op->options, "first", &o->first) &&
                option_u64(op->options, "end", &o->end) && option_u64(op->options, "step", &o->step);
    o->video = (mldf_extract_video)video;
    return fine;
}

static mldf_status call_extract(struct operation *op) {
    return mldf_extract(op->source->reader, op->out, &op->how.extract, &op->result, &op->err);
}

static PyObject *extract(PyObject *module, PyObject *args) {
    return operate(module, args, begin_reader, fill_extract, call_extract);
}

/* ---- add_field --------------------------------------------------------------------------------------------------- */

/* (path, name, source, options, types, progress) */
static bool begin_add_field(struct operation *op, PyObject *args) {
    PyObject *types;
    return PyArg_ParseTuple(args, "ysyO!OO", &op->out, &op->name, &op->path, &PyDict_Type, &op->options, &types,
                            &op->progress) &&
           operation_types(op, types);
}

static bool fill_add_field(struct operation *op) {
    mldf_add_field_options *o = &op->how.add_field;
    int format = MLDF_SOURCE_AUTO;
    *o = (mldf_add_field_options)MLDF_ADD_FIELD_OPTIONS_INIT;
    bool fine =
        option_int(op->options, "threads", &o->threads) &&
        option_secret(op->options, "key", "passphrase", &o->secret) && option_int(op->options, "format", &format) &&
        option_schema(op->options, "schema", op->state, context_get(op->context), &op->schema) &&
        option_text(op->options, "column", &o->column) && option_text(op->options, "key_column", &o->key_column) &&
        option_int(op->options, "compress_level", &o->compress_level);
    o->context = context_get(op->context);
    o->format = (mldf_source_format)format;
    o->schema = op->schema;
    o->progress = call_progress;
    o->progress_user = &op->call;
    return fine;
}

static mldf_status call_add_field(struct operation *op) {
    return mldf_add_field(op->out, op->name, op->path, &op->how.add_field, &op->result, &op->err);
}

static PyObject *add_field(PyObject *module, PyObject *args) {
    return operate(module, args, begin_add_field, fill_add_field, call_add_field);
}

/* ---- clean ----------------------------------------------------------------------------------------------------------- */

struct found {
    PyObject *list;
    bool failed;
};

static void on_found(void *user, const mldf_leftover *left) {
    static const char *const states[] = {"dead", "live", "other-host", "unknown"};
    static const char *const actions[] = {"kept", "removed", "finished"};
    struct found *found = user;
    PyObject *item = found->failed
                         ? NULL
                         : Py_BuildValue("(NKss)", PyUnicode_DecodeFSDefault(left->path),
                                         (unsigned long long)left->bytes, states[left->state], actions[left->action]);
    found->failed = !item || PyList_Append(found->list, item) < 0;
    Py_XDECREF(item);
}

/* (folder, dry_run, other_hosts) -> [(path, bytes, state, action)] */
static PyObject *clean(PyObject *module, PyObject *args) {
    const char *folder;
    int dry_run, other_hosts;
    mldf_clean_options options = MLDF_CLEAN_OPTIONS_INIT;
    mldf_error err;
    if (!PyArg_ParseTuple(args, "ypp", &folder, &dry_run, &other_hosts))
        return NULL;
    struct found found = {PyList_New(0), false};
    if (!found.list)
        return NULL;
    options.dry_run = dry_run;
    options.other_hosts = other_hosts;
    options.found = on_found;
    options.found_user = &found;
    mldf_status status = mldf_clean(folder, &options, &err);
    if (!found.failed && status >= 0)
        return found.list;
    Py_DECREF(found.list);
    return found.failed ? NULL : raise_error(state_of(module), &err);
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
    {"clean", clean, METH_VARARGS, "clean(folder, dry_run, other_hosts)"},
    {"add_field", add_field, METH_VARARGS, "add_field(path, name, source, options, types, progress)"},
    {NULL, NULL, 0, NULL},
};
