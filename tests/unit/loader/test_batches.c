/* What is in a batch: arrays of fixed, padded and ragged outputs, index and valid, their memory, and the mistakes that new reports. */
#include <math.h>

#include "loader/loader.h"
#include "loader_files.h"
#include "os/file.h"

static const struct files_shape shape = {.samples = 50, .width = 12, .tokens = true};
static mldf_reader *reader;

static mldf_loader_options basic(const char *pipeline) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    o.pipeline = pipeline;
    o.batch_size = 8;
    o.threads = 1;
    return o;
}

static mldf_batch *next(mldf_loader *loader) {
    mldf_batch *batch = NULL;
    mldf_error err;
    CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
    return batch;
}

static void check_output(const mldf_loader *loader, size_t index, const char *name, mldf_dtype dtype, uint32_t ndim,
                         int64_t first) {
    mldf_output output;
    CHECK_EQ_INT(MLDF_OK, mldf_loader_output(loader, index, &output));
    CHECK_EQ_STR(name, output.name);
    CHECK_EQ_INT(dtype, output.dtype);
    CHECK_EQ_U64(ndim, output.ndim);
    if (ndim)
        CHECK_EQ_INT(first, output.dims[0]);
}

static void lists_are_padded_or_laid_end_to_end(void) {
    mldf_loader_options o = basic("image: drop\ntokens: pad(value=7, mask=true)\nends = tokens: ragged\n"
                                  "fixed = tokens: truncate(5) | pad(6)");
    o.want_index = true;
    mldf_loader *loader = files_loader(reader, &o);
    CHECK_EQ_U64(9, mldf_loader_output_count(loader));
    check_output(loader, 0, "tokens", MLDF_U16, 1, -1);
    check_output(loader, 1, "tokens_length", MLDF_I64, 0, 0);
    check_output(loader, 2, "tokens_mask", MLDF_BOOL, 1, -1);
    check_output(loader, 3, "ends", MLDF_U16, 0, 0);
    check_output(loader, 4, "ends_offset", MLDF_I64, 0, 0);
    check_output(loader, 5, "fixed", MLDF_U16, 1, 6);
    check_output(loader, 6, "fixed_length", MLDF_I64, 0, 0);
    check_output(loader, 7, "label", MLDF_I64, 0, 0);
    check_output(loader, 8, "index", MLDF_U64, 0, 0);
    mldf_batch *batch = next(loader);
    mldf_array tokens = files_array(batch, "tokens"), mask = files_array(batch, "tokens_mask"),
               length = files_array(batch, "tokens_length"), ends = files_array(batch, "ends"),
               offset = files_array(batch, "ends_offset"), fixed = files_array(batch, "fixed");
    uint64_t longest = 0, sum = 0;
    for (uint64_t i = 0; i < 8; i++)
        longest = files_tokens(i) > longest ? files_tokens(i) : longest;
    CHECK_EQ_U64(8, tokens.dims[0]);
    CHECK_EQ_U64(longest, tokens.dims[1]);
    CHECK_EQ_U64(8 * longest * 2, tokens.bytes);
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t n = files_tokens(i);
        CHECK_EQ_INT((int64_t)n, ((int64_t *)length.data)[i]);
        CHECK_EQ_INT((int64_t)sum, ((int64_t *)offset.data)[i]);
        for (uint64_t k = 0; k < longest; k++) {
            CHECK_EQ_U64(k < n ? i * 100 + k : 7, ((uint16_t *)tokens.data)[i * longest + k]);
            CHECK_EQ_U64(k < n, ((bool *)mask.data)[i * longest + k]);
        }
        for (uint64_t k = 0; k < n; k++)
            CHECK_EQ_U64(i * 100 + k, ((uint16_t *)ends.data)[sum + k]);
        for (uint64_t k = 0; k < 6; k++)
            CHECK_EQ_U64(k < 5 && k < n ? i * 100 + k : 0, ((uint16_t *)fixed.data)[i * 6 + k]);
        sum += n;
    }
    CHECK_EQ_INT((int64_t)sum, ((int64_t *)offset.data)[8]);
    CHECK_EQ_U64(sum, ends.dims[0]);
    mldf_batch_release(batch);
    mldf_loader_free(loader);
}

