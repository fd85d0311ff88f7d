/* Batches depend on files, pipeline, order, seed, epoch, batch size and rank: not on threads, back ends, formats, batches in flight. */
#include "loader_files.h"

#define CROPS "image: random_resized_crop(16) | hflip | normalize(imagenet) | chw(f32)"
#define LISTS \
    "image: resize([16, 16]) | chw(u8)\ntokens: pad(mask=true)\nlists = tokens: ragged\nshort = tokens: truncate(8) | pad(8)"

static const struct files_shape shape = {.samples = 150, .jpeg = true, .tokens = true};

static mldf_loader_options basic(const char *pipeline) {
    mldf_loader_options o = MLDF_LOADER_OPTIONS_INIT;
    o.pipeline = pipeline;
    o.order = MLDF_ORDER_RANDOM;
    o.seed = 11;
    o.batch_size = 16;
    o.want_index = o.want_valid = true;
    o.threads = 0;
    return o;
}

static void every_number_of_threads_gives_the_same_batches(void) {
    static const int threads[] = {0, 1, 2, 7};
    static const char *const pipelines[] = {NULL, CROPS, LISTS, CROPS " | mixup(0.4)"};
    const char *path = check_tmp("same.mldf");
    files_write(path, &shape);
    mldf_reader *map = files_open(path, MLDF_BACKEND_MAP), *read = files_open(path, MLDF_BACKEND_READ);
    for (size_t p = 0; p < 4; p++)
        for (int order = MLDF_ORDER_SEQUENTIAL; order <= MLDF_ORDER_QUASI_RANDOM; order++) {
            mldf_loader_options o = basic(pipelines[p]);
            struct hashes want, other, got;
            o.order = (mldf_order_kind)order;
            o.block = 8;
            files_epoch(map, &o, 3, &want);
            CHECK_EQ_U64(10, want.count);
            CHECK_EQ_U64(150, want.samples);
            CHECK_EQ_U64(0, want.errors);
            if (want.errors)
                check_fail(__FILE__, __LINE__, "%s", want.last.message);
            files_epoch(map, &o, 4, &other);
            if (order || p)
                CHECK(p == 2 && order == 0 ? true : memcmp(want.digest, other.digest, 16 * want.count) != 0);
            for (size_t t = 0; t < 4; t++)
                for (int back = 0; back < 2; back++) {
                    char what[160];
                    o.threads = threads[t];
                    o.in_flight = t == 3 ? 2 : 0;
                    o.forget_behind = t == 2;
                    files_epoch(back ? read : map, &o, 3, &got);
                    snprintf(what, sizeof what, "pipeline %zu, order %d, %d threads, back end %d", p, order, o.threads,
                             back);
                    files_check_same(&want, &got, what);
                }
        }
    mldf_reader_close(map);
    mldf_reader_close(read);
}

static void direct_reads_give_the_same_batches(void) {
    const struct files_shape large = {.samples = 20, .width = 64};
    const char *path = check_tmp("direct.mldf");
    files_write(path, &large);
    mldf_reader *reader = files_open(path, MLDF_BACKEND_READ);
    mldf_loader_options o = basic("image: chw(u8)");
    struct hashes want, got;
    o.batch_size = 4;
    files_epoch(reader, &o, 0, &want);
    o.direct = true;
    o.threads = 2;
    files_epoch(reader, &o, 0, &got);
    CHECK_EQ_U64(5, want.count);
    files_check_same(&want, &got, "direct");
    mldf_reader_close(reader);
}

static void convert(const char *from, const char *to, const char *format, const char *const *fields, size_t count) {
    mldf_writer_options writing = MLDF_WRITER_OPTIONS_INIT;
    mldf_convert_options how = MLDF_CONVERT_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_error err;
    how.writer = &writing;
    writing.overwrite = true;
    how.format = format;
    how.fields = fields;
    how.field_count = count;
    how.drop_fields = true;
    CHECK_OK(mldf_convert(&from, 1, to, &how, &result, &err), &err);
}

