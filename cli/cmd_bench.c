/* mldf bench: runs epochs through a loader and says how fast it was, where the time went and what holds it up. With --hash it is also the
 * way to compare batches between machines, formats, numbers of threads. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const struct option_spec options[] = {
    {'p', "pipeline", "TEXT",
     "what is done with each sample: text, or @FILE; by default every field is decoded, and the pipeline is shown; "
     "where hashes are listed, fields of fixed shape as they are"},
    {0, "view", "TEXT",
     "what a sample is: rows (the default), windows(FIELD, LENGTH ...), expand(FIELD, every= ...), packed(FIELD, LENGTH ...)"},
    {0, "batch-size", "N", "samples of a batch; 64"},
    {0, "order", "KIND", "sequential (the default), random or quasi-random"},
    {0, "seed", "N", "of the order and of all random steps; 0"},
    {0, "block", "N", "quasi-random: samples of a block"},
    {0, "window", "N", "quasi-random: blocks of a window"},
    {0, "epochs", "N", "how many; 1"},
    {0, "last", "HOW", "the end of an epoch: keep a smaller batch (the default), drop it, or pad it"},
    {0, "bucket-window", "N", "sort this many samples by the length of their padded output"},
    {0, "budget", "N|SECONDSs",
     "with --bucket-window: elements of a batch after padding, or seconds (300s), instead of --batch-size"},
    {'j', "threads", "N", "by default the CPUs this process may use, 0: none of its own"},
    {0, "workers", "N", NULL},
    {0, "in-flight", "N", "batches worked on or waiting at a time"},
    {0, "backend", "HOW", "map (the default) or read"},
    {0, "direct", NULL, "with --backend read: past the page cache"},
    {0, "no-prefetch", NULL, "do not tell the system what is read next"},
    {0, "forget-behind", NULL, "tell the system what is not read again in this epoch"},
    {0, "on-error", "ACTION", "a sample that cannot be decoded: stop (the default), skip or substitute"},
    {0, "isa", "NAME", "instruction set: portable, sse4, avx2, avx512, neon; by default the best there is"},
    {0, "exact", NULL, "never decode JPEG at a reduced scale"},
    {0, "reference", NULL, "every step by its plain definition, nothing rewritten: slow, for comparison"},
    {0, "codegen", "HOW", "chains as compiled C: auto (the default), off, or wait for it before the first batch"},
    {0, "hash", NULL, "list the hash of every batch"},
    {0, "explain", NULL, "print what the pipeline was compiled to"},
    {0, NULL, NULL, NULL},
};

/* ---- Options ----------------------------------------------------------------------------------------------------------------------- */

static bool take_count(const struct invocation *v, const char *name, uint64_t *out) {
    char shown[32];
    const char *text = option_value(v, name);
    snprintf(shown, sizeof shown, "--%s", name);
    return !text || parse_count(v, shown, text, out);
}

/* Elements, or seconds: "300s". */
static bool take_budget(const struct invocation *v, mldf_loader_options *o) {
    const char *text = option_value(v, "budget");
    size_t length = text ? strlen(text) : 0;
    char *end = NULL;
    if (length < 2 || text[length - 1] != 's')
        return take_count(v, "budget", &o->budget);
    double seconds = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : 0;
    if (end != text + length - 1 || !(seconds > 0 && seconds < 1e12)) {
        usage_error(v, "--budget: a number of elements, or seconds as 300s, not %s", text);
        return false;
    }
    o->budget_seconds = seconds;
    return true;
}

/* One of some words; its index. */
static bool take_word(const struct invocation *v, const char *name, const char *const *words, size_t *out) {
    const char *text = option_value(v, name);
    char list[128] = "";
    for (size_t i = 0; words[i]; i++) {
        if (text && strcmp(text, words[i]) == 0)
            *out = i;
        if (text && strcmp(text, words[i]) == 0)
            return true;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", words[i]);
    }
    if (!text)
        return true;
    usage_error(v, "--%s: '%s' is none of %s", name, text, list);
    return false;
}

static bool take_threads(const struct invocation *v, int *out) {
    const char *text = option_value(v, "threads");
    uint64_t count;
    if (!text)
        return parse_threads(v, out);
    if (!parse_count(v, "--threads", text, &count))
        return false;
    if (count > 1024) {
        usage_error(v, "--threads: %s are too many; the limit is 1024", text);
        return false;
    }
    *out = (int)count;
    return true;
}

/* A mistake in the text, its length too, is one of usage; the loader, which takes it again, would not tell it from one in the data. */
static int check_pipeline(const struct bench *b) {
    mldf_pipeline *parsed = NULL;
    mldf_error err;
    mldf_status status =
        mldf_pipeline_parse(b->v->context, (const char *)b->pipeline.data, b->pipeline.size, &parsed, &err);
    mldf_pipeline_free(parsed);
    if (status == MLDF_E_MEMORY)
        return report_error(b->v, NULL, &err);
    return status < 0 ? usage_error(b->v, "%s", MLDF_ERROR_TEXT(&err)) : EXIT_FINE;
}

