/* Parts of the type of clip_type.h. A group draws once for both;
 * the bytes that all chains of a sample need are fetched once, as their union, and counted here by the feed. Members of a struct and whole values
 * that several chains read are fetched once too.
 *
 *     payload   fast: FAST numbers of s16, number i is i · slow: SLOW numbers, number i is 2000 + i
 *
 * tests/fault/test_parts.c does it with a file. */
#include "clip_type.h"
#include "pipeline/plan.h"

enum { FAST = 1000, SLOW = 250, FIRST_SLOW = 2000, RECORD = CLIP_RECORD, CLIP = 0, POSE, LABEL };
enum { PAYLOAD = 2 * (FAST + SLOW) };

/* ---- A feed that counts ----------------------------------------------------------------------------------------------------------------------- */

static struct {
    mldf_context *context;
    mldf_schema *schema;
    uint8_t record[RECORD], payload[PAYLOAD];
    double pose[2];
    bool null;
    unsigned gets[3], records, ranges;
    uint8_t fetched[PAYLOAD]; /* how often each byte was */
} clip;

static void reset_counts(void) {
    memset(clip.gets, 0, sizeof clip.gets);
    clip.records = clip.ranges = 0;
    memset(clip.fetched, 0, sizeof clip.fetched);
}

static mldf_status feed_get(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                            mldf_error *err) {
    (void)user, (void)scratch, (void)err;
    clip.gets[field]++;
    if (field == POSE)
        *out = (mldf_value){.kind = MLDF_KIND_STRUCT, .data = clip.pose, .bytes = sizeof clip.pose};
    else if (field == LABEL)
        *out = (mldf_value){.kind = MLDF_KIND_INT, .as.i = (int64_t)position};
    else
        *out = (mldf_value){.kind = MLDF_KIND_BYTES, .data = clip.payload, .bytes = PAYLOAD, .record = clip.record};
    out->record_bytes = RECORD;
    return MLDF_OK;
}

static mldf_status feed_record(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                               mldf_error *err) {
    if (field != CLIP)
        return feed_get(user, position, field, scratch, out, err);
    clip.records++;
    *out = (mldf_value){.kind = clip.null ? MLDF_KIND_NULL : MLDF_KIND_BYTES, .bytes = PAYLOAD, .record = clip.record};
    out->record_bytes = RECORD;
    return MLDF_OK;
}

/* Into scratch, as a file that is read does it. */
static mldf_status feed_range(void *user, uint64_t position, size_t field, uint64_t offset, uint64_t bytes,
                              mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    (void)user, (void)position;
    CHECK_EQ_U64(CLIP, field);
    if (!mldfi_range_inside(offset, bytes, PAYLOAD) || bytes == 0)
        return mldfi_fail(err, MLDF_E_STATE, "a range of %u bytes", (unsigned)bytes);
    clip.ranges++;
    for (uint64_t i = 0; i < bytes; i++)
        clip.fetched[offset + i]++;
    scratch->size = 0;
    *out = (mldf_value){.kind = MLDF_KIND_STORED, .bytes = bytes};
    mldf_status status = mldf_buffer_append(scratch, clip.payload + offset, (size_t)bytes, err);
    out->data = scratch->data;
    return status;
}

static const struct plan_feed feed = {.get = feed_get, .record = feed_record, .range = feed_range};

static void begin(void) {
    mldf_error err;
    clip_context(&clip.context);
    REQUIRE_OK(mldf_schema_new(clip.context, &clip.schema, &err), &err);
    REQUIRE_OK(mldf_schema_add(clip.schema, "clip", CLIP_TYPE, NULL, MLDF_FIELD_NULLABLE, &err), &err);
    REQUIRE_OK(
        mldf_schema_add(clip.schema, "pose", MLDF_INLINE, "{\"descr\":[[\"x\",\"<f8\"],[\"y\",\"<f8\"]]}", 0, &err),
        &err);
    REQUIRE_OK(mldf_schema_add(clip.schema, "label", MLDF_INT, NULL, 0, &err), &err);
    mldfi_store_u32(clip.record + 16, FAST);
    mldfi_store_u32(clip.record + 20, SLOW);
    for (uint16_t i = 0; i < FAST; i++)
        mldfi_store_u16(clip.payload + 2 * i, i);
    for (uint16_t i = 0; i < SLOW; i++)
        mldfi_store_u16(clip.payload + 2 * (FAST + i), (uint16_t)(FIRST_SLOW + i));
    clip.pose[0] = 1.5;
    clip.pose[1] = -2;
}

