/* Encrypted files against someone who can edit the file and mend every checksum, but has no key: exchanged payloads, edited rows,
 * another card, another dictionary. Each is a clear error; the right key opens only what was written. */
#include "dataset.h"
#include "util/bytes.h"
#include "util/crc32c.h"

static const uint8_t key[32] = "a key of thirty-two bytes, this.";
enum { SAMPLES = 5, PAYLOAD = 40 };

static const char *path_of(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    return path;
}

static void write_encrypted(const char *path, bool checksums) {
    mldf_error err;
    mldf_schema *schema;
    mldf_writer *w;
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.secret.key = key;
    options.secret.key_bytes = 32;
    options.overwrite = true;
    options.no_checksums = !checksums;
    options.card = "{\"title\":\"mine\"}";
    options.card_bytes = strlen(options.card);
    REQUIRE_STATUS(MLDF_OK, mldf_schema_new(NULL, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "label", MLDF_INT, NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "a", MLDF_BYTES, NULL, 0, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "b", MLDF_BYTES, NULL, 0, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, &options, &w, &err), &err);
    for (int64_t i = 0; i < SAMPLES; i++) {
        uint8_t text[PAYLOAD];
        memset(text, 'a' + (int)i, sizeof text);
        mldf_value v[3] = {{.kind = MLDF_KIND_INT, .as.i = i},
                           {.kind = MLDF_KIND_BYTES, .data = text, .bytes = PAYLOAD},
                           {.kind = MLDF_KIND_BYTES, .data = text, .bytes = PAYLOAD}};
        CHECK_OK(mldf_writer_append(w, v, 3, NULL, 0, &err), &err);
    }
    REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
    mldf_schema_free(schema);
}

/* Opens, reads everything; the first error, or MLDF_OK. */
static mldf_status read_everything(const uint8_t *file, size_t bytes, const uint8_t *with, mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    options.secret.key = with;
    options.secret.key_bytes = 32;
    mldf_status st = mldf_reader_open_memory(file, bytes, &options, &r, err);
    if (st < 0)
        return st;
    for (uint64_t i = 0; i < 3 * SAMPLES && st >= 0; i++) {
        mldf_value v;
        st = mldf_reader_get(r, i / 3, i % 3, &scratch, &v, err);
        if (st >= 0 && v.kind == MLDF_KIND_BYTES)
            CHECK_EQ_INT('a' + (int)(i / 3), *(const char *)v.data);
    }
    mldf_buffer_free(&scratch);
    mldf_reader_close(r);
    return st;
}

/* Mends the checksums of everything behind an edit: section 1's blocks, section CRCs, the directory's. */
static void mend(uint8_t *file) {
    uint64_t directory = mldfi_load_u64(file + 9 + 56);
    uint32_t count = mldfi_load_u32(file + directory + 8);
    bool checksummed = mldfi_load_u32(file + 9 + 4) & 4;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *entry = file + directory + 16 + 40 * i;
        uint8_t *section = file + mldfi_load_u64(entry + 8);
        if (mldfi_load_u32(entry) == 1 && checksummed) {
            uint8_t *crc = section + 72;
            for (int t = 0; t < 3; t++) {
                uint64_t ptr = mldfi_load_u64(section + 24 * t), left = mldfi_load_u64(section + 24 * t + 8);
                for (; left > 0; crc += 4) {
                    size_t part = left < 65536 ? (size_t)left : 65536;
                    mldfi_store_u32(crc, mldfi_crc32c(0, file + ptr, part));
                    ptr += part;
                    left -= part;
                }
            }
        }
        mldfi_store_u32(entry + 24, mldfi_crc32c(0, section, (size_t)mldfi_load_u64(entry + 16)));
    }
    mldfi_store_u32(file + directory + 12, mldfi_crc32c(0, file + directory + 16, 40 * count));
}

static uint8_t *section_of(uint8_t *file, uint32_t kind) {
    uint64_t directory = mldfi_load_u64(file + 9 + 56);
    for (uint32_t i = 0; i < mldfi_load_u32(file + directory + 8); i++)
        if (mldfi_load_u32(file + directory + 16 + 40 * i) == kind)
            return file + mldfi_load_u64(file + directory + 16 + 40 * i + 8);
    return NULL;
}