/* Some editors begin a text with it. */
static void drop_byte_order_mark(mldf_buffer *text) {
    if (text->size >= 3 && memcmp(text->data, "\xEF\xBB\xBF", 3) == 0) {
        text->size -= 3;
        memmove(text->data, text->data + 3, text->size);
    }
}

static int take_pipeline(struct bench *b) {
    const char *text = option_value(b->v, "pipeline");
    mldf_error err;
    if (!text || !text[0])
        return EXIT_FINE;
    int code = EXIT_FINE;
    if (text[0] == '@')
        code = read_small_file(b->v, text + 1, 1u << 20, &b->pipeline);
    else if (mldf_buffer_append(&b->pipeline, text, strlen(text), &err) < 0)
        code = report_error(b->v, NULL, &err);
    drop_byte_order_mark(&b->pipeline);
    if (code == EXIT_FINE && b->pipeline.size)
        code = check_pipeline(b);
    if (code == EXIT_FINE && mldf_buffer_append(&b->pipeline, "", 1, &err) < 0)
        code = report_error(b->v, NULL, &err);
    b->options.pipeline = (const char *)b->pipeline.data;
    return code;
}

static bool take_options(struct bench *b, mldf_backend *backend) {
    static const char *const lasts[] = {"keep", "drop", "pad", NULL}, *const backs[] = {"map", "read", NULL},
                             *const bads[] = {"stop", "skip", "substitute", NULL},
                             *const codes[] = {"auto", "off", "wait", NULL}, *const isas[] = {"portable", "sse4",
                                                                                              "avx2",     "avx512",
                                                                                              "neon",     NULL};
    const struct invocation *v = b->v;
    mldf_loader_options *o = &b->options;
    size_t last = 0, back = 0, bad = 0, code = 0, isa = 0;
    uint64_t in_flight = 0;
    mldf_error err;
    const char *order = option_value(v, "order");
    if (order && mldf_order_kind_parse(order, &o->order, &err) < 0) {
        usage_error(v, "--order: %s", MLDF_ERROR_TEXT(&err));
        return false;
    }
    const char *seed = option_value(v, "seed");
    if (!take_count(v, "batch-size", &o->batch_size) || (seed && !parse_seed(v, "--seed", seed, &o->seed)) ||
        !take_count(v, "block", &o->block) || !take_count(v, "window", &o->window) ||
        !take_count(v, "epochs", &b->epochs) || !take_count(v, "bucket-window", &o->bucket_window) ||
        !take_budget(v, o) || !take_count(v, "in-flight", &in_flight) || !take_threads(v, &o->threads) ||
        !take_word(v, "last", lasts, &last) || !take_word(v, "backend", backs, &back) ||
        !take_word(v, "on-error", bads, &bad) || !take_word(v, "codegen", codes, &code) ||
        !take_word(v, "isa", isas, &isa))
        return false;
    o->in_flight = in_flight < UINT32_MAX ? (uint32_t)in_flight : UINT32_MAX;
    o->last = (mldf_last)last;
    o->bad = (mldf_bad)bad;
    o->codegen = (mldf_codegen)code;
    *backend = (mldf_backend)back;
    o->direct = option_given(v, "direct");
    o->prefetch = !option_given(v, "no-prefetch");
    o->forget_behind = option_given(v, "forget-behind");
    o->exact = option_given(v, "exact");
    o->reference = option_given(v, "reference");
    o->isa = option_value(v, "isa");
    o->context = v->context;
    return true;
}

static int open_files(struct bench *b, mldf_backend backend) {
    mldf_reader_options how = MLDF_READER_OPTIONS_INIT;
    mldf_error err;
    how.context = b->v->context;
    how.secret = b->v->secret;
    how.backend = backend;
    b->readers = calloc(b->v->file_count, sizeof(mldf_reader *));
    if (!b->readers)
        return no_memory(b->v);
    for (size_t i = 0; i < b->v->file_count; i++) {
        if (strcmp(b->v->files[i], "-") == 0)
            return usage_error(b->v, "cannot read from standard input: random access is needed; give a file name");
        if (mldf_reader_open(b->v->files[i], &how, &b->readers[i], &err) < 0)
            return report_error(b->v, b->v->files[i], &err);
        b->samples += mldf_reader_sample_count(b->readers[i]);
    }
    return EXIT_FINE;
}

/* A mistake in the text is one of usage. */
static int make_view(struct bench *b) {
    const char *text = option_value(b->v, "view");
    int code =
        text ? open_view(b->v, (const mldf_reader *const *)b->readers, b->v->file_count, text, &b->view) : EXIT_FINE;
    if (b->view)
        b->samples = mldf_view_count(b->view);
    b->options.view = b->view;
    return code;
}