static mldf_status make_plan(const char *text, bool reference, struct plan **plan, mldf_error *err) {
    struct plan_options options = {.context = clip.context, .reference = reference, .seed = 7};
    struct value_bounds bounds[3];
    mldf_pipeline *pipeline;
    memset(bounds, 0, sizeof bounds);
    *plan = NULL;
    mldf_status status = mldf_pipeline_parse(clip.context, text, strlen(text), &pipeline, err);
    if (status < 0)
        return status;
    status = mldfi_plan_new(pipeline, clip.schema, bounds, &options, plan, err);
    mldf_pipeline_free(pipeline);
    return status;
}

enum { ROOM = 4096, OUTPUTS = 6 };
static _Alignas(64) float room[OUTPUTS][ROOM];

static mldf_status run(const struct plan *plan, struct plan_worker *worker, uint64_t position, mldf_error *err) {
    struct plan_target targets[OUTPUTS];
    for (size_t i = 0; i < OUTPUTS; i++) {
        targets[i] = (struct plan_target){.data = room[i], .room = {{ROOM}}};
        memset(room[i], 0xff, sizeof room[i]);
    }
    return mldfi_plan_run(plan, worker, &feed, 0, position, targets, err);
}

static long number(float x) {
    return (long)(x * 32768.0F);
}

/* ---- Tests -------------------------------------------------------------------------------------------------------------------------------------- */

static void one_draw_and_one_fetch_of_the_union(void) {
    /* 0.4 s are 40 and 10 samples, wherever they begin. c overlaps a now and then. */
    static const char text[] = "a = clip.fast; b = clip.slow; a, b: window(seconds=0.4, at=random, short=pad);"
                               "c = clip.fast: window(samples=300, start=350, short=pad); p = pose.x; q = pose.y";
    mldf_error err;
    struct plan *plan, *slow_plan;
    struct plan_worker *worker, *slow_worker;
    struct plan_ranges ranges = {0};
    bool seen[FAST] = {false};
    unsigned places = 0, joined = 0;
    REQUIRE_OK(make_plan(text, false, &plan, &err), &err);
    REQUIRE_OK(make_plan(text, true, &slow_plan, &err), &err);
    REQUIRE_OK(mldfi_worker_new(plan, &worker, &err), &err);
    REQUIRE_OK(mldfi_worker_new(slow_plan, &slow_worker, &err), &err);
    for (uint64_t p = 0; p < 200; p++) {
        uint8_t want[PAYLOAD] = {0};
        float got[3][300];
        reset_counts();
        uint64_t before = mldfi_worker_bytes(worker), bytes = 0;
        REQUIRE_OK(run(plan, worker, p, &err), &err);
        bytes = mldfi_worker_bytes(worker) - before;
        for (size_t i = 0; i < 3; i++)
            memcpy(got[i], room[i], sizeof got[i]);
        long from = number(room[0][0]);
        REQUIRE(from >= 0 && from <= FAST - 40);
        places += !seen[from];
        seen[from] = true;
        for (long i = 0; i < 40; i++)
            CHECK_EQ_INT(from + i, number(room[0][i]));
        for (long i = 0; i < 10; i++) /* the same time: one draw */
            CHECK_EQ_INT(FIRST_SLOW + (from + 3) / 4 + i, number(room[1][i]));
        for (long i = 0; i < 300; i++)
            CHECK_EQ_INT(350 + i, number(room[2][i]));
        memset(want + 2 * from, 1, 80);
        memset(want + 700, 1, 600);
        memset(want + 2 * FAST + 2 * ((from + 3) / 4), 1, 20);
        CHECK_MEM_EQ(want, clip.fetched, PAYLOAD); /* every byte of the union once, no other */
        bool apart = 2 * from + 80 < 700 || 2 * from > 1300;
        CHECK_EQ_U64(apart ? 3 : 2, clip.ranges);
        joined += !apart;
        CHECK_EQ_U64(1, clip.records);
        CHECK_EQ_U64(0, clip.gets[CLIP]);
        CHECK_EQ_U64(1, clip.gets[POSE]); /* two members, one look at the row */
        uint64_t united = 0;
        for (size_t i = 0; i < PAYLOAD; i++)
            united += want[i];
        CHECK_EQ_U64(united + sizeof clip.pose, bytes);
        /* What is read in advance is the same bytes. */
        ranges.count = 0;
        REQUIRE_OK(mldfi_plan_prepare(plan, worker, &feed, 0, p, NULL, &ranges, &err), &err);
        memset(clip.fetched, 0, sizeof clip.fetched);
        for (size_t i = 0; i < ranges.count; i++)
            memset(clip.fetched + ranges.items[i].offset, 1, (size_t)ranges.items[i].bytes);
        CHECK_MEM_EQ(want, clip.fetched, PAYLOAD);
        /* And a plan without windows in the source gives the same numbers. */
        REQUIRE_OK(run(slow_plan, slow_worker, p, &err), &err);
        CHECK_MEM_EQ(got[0], room[0], 40 * sizeof(float));
        CHECK_MEM_EQ(got[1], room[1], 10 * sizeof(float));
        CHECK_MEM_EQ(got[2], room[2], 300 * sizeof(float));
    }
    CHECK(places > 100 && joined > 20 && joined < 180);
    free(ranges.items);
    mldfi_worker_free(worker);
    mldfi_worker_free(slow_worker);
    mldfi_plan_free(plan);
    mldfi_plan_free(slow_plan);
}