/* Row of 8 + 16 + 16 bytes: label, a{ptr,size}, b{ptr,size}. */
static uint8_t *row_of(uint8_t *file, uint64_t sample) {
    return file + mldfi_load_u64(file + 9 + 32) + 40 * sample;
}

static void exchange(uint8_t *a, uint8_t *b, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        uint8_t t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

static void each_forgery_is_refused(bool checksums) {
    enum { EXCHANGE_SAMPLES, EXCHANGE_FIELDS, EDIT_PAYLOAD, EDIT_LABEL, EXCHANGE_POINTERS, EDIT_CARD, EDIT_MAC, KINDS };
    write_encrypted(path_of("sealed.mldf"), checksums);
    for (int kind = 0; kind < KINDS; kind++) {
        mldf_error err;
        size_t bytes = 0;
        uint8_t *file = dataset_load(path_of("sealed.mldf"), &bytes);
        REQUIRE(file != NULL);
        CHECK_OK(read_everything(file, bytes, key, &err), &err);
        uint8_t *a0 = file + mldfi_load_u64(row_of(file, 0) + 8), *a1 = file + mldfi_load_u64(row_of(file, 1) + 8);
        uint8_t *b0 = file + mldfi_load_u64(row_of(file, 0) + 24);
        switch (kind) {
        case EXCHANGE_SAMPLES:
            exchange(a0, a1, PAYLOAD + 40);
            break;
        case EXCHANGE_FIELDS:
            exchange(a0, b0, PAYLOAD + 40);
            break;
        case EDIT_PAYLOAD:
            a1[30] ^= 1;
            break;
        case EDIT_LABEL:
            row_of(file, 2)[0] ^= 1;
            break;
        case EXCHANGE_POINTERS:
            exchange(row_of(file, 0) + 8, row_of(file, 1) + 8, 16);
            break;
        case EDIT_CARD:
            memcpy(section_of(file, 3) + 10, "thei", 4);
            break;
        default:
            section_of(file, 9)[130] ^= 1;
        }
        mend(file);
        CHECK_STATUS(MLDF_E_TAMPERED, read_everything(file, bytes, key, &err), &err);
        CHECK(strlen(err.message) > 20);
        if (kind <= EDIT_PAYLOAD) {
            CHECK(err.sample <= 1);
            CHECK(err.field[0] == 'a' || err.field[0] == 'b');
        }
        free(file);
    }
}

static void a_forged_file_with_good_checksums_is_refused(void) {
    each_forgery_is_refused(true);
}
static void a_forged_file_without_checksums_is_refused(void) {
    each_forgery_is_refused(false);
}

static void a_wrong_key_or_none_is_told_apart_from_a_forgery(void) {
    static const uint8_t wrong[32] = "another key of thirty-two bytes.";
    mldf_error err;
    size_t bytes = 0;
    write_encrypted(path_of("sealed.mldf"), true);
    uint8_t *file = dataset_load(path_of("sealed.mldf"), &bytes);
    REQUIRE(file != NULL);
    CHECK_STATUS(MLDF_E_KEY_WRONG, read_everything(file, bytes, wrong, &err), &err);
    CHECK_STATUS(MLDF_E_KEY_MISSING, read_everything(file, bytes, NULL, &err), &err);
    for (size_t i = 0; i + PAYLOAD <= bytes; i++)
        if (memcmp(file + i, "cccccccccccccccccccc", 20) == 0)
            check_fail(__FILE__, __LINE__, "plain text at byte %zu", i);
    free(file);
}

/* ---- The dictionary ---------------------------------------------------------------------------------------------------- */

enum { TEXTS = 2000, SEALED = 15, PLAIN = 8 };

static mldf_schema *text_schema(void) {
    mldf_error err;
    mldf_schema *schema = NULL;
    CHECK_OK(mldf_schema_new(NULL, &schema, &err), &err);
    CHECK_OK(mldf_schema_add(schema, "t", MLDF_TEXT, NULL, MLDF_FIELD_COMPRESSED, &err), &err);
    return schema;
}

static void append_texts(mldf_writer *w, int from, int to) {
    mldf_error err;
    for (int i = from; i < to; i++) {
        char text[96];
        int n = snprintf(text, sizeof text, "the patient Josephine Wintergreen was seen %d times in ward %d", i, i % 7);
        mldf_value v = {.kind = MLDF_KIND_TEXT, .data = text, .bytes = (uint64_t)n};
        CHECK_OK(mldf_writer_append(w, &v, 1, NULL, 0, &err), &err);
    }
}

static mldf_writer_options text_options(void) {
    mldf_writer_options options = MLDF_WRITER_OPTIONS_INIT;
    options.secret.key = key;
    options.secret.key_bytes = 32;
    options.overwrite = true;
    options.dictionary = true;
    return options;
}

static void write_texts(const char *path) {
    mldf_error err;
    mldf_schema *schema = text_schema();
    mldf_writer *w;
    mldf_writer_options options = text_options();
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path, schema, &options, &w, &err), &err);
    append_texts(w, 0, TEXTS);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
    mldf_schema_free(schema);
}