static void every_array_begins_on_64_bytes(void) {
    mldf_loader_options o = basic("image: chw(u8)\ntokens: pad(mask=true)");
    o.want_index = o.want_valid = true;
    o.batch_size = 3;
    mldf_loader *loader = files_loader(reader, &o);
    mldf_batch *batch;
    mldf_error err;
    size_t batches = 0;
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        mldf_array array;
        for (size_t i = 0; mldf_batch_array(batch, i, &array) == MLDF_OK; i++)
            CHECK_EQ_U64(0, (uintptr_t)array.data % 64);
        uint64_t epoch, ordinal, consumed;
        mldf_batch_place(batch, &epoch, &ordinal, &consumed);
        CHECK_EQ_U64(batches, ordinal);
        CHECK_EQ_U64(batches * 3 + mldf_batch_sample_count(batch), consumed);
        batches++;
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(17, batches);
    CHECK_EQ_U64(17, mldf_loader_batch_bound(loader));
    mldf_loader_free(loader);
}

static void the_last_batch_is_kept_dropped_or_filled(void) {
    static const struct {
        mldf_last last;
        uint64_t batches, size, valid;
    } cases[] = {{MLDF_LAST_KEEP, 7, 2, 2}, {MLDF_LAST_DROP, 6, 8, 8}, {MLDF_LAST_PAD, 7, 8, 2}};
    for (size_t c = 0; c < 3; c++) {
        mldf_loader_options o = basic("image: drop\ntokens: drop");
        o.last = cases[c].last;
        o.want_valid = o.want_index = true;
        mldf_loader *loader = files_loader(reader, &o);
        CHECK_EQ_U64(cases[c].batches, mldf_loader_batch_bound(loader));
        for (uint64_t i = 0; i < cases[c].batches; i++) {
            mldf_batch *batch = next(loader);
            mldf_array valid = files_array(batch, "valid"), index = files_array(batch, "index"),
                       label = files_array(batch, "label");
            bool is_last = i + 1 == cases[c].batches;
            CHECK_EQ_U64(is_last ? cases[c].size : 8, mldf_batch_sample_count(batch));
            for (uint64_t k = 0; k < mldf_batch_sample_count(batch); k++) {
                CHECK_EQ_U64((i * 8 + k) % 50, ((uint64_t *)index.data)[k]);
                CHECK_EQ_INT((int64_t)((i * 8 + k) % 50), ((int64_t *)label.data)[k]);
                CHECK_EQ_U64(!is_last || k < cases[c].valid, ((bool *)valid.data)[k]);
            }
            mldf_batch_release(batch);
        }
        mldf_batch *none;
        mldf_error err;
        CHECK_EQ_INT(MLDF_END, mldf_loader_next(loader, -1, &none, &err));
        mldf_loader_free(loader);
    }
}

static void kept_batches_stay_as_they_are(void) {
    mldf_loader_options o = basic("image: chw(u8)\ntokens: pad");
    mldf_batch *kept[22];
    uint8_t before[21][16], after[16];
    o.threads = 2;
    mldf_loader *loader = files_loader(reader, &o);
    size_t count = 0;
    mldf_error err;
    for (int epoch = 0; epoch < 3; epoch++)
        while (mldf_loader_next(loader, -1, &kept[count], &err) == MLDF_OK)
            mldf_batch_hash(kept[count], before[count]), count++;
    CHECK_EQ_U64(21, count);
    mldf_batch_retain(kept[4]);
    mldf_batch_release(kept[4]);
    mldf_loader_free(loader);
    for (size_t i = 0; i < count; i++) {
        mldf_batch_hash(kept[i], after);
        CHECK_MEM_EQ(before[i], after, 16);
        CHECK_EQ_STR("image", files_array(kept[i], "image").name);
        mldf_batch_release(kept[i]);
    }
}

static void memory_of_released_batches_serves_again(void) {
    mldf_loader_options o = basic("image: chw(u8)\ntokens: drop");
    void *places[64];
    size_t different = 0;
    o.threads = 0;
    mldf_loader *loader = files_loader(reader, &o);
    for (size_t i = 0; i < 48; i++) {
        mldf_batch *batch;
        mldf_error err;
        if (mldf_loader_next(loader, -1, &batch, &err) != MLDF_OK)
            continue;
        void *place = files_array(batch, "image").data;
        bool known = false;
        for (size_t k = 0; k < different; k++)
            known = known || places[k] == place;
        if (!known)
            places[different++] = place;
        mldf_batch_release(batch);
    }
    CHECK(different <= 3);
    mldf_loader_free(loader);
}

