/* Damage to small whole files: cut at every byte, every bit flipped. Reading gives an error or the right data, never a crash;
 * verify finds every flip outside padding, and a flip in a payload names exactly its sample and field. */
#include <fcntl.h>

#include "golden.h"

static const char *const files[] = {"hello.mldf",    "keys.mldf",           "nulls.mldf",
                                    "zstd.mldf",     "ndarray_shapes.mldf", "zstd_dictionary.mldf",
                                    "appended.mldf", "card.mldf",           "long_arguments.mldf"};
enum { FILES = sizeof files / sizeof files[0] };

/* Every so many-th byte: all of them without sanitizers. The address sanitizer is ten times slower and takes every third; the thread sanitizer has
 * little to find in one thread. main prints it. */
#if defined(__SANITIZE_THREAD__)
enum { BYTE_STEP = 7 };
#elif defined(__SANITIZE_ADDRESS__)
enum { BYTE_STEP = 3 };
#else
enum { BYTE_STEP = 1 };
#endif

static uint8_t *load(const char *name, size_t *bytes) {
    char path[256];
    snprintf(path, sizeof path, "docs/spec/vectors/valid/%s", name);
    uint8_t *data = check_read_file(check_source(path), bytes);
    if (!data) {
        check_fail(__FILE__, __LINE__, "%s is missing", path);
        exit(1);
    }
    return data;
}

/* ---- Reading everything ------------------------------------------------------------------------------------------------- */

static void add_bytes(mldf_buffer *sum, const void *data, uint64_t bytes) {
    if (mldf_buffer_append(sum, &bytes, sizeof bytes, NULL) < 0 ||
        (bytes && mldf_buffer_append(sum, data, (size_t)bytes, NULL) < 0))
        exit(3);
}

/* Every value and key, one after the other, as bytes. False when something was refused. */
static bool read_all(const mldf_reader *r, mldf_buffer *sum) {
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    bool good = true;
    sum->size = 0;
    for (uint64_t i = 0; i < mldf_reader_sample_count(r) && good; i++) {
        const char *key;
        size_t key_bytes;
        for (size_t f = 0; f < mldf_schema_field_count(mldf_reader_schema(r)) && good; f++) {
            const mldf_field *info = mldf_schema_field(mldf_reader_schema(r), f);
            mldf_value value;
            good = (info->known ? mldf_reader_get(r, i, f, &scratch, &value, NULL)
                                : mldf_reader_get_stored(r, i, f, &scratch, &value, NULL)) == MLDF_OK;
            if (!good)
                break;
            add_bytes(sum, &value.kind, sizeof value.kind);
            add_bytes(sum, &value.as.u, sizeof value.as.u);
            add_bytes(sum, value.data, value.bytes);
        }
        if (good && mldf_reader_has_keys(r)) {
            good = mldf_reader_key(r, i, &scratch, &key, &key_bytes, NULL) == MLDF_OK;
            if (good)
                add_bytes(sum, key, key_bytes);
        }
    }
    mldf_buffer_free(&scratch);
    return good;
}

static bool open_and_read(const uint8_t *data, size_t bytes, bool verify, mldf_buffer *sum) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_error err;
    options.verify = verify;
    if (mldf_reader_open_memory(data, bytes, &options, &r, &err) < 0) {
        if (err.message[0] == 0)
            check_fail(__FILE__, __LINE__, "an error without a message");
        return false;
    }
    bool good = read_all(r, sum);
    mldf_reader_close(r);
    return good;
}

/* ---- Cuts ------------------------------------------------------------------------------------------------------------------ */

static void a_file_cut_at_any_byte_is_refused(void) {
    for (size_t k = 0; k < FILES; k++) {
        size_t bytes;
        uint8_t *data = load(files[k], &bytes);
        for (size_t cut = 0; cut < bytes; cut += BYTE_STEP) {
            /* Memory of exactly this size, so that a sanitizer sees a read behind it. */
            uint8_t *copy = malloc(cut ? cut : 1);
            mldf_reader *r = NULL;
            mldf_error err;
            if (!copy)
                exit(3);
            memcpy(copy, data, cut);
            mldf_status status = mldf_reader_open_memory(copy, cut, NULL, &r, &err);
            if (status >= 0)
                check_fail(__FILE__, __LINE__, "%s cut to %zu of %zu bytes opens", files[k], cut, bytes);
            else if (status != MLDF_E_TRUNCATED && status != MLDF_E_CORRUPT)
                check_fail(__FILE__, __LINE__, "%s cut to %zu bytes: %s", files[k], cut, err.message);
            mldf_reader_close(r);
            free(copy);
        }
        free(data);
    }
}

