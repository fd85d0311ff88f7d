/* The loader on a mutant, and the functions that write: append, add-field, repair, convert, repack, merge, select, split, extract; each with
 * what must hold after it (run.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mldf/loader.h"
#include "run.h"

/* ---- The loader --------------------------------------------------------------------------------------------------------- */

/* What is done with a field in a batch; NULL: it is left out. */
static const char *steps_of(struct run *run, const mldf_field *field) {
    static const char *const images[] = {"decode | resize([9, 7]) | hflip | chw(f32)",
                                         "decode | random_resized_crop(8) | chw(f32)", "decode | pad"};
    static const char *const recordings[] = {"decode_audio(rate=16000) | pad",
                                             "decode_audio(rate=16000) | mono | window(0.001)",
                                             "decode_audio(rate=8000) | mono | mel | pad"};
    static const char *const arrays[] = {"pad", "ragged", "truncate(3) | pad", "window(samples=3)"};
    switch (field->type_id) {
    case MLDF_IMAGE:
        return images[rng_below(run->rng, 3)];
    case MLDF_AUDIO_WAVEFORM:
        return recordings[rng_below(run->rng, 3)];
    case MLDF_NDARRAY:
    case MLDF_TEXT_TOKENIZED:
    case MLDF_TEXT_PACKED:
    case MLDF_TEXT_HIERARCHICAL:
    case MLDF_TOKEN_STREAM:
        return arrays[rng_below(run->rng, 4)];
    default:
        return strstr(field->type_name, "text") || strstr(field->type_name, "bytes") ? arrays[rng_below(run->rng, 2)]
                                                                                     : NULL;
    }
}

/* A view that cuts this field, or NULL: it cannot be cut. */
static mldf_view *view_of(struct run *run, const mldf_reader *r, const mldf_field *field) {
    static const char *const windows[] = {"2, unit=steps", "3, stride=1, random, unit=steps", "2, across", "0.0001"};
    static const char *const expand[] = {"every=2, length=3, unit=steps", "every=5, last=keep, unit=steps",
                                         "every=0.001, last=drop", "every=2"};
    bool pieces = rng_below(run->rng, 2);
    char text[512];
    mldf_view *view;
    mldf_error err;
    snprintf(text, sizeof text, "%s(%s, %s)", pieces ? "expand" : "windows", field->name,
             (pieces ? expand : windows)[rng_below(run->rng, 4)]);
    mldf_status status = mldf_view_new(&r, 1, text, &view, &err);
    check_error(run, "view", status, &err);
    return status == MLDF_OK ? view : NULL;
}

static void run_loader(struct run *run, const mldf_reader *r, const mldf_loader_options *lo) {
    mldf_loader *loader;
    mldf_batch *batch;
    mldf_error err;
    mldf_status status = mldf_loader_new(&r, 1, lo, &loader, &err);
    check_error(run, "loader", status, &err);
    if (status < 0)
        return;
    for (int batches = 0; batches < 200; batches++) {
        status = mldf_loader_next(loader, -1, &batch, &err);
        check_error(run, "batch", status, &err);
        if (status == MLDF_E_MEMORY || status == MLDF_END)
            break;
        if (status == MLDF_OK) {
            uint8_t digest[16];
            mldf_batch_hash(batch, digest);
            mldf_batch_release(batch);
        }
    }
    mldf_loader_free(loader);
}

void load_batches(struct run *run) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_loader_options lo = MLDF_LOADER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_view *view = NULL;
    mldf_error err;
    char text[2048];
    size_t used = 0;
    options.secret = run->secret;
    options.verify = rng_below(run->rng, 2);
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return;
    const mldf_schema *schema = mldf_reader_schema(r);
    bool cut = rng_below(run->rng, 3) == 0, one = rng_below(run->rng, 2);
    size_t fields = mldf_schema_field_count(schema), chosen = (size_t)rng_below(run->rng, fields);
    text[0] = 0;
    for (size_t f = 0; f < fields && used < 1500; f++) {
        const mldf_field *field = mldf_schema_field(schema, f);
        size_t length = strspn(field->name, "abcdefghijklmnopqrstuvwxyz_0123456789");
        if (field->name[0] < 'a' || field->name[0] > 'z' || field->name[length])
            continue;
        if (cut && f == chosen && length < 256)
            view = view_of(run, r, field);
        const char *steps = one && f != chosen ? NULL : steps_of(run, field); /* one alone: no other hides its errors */
        if (steps)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s: %s%s\n", field->name,
                                     field->flags & MLDF_FIELD_NULLABLE ? "fill | " : "", steps);
    }
    lo.pipeline = rng_below(run->rng, 4) ? text : NULL;
    lo.batch_size = 1 + rng_below(run->rng, 9);
    lo.order = rng_below(run->rng, 2) ? MLDF_ORDER_RANDOM : MLDF_ORDER_QUASI_RANDOM;
    lo.threads = (int)rng_below(run->rng, 8) == 0 ? 2 : 0;
    lo.bad = (mldf_bad)rng_below(run->rng, 3);
    lo.codegen = MLDF_CODEGEN_OFF;
    lo.want_index = true;
    lo.view = view;
    run_loader(run, r, &lo);
    mldf_view_free(view);
    mldf_reader_close(r);
}

