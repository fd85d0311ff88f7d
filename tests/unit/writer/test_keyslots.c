/* The key table built in parts: every key is found by linear probing from its home, whatever the size of the parts, and equal keys are
 * refused wherever they fall. */
#include "check.h"
#include "util/bytes.h"
#include "writer/writer.h"

struct slots {
    uint64_t *slot;
    size_t count, capacity;
};

static mldf_status collect(void *user, const void *bytes, size_t size, mldf_error *err) {
    struct slots *out = user;
    (void)err;
    CHECK(out->count + size / 8 <= out->capacity);
    if (out->count + size / 8 <= out->capacity)
        memcpy(out->slot + out->count, bytes, size);
    out->count += size / 8;
    return MLDF_OK;
}

static void add_keys(struct table_builder *tables, const mldf_schema *schema, size_t count, size_t twice) {
    mldf_error err;
    uint8_t row[8] = {0};
    CHECK_OK(mldfi_tables_init(tables, schema, "/tmp/unused", &err), &err);
    for (size_t i = 0; i < count; i++) {
        char key[32];
        size_t bytes = (size_t)snprintf(key, sizeof key, "key/%zu", i == twice ? twice / 2 : i);
        CHECK_OK(mldfi_tables_add_sample(tables, row, NULL, NULL, key, bytes, &err), &err);
    }
}

/* Every index stands behind its home with no empty slot between. */
static void check_table(const struct slots *table, size_t keys) {
    uint64_t mask = table->count - 1;
    size_t filled = 0;
    for (size_t i = 0; i < table->count; i++)
        filled += table->slot[i] != 0;
    CHECK_EQ_U64(keys, filled);
    for (size_t i = 0; i < keys; i++) {
        char key[32];
        size_t bytes = (size_t)snprintf(key, sizeof key, "key/%zu", i);
        uint64_t at = mldfi_key_hash(key, bytes) & mask;
        while (table->slot[at] && table->slot[at] != i + 1)
            at = (at + 1) & mask;
        if (table->slot[at] != i + 1) {
            check_fail(__FILE__, __LINE__, "key %zu of %zu is not found", i, keys);
            return;
        }
    }
}

static void every_key_is_found_for_any_size_of_the_parts(void) {
    static const size_t counts[] = {1, 2, 10, 85, 86, 170, 1365, 20000};
    mldf_error err;
    mldf_schema *schema;
    REQUIRE_STATUS(MLDF_OK, mldf_schema_new(NULL, &schema, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_schema_add(schema, "x", MLDF_INT, NULL, 0, &err), &err);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (uint64_t part = 8; part <= 1 << 16; part *= 4) {
            struct table_builder tables;
            struct slots table = {NULL, 0, (size_t)1 << mldfi_key_param(counts[c])};
            table.slot = calloc(table.capacity, 8);
            add_keys(&tables, schema, counts[c], SIZE_MAX);
            CHECK_OK(mldfi_key_slots(&tables, part, collect, &table, &err), &err);
            CHECK_EQ_U64(table.capacity, table.count);
            if (table.count == table.capacity)
                check_table(&table, counts[c]);
            mldfi_tables_free(&tables);
            free(table.slot);
        }
    mldf_schema_free(schema);
}

static void equal_keys_are_refused_with_both_samples(void) {
    mldf_error err;
    mldf_schema *schema;
    REQUIRE_STATUS(MLDF_OK, mldf_schema_new(NULL, &schema, &err), &err);
    REQUIRE_STATUS(MLDF_OK, mldf_schema_add(schema, "x", MLDF_INT, NULL, 0, &err), &err);
    for (uint64_t part = 16; part <= 1 << 14; part *= 8)
        for (size_t twice = 2; twice < 3000; twice += 499) {
            struct table_builder tables;
            struct slots table = {calloc(8192, 8), 0, 8192};
            add_keys(&tables, schema, 3000, twice);
            CHECK_STATUS(MLDF_E_KEY, mldfi_key_slots(&tables, part, collect, &table, &err), &err);
            CHECK_EQ_U64(twice, err.sample);
            mldfi_tables_free(&tables);
            free(table.slot);
        }
    mldf_schema_free(schema);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_key_is_found_for_any_size_of_the_parts);
    RUN(equal_keys_are_refused_with_both_samples);
    return check_end();
}