struct hook {
    atomic_long live, calls, fail_at;
    size_t shift;
};
static void *hook_alloc(void *user, size_t bytes) {
    struct hook *hook = user;
    uint8_t *data;
    if (atomic_fetch_add(&hook->calls, 1) + 1 == hook->fail_at)
        return NULL;
    data = aligned_alloc(64, (bytes + 127) / 64 * 64);
    atomic_fetch_add(&hook->live, 1);
    return data ? data + hook->shift : NULL;
}
static void hook_free(void *user, void *data, size_t bytes) {
    struct hook *hook = user;
    (void)bytes;
    atomic_fetch_sub(&hook->live, 1);
    free((uint8_t *)data - hook->shift);
}

static void the_user_supplies_memory(void) {
    struct hook hook = {0};
    mldf_memory_hook own = {&hook, hook_alloc, hook_free};
    mldf_loader_options o = basic("image: chw(u8)\ntokens: pad");
    struct hashes want, got;
    mldf_error err;
    mldf_batch *batch;
    files_epoch(reader, &o, 0, &want);
    o.memory = &own;
    files_epoch(reader, &o, 0, &got);
    files_check_same(&want, &got, "hook");
    CHECK(hook.calls > 0);
    CHECK_EQ_INT(0, hook.live);
    hook.shift = 8;
    mldf_loader *loader = files_loader(reader, &o);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_loader_next(loader, -1, &batch, &err), &err);
    CHECK_CONTAINS("aligned", TEXT(err));
    mldf_loader_free(loader);
    hook.shift = 0;
    hook.calls = 0;
    hook.fail_at = 1;
    loader = files_loader(reader, &o);
    CHECK_STATUS(MLDF_E_MEMORY, mldf_loader_next(loader, -1, &batch, &err), &err);
    CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err); /* goes on with the next batch */
    mldf_batch_release(batch);
    mldf_loader_free(loader);
    CHECK_EQ_INT(0, hook.live);
    own.free = NULL;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_loader_new((const mldf_reader *const *)&reader, 1, &o, &loader, &err), &err);
}

static void buckets_hold_samples_of_like_length_within_the_budget(void) {
    mldf_loader_options o = basic("image: drop\ntokens: pad");
    o.order = MLDF_ORDER_RANDOM;
    o.bucket_window = 50;
    o.want_index = true;
    for (int way = 0; way < 2; way++) {
        uint64_t padding = 0, elements = 0, samples = 0, rising = 0, before = 0, batches = 0;
        mldf_batch *batch;
        mldf_error err;
        o.budget = way ? 120 : 0;
        mldf_loader *loader = files_loader(reader, &o);
        while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
            mldf_array tokens = files_array(batch, "tokens"), length = files_array(batch, "tokens_length");
            uint64_t count = mldf_batch_sample_count(batch);
            if (way)
                CHECK(tokens.dims[0] * tokens.dims[1] <= 120);
            else
                CHECK_EQ_U64(batches == 6 ? 2 : 8, count);
            for (uint64_t i = 0; i < count; i++)
                padding += tokens.dims[1] - (uint64_t)((int64_t *)length.data)[i];
            elements += count * tokens.dims[1];
            samples += count;
            rising += tokens.dims[1] >= before;
            before = tokens.dims[1];
            batches++;
            mldf_batch_release(batch);
        }
        CHECK_EQ_U64(50, samples);
        CHECK(padding * 4 < elements); /* unsorted batches of 8 are nearly half padding */
        CHECK(rising < batches);       /* the turn of the batches is shuffled */
        CHECK(batches <= mldf_loader_batch_bound(loader));
        uint64_t counted;
        CHECK_OK(mldf_loader_batch_count(loader, 0, -1, &counted, &err), &err);
        CHECK_EQ_U64(batches, counted);
        mldf_loader_free(loader);
    }
}