/* ---- Flips ----------------------------------------------------------------------------------------------------------------- */

struct owner {
    uint8_t kind; /* 0 padding, 1 structure, 2 rows, 3 payload, 4 allocation table, 5 front header */
    uint8_t field;
    uint16_t sample;
};

static void own(struct owner *map, uint64_t at, uint64_t bytes, struct owner owner) {
    for (uint64_t i = 0; i < bytes; i++)
        map[at + i] = owner;
}

/* Who owns each byte of a whole file. */
static struct owner *map_file(const uint8_t *data, size_t bytes) {
    struct owner *map = calloc(bytes, sizeof *map);
    mldf_file_info info = MLDF_FILE_INFO_INIT;
    mldf_reader *r;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    if (!map || mldf_reader_open_memory(data, bytes, NULL, &r, NULL) < 0)
        exit(3);
    CHECK_OK(mldf_reader_info(r, &info, NULL), NULL);
    own(map, 0, 9, (struct owner){.kind = 1});
    own(map, 9, 64, (struct owner){.kind = 5});
    own(map, info.descriptor_ptr, info.descriptor_bytes, (struct owner){.kind = 1});
    own(map, info.metadata_ptr, info.metadata_bytes, (struct owner){.kind = 2});
    own(map, info.allocation_ptr, info.allocation_bytes, (struct owner){.kind = 4});
    own(map, info.directory_ptr, info.file_bytes - info.directory_ptr, (struct owner){.kind = 1});
    for (size_t i = 0; i < mldf_reader_section_count(r); i++) {
        mldf_section s;
        if (mldf_reader_section(r, i, &s, NULL) == MLDF_OK)
            own(map, s.ptr, s.bytes, (struct owner){.kind = 1});
    }
    for (uint64_t i = 0; i < info.num_samples; i++)
        for (size_t f = 0; f < mldf_schema_field_count(mldf_reader_schema(r)); f++) {
            const mldf_field *field = mldf_schema_field(mldf_reader_schema(r), f);
            mldf_value value;
            if (!(field->flags & 12) || mldf_reader_get_stored(r, i, f, &scratch, &value, NULL) < 0 ||
                value.kind == MLDF_KIND_NULL)
                continue;
            uint64_t ptr = mldfi_load_u64(value.record);
            uint64_t size = field->flags & 8 ? mldfi_load_u64((const uint8_t *)value.record + 8)
                                             : mldfi_load_u32((const uint8_t *)value.record + 8);
            own(map, ptr, size, (struct owner){.kind = 3, .field = (uint8_t)f, .sample = (uint16_t)i});
        }
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
    return map;
}

/* Which bits of a byte to try: all in the first file, one in the others, one in some of the padding. */
static unsigned bits_of(size_t file, const struct owner *map, size_t at) {
    if (map[at].kind == 0)
        return at % 61 == 0 ? 1u << at % 8 : 0;
    return file == 0 ? 0xff : 1u << at % 8;
}

static void a_flipped_bit_gives_an_error_or_the_right_data(void) {
    mldf_buffer want = MLDF_BUFFER_INIT, got = MLDF_BUFFER_INIT;
    for (size_t k = 0; k < FILES; k++) {
        size_t bytes;
        uint8_t *data = load(files[k], &bytes);
        struct owner *map = map_file(data, bytes);
        CHECK(open_and_read(data, bytes, true, &want));
        for (size_t at = 0; at < bytes; at += BYTE_STEP)
            for (unsigned bit = 0; bit < 8; bit++) {
                if (!(bits_of(k, map, at) >> bit & 1))
                    continue;
                data[at] ^= (uint8_t)(1u << bit);
                (void)open_and_read(data, bytes, false, &got); /* unchecked: no crash */
                if (open_and_read(data, bytes, true, &got) &&
                    (got.size != want.size || memcmp(got.data, want.data, want.size) != 0))
                    check_fail(__FILE__, __LINE__, "%s, bit %u of byte %zu: other data, and no error", files[k], bit,
                               at);
                data[at] ^= (uint8_t)(1u << bit);
            }
        free(map);
        free(data);
    }
    mldf_buffer_free(&want);
    mldf_buffer_free(&got);
}