static bool tells_of_a_patient(const char *path) {
    size_t bytes = 0;
    uint8_t *file = dataset_load(path, &bytes);
    bool found = file == NULL;
    for (size_t i = 0; i + 9 <= bytes && !found; i++)
        found = memcmp(file + i, "Josephine", 9) == 0 || memcmp(file + i, "Winter", 6) == 0;
    free(file);
    return found;
}

static mldf_status open_sealed(const uint8_t *file, size_t bytes, mldf_error *err) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_reader *r;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    options.secret.key = key;
    options.secret.key_bytes = 32;
    mldf_status st = mldf_reader_open_memory(file, bytes, &options, &r, err);
    for (uint64_t i = 0; st >= 0 && i < mldf_reader_sample_count(r); i++) {
        mldf_value v;
        st = mldf_reader_get(r, i, 0, &scratch, &v, err);
        if (st >= 0)
            CHECK(v.bytes > 40 && memcmp(v.data, "the patient Josephine", 21) == 0);
    }
    if (st >= 0)
        mldf_reader_close(r);
    mldf_buffer_free(&scratch);
    return st;
}

static void a_dictionary_does_not_show_the_payloads(void) {
    mldf_error err;
    size_t bytes = 0;
    write_texts(path_of("texts.mldf"));
    uint8_t *file = dataset_load(path_of("texts.mldf"), &bytes);
    REQUIRE(file != NULL);
    CHECK(section_of(file, SEALED) != NULL);
    CHECK(section_of(file, PLAIN) == NULL);
    CHECK(!tells_of_a_patient(path_of("texts.mldf")));
    CHECK_OK(open_sealed(file, bytes, &err), &err);
    free(file);
}

static void an_append_keeps_the_dictionary_encrypted(void) {
    mldf_error err;
    mldf_writer *w;
    mldf_writer_options options = text_options();
    uint8_t nonces[2][24];
    size_t bytes = 0;
    write_texts(path_of("texts.mldf"));
    for (int i = 0; i < 2; i++) {
        uint8_t *file = dataset_load(path_of("texts.mldf"), &bytes);
        REQUIRE(file != NULL && section_of(file, SEALED) != NULL);
        memcpy(nonces[i], section_of(file, SEALED), 24);
        CHECK(section_of(file, PLAIN) == NULL);
        CHECK_OK(open_sealed(file, bytes, &err), &err);
        free(file);
        if (i == 0) {
            REQUIRE_STATUS(MLDF_OK, mldf_writer_open_append(path_of("texts.mldf"), &options, &w, &err), &err);
            append_texts(w, 0, 50);
            REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
        }
    }
    CHECK(!tells_of_a_patient(path_of("texts.mldf")));
    CHECK(memcmp(nonces[0], nonces[1], 24) != 0);
}

static uint8_t *entry_of(uint8_t *file, uint32_t kind) {
    uint64_t directory = mldfi_load_u64(file + 9 + 56);
    for (uint32_t i = 0; i < mldfi_load_u32(file + directory + 8); i++)
        if (mldfi_load_u32(file + directory + 16 + 40 * i) == kind)
            return file + directory + 16 + 40 * i;
    return NULL;
}