static void a_null_has_null_parts(void) {
    mldf_error err;
    struct plan *plan;
    struct plan_worker *worker;
    REQUIRE_OK(
        make_plan("a = clip.fast; b = clip.slow; a, b: window(seconds=0.4, at=random, short=pad)", false, &plan, &err),
        &err);
    REQUIRE_OK(mldfi_worker_new(plan, &worker, &err), &err);
    reset_counts();
    clip.null = true;
    CHECK_STATUS(MLDF_E_NULL, run(plan, worker, 3, &err), &err);
    CHECK_EQ_U64(0, clip.ranges);
    clip.null = false;
    CHECK_OK(run(plan, worker, 3, &err), &err); /* nothing is left of the one before */
    CHECK_EQ_U64(2, clip.ranges);
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
}

static void parts_that_pass_the_payload_are_refused(void) {
    static const uint32_t slow[] = {SLOW + 1, UINT32_MAX};
    mldf_error err;
    struct plan *plan;
    struct plan_worker *worker;
    REQUIRE_OK(make_plan("b = clip.slow: window(seconds=0.4, short=pad)", false, &plan, &err), &err);
    REQUIRE_OK(mldfi_worker_new(plan, &worker, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        mldfi_store_u32(clip.record + 20, slow[i]);
        CHECK_STATUS(MLDF_E_CORRUPT, run(plan, worker, 0, &err), &err);
        CHECK_CONTAINS("part slow", err.message);
        CHECK_EQ_STR("clip", err.field);
    }
    mldfi_store_u32(clip.record + 20, SLOW);
    CHECK_OK(run(plan, worker, 0, &err), &err);
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
}

static void names_of_parts_are_checked(void) {
    mldf_error err;
    struct plan *plan;
    CHECK_STATUS(MLDF_E_NO_FIELD, make_plan("clip.fats: pad", false, &plan, &err), &err);
    CHECK_CONTAINS("clip.fast", err.message);
    CHECK_STATUS(MLDF_E_NO_FIELD, make_plan("pose.z", false, &plan, &err), &err);
    CHECK_STATUS(MLDF_E_TYPE, make_plan("pose", false, &plan, &err), &err);
    CHECK_CONTAINS("pose is a struct: name one of its members, such as pose.x", err.message);
    CHECK_STATUS(MLDF_E_NO_FIELD, make_plan("label.x", false, &plan, &err), &err);
}

/* A value that several chains take whole. */
static void whole_values_are_fetched_once(void) {
    mldf_error err;
    struct plan *plan;
    struct plan_worker *worker;
    REQUIRE_OK(make_plan("a = label; b = label: cast(f32); c = label: cast(f64)", false, &plan, &err), &err);
    REQUIRE_OK(mldfi_worker_new(plan, &worker, &err), &err);
    for (uint64_t p = 0; p < 5; p++) {
        int64_t label;
        reset_counts();
        REQUIRE_OK(run(plan, worker, p, &err), &err);
        CHECK_EQ_U64(1, clip.gets[LABEL]);
        memcpy(&label, room[0], 8);
        CHECK_EQ_INT((int64_t)p, label);
        CHECK_EQ_F64((double)p, room[1][0]);
    }
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    begin();
    RUN(one_draw_and_one_fetch_of_the_union);
    RUN(a_null_has_null_parts);
    RUN(parts_that_pass_the_payload_are_refused);
    RUN(names_of_parts_are_checked);
    RUN(whole_values_are_fetched_once);
    mldf_schema_free(clip.schema);
    mldf_context_free(clip.context);
    return check_end();
}