/* ---- Functions that write ----------------------------------------------------------------------------------------------- */

static void append_to_copy(struct run *run, long before) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_options po = MLDF_PACK_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    const char *sources[1] = {run->use->base->path};
    po.writer = &writing;
    writing.threads = 0;
    writing.secret = run->secret;
    po.number_keys = true;
    write_file(run->other, run->mutant->data, run->mutant->size);
    mldf_status status = mldf_append(run->other, sources, 1, &po, &result, &err);
    check_in_place(run, "append", status, &err, before, false);
}

static void add_field_to_copy(struct run *run, long before) {
    mldf_add_field_options ao = MLDF_ADD_FIELD_OPTIONS_INIT;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_reader *r;
    mldf_error err;
    char rows[600];
    options.secret = run->secret;
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return;
    uint64_t samples = mldf_reader_sample_count(r);
    mldf_reader_close(r);
    if (samples > SAMPLES_MAX)
        return;
    snprintf(rows, sizeof rows, "%s/rows.csv", run->use->folder);
    FILE *f = fopen(rows, "w");
    if (!f)
        abort();
    fputs("attack_extra\n", f);
    for (uint64_t i = 0; i < samples; i++)
        fprintf(f, "%llu\n", (unsigned long long)i);
    fclose(f);
    ao.threads = 0;
    ao.secret = run->secret;
    write_file(run->other, run->mutant->data, run->mutant->size);
    mldf_status status = mldf_add_field(run->other, "attack_extra", rows, &ao, &result, &err);
    unlink(rows);
    check_error(run, "add-field", status, &err);
    check_unchanged(run, "add-field", status, &err);
    if (status >= 0 && before == 0 && problems_of(run, run->other, false) != 0)
        run->use->finding("output", "add-field made a file that verified one that does not: %s", run->problem);
    unlink(run->other);
}

static void repair_copy(struct run *run, long before) {
    mldf_repair_options ro = MLDF_REPAIR_OPTIONS_INIT;
    mldf_repair_result result = MLDF_REPAIR_RESULT_INIT;
    mldf_error err;
    ro.threads = 0;
    ro.secret = run->secret;
    char how[80];
    write_file(run->other, run->mutant->data, run->mutant->size);
    mldf_status status = mldf_repair(run->other, NULL, &ro, &result, &err);
    if (status >= 0 && !result.changed && !file_is(run->other, run->mutant->data, run->mutant->size, how))
        run->use->finding("changed", "repair says it changed nothing, and did");
    check_in_place(run, "repair", status, &err, before, false);
    char out[600];
    snprintf(out, sizeof out, "%s/out.mldf", run->use->folder);
    status = mldf_repair(run->path, out, &ro, &result, &err);
    bool guarded = run->guarded;
    run->guarded = guarded && status >= 0 && !result.unchecked && !result.lost.any;
    check_output(run, "repair -o", out, status, &err, false);
    run->guarded = guarded;
}

static void convert(struct run *run) {
    static const char *const names[] = {"out.mldf",   "out.tar",     "out.tbl", "out.beton",
                                        "out.tar.gz", "out.tar.zst", "out.mldf"};
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options co = MLDF_CONVERT_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    char out[600];
    const char *sources[1] = {run->path};
    size_t which = (size_t)rng_below(run->rng, sizeof names / sizeof names[0]);
    snprintf(out, sizeof out, "%s/%s", run->use->folder, names[which]);
    co.writer = &writing;
    writing.threads = rng_below(run->rng, 6) ? 0 : 2;
    co.source_secret = run->secret;
    co.drop_fields = which != 0 && rng_below(run->rng, 2);
    co.skip_bad_samples = rng_below(run->rng, 2);
    mldf_status status = mldf_convert(sources, 1, out, &co, &result, &err);
    bool guarded = run->guarded;
    mldf_secret secret = run->secret;
    run->guarded = guarded && (which == 0 || which == 6) && !co.skip_bad_samples;
    memset(&run->secret, 0, sizeof run->secret);
    check_output(run, "convert", out, status, &err, run->guarded);
    run->guarded = guarded;
    run->secret = secret;
}

