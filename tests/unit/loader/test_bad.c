/* Samples that cannot be decoded: raised, left out or replaced; and the ledger of them. */
#include "loader_files.h"

enum { SAMPLES = 60, EVERY = 10 }; /* samples 5, 15, 25 ... are damaged */
static const struct files_shape shape = {.samples = SAMPLES, .jpeg = true, .tokens = true, .bad_every = EVERY};
static mldf_reader *reader;

static bool is_bad(uint64_t sample) {
    return sample % EVERY == EVERY / 2;
}

static mldf_loader_options basic(mldf_bad policy) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    o.pipeline = "image: resize([8, 8]) | chw(u8)\ntokens: drop";
    o.batch_size = 8;
    o.threads = 2;
    o.bad = policy;
    o.want_index = true;
    return o;
}

static void raising_names_file_sample_field_and_byte(void) {
    for (int threads = 0; threads < 4; threads++) {
        mldf_loader_options o = basic(MLDF_BAD_RAISE);
        uint64_t told = 0;
        mldf_batch *batch;
        mldf_error err;
        o.threads = threads;
        if (threads & 1) /* an output of another name, which is no field */
            o.pipeline = "view = image: resize([8, 8]) | chw(u8)\ntokens: drop";
        o.batch_size = 12;
        mldf_loader *loader = files_loader(reader, &o);
        for (;;) {
            mldf_status status = mldf_loader_next(loader, -1, &batch, &err);
            if (status == MLDF_END)
                break;
            if (status == MLDF_OK) {
                mldf_batch_release(batch);
                continue;
            }
            /* batches of 12 hold 5; 15; 25, 35; 45; 55: the first one of a batch is told */
            static const uint64_t first[] = {5, 15, 25, 45, 55};
            CHECK_EQ_U64(first[told++ % 5], err.sample);
            CHECK_CONTAINS("bad.mldf", TEXT(err));
            CHECK_CONTAINS("5, field image: ", TEXT(err));
            CHECK_EQ_STR("image", err.field);
            CHECK(err.offset != MLDF_NONE && err.offset > 128);
        }
        CHECK_EQ_U64(5, told);
        mldf_loader_free(loader);
    }
}