struct found {
    uint64_t count;
    mldf_error first;
    uint64_t elsewhere; /* problems of another sample or field than the first */
};

static void note(void *user, const mldf_error *problem) {
    struct found *found = user;
    if (found->count++ == 0)
        found->first = *problem;
    else if (problem->sample != found->first.sample || strcmp(problem->field, found->first.field) != 0)
        found->elsewhere++;
}

static void check_found(const char *name, size_t at, const struct owner *owner, const struct found *found,
                        const mldf_verify_result *result, const char *field) {
    if (found->count != result->problems)
        check_fail(__FILE__, __LINE__, "%s, byte %zu: %" PRIu64 " problems, %" PRIu64 " reported", name, at,
                   result->problems, found->count);
    if ((owner->kind == 0) != (found->count == 0))
        check_fail(__FILE__, __LINE__, "%s, byte %zu (%s): %" PRIu64 " problems: %s", name, at,
                   owner->kind ? "not padding" : "padding", found->count, found->count ? found->first.message : "");
    if (owner->kind == 3 &&
        (found->first.status != MLDF_E_CHECKSUM || found->first.sample != owner->sample ||
         strcmp(found->first.field, field) != 0 || found->elsewhere || result->good_samples != result->num_samples - 1))
        check_fail(__FILE__, __LINE__, "%s, byte %zu of sample %u, field %s: %s", name, at, owner->sample, field,
                   found->first.message);
    if (owner->kind == 2 && (found->first.status != MLDF_E_CHECKSUM || result->good_samples != 0))
        check_fail(__FILE__, __LINE__, "%s, byte %zu of the rows: %s", name, at, found->first.message);
    if (owner->kind == 5 && (found->first.offset < 9 || found->first.offset > 72) &&
        found->first.status != MLDF_E_TRUNCATED && found->first.offset < 73)
        check_fail(__FILE__, __LINE__, "%s, byte %zu of the header: %s", name, at, found->first.message);
}

static void verify_finds_every_flip_outside_padding(void) {
    const char *path = check_tmp("flipped.mldf");
    for (size_t k = 0; k < FILES; k++) {
        size_t bytes;
        uint8_t *data = load(files[k], &bytes);
        struct owner *map = map_file(data, bytes);
        mldf_reader *whole;
        mldf_error err;
        REQUIRE(check_write_file(path, data, bytes));
        REQUIRE_OK(mldf_reader_open_memory(data, bytes, NULL, &whole, &err), &err);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        REQUIRE(fd >= 0);
        for (size_t at = 0; at < bytes; at += BYTE_STEP)
            for (unsigned bit = 0; bit < 8; bit++) {
                if (!(bits_of(k, map, at) >> bit & 1) || (k > 0 && at % 3 != 0))
                    continue;
                uint8_t flipped = data[at] ^ (uint8_t)(1u << bit);
                mldf_verify_options options = MLDF_VERIFY_OPTIONS_INIT;
                mldf_verify_result result = MLDF_VERIFY_RESULT_INIT;
                struct found found = {.count = 0};
                options.threads = 0;
                options.problem = note;
                options.problem_user = &found;
                CHECK(pwrite(fd, &flipped, 1, (off_t)at) == 1);
                CHECK_OK(mldf_verify(path, &options, &result, &err), &err);
                check_found(files[k], at, &map[at], &found, &result,
                            mldf_schema_field(mldf_reader_schema(whole), map[at].field)->name);
                CHECK(pwrite(fd, &data[at], 1, (off_t)at) == 1);
            }
        close(fd);
        mldf_reader_close(whole);
        free(map);
        free(data);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    if (BYTE_STEP > 1)
        printf("one byte in %d is damaged, not every one: sanitizers are slow\n", BYTE_STEP);
    RUN(a_file_cut_at_any_byte_is_refused);
    RUN(a_flipped_bit_gives_an_error_or_the_right_data);
    RUN(verify_finds_every_flip_outside_padding);
    return check_end();
}