/* Also while workers are busy with another epoch; each rank comes to the same number. */
static void batches_by_budget_are_counted_exactly(void) {
    uint64_t first[3] = {0}, different = 0;
    for (unsigned run = 0; run < 3 * 2 * 2 * 3; run++) {
        mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
        uint64_t counted, batches = 0, epoch = run / 12;
        mldf_batch *batch;
        mldf_error err;
        o.pipeline = "image: drop\ntokens: pad";
        o.order = MLDF_ORDER_RANDOM;
        o.bucket_window = run % 2 ? 13 : 1000;
        o.budget = 60;
        o.last = (mldf_last)(run / 4 % 3);
        o.rank = run / 2 % 2;
        o.world_size = 2;
        mldf_loader *loader = files_loader(reader, &o);
        REQUIRE(loader);
        CHECK_OK(mldf_loader_next(loader, -1, &batch, &err), &err);
        mldf_batch_release(batch);
        CHECK_OK(mldf_loader_batch_count(loader, epoch, -1, &counted, &err), &err);
        CHECK_OK(mldf_loader_begin(loader, epoch, 0, &err), &err);
        for (; mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK; batches++)
            mldf_batch_release(batch);
        CHECK_EQ_U64(batches, counted);
        CHECK(counted > 0 && counted < mldf_loader_batch_bound(loader));
        if (run % 12 == 1) { /* a small window, all of it kept */
            first[epoch] = counted;
            different += counted != first[0];
        }
        mldf_loader_cancel(loader);
        CHECK_OK(mldf_loader_batch_count(loader, epoch, -1, &counted, &err), &err);
        CHECK_EQ_U64(batches, counted);
        CHECK_STATUS(MLDF_E_ARGUMENT, mldf_loader_batch_count(loader, epoch, -1, NULL, &err), &err);
        mldf_loader_free(loader);
    }
    CHECK(different > 0); /* epochs are not alike */
}

/* Piece by piece, with a look at another epoch in between; a cancel ends it until the next begin, and what is known stays. */
static void batches_are_counted_piece_by_piece(void) {
    for (unsigned run = 0; run < 3 * 3; run++) {
        mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
        uint64_t whole = 0, counted = 0, other = 0;
        size_t agains = 0;
        mldf_error err;
        mldf_status status;
        o.pipeline = "image: drop\ntokens: pad";
        o.order = MLDF_ORDER_RANDOM;
        o.bucket_window = run % 3 == 0 ? 13 : run % 3 == 1 ? 32 : 1000;
        o.budget = 60;
        o.last = (mldf_last)(run / 3);
        mldf_loader *loader = files_loader(reader, &o);
        REQUIRE(loader);
        CHECK_OK(mldf_loader_batch_count(loader, 3, -1, &whole, &err), &err);
        CHECK_EQ_INT(MLDF_AGAIN, mldf_loader_batch_count(loader, 4, 0, &other, &err));
        while ((status = mldf_loader_batch_count(loader, 3, 0, &counted, &err)) == MLDF_AGAIN)
            agains++;
        CHECK_STATUS(MLDF_OK, status, &err);
        CHECK_EQ_U64(whole, counted);
        CHECK(agains >= 3 && agains <= 50); /* 50 samples */
        mldf_loader_cancel(loader);
        CHECK_OK(mldf_loader_batch_count(loader, 3, 0, &counted, &err), &err);
        CHECK_EQ_U64(whole, counted);
        CHECK_STATUS(MLDF_E_CANCELLED, mldf_loader_batch_count(loader, 4, -1, &other, &err), &err);
        CHECK_OK(mldf_loader_begin(loader, 0, 0, &err), &err);
        CHECK_OK(mldf_loader_batch_count(loader, 4, -1, &other, &err), &err);
        mldf_loader_free(loader);
    }
}