static void skipping_shortens_the_own_batch_only(void) {
    mldf_loader_options o = basic(MLDF_BAD_SKIP);
    mldf_batch *batch;
    mldf_error err;
    mldf_loader *loader = files_loader(reader, &o);
    for (uint64_t b = 0; mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK; b++) {
        mldf_array index = files_array(batch, "index"), label = files_array(batch, "label");
        uint64_t at = 0;
        for (uint64_t s = b * 8; s < b * 8 + 8 && s < SAMPLES; s++)
            if (!is_bad(s)) {
                CHECK_EQ_U64(s, ((uint64_t *)index.data)[at]);
                CHECK_EQ_INT((int64_t)s, ((int64_t *)label.data)[at]);
                at++;
            }
        CHECK_EQ_U64(at, mldf_batch_sample_count(batch));
        CHECK_EQ_U64(at, index.dims[0]);
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(6, mldf_loader_bad_count(loader));
    for (size_t i = 0; i < 6; i++) {
        mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
        CHECK_OK(mldf_loader_bad_sample(loader, i, &bad, &err), &err);
        CHECK_EQ_U64(i * EVERY + EVERY / 2, bad.sample);
        CHECK_EQ_U64(bad.sample, bad.position);
        CHECK_EQ_U64(MLDF_NONE, bad.substitute);
        CHECK_EQ_STR("image", bad.error.field);
    }
    mldf_bad_sample none = MLDF_BAD_SAMPLE_INIT;
    CHECK_EQ_INT(MLDF_END, mldf_loader_bad_sample(loader, 6, &none, &err));
    mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
    CHECK_OK(mldf_loader_get_stats(loader, &stats, &err), &err);
    CHECK_EQ_U64(6, stats.bad_samples);
    CHECK_EQ_U64(54, stats.samples);
    mldf_loader_free(loader);
}

static void policies_do_not_depend_on_threads(void) {
    static const char *const pipelines[] = {
        "image: resize([8, 8]) | chw(u8)\ntokens: drop",
        "image: resize([8, 8]) | chw(u8)\ntokens: pad(mask=true)\nends = tokens: ragged",
        "image: resize([8, 8]) | to_float | mixup(0.5) | chw(f32)\ntokens: drop",
        "image: resize([8, 8]) | to_float | mixup(0.5) | chw(f32)\ntokens: pad",
    };
    for (size_t p = 0; p < 4; p++)
        for (int policy = MLDF_BAD_RAISE; policy <= MLDF_BAD_SUBSTITUTE; policy++)
            for (int way = 0; way < 2; way++) {
                mldf_loader_options o = basic((mldf_bad)policy);
                struct hashes want, got;
                o.pipeline = pipelines[p];
                o.order = MLDF_ORDER_RANDOM;
                o.threads = 0;
                if (way && p & 1)
                    o.bucket_window = 30;
                files_epoch(reader, &o, 2, &want);
                CHECK_EQ_U64(8, want.count + want.errors);
                CHECK_EQ_U64(policy == MLDF_BAD_RAISE  ? want.count * 8 - (want.samples % 8 ? 4 : 0)
                             : policy == MLDF_BAD_SKIP ? 54
                                                       : 60,
                             want.samples);
                for (int threads = 1; threads < 8; threads += 3) {
                    char what[64];
                    o.threads = threads;
                    files_epoch(reader, &o, 2, &got);
                    snprintf(what, sizeof what, "pipeline %zu, policy %d, %d threads", p, policy, threads);
                    files_check_same(&want, &got, what);
                }
            }
}

static void substitutes_are_good_and_always_the_same(void) {
    mldf_loader_options o = basic(MLDF_BAD_SUBSTITUTE);
    uint64_t stand_in[SAMPLES], found = 0;
    mldf_batch *batch;
    mldf_error err;
    for (int run = 0; run < 2; run++) {
        mldf_loader *loader = files_loader(reader, &o);
        while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
            mldf_array index = files_array(batch, "index"), label = files_array(batch, "label");
            uint64_t ordinal;
            mldf_batch_place(batch, NULL, &ordinal, NULL);
            for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
                uint64_t position = ordinal * 8 + i, sample = ((uint64_t *)index.data)[i];
                CHECK(!is_bad(sample));
                CHECK_EQ_INT((int64_t)sample, ((int64_t *)label.data)[i]);
                CHECK_EQ_U64(is_bad(position), sample != position);
                if (run)
                    CHECK_EQ_U64(stand_in[position], sample);
                stand_in[position] = sample;
                found += sample != position;
            }
            mldf_batch_release(batch);
        }
        CHECK(mldf_loader_bad_count(loader) >= 6); /* a substitute may be bad too */
        for (size_t i = 0; i < mldf_loader_bad_count(loader); i++) {
            mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
            CHECK_OK(mldf_loader_bad_sample(loader, i, &bad, &err), &err);
            CHECK(is_bad(bad.sample));
            CHECK(bad.substitute != MLDF_NONE);
            if (!is_bad(bad.substitute))
                CHECK_EQ_U64(stand_in[bad.position], bad.substitute);
        }
        mldf_loader_free(loader);
    }
    CHECK_EQ_U64(12, found);
}

