/* A sample before it is run: what is asked of the feed for its lengths. Records alone where they say enough; otherwise the first bytes of the
 * payload, and all of it only when those do not say it either. */
#include "pipeline_images.h"

enum { HEAD = 16 << 10 };

struct counted {
    struct images images;
    unsigned gets, records, ranges;
    uint64_t most; /* bytes of the longest range */
};

static mldf_status get(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                       mldf_error *err) {
    struct counted *c = user;
    c->gets++;
    return images_get(&c->images, position, field, scratch, out, err);
}

static mldf_status record(void *user, uint64_t position, size_t field, mldf_buffer *scratch, mldf_value *out,
                          mldf_error *err) {
    struct counted *c = user;
    mldf_status status = images_get(&c->images, position, field, scratch, out, err);
    c->records++;
    out->data = NULL;
    return status;
}

/* Into memory that the next call overwrites, as a file that is read has it. */
static mldf_status range(void *user, uint64_t position, size_t field, uint64_t offset, uint64_t bytes,
                         mldf_buffer *scratch, mldf_value *out, mldf_error *err) {
    struct counted *c = user;
    mldf_status status = images_get(&c->images, position, field, scratch, out, err);
    c->ranges++;
    c->most = bytes > c->most ? bytes : c->most;
    CHECK(offset + bytes <= out->bytes);
    scratch->size = 0;
    CHECK_OK(mldf_buffer_append(scratch, (const uint8_t *)out->data + offset, (size_t)bytes, err), err);
    out->data = scratch->data;
    out->bytes = bytes;
    out->record = NULL;
    return status;
}

static mldf_status lengths(struct counted *c, uint64_t position, struct plan_length *out, mldf_error *err) {
    static const char text[] = "image: decode(channels=3) | pad\nlabel: drop";
    struct plan_feed feed = {.user = c, .get = get, .record = record, .range = range};
    struct plan_options options = {0};
    struct plan_ranges ranges = {0};
    struct plan *plan = NULL;
    struct plan_worker *worker = NULL;
    mldf_pipeline *pipeline = NULL;
    c->gets = c->records = c->ranges = 0;
    c->most = 0;
    mldf_status status = mldf_pipeline_parse(NULL, text, strlen(text), &pipeline, err);
    if (status == MLDF_OK)
        status = mldfi_plan_new(pipeline, c->images.schema, c->images.bounds, &options, &plan, err);
    if (status == MLDF_OK)
        status = mldfi_worker_new(plan, &worker, err);
    if (status == MLDF_OK)
        status = mldfi_plan_prepare(plan, worker, &feed, 0, position, out, &ranges, err);
    CHECK_EQ_U64(0, ranges.count); /* images are read whole */
    CHECK_EQ_U64(0, c->gets);
    mldfi_worker_free(worker);
    mldfi_plan_free(plan);
    mldf_pipeline_free(pipeline);
    free(ranges.items);
    return status;
}

static void rows_that_are_complete_suffice(void) {
    struct counted c = {0};
    mldf_error err;
    REQUIRE(images_begin(&c.images, 3, false));
    for (uint64_t i = 0; i < IMAGES; i++) {
        struct plan_length length = {{0}};
        CHECK_STATUS(MLDF_OK, lengths(&c, i, &length, &err), &err);
        CHECK_EQ_U64(mldfi_load_u16(c.images.records[i] + IMAGE_HEIGHT), length.n[0]);
        CHECK_EQ_U64(mldfi_load_u16(c.images.records[i] + IMAGE_WIDTH), length.n[1]);
        CHECK_EQ_U64(1, c.records);
        CHECK_EQ_U64(0, c.ranges);
    }
    images_end(&c.images);
}

/* A JPEG whose row does not say its size, with so many bytes of comments in front of it. */
static void silent(struct counted *c, size_t i, size_t comments) {
    static const uint8_t comment[4 + 1020] = {0xFF, 0xFE, 1022 >> 8, 1022 & 255};
    mldf_buffer made = MLDF_BUFFER_INIT, *data = &c->images.data[i];
    mldf_error err;
    CHECK_OK(mldf_buffer_append(&made, data->data, 2, &err), &err);
    for (size_t k = 0; k < comments / sizeof comment; k++)
        CHECK_OK(mldf_buffer_append(&made, comment, sizeof comment, &err), &err);
    CHECK_OK(mldf_buffer_append(&made, data->data + 2, data->size - 2, &err), &err);
    mldf_buffer_free(data);
    *data = made;
    mldfi_store_u32(c->images.records[i] + IMAGE_SIZE, (uint32_t)made.size);
    mldfi_store_u16(c->images.records[i] + IMAGE_HEIGHT, 0);
    mldfi_store_u16(c->images.records[i] + IMAGE_WIDTH, 0);
}

static void the_first_bytes_are_asked_for_where_rows_are_silent(void) {
    static const size_t comments[] = {0, 8 << 10, 40 << 10};
    for (size_t k = 0; k < 3; k++) {
        struct counted c = {0};
        struct plan_length length = {{0}};
        mldf_error err;
        REQUIRE(images_begin(&c.images, 3, false));
        silent(&c, 11, comments[k]);
        CHECK_STATUS(MLDF_OK, lengths(&c, 11, &length, &err), &err);
        CHECK_EQ_U64(203, length.n[0]);
        CHECK_EQ_U64(260, length.n[1]);
        CHECK_EQ_U64(k < 2 ? 1 : 2, c.ranges);
        CHECK_EQ_U64(k < 2 && c.images.data[11].size > HEAD ? HEAD : c.images.data[11].size, c.most);
        images_end(&c.images);
    }
}

static void what_no_bytes_say_is_an_error(void) {
    struct counted c = {0};
    struct plan_length length;
    mldf_error err;
    REQUIRE(images_begin(&c.images, 3, false));
    silent(&c, 11, 0);
    memset(c.images.data[11].data, 7, c.images.data[11].size);
    CHECK_STATUS(MLDF_E_TYPE, lengths(&c, 11, &length, &err), &err);
    CHECK_CONTAINS("not an image", TEXT(err));
    c.images.data[11].size = 0;
    CHECK_STATUS(MLDF_E_TYPE, lengths(&c, 11, &length, &err), &err);
    CHECK_CONTAINS("no bytes", TEXT(err));
    images_end(&c.images);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(rows_that_are_complete_suffice);
    RUN(the_first_bytes_are_asked_for_where_rows_are_silent);
    RUN(what_no_bytes_say_is_an_error);
    return check_end();
}
