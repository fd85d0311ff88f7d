/* Encrypted files against someone who can edit the file and mend every checksum, but has no key: exchanged payloads, edited rows,
 * another card. Each is a clear error; the right key opens only what was written. */
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

int main(int argc, char **argv) {
    check_begin(argc, argv);
    if (!strstr(mldf_build_features(), "sodium")) {
        printf("skipped: this build has no libsodium\n");
        return 77;
    }
    RUN(a_forged_file_with_good_checksums_is_refused);
    RUN(a_forged_file_without_checksums_is_refused);
    RUN(a_wrong_key_or_none_is_told_apart_from_a_forgery);
    return check_end();
}