/* A pair's image is the same whether its partner is in the same batch or on another rank. */
static void pairs_do_not_depend_on_ranks(void) {
    for (int policy = MLDF_BAD_SKIP; policy <= MLDF_BAD_SUBSTITUTE; policy++) {
        uint8_t(*want)[8 * 8 * 3 * 4] = calloc(SAMPLES, sizeof *want);
        for (uint32_t ranks = 1; ranks <= 3; ranks++)
            for (uint32_t rank = 0; rank < ranks; rank++) {
                mldf_loader_options o = basic((mldf_bad)policy);
                mldf_batch *batch;
                mldf_error err;
                o.pipeline = "image: resize([8, 8]) | to_float | mixup(0.5) | chw(f32)\ntokens: drop";
                o.batch_size = ranks == 1 ? 60 : 7 - ranks; /* global batches that divide 60 */
                o.rank = rank;
                o.world_size = ranks;
                mldf_loader *loader = files_loader(reader, &o);
                while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
                    mldf_array image = files_array(batch, "image"), index = files_array(batch, "index");
                    uint64_t ordinal;
                    mldf_batch_place(batch, NULL, &ordinal, NULL);
                    for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
                        /* in order, so the sample's number is its position; a substitute's is not */
                        uint64_t s = policy == MLDF_BAD_SKIP ? ((uint64_t *)index.data)[i]
                                                             : ordinal * o.batch_size * ranks + rank * o.batch_size + i;
                        if (ranks == 1)
                            memcpy(want[s], (uint8_t *)image.data + i * sizeof *want, sizeof *want);
                        else
                            CHECK_MEM_EQ(want[s], (uint8_t *)image.data + i * sizeof *want, sizeof *want);
                    }
                    mldf_batch_release(batch);
                }
                mldf_loader_free(loader);
            }
        free(want);
    }
}

static void when_nothing_is_good_it_is_raised(void) {
    const char *path = check_tmp("all_bad.mldf");
    struct files_shape all = shape;
    all.bad_every = 1;
    all.samples = 10;
    files_write(path, &all);
    mldf_reader *bad = files_open(path, MLDF_BACKEND_MAP);
    mldf_batch *batch;
    mldf_error err;
    mldf_loader_options o = basic(MLDF_BAD_SUBSTITUTE);
    mldf_loader *loader = files_loader(bad, &o);
    mldf_status status = mldf_loader_next(loader, -1, &batch, &err);
    CHECK(status < 0);
    CHECK_CONTAINS("8 substitutes", TEXT(err));
    mldf_loader_free(loader);
    for (int way = 0; way < 2; way++) {
        o = basic(MLDF_BAD_SKIP);
        if (way)
            o.pipeline = "image: resize([8, 8]) | chw(u8)\ntokens: pad";
        loader = files_loader(bad, &o);
        CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
        CHECK_EQ_U64(0, mldf_batch_sample_count(batch));
        mldf_batch_release(batch);
        mldf_loader_free(loader);
    }
    mldf_reader_close(bad);
}

static void the_ledger_keeps_the_last_thousand(void) {
    mldf_loader_options o = basic(MLDF_BAD_SKIP);
    mldf_loader *loader = files_loader(reader, &o);
    struct hashes hashes;
    mldf_bad_sample bad = MLDF_BAD_SAMPLE_INIT;
    mldf_error err;
    for (int epoch = 0; epoch < 170; epoch++)
        files_run(loader, &hashes);
    CHECK_EQ_U64(1000, mldf_loader_bad_count(loader));
    CHECK_OK(mldf_loader_bad_sample(loader, 999, &bad, &err), &err);
    CHECK_EQ_U64(169, bad.epoch);
    CHECK_EQ_U64(55, bad.sample);
    CHECK_OK(mldf_loader_bad_sample(loader, 0, &bad, &err), &err);
    CHECK_EQ_U64(3, bad.epoch);
    CHECK_EQ_U64(25, bad.sample);
    mldf_loader_free(loader);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    const char *path = check_tmp("bad.mldf");
    files_write(path, &shape);
    reader = files_open(path, MLDF_BACKEND_MAP);
    RUN(raising_names_file_sample_field_and_byte);
    RUN(skipping_shortens_the_own_batch_only);
    RUN(policies_do_not_depend_on_threads);
    RUN(substitutes_are_good_and_always_the_same);
    RUN(pairs_do_not_depend_on_ranks);
    RUN(when_nothing_is_good_it_is_raised);
    RUN(the_ledger_keeps_the_last_thousand);
    mldf_reader_close(reader);
    return check_end();
}
