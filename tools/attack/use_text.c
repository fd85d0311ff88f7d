/* Mutants that are no dataset files: tables, which are packed; schemas, pipelines, states and cards, which are parsed, and written and parsed
 * again; images, which are decoded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mldf/image.h"
#include "mldf/loader.h"
#include "run.h"

void use_table(struct run *run) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_options po = MLDF_PACK_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    char out[600];
    const char *sources[1] = {run->path};
    snprintf(out, sizeof out, "%s/out.mldf", run->use->folder);
    po.writer = &writing;
    writing.threads = rng_below(run->rng, 6) ? 0 : 2;
    po.skip_bad_rows = rng_below(run->rng, 2);
    mldf_status status = mldf_pack(sources, 1, out, &po, &result, &err);
    check_output(run, "pack", out, status, &err, false);
}

/* A loader's own state, changed: it is taken, or refused with a reason; either way batches come. */
static void restore_mutant(struct run *run, const mldf_schema *schema) {
    mldf_writer_options wo = MLDF_WRITER_OPTIONS_INIT;
    mldf_loader_options lo = MLDF_LOADER_OPTIONS_INIT;
    mldf_buffer state = MLDF_BUFFER_INIT;
    mldf_writer *w;
    mldf_reader *r;
    mldf_loader *loader;
    mldf_batch *batch;
    mldf_error err;
    struct mutant m = {0};
    mldf_value v = {.kind = MLDF_KIND_INT};
    wo.threads = lo.threads = 0;
    lo.batch_size = 3;
    lo.order = MLDF_ORDER_RANDOM;
    lo.codegen = MLDF_CODEGEN_OFF;
    if (mldf_writer_open(run->other, schema, &wo, &w, &err) < 0)
        abort();
    for (v.as.i = 0; v.as.i < 10; v.as.i++)
        if (mldf_writer_append(w, &v, 1, NULL, 0, &err) < 0)
            abort();
    if (mldf_writer_finish(w, NULL, &err) < 0 || mldf_reader_open(run->other, NULL, &r, &err) < 0)
        abort();
    const mldf_reader *readers[1] = {r};
    if (mldf_loader_new(readers, 1, &lo, &loader, &err) < 0 || mldf_loader_next(loader, -1, &batch, &err) < 0)
        abort();
    mldf_batch_release(batch);
    if (mldf_loader_state(loader, &state, &err) < 0)
        abort();
    struct seed_file base = {.kind = "state", .data = state.data, .size = state.size};
    mutate(run->rng, &base, &base, &m);
    check_error(run, "restore", mldf_loader_restore(loader, (const char *)m.data, m.size, &err), &err);
    for (int i = 0; i < 20; i++) {
        mldf_status status = mldf_loader_next(loader, -1, &batch, &err);
        check_error(run, "a batch after restore", status, &err);
        if (status == MLDF_OK)
            mldf_batch_release(batch);
    }
    mldf_loader_free(loader);
    mldf_reader_close(r);
    mldf_buffer_free(&state);
    free(m.data);
    unlink(run->other);
}

void use_text(struct run *run, const char *kind) {
    const char *text = (const char *)run->mutant->data;
    size_t bytes = run->mutant->size;
    mldf_buffer out = MLDF_BUFFER_INIT, again = MLDF_BUFFER_INIT;
    mldf_error err;
    mldf_status status = MLDF_OK;
    if (strcmp(kind, "schema") == 0) {
        mldf_schema *schema, *second;
        status = mldf_schema_parse(NULL, text, bytes, &schema, &err);
        if (status == MLDF_OK) {
            if (mldf_schema_write(schema, &out, &err) < 0 ||
                mldf_schema_parse(NULL, (const char *)out.data, out.size, &second, &err) < 0)
                run->use->finding("exit", "schema: what was written does not parse: %s", MLDF_ERROR_TEXT(&err));
            else
                mldf_schema_free(second);
            mldf_schema_free(schema);
        }
    } else if (strcmp(kind, "pipeline") == 0) {
        mldf_pipeline *pipeline, *second;
        status = mldf_pipeline_parse(NULL, text, bytes, &pipeline, &err);
        if (status == MLDF_OK) {
            if (mldf_pipeline_write(pipeline, &out, &err) < 0 ||
                mldf_pipeline_parse(NULL, (const char *)out.data, out.size, &second, &err) < 0)
                run->use->finding("exit", "pipeline: the canonical form does not parse: %s", MLDF_ERROR_TEXT(&err));
            else {
                if (mldf_pipeline_write(second, &again, &err) < 0 || again.size != out.size ||
                    (out.size && memcmp(again.data, out.data, out.size) != 0))
                    run->use->finding("exit", "pipeline: the canonical form is not canonical: %.*s", (int)out.size,
                                      (const char *)out.data);
                mldf_pipeline_free(second);
            }
            mldf_pipeline_free(pipeline);
        }
    } else if (strcmp(kind, "state") == 0) {
        mldf_order_state state;
        mldf_schema *schema;
        if (mldf_schema_new(NULL, &schema, &err) < 0 || mldf_schema_add(schema, "x", 1, NULL, 0, &err) < 0)
            abort();
        restore_mutant(run, schema);
        mldf_schema_free(schema);
        status = mldf_order_state_parse(text, bytes, &state, &err);
    } else { /* card */
        mldf_writer_options wo = MLDF_WRITER_OPTIONS_INIT;
        mldf_writer *w;
        mldf_schema *schema;
        if (mldf_schema_new(NULL, &schema, &err) < 0 || mldf_schema_add(schema, "x", 1, NULL, 0, &err) < 0)
            abort();
        wo.card = text, wo.card_bytes = bytes, wo.threads = 0;
        status = mldf_writer_open(run->other, schema, &wo, &w, &err);
        if (status == MLDF_OK)
            status = mldf_writer_finish(w, NULL, &err);
        check_output(run, "card", run->other, status, &err, false);
        mldf_schema_free(schema);
    }
    check_error(run, kind, status, &err);
    mldf_buffer_free(&out);
    mldf_buffer_free(&again);
}

void use_image(struct run *run) {
    const uint8_t *data = run->mutant->data;
    size_t bytes = run->mutant->size;
    mldf_image_options o = MLDF_IMAGE_OPTIONS_INIT;
    mldf_image_info info = MLDF_IMAGE_INFO_INIT;
    mldf_image_shape shape;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    uint8_t *exact = malloc(bytes ? bytes : 1); /* so that a byte too far is seen */
    if (!exact)
        return;
    memcpy(exact, data, bytes);
    check_error(run, "probe", mldf_image_probe(exact, bytes, &info, &err), &err);
    (void)mldf_image_icc(exact, bytes, &out, &err);
    out.size = 0;
    (void)mldf_image_to_baseline(exact, bytes, 0, &out, &err);
    out.size = 0;
    (void)mldf_image_strip(exact, bytes, ~0u, &out, &err);
    o.channels = (int)rng_below(run->rng, 2) ? 3 : 0;
    o.orient = rng_below(run->rng, 2);
    mldf_status status = mldf_image_decoded_shape(exact, bytes, &o, &shape, &err);
    check_error(run, "shape", status, &err);
    if (status == MLDF_OK && shape.bytes < (64u << 20)) {
        uint8_t *pixels = malloc(shape.bytes ? shape.bytes : 1);
        if (pixels)
            check_error(run, "decode", mldf_image_decode(NULL, exact, bytes, &o, pixels, shape.bytes, &err), &err);
        free(pixels);
    }
    free(exact);
    mldf_buffer_free(&out);
}