static void a_mixture_takes_its_parts_from_the_readers(void) {
    const char *path = check_tmp("other.mldf");
    const struct files_shape other = {.samples = 20, .width = 12, .tokens = true};
    files_write(path, &other);
    const mldf_reader *both[2] = {reader, files_open(path, MLDF_BACKEND_MAP)};
    mldf_order *orders[2], *mixture, *three;
    mldf_order_options how = MLDF_ORDER_OPTIONS_INIT;
    mldf_error err;
    how.kind = MLDF_ORDER_RANDOM;
    CHECK_OK(mldf_order_new(50, &how, &orders[0], &err), &err);
    CHECK_OK(mldf_order_new(20, &how, &orders[1], &err), &err);
    mldf_order_part parts[3] = {{orders[0], 3}, {orders[1], 1}, {orders[1], 1}};
    CHECK_OK(mldf_order_new_mixture(parts, 2, 80, &how, &mixture, &err), &err);
    CHECK_OK(mldf_order_new_mixture(parts, 3, 80, &how, &three, &err), &err);
    mldf_loader_options o = basic("image: drop\ntokens: drop");
    o.own_order = mixture;
    o.want_index = true;
    mldf_loader *loader;
    CHECK_OK(mldf_loader_new(both, 2, &o, &loader, &err), &err);
    uint64_t second = 0, all = 0;
    mldf_batch *batch;
    while (mldf_loader_next(loader, -1, &batch, &err) == MLDF_OK) {
        mldf_array index = files_array(batch, "index"), label = files_array(batch, "label");
        for (size_t i = 0; i < mldf_batch_sample_count(batch); i++) {
            uint64_t number = ((uint64_t *)index.data)[i];
            CHECK_EQ_INT((int64_t)(number < 50 ? number : number - 50), ((int64_t *)label.data)[i]);
            second += number >= 50;
            all++;
        }
        mldf_batch_release(batch);
    }
    CHECK_EQ_U64(80, all);
    CHECK_EQ_U64(20, second);
    mldf_loader_free(loader);
    o.own_order = three;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_loader_new(both, 2, &o, &loader, &err), &err);
    CHECK_CONTAINS("3 parts", TEXT(err));
    o.own_order = orders[0];
    CHECK_OK(mldf_loader_new(both + 1, 1, &o, &loader, &err), &err);
    mldf_status status = MLDF_OK;
    for (int i = 0; i < 7 && status >= 0; i++)
        if ((status = mldf_loader_next(loader, -1, &batch, &err)) == MLDF_OK)
            mldf_batch_release(batch);
    CHECK_STATUS(MLDF_E_ARGUMENT, status, &err); /* the order is of more samples than the file has */
    mldf_loader_free(loader);
    mldf_order_free(mixture);
    mldf_order_free(three);
    mldf_order_free(orders[0]);
    mldf_order_free(orders[1]);
    mldf_reader_close((mldf_reader *)(uintptr_t)both[1]);
}

static void refuse(mldf_loader_options o, mldf_status status, const char *word) {
    mldf_loader *loader = NULL;
    mldf_error err;
    mldf_status got = mldf_loader_new((const mldf_reader *const *)&reader, 1, &o, &loader, &err);
    CHECK_STATUS(status, got, &err);
    if (got < 0)
        CHECK_CONTAINS(word, TEXT(err));
    else
        mldf_loader_free(loader);
}

static void mistakes_are_told_by_new(void) {
    mldf_loader_options o = basic("image: drop\ntokens: pad");
    mldf_error err;
    mldf_loader *loader;
    o.batch_size = 0;
    refuse(o, MLDF_E_ARGUMENT, "batch_size");
    o = basic(NULL), o.rank = 1;
    refuse(o, MLDF_E_ARGUMENT, "rank 1 of 1");
    o = basic(NULL), o.threads = 100000;
    refuse(o, MLDF_E_ARGUMENT, "threads");
    o = basic(NULL), o.threads = -7;
    refuse(o, MLDF_E_ARGUMENT, "threads");
    o = basic(NULL), o.in_flight = 1000000;
    refuse(o, MLDF_E_ARGUMENT, "in flight");
    o = basic(NULL), o.budget = 5;
    refuse(o, MLDF_E_ARGUMENT, "bucket_window");
    o = basic(NULL), o.bucket_window = 5;
    refuse(o, MLDF_E_ARGUMENT, "padded or ragged");
    o = basic("tokens: pad"), o.bucket_window = 5, o.bucket_output = "label";
    refuse(o, MLDF_E_ARGUMENT, "label");
    o = basic("tokens: pad"), o.bucket_window = 5, o.bucket_output = "nothing";
    refuse(o, MLDF_E_ARGUMENT, "nothing");
    o = basic("tokens: pad"), o.bucket_window = 5, o.bucket_output = "token";
    refuse(o, MLDF_E_ARGUMENT, "did you mean tokens?");
    o = basic("index = label: cast(f32)"), o.want_index = true;
    refuse(o, MLDF_E_ARGUMENT, "index");
    o = basic("image: frobnicate");
    refuse(o, MLDF_E_ARGUMENT, "frobnicate");
    o = basic("image: resize(");
    refuse(o, MLDF_E_SYNTAX, "");
    o = basic("photo: decode");
    refuse(o, MLDF_E_NO_FIELD, "photo");
    o = basic(NULL), o.isa = "abacus";
    refuse(o, MLDF_E_UNSUPPORTED, "abacus");
    o = basic(NULL), o.struct_bytes = 0;
    refuse(o, MLDF_E_ARGUMENT, "struct_bytes");
    CHECK_STATUS(MLDF_E_ARGUMENT, mldf_loader_new(NULL, 0, NULL, &loader, &err), &err);
    mldf_loader_free(NULL);
    mldf_batch_release(NULL);
}

