/* Operations that name samples by their index meet exactly those: in any order, with several files, threads, substitutes and pairs. */
#include "loader_files.h"

enum { FILES = 3, SIDE = 8, MARK = 3, EVERY = 10, NEW_LABEL = 77777 };
static const uint64_t counts[FILES] = {60, 1, 30}; /* 91: the last one has no partner */
static mldf_reader *readers[FILES];
static char listed_text[512];

/* Of the damaged ones (5, 15 ... of each file) some are listed and some are not. */
static bool is_listed(uint64_t index) {
    return index % 7 == 1 || index == 5 || index == 60 || index == 90;
}

static bool is_bad(uint64_t index) {
    uint64_t sample = index < 60 ? index : index - 61;
    return index != 60 && sample % EVERY == EVERY / 2;
}

/* Largest first: the text need not be sorted. */
static void write_list(void) {
    size_t at = 0;
    for (uint64_t i = 91; i-- > 0;)
        if (is_listed(i))
            at += (size_t)snprintf(listed_text + at, sizeof listed_text - at, "%s%llu", at ? ", " : "",
                                   (unsigned long long)i);
}

/* The label that a sample has in its file. */
static int64_t label_of(uint64_t index) {
    return (int64_t)(index < 60 ? index : index < 61 ? 0 : index - 61);
}

static mldf_loader_options basic(const char *pipeline, int threads, mldf_bad policy) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    o.pipeline = pipeline;
    o.order = MLDF_ORDER_RANDOM;
    o.seed = 3;
    o.batch_size = 8;
    o.threads = threads;
    o.bad = policy;
    o.want_index = true;
    return o;
}

static mldf_loader *open_loader(const mldf_loader_options *o) {
    mldf_loader *loader = NULL;
    mldf_error err;
    const mldf_reader *all[FILES];
    memcpy(all, readers, sizeof all);
    CHECK_OK(mldf_loader_new(all, FILES, o, &loader, &err), &err);
    return loader;
}

static void check_image(const uint8_t *plain, const uint8_t *marked, bool listed, uint64_t index) {
    size_t wrong = 0, same = 0;
    for (size_t y = 0; y < SIDE; y++)
        for (size_t x = 0; x < SIDE; x++)
            for (size_t c = 0; c < 3; c++) {
                size_t at = (y * SIDE + x) * 3 + c;
                bool inside = listed && x >= 2 && x < 2 + MARK && y >= 1 && y < 1 + MARK;
                uint8_t want = inside ? (uint8_t)(c == 1 ? 255 : 1) : plain[at];
                wrong += marked[at] != want;
                same += inside && marked[at] == plain[at];
            }
    if (wrong)
        check_fail(__FILE__, __LINE__, "sample %llu (%s): %zu elements are wrong", (unsigned long long)index,
                   listed ? "listed" : "not listed", wrong);
    CHECK(same < (size_t)MARK * MARK * 3); /* or the mark could not be seen */
}

static void listed_samples_alone_are_marked_and_relabelled(void) {
    char text[1600];
    snprintf(text, sizeof text,
             "plain = image: resize([8, 8])\n"
             "image: resize([8, 8]) | poison(indices=[%s], x=2, y=1, size=3, color=[1, 255, 1])\n"
             "label: replace_label(indices=[%s], label=%d)",
             listed_text, listed_text, NEW_LABEL);
    for (int threads = 0; threads < 5; threads += 2)
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            mldf_loader_options o = basic(text, threads, MLDF_BAD_SUBSTITUTE);
            mldf_loader *loader = open_loader(&o);
            mldf_batch *batch;
            mldf_error err;
            size_t seen = 0, hits = 0;
            bool met[91] = {false};
            REQUIRE(loader);
            CHECK_OK(mldf_loader_begin(loader, epoch, 0, &err), &err);
            while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
                mldf_array index = files_array(batch, "index"), label = files_array(batch, "label");
                mldf_array plain = files_array(batch, "plain"), image = files_array(batch, "image");
                for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
                    uint64_t s = ((uint64_t *)index.data)[i];
                    size_t at = i * SIDE * SIDE * 3;
                    REQUIRE(s < 91);
                    CHECK(!is_bad(s));
                    met[s] = true;
                    CHECK_EQ_INT(is_listed(s) ? NEW_LABEL : label_of(s), ((int64_t *)label.data)[i]);
                    check_image((uint8_t *)plain.data + at, (uint8_t *)image.data + at, is_listed(s), s);
                    hits += is_listed(s);
                    seen++;
                }
                mldf_batch_release(batch);
            }
            CHECK_EQ_U64(91, seen);
            for (uint64_t s = 0; s < 91; s++) /* every file's: the indices are those of the whole dataset */
                CHECK_EQ_INT(!is_bad(s), met[s]);
            CHECK(hits >= 10 && hits < 40);
            CHECK(mldf_loader_bad_count(loader) >= 9);
            mldf_loader_free(loader);
        }
}