static void repack(struct run *run) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_repack_options ro = MLDF_REPACK_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    char out[600];
    snprintf(out, sizeof out, "%s/out.mldf", run->use->folder);
    ro.writer = &writing;
    writing.threads = 0;
    ro.source_secret = run->secret;
    writing.secret = run->secret;
    ro.decompress = rng_below(run->rng, 2);
    mldf_status status = mldf_repack(run->path, out, &ro, &result, &err);
    check_output(run, "repack", out, status, &err, true);
    if (rng_below(run->rng, 2)) {
        write_file(run->other, run->mutant->data, run->mutant->size);
        status = mldf_repack(run->other, NULL, &ro, &result, &err);
        check_in_place(run, "repack in place", status, &err, -1, true);
    }
}

static void merge_and_select(struct run *run) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_merge_options mo = MLDF_MERGE_OPTIONS_INIT;
    mldf_select_options so = MLDF_SELECT_OPTIONS_INIT;
    mldf_split_options po = MLDF_SPLIT_OPTIONS_INIT;
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_reader *r;
    mldf_error err;
    char out[600];
    const char *paths[2] = {run->path, run->use->base->path};
    snprintf(out, sizeof out, "%s/out.mldf", run->use->folder);
    mo.writer = po.writer = so.writer = &writing;
    writing.threads = 0;
    mo.source_secret = run->secret;
    writing.secret = run->secret;
    mldf_status status = mldf_merge(paths, 1 + rng_below(run->rng, 2), out, &mo, &result, &err);
    check_output(run, "merge", out, status, &err, false);
    options.secret = run->secret;
    options.verify = true;
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return;
    so.where = rng_below(run->rng, 4) == 0 ? "label == 10" : NULL;
    status = mldf_select(r, out, &so, &result, &err);
    bool guarded = run->guarded;
    run->guarded = guarded && !so.where;
    check_output(run, "select", out, status, &err, true);
    run->guarded = false;
    po.count = 1 + mldf_reader_sample_count(r) / 2;
    snprintf(out, sizeof out, "%s/part{}.mldf", run->use->folder);
    status = mldf_split(r, out, &po, &result, &err);
    for (int k = 0; k < 2; k++) {
        snprintf(out, sizeof out, "%s/part%d.mldf", run->use->folder, k);
        if (k == 0 || access(out, F_OK) == 0)
            check_output(run, "split", out, status, &err, false);
    }
    run->guarded = guarded;
    mldf_reader_close(r);
}

static void look_and_extract(struct run *run) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_extract_options eo = MLDF_EXTRACT_OPTIONS_INIT;
    mldf_diff_options dopt = MLDF_DIFF_OPTIONS_INIT;
    mldf_summary_options so = MLDF_SUMMARY_OPTIONS_INIT;
    mldf_summary *summary;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_reader *r, *base;
    mldf_error err;
    struct stat st;
    char out[600];
    uint64_t differences;
    options.secret = run->secret;
    options.verify = rng_below(run->rng, 2);
    if (mldf_reader_open(run->path, &options, &r, &err) < 0)
        return;
    mldf_status status = mldf_summary_new(r, &so, &summary, &err);
    check_error(run, "stats", status, &err);
    if (status == MLDF_OK)
        mldf_summary_free(summary);
    if (mldf_reader_open(run->use->base->path, &options, &base, &err) == MLDF_OK) {
        check_error(run, "diff", mldf_diff(r, base, &dopt, &differences, &err), &err);
        mldf_reader_close(base);
    }
    snprintf(out, sizeof out, "%s/dir", run->use->folder);
    status = mldf_extract(r, out, &eo, &result, &err);
    check_error(run, "extract", status, &err);
    if (status < 0 && lstat(out, &st) == 0)
        run->use->finding("leftover", "extract failed (%s) and left its folder", MLDF_ERROR_TEXT(&err));
    remove_tree(out);
    mldf_reader_close(r);
}

void write_something(struct run *run, long problems) {
    switch (rng_below(run->rng, 7)) {
    case 0:
        append_to_copy(run, problems);
        break;
    case 1:
        repair_copy(run, problems);
        break;
    case 2:
        convert(run);
        break;
    case 3:
        repack(run);
        break;
    case 4:
        merge_and_select(run);
        break;
    case 5:
        add_field_to_copy(run, problems);
        break;
    default:
        look_and_extract(run);
    }
}