static void files_without_the_field_or_with_another_type_are_named(void) {
    const char *path = check_tmp("fewer.mldf");
    const struct files_shape fewer = {.samples = 5, .width = 12};
    mldf_error err;
    mldf_loader *loader;
    files_write(path, &fewer);
    const mldf_reader *both[2] = {reader, files_open(path, MLDF_BACKEND_MAP)};
    mldf_loader_options o = basic("image: drop\ntokens: pad");
    CHECK_STATUS(MLDF_E_NO_FIELD, mldf_loader_new(both, 2, &o, &loader, &err), &err);
    CHECK_CONTAINS("fewer.mldf", TEXT(err));
    o.pipeline = "image: chw(u8)\ntokens: drop"; /* what is not used need not be there */
    CHECK_OK(mldf_loader_new(both, 2, &o, &loader, &err), &err);
    mldf_loader_free(loader);
    mldf_reader_close((mldf_reader *)(uintptr_t)both[1]);
}

static void a_file_without_samples_ends_at_once(void) {
    const char *path = check_tmp("empty.mldf");
    const struct files_shape none = {.samples = 0, .width = 12, .tokens = true};
    files_write(path, &none);
    mldf_reader *empty = files_open(path, MLDF_BACKEND_MAP);
    for (int threads = 0; threads < 3; threads++) {
        mldf_loader_options o = basic("image: drop\ntokens: pad");
        mldf_batch *batch;
        mldf_error err;
        o.threads = threads;
        mldf_loader *loader = files_loader(empty, &o);
        CHECK_EQ_INT(MLDF_END, mldf_loader_next(loader, -1, &batch, &err));
        CHECK_EQ_INT(MLDF_END, mldf_loader_next(loader, -1, &batch, &err));
        CHECK_EQ_U64(0, mldf_loader_batch_bound(loader));
        mldf_loader_free(loader);
    }
    mldf_reader_close(empty);
}

static void statistics_count_and_judge(void) {
    mldf_loader_options o = basic("image: resize([40, 40]) | chw(f32)\ntokens: pad");
    mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
    mldf_error err;
    struct hashes hashes;
    o.threads = 2;
    double began = mldfi_time();
    mldf_loader *loader = files_loader(reader, &o);
    CHECK_OK(mldf_loader_get_stats(loader, &stats, &err), &err);
    CHECK_EQ_U64(0, stats.samples);
    files_run(loader, &hashes);
    CHECK_OK(mldf_loader_get_stats(loader, &stats, &err), &err);
    CHECK_EQ_U64(50, stats.samples);
    CHECK_EQ_U64(7, stats.batches);
    CHECK_EQ_INT(2, stats.threads);
    CHECK(stats.seconds > 0 && stats.seconds <= mldfi_time() - began);
    CHECK(stats.bytes_read >= 50 * 12 * 12 * 3);
    CHECK(stats.step_count >= 2);
    CHECK_EQ_STR("read", stats.steps[0].name);
    double sum = 0;
    for (size_t i = 0; i < stats.step_count; i++)
        sum += stats.steps[i].seconds;
    CHECK(sum > 0 && isfinite(sum));
    CHECK(strchr(stats.verdict, ':') != NULL);
    mldf_buffer text = MLDF_BUFFER_INIT;
    CHECK_OK(mldf_loader_explain(loader, &text, &err), &err);
    CHECK_OK(mldf_buffer_append(&text, "", 1, &err), &err);
    CHECK_CONTAINS("resize", (const char *)text.data);
    mldf_buffer_free(&text);
    mldf_loader_free(loader);
}