static void every_format_gives_the_same_batches(void) {
    static const char *const formats[] = {"beton", "tbl1", "tbl2"}, *const fields[] = {"image"};
    const char *path = check_tmp("formats.mldf");
    struct files_shape images = shape;
    images.tokens = false;
    files_write(path, &images);
    mldf_loader_options o = basic(CROPS "\nlabel: drop");
    struct hashes want, got;
    o.order = MLDF_ORDER_QUASI_RANDOM;
    o.block = 16;
    o.window = 3;
    mldf_reader *reader = files_open(path, MLDF_BACKEND_MAP);
    files_epoch(reader, &o, 1, &want);
    CHECK_EQ_U64(150, want.samples);
    mldf_reader_close(reader);
    for (size_t i = 0; i < 3; i++) {
        const char *other = check_tmp(formats[i]);
        convert(path, other, formats[i], fields, 1);
        reader = files_open(other, MLDF_BACKEND_MAP);
        CHECK_EQ_STR(formats[i], mldf_reader_format(reader));
        o.pipeline = i == 0 ? CROPS : CROPS "\nformat: drop";
        o.threads = 2;
        files_epoch(reader, &o, 1, &got);
        files_check_same(&want, &got, formats[i]);
        mldf_reader_close(reader);
    }
}

/* The reader of one file is as good as readers of its halves. */
static void files_one_after_the_other_are_one_dataset(void) {
    const char *path = check_tmp("whole.mldf"), *first = check_tmp("first.mldf"), *second = check_tmp("second.mldf");
    struct hashes want, got;
    mldf_error err;
    files_write(path, &shape);
    mldf_select_options take = MLDF_SELECT_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    mldf_sample_range low = {0, 61}, high = {61, 150};
    mldf_reader *whole = files_open(path, MLDF_BACKEND_MAP);
    take.ranges = &low;
    take.range_count = 1;
    CHECK_OK(mldf_select(whole, first, &take, &result, &err), &err);
    take.ranges = &high;
    CHECK_OK(mldf_select(whole, second, &take, &result, &err), &err);
    const mldf_reader *halves[2] = {files_open(first, MLDF_BACKEND_MAP), files_open(second, MLDF_BACKEND_READ)};
    mldf_loader_options o = basic(CROPS);
    files_epoch(whole, &o, 0, &want);
    mldf_loader *loader;
    o.threads = 2;
    CHECK_OK(mldf_loader_new(halves, 2, &o, &loader, &err), &err);
    files_run(loader, &got);
    files_check_same(&want, &got, "two files");
    mldf_loader_free(loader);
    mldf_reader_close(whole);
    mldf_reader_close((mldf_reader *)(uintptr_t)halves[0]);
    mldf_reader_close((mldf_reader *)(uintptr_t)halves[1]);
}

static void plain_definition_and_each_instruction_set_agree(void) {
    static const char *const sets[] = {"portable", "sse4", "avx2", "avx512", "neon"};
    const char *path = check_tmp("sets.mldf");
    files_write(path, &shape);
    mldf_reader *reader = files_open(path, MLDF_BACKEND_MAP);
    mldf_loader_options o = basic(CROPS);
    struct hashes want, got;
    int tried = 0;
    files_epoch(reader, &o, 0, &want);
    for (size_t i = 0; i < 5; i++) {
        mldf_loader *loader;
        mldf_error err;
        o.isa = sets[i];
        if (mldf_loader_new((const mldf_reader *const *)&reader, 1, &o, &loader, &err) < 0) {
            CHECK_EQ_INT(MLDF_E_UNSUPPORTED, err.status);
            continue;
        }
        mldf_loader_free(loader);
        files_epoch(reader, &o, 0, &got);
        files_check_same(&want, &got, sets[i]);
        tried++;
    }
    CHECK(tried >= 1);
    o.isa = NULL;
    o.reference = true;
    files_epoch(reader, &o, 0, &got);
    files_check_same(&want, &got, "reference");
    mldf_reader_close(reader);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_number_of_threads_gives_the_same_batches);
    RUN(direct_reads_give_the_same_batches);
    RUN(every_format_gives_the_same_batches);
    RUN(files_one_after_the_other_are_one_dataset);
    RUN(plain_definition_and_each_instruction_set_agree);
    return check_end();
}