/* ---- Running ------------------------------------------------------------------------------------------------------------------------- */

/* False: interrupted. */
static bool show_progress(const struct bench *b, uint64_t samples) {
    mldf_progress now = {"bench", samples, b->samples * b->epochs, 0, MLDF_NONE, 0};
    return progress_batches(&now, b->batches);
}

static int run_epoch(struct bench *b, uint64_t *samples) {
    mldf_batch *batch;
    mldf_error err;
    bool hash = option_given(b->v, "hash");
    for (;;) {
        mldf_status status = mldf_loader_next(b->loader, 100, &batch, &err);
        if (status == MLDF_OK) {
            uint8_t digest[16];
            *samples += mldf_batch_sample_count(batch);
            b->batches++;
            if (hash) {
                mldf_batch_hash(batch, digest);
                status = mldf_buffer_append(&b->hashes, digest, sizeof digest, &err);
            }
            mldf_batch_release(batch);
        }
        if (status >= 0)
            status = bench_note_bad(b, status, &err);
        if (status < 0)
            return report_error(b->v, NULL, &err);
        if (!show_progress(b, *samples)) {
            err = (mldf_error){.status = MLDF_E_CANCELLED, .message = "interrupted"};
            return report_error(b->v, NULL, &err);
        }
        if (status == MLDF_END)
            return EXIT_FINE;
    }
}

static int run_bench(struct bench *b) {
    mldf_backend backend = MLDF_BACKEND_MAP;
    mldf_error err;
    uint64_t samples = 0;
    if (!take_options(b, &backend))
        return EXIT_USAGE;
    if (compiler_begin(b->v->context, &err) < 0)
        return report_error(b->v, NULL, &err);
    int code = take_pipeline(b);
    if (code == EXIT_FINE)
        code = open_files(b, backend);
    if (code == EXIT_FINE)
        code = make_view(b);
    if (code == EXIT_FINE)
        code = bench_default_pipeline(b);
    if (code != EXIT_FINE)
        return code;
    mldf_status status =
        mldf_loader_new((const mldf_reader *const *)b->readers, b->v->file_count, &b->options, &b->loader, &err);
    if (status == MLDF_E_ARGUMENT || status == MLDF_E_SYNTAX || status == MLDF_E_NO_FIELD || status == MLDF_E_TYPE)
        return usage_error(b->v, "%s", MLDF_ERROR_TEXT(&err));
    if (status < 0)
        return report_error(b->v, NULL, &err);
    bench_warn_left_out(b);
    for (uint64_t epoch = 0; epoch < b->epochs && code == EXIT_FINE; epoch++)
        code = run_epoch(b, &samples);
    progress_clear();
    return code == EXIT_FINE ? bench_report(b) : code;
}

static int run(struct invocation *v) {
    struct bench b = {.v = v, .options = MLDF_LOADER_OPTIONS_INIT, .epochs = 1};
    int code = run_bench(&b);
    mldf_loader_free(b.loader);
    mldf_view_free(b.view);
    for (size_t i = 0; b.readers && i < v->file_count; i++)
        mldf_reader_close(b.readers[i]);
    free(b.readers);
    mldf_buffer_free(&b.pipeline);
    mldf_buffer_free(&b.hashes);
    mldf_buffer_free(&b.bad);
    return code;
}

const struct command command_bench = {
    "bench",
    "FILE...",
    "load batches and say how fast, and what holds it up",
    "Runs epochs of batches through the loader: order, read, decode, augment, collate. Prints samples per second, the share of\n"
    "each step in the threads' work, and one line that says what to do about it. Several files are one dataset. The batches\n"
    "depend on the files, the pipeline, the order, the seed and the batch size alone: --hash shows that.\n"
    "\n"
    "With --view a sample is an item of the view, and --batch-size counts items; docs/guides/views.md says what views there are.\n"
    "\n"
    "With --on-error=skip or substitute the first ten bad samples are listed, each with its file, sample, field and reason.\n"
    "\n"
    "With --json, one object: samples_per_second, samples, batches, bad_samples, bad (all of them: source, sample, field, epoch,\n"
    "position, message; with --view item), warnings, seconds, bytes_read, peak_rss_bytes, threads, wait_loader_seconds, wait_consumer_seconds,\n"
    "steps (name, seconds), verdict; with --hash batch_hashes, with --explain explain.",
    options,
    "  mldf bench photos.mldf -p 'image: random_resized_crop(224) | hflip | normalize(imagenet) | chw(f32)' --order random\n"
    "  mldf bench photos.mldf -p @train.pipeline --threads 8 --epochs 3 --explain\n"
    "  mldf bench tokens.mldf --view 'windows(tokens, 1025)' -p 'tokens: cast(i64)' --order random\n",
    1,
    -1,
    run,
};
