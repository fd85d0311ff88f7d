/* Every allocation fails once while pipelines are read, written and met with a schema: MLDF_E_MEMORY or success, no leak. */
#include "fault/failing_alloc.h"
#include "unit/pipeline/graphs.h"

static mldf_schema *schema;
static const char *text;

static mldf_status do_write(mldf_error *err) {
    mldf_pipeline *pipeline;
    mldf_buffer out = MLDF_BUFFER_INIT;
    mldf_status status = mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, err);
    if (status == MLDF_OK) {
        status = mldf_pipeline_write(pipeline, &out, err);
        if (status == MLDF_OK)
            status = mldf_pipeline_json(pipeline, &out, err);
        mldf_pipeline_free(pipeline);
    }
    mldf_buffer_free(&out);
    return status;
}

static mldf_status do_graph(mldf_error *err) {
    mldf_pipeline *pipeline;
    struct graph graph;
    mldf_status status = graph_of(text, schema, &pipeline, &graph, err);
    mldfi_graph_free(&graph);
    mldf_pipeline_free(pipeline);
    return status;
}

/* A refusal must stay that refusal, or become MLDF_E_MEMORY. */
static void every_allocation_fails_once(mldf_status (*work)(mldf_error *err), mldf_status want) {
    mldf_error err;
    long n = 1;
    CHECK_STATUS(want, work(&err), &err);
    for (; n < 10000; n++) {
        atomic_store(&countdown, n);
        mldf_status status = work(&err);
        bool reached = atomic_load(&countdown) == 0;
        atomic_store(&countdown, 0);
        if (status != want && status != MLDF_E_MEMORY)
            check_fail(__FILE__, __LINE__, "%s: allocation %ld: %s: %s", text, n, mldf_status_name(status),
                       err.message);
        if (!reached)
            break;
    }
    CHECK(n > 1 && n < 10000);
    CHECK_STATUS(want, work(&err), &err);
}

static void good_pipelines_survive_no_memory(void) {
    static const char *const texts[] = {
        "image, seg as mask, box as boxes: hflip | resize([8, 9]); image: normalize([0.1, 0.2, 0.3], 0.5) | chw; box: drop",
        "a = image: random_resized_crop(32) | hflip; b = a: center_crop(9); a: hflip; `q r` = [x, y]: stack | cast(f16)",
        "pose.x: cast(f64); t = pose.tag; tokens: truncate(100) | pad(100, mask=true); caption: ragged",
        "label: one_hot(10); image: resize([4, 4]); image, label: mixup(0.2)",
        "label: fill(3, valid=true) | one_hot(10); image: resize([4, 4]) | fill([1, 2, 3]) | chw; tokens: fill | pad",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        text = texts[i];
        every_allocation_fails_once(do_write, MLDF_OK);
        every_allocation_fails_once(do_graph, MLDF_OK);
    }
}

static void wrong_pipelines_survive_no_memory(void) {
    static const struct {
        const char *text;
        mldf_status want;
    } cases[] = {
        {"image: resize(256) | hflp", MLDF_E_ARGUMENT},
        {"image: hflip", MLDF_E_TYPE},
        {"image, label: hflip", MLDF_E_TYPE},
        {"w = [label, pose.tg]: stack", MLDF_E_NO_FIELD},
        {"label: fill(1) | fill(2)", MLDF_E_ARGUMENT},
        {"tokens: pad(64); tokens_length = label: cast(i32)", MLDF_E_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text = cases[i].text;
        every_allocation_fails_once(do_graph, cases[i].want);
    }
}

int main(int argc, char **argv) {
    mldf_error err;
    check_begin(argc, argv);
    if (mldf_schema_parse(NULL, graph_schema, strlen(graph_schema), &schema, &err) < 0)
        return 2;
    RUN(good_pipelines_survive_no_memory);
    RUN(wrong_pipelines_survive_no_memory);
    mldf_schema_free(schema);
    return check_end();
}
