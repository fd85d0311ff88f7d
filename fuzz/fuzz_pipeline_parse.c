/* Any text as a pipeline: read, written canonically, read again (the same bytes must come), and met with a schema that has a field of every
 * kind. Errors must say a place in the text. */
#include <stdlib.h>
#include <string.h>

#include "mldf/pipeline.h"
#include "pipeline/pipeline.h"
#include "util/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char schema_text[] =
    "{\"fields\":[{\"name\":\"i\",\"type\":\"image_jpeg\"},{\"name\":\"m\",\"type\":\"image_png\"},"
    "{\"name\":\"l\",\"type\":\"int\"},{\"name\":\"f\",\"type\":\"float\"},{\"name\":\"t\",\"type\":\"text\"},"
    "{\"name\":\"x\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[8]},"
    "{\"name\":\"y\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[8]},"
    "{\"name\":\"b\",\"type\":\"ndarray\",\"dtype\":\"<f4\",\"shape\":[null,4]},"
    "{\"name\":\"r\",\"type\":\"ndarray\",\"dtype\":\"|u1\",\"shape\":[6,7]},"
    "{\"name\":\"k\",\"type\":\"ndarray\",\"dtype\":\"<i4\",\"shape\":[null]},"
    "{\"name\":\"p\",\"type\":\"inline\",\"descr\":[[\"x\",\"<f4\"],[\"s\",\"|S6\"]]}]}";

static void meet_schema(const mldf_pipeline *pipeline) {
    static mldf_schema *schema;
    struct value_bounds bounds[16];
    struct plan_options options = {0};
    struct graph graph;
    mldf_error err;
    if (!schema && mldf_schema_parse(NULL, schema_text, strlen(schema_text), &schema, &err) < 0)
        abort();
    memset(bounds, 0, sizeof bounds);
    bounds[0] = (struct value_bounds){true, 3, {100, 90, 3}, {375, 500, 3}, .image = {8, true, false}};
    if (mldfi_graph_new(pipeline, schema, bounds, &options, &graph, &err) < 0)
        return;
    for (size_t i = 0; i < graph.chain_count; i++)
        for (size_t k = 0; k < graph.chains[i].input_count; k++)
            if (graph.chains[i].inputs[k] >= i)
                abort();
    mldfi_graph_free(&graph);
}

/* What was written is read and written again. */
static void check_canonical(const mldf_pipeline *pipeline) {
    mldf_buffer first = MLDF_BUFFER_INIT, second = MLDF_BUFFER_INIT;
    mldf_pipeline *again;
    mldf_error err;
    if (mldf_pipeline_write(pipeline, &first, &err) < 0)
        abort();
    mldf_status status = mldf_pipeline_parse(NULL, (const char *)first.data, first.size, &again, &err);
    if (status == MLDF_OK) {
        if (mldf_pipeline_write(again, &second, &err) < 0 || first.size != second.size ||
            (first.size && memcmp(first.data, second.data, first.size) != 0))
            abort();
        mldf_pipeline_free(again);
    } else if (status != MLDF_E_LIMIT) { /* defaults make it longer */
        abort();
    }
    mldf_buffer_free(&first);
    mldf_buffer_free(&second);
}

/* What the text says is JSON, whatever names and texts it has. */
static void check_json(const mldf_pipeline *pipeline) {
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_error err;
    if (mldf_pipeline_json(pipeline, &out, &err) < 0 ||
        mldfi_json_validate_strict((const char *)out.data, out.size, &err) < 0)
        abort();
    mldf_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mldf_pipeline *pipeline;
    mldf_error err;
    mldf_status status = mldf_pipeline_parse(NULL, (const char *)data, size, &pipeline, &err);
    if (status == MLDF_OK) {
        check_canonical(pipeline);
        check_json(pipeline);
        meet_schema(pipeline);
        mldf_pipeline_free(pipeline);
    } else if (status != MLDF_E_LIMIT && (strncmp(err.path, "line ", 5) != 0 || err.offset > size)) {
        abort();
    }
    return 0;
}