/* Numbers are made up here: those of a real run depend on the machine. */
static void the_verdict_is_on_the_step_that_takes_most(void) {
    static const struct {
        const char *pipeline, *step;
        int threads; /* that the numbers tell of */
        double waited;
        const char *verdict;
        double all;     /* 0: enough work */
        double seconds; /* 0: 10 */
    } cases[] = {
        {"image: random_resized_crop(30, filter=bicubic)", "image: random_resized_crop", 0, 0.9,
         "bound by image: random_resized_crop: use threads or do less for each sample", 0, 0},
        {"image: random_resized_crop(30)", "image: random_resized_crop", 1024, 0.9,
         "bound by image: random_resized_crop: all CPUs are busy; do less for each sample", 0, 0},
        {"image: resize([30, 30]) | random_crop(20) | normalize(imagenet)", "image: resize + random_crop + normalize",
         0, 0.9, "bound by image: resize + random_crop + normalize: use threads or do resize once when packing", 0, 0},
        {"image: random_resized_crop(30)", "image: decode", 0, 0.9, "decode-bound: use threads or store smaller images",
         0, 0},
        {"image: random_resized_crop(30)", "read", 0, 0.9,
         "read-bound: faster storage, or more memory for the page cache", 0, 0},
        {"image: random_resized_crop(30)", "read", 0, 0.05,
         "consumer-bound: the loader keeps up; next waited 5 % of the time", 0, 0},
        {"image: random_resized_crop(30)", "read", 0, 0.05,
         "consumer-bound: the loader keeps up; next waited 5 % of the time", 0.25, 10},
        {"image: random_resized_crop(30)", "image: decode", 0, 0.9,
         "no verdict: 0.250 s of work is too little; a larger file or more epochs give one", 0.25, 10},
        {"image: random_resized_crop(30)", "image: decode", 0, 0.05,
         "no verdict: 0.250 s of work is too little; a larger file or more epochs give one", 0.25, 0.4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mldf_loader_options o = basic(cases[i].pipeline);
        mldf_loader_stats stats = MLDF_LOADER_STATS_INIT;
        mldf_step_time steps[16];
        mldf_error err;
        bool found = false;
        o.order = MLDF_ORDER_SEQUENTIAL;
        mldf_loader *loader = files_loader(reader, &o);
        CHECK_OK(mldf_loader_get_stats(loader, &stats, &err), &err);
        REQUIRE(stats.step_count <= sizeof steps / sizeof *steps);
        for (size_t k = 0; k < stats.step_count; k++) {
            bool hard = strcmp(stats.steps[k].name, cases[i].step) == 0;
            steps[k] = (mldf_step_time){stats.steps[k].name, cases[i].all > 0 ? (hard ? cases[i].all : 0)
                                                             : hard           ? 3
                                                                              : 2.5};
            found = found || hard;
        }
        CHECK(found);
        stats.steps = steps;
        stats.batches = 1;
        stats.threads = cases[i].threads;
        stats.seconds = cases[i].seconds > 0 ? cases[i].seconds : 10;
        stats.wait_loader = stats.seconds * cases[i].waited;
        mldfi_stats_judge(loader, &stats);
        CHECK_EQ_STR(cases[i].verdict, stats.verdict);
        mldf_loader_free(loader);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    const char *path = check_tmp("batches.mldf");
    files_write(path, &shape);
    reader = files_open(path, MLDF_BACKEND_MAP);
    RUN(lists_are_padded_or_laid_end_to_end);
    RUN(every_array_begins_on_64_bytes);
    RUN(the_last_batch_is_kept_dropped_or_filled);
    RUN(kept_batches_stay_as_they_are);
    RUN(memory_of_released_batches_serves_again);
    RUN(the_user_supplies_memory);
    RUN(buckets_hold_samples_of_like_length_within_the_budget);
    RUN(batches_by_budget_are_counted_exactly);
    RUN(batches_are_counted_piece_by_piece);
    RUN(a_mixture_takes_its_parts_from_the_readers);
    RUN(mistakes_are_told_by_new);
    RUN(files_without_the_field_or_with_another_type_are_named);
    RUN(a_file_without_samples_ends_at_once);
    RUN(statistics_count_and_judge);
    RUN(the_verdict_is_on_the_step_that_takes_most);
    mldf_reader_close(reader);
    return check_end();
}