static void a_forged_dictionary_is_refused(void) {
    enum { EDIT, CALL_IT_PLAIN, PUT_A_PLAIN_ONE, MAKE_IT_OPTIONAL, HIDE_IT, OF_ANOTHER_FILE, KINDS };
    write_texts(path_of("texts.mldf"));
    write_texts(path_of("other.mldf"));
    for (int kind = 0; kind < KINDS; kind++) {
        mldf_error err;
        size_t bytes = 0, other_bytes = 0;
        uint8_t *file = dataset_load(path_of("texts.mldf"), &bytes);
        uint8_t *other = dataset_load(path_of("other.mldf"), &other_bytes);
        REQUIRE(file != NULL && other != NULL);
        uint8_t *entry = entry_of(file, SEALED), *section = section_of(file, SEALED);
        REQUIRE(entry != NULL && section_of(other, SEALED) != NULL);
        size_t size = (size_t)mldfi_load_u64(entry + 16);
        switch (kind) {
        case EDIT:
            section[40] ^= 1;
            break;
        case CALL_IT_PLAIN:
            mldfi_store_u32(entry, PLAIN);
            break;
        case PUT_A_PLAIN_ONE:
            mldfi_store_u32(entry, PLAIN);
            memset(section, 'x', size);
            break;
        case MAKE_IT_OPTIONAL:
            mldfi_store_u32(entry + 4, 0);
            break;
        case HIDE_IT: /* a kind that readers pass over */
            mldfi_store_u32(entry, 0x8001);
            mldfi_store_u32(entry + 4, 0);
            break;
        default:
            CHECK_EQ_U64(size, mldfi_load_u64(entry_of(other, SEALED) + 16));
            memcpy(section, section_of(other, SEALED), size);
        }
        mend(file);
        CHECK_STATUS(MLDF_E_TAMPERED, open_sealed(file, bytes, &err), &err);
        free(file);
        free(other);
    }
}

/* The saved state of an interrupted run holds the dictionary as well. */
static void what_an_interrupted_run_leaves_does_not_show_the_payloads(void) {
    mldf_error err;
    mldf_schema *schema = text_schema();
    mldf_writer *w;
    mldf_writer_options options = text_options();
    char long_text[4096];
    size_t bytes = 0;
    options.resume = true;
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path_of("resumed.mldf"), schema, &options, &w, &err), &err);
    /* 64 MiB of values and the dictionary is learnt. */
    for (size_t i = 0; i < sizeof long_text; i += 64)
        memcpy(long_text + i, "the patient Josephine Wintergreen was seen many times in ward 7.", 64);
    for (int i = 0; i < 17000; i++) {
        mldf_value v = {.kind = MLDF_KIND_TEXT, .data = long_text, .bytes = sizeof long_text - (uint64_t)(i % 64)};
        CHECK_OK(mldf_writer_append(w, &v, 1, NULL, 0, &err), &err);
    }
    REQUIRE_STATUS(MLDF_OK, mldf_writer_checkpoint(w, "here", 4, &err), &err);
    mldf_writer_abort(w);
    CHECK(!tells_of_a_patient(path_of("resumed.mldf.partial")));
    CHECK(!tells_of_a_patient(path_of("resumed.mldf.partial.tables")));
    REQUIRE_STATUS(MLDF_OK, mldf_writer_open(path_of("resumed.mldf"), schema, &options, &w, &err), &err);
    CHECK_EQ_U64(17000, mldf_writer_sample_count(w));
    append_texts(w, 0, 10);
    REQUIRE_STATUS(MLDF_OK, mldf_writer_finish(w, NULL, &err), &err);
    uint8_t *file = dataset_load(path_of("resumed.mldf"), &bytes);
    REQUIRE(file != NULL);
    CHECK(section_of(file, SEALED) != NULL);
    CHECK_OK(open_sealed(file, bytes, &err), &err);
    free(file);
    mldf_schema_free(schema);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    if (!strstr(mldf_build_features(), "sodium")) {
        printf("skipped: this build has no libsodium\n");
        return 77;
    }
    RUN(a_forged_file_with_good_checksums_is_refused);
    RUN(a_forged_file_without_checksums_is_refused);
    RUN(a_wrong_key_or_none_is_told_apart_from_a_forgery);
    RUN(a_dictionary_does_not_show_the_payloads);
    RUN(an_append_keeps_the_dictionary_encrypted);
    RUN(a_forged_dictionary_is_refused);
    RUN(what_an_interrupted_run_leaves_does_not_show_the_payloads);
    return check_end();
}