/* A batch of 8 has whole pairs: the partner is the neighbour, and of the last sample of all itself. */
static void check_triples(const uint64_t *index, const float *triples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t mate = (i ^ 1) < count ? i ^ 1 : i;
        double own = is_listed(index[i]) ? NEW_LABEL : (double)label_of(index[i]);
        double other = is_listed(index[mate]) ? NEW_LABEL : (double)label_of(index[mate]);
        CHECK_EQ_F64(own, triples[i * 3]);
        CHECK_EQ_F64(other, triples[i * 3 + 1]);
        CHECK_EQ_F64(triples[mate * 3 + 2], triples[i * 3 + 2]); /* shared */
    }
}

static void sides_of_a_pair_have_their_own_index(void) {
    char text[1000];
    snprintf(text, sizeof text,
             "image: resize([8, 8])\nlabel: replace_label(indices=[%s], label=%d) | label_mixup(1, shared=true)",
             listed_text, NEW_LABEL);
    for (int threads = 0; threads < 5; threads += 2) {
        mldf_loader_options o = basic(text, threads, MLDF_BAD_SUBSTITUTE);
        mldf_loader *loader = open_loader(&o);
        mldf_batch *batch;
        mldf_error err;
        size_t seen = 0;
        REQUIRE(loader);
        while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
            mldf_array index = files_array(batch, "index"), label = files_array(batch, "label");
            check_triples(index.data, label.data, mldf_batch_sample_count(batch));
            seen += mldf_batch_sample_count(batch);
            mldf_batch_release(batch);
        }
        CHECK_EQ_U64(91, seen);
        mldf_loader_free(loader);
    }
}

/* ---- Functions of one's own ----------------------------------------------------------------------------------------------------------- */

static mldf_status number_run(void *user, const mldf_operation_call *call, const mldf_tensor *in, mldf_tensor *out,
                              mldf_error *err) {
    (void)user, (void)in, (void)err;
    memcpy(out->data, &call->sample, 8);
    return MLDF_OK;
}

static void functions_of_ones_own_see_the_index(void) {
    mldf_context *context;
    mldf_error err;
    mldf_operation own = MLDF_OPERATION_INIT;
    own.name = "number";
    own.run = number_run;
    REQUIRE_OK(mldf_context_new(&context, &err), &err);
    CHECK_OK(mldf_context_register_operation(context, &own, &err), &err);
    mldf_loader_options o = basic("image: resize([8, 8])\nlabel: number", 2, MLDF_BAD_SUBSTITUTE);
    o.context = context;
    mldf_loader *loader = open_loader(&o);
    mldf_batch *batch;
    size_t seen = 0;
    REQUIRE(loader);
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        mldf_array index = files_array(batch, "index"), label = files_array(batch, "label");
        CHECK_MEM_EQ(index.data, label.data, mldf_batch_sample_count(batch) * 8);
        seen += mldf_batch_sample_count(batch);
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(91, seen);
    mldf_loader_free(loader);
    mldf_context_free(context);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    for (size_t f = 0; f < FILES; f++) {
        char name[32];
        struct files_shape shape = {.samples = counts[f], .jpeg = true, .bad_every = EVERY};
        snprintf(name, sizeof name, "part%zu.mldf", f);
        files_write(check_tmp(name), &shape);
        readers[f] = files_open(check_tmp(name), MLDF_BACKEND_MAP);
    }
    write_list();
    RUN(listed_samples_alone_are_marked_and_relabelled);
    RUN(sides_of_a_pair_have_their_own_index);
    RUN(functions_of_ones_own_see_the_index);
    for (size_t f = 0; f < FILES; f++)
        mldf_reader_close(readers[f]);
    return check_end();
}
