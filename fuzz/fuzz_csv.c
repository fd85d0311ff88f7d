/* Any bytes as CSV: rows, inference and conversion of every cell, with a schema of all types and with the inferred one. The first byte
 * chooses the separator and the schema. */
#include <stdlib.h>
#include <string.h>

#include "mldf/mldf.h"
#include "tool/convert.h"
#include "tool/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char schema_text[] =
    "{\"fields\":[{\"name\":\"a\",\"type\":\"int\",\"dtype\":\"<i2\"},{\"name\":\"b\",\"type\":\"float\",\"nullable\":true},"
    "{\"name\":\"c\",\"type\":\"ndarray\",\"dtype\":\"<f2\",\"shape\":[null,2]},{\"name\":\"d\",\"type\":\"json\"},"
    "{\"name\":\"e\",\"type\":\"inline\",\"descr\":[[\"x\",\"<f4\"],[\"\",\"|V2\"],[\"y\",[[\"s\",\"|S3\"],[\"u\",\"<U2\"]],[2]]]}]}";

static void convert_all(struct rows *rows, struct columns *columns, const mldf_schema *schema, bool strict) {
    size_t count = mldf_schema_field_count(schema);
    struct converter *converters = calloc(count + 1, sizeof *converters);
    mldf_error err;
    bool good = converters != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = mldfi_converter_begin(&converters[i], &schema->fields[i], strict, false, &err) == MLDF_OK;
    for (int n = 0; good && n < 1000; n++) {
        mldf_status status = mldfi_rows_next(rows, columns, false, &err);
        if (status == MLDF_END)
            break;
        for (size_t i = 0; status == MLDF_OK && i < count && i < columns->count; i++) {
            mldf_value value;
            if (mldfi_convert(&converters[i], &rows->cells[i], &value, &err) == MLDF_OK && value.bytes > 0 &&
                value.data)
                (void)*(const volatile uint8_t *)value.data;
        }
    }
    for (size_t i = 0; converters && i < count; i++)
        mldfi_converter_free(&converters[i]);
    free(converters);
}

/* Looks at the rows, decides, and converts them with what was decided. */
static void infer_and_convert(struct rows *rows, const struct rows_options *options, struct columns *columns) {
    struct guess *guesses = calloc(columns->count + 1, sizeof *guesses);
    struct json scratch = {0};
    mldf_schema *schema = NULL;
    mldf_error err;
    mldf_status status;
    size_t count = columns->count;
    while (guesses && (status = mldfi_rows_next(rows, columns, false, &err)) != MLDF_END)
        for (size_t i = 0; status == MLDF_OK && i < count; i++)
            mldfi_guess_cell(&guesses[i], &rows->cells[i], &scratch);
    status = mldf_schema_new(NULL, &schema, &err);
    for (size_t i = 0; guesses && status == MLDF_OK && i < count; i++) {
        struct inferred inferred;
        mldfi_guess_decide(&guesses[i], options->format == MLDF_SOURCE_JSONL, &inferred);
        status = mldf_schema_add(schema, columns->names[i], inferred.type_id,
                                 inferred.arguments[0] ? inferred.arguments : NULL, inferred.flags, &err);
    }
    struct rows_options again = *options;
    again.may_add = false;
    if (status == MLDF_OK && guesses && mldfi_rows_rewind(rows, &again, columns, &err) == MLDF_OK)
        convert_all(rows, columns, schema, true);
    mldf_schema_free(schema);
    mldfi_json_free(&scratch);
    free(guesses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input;
    struct rows rows;
    struct columns columns = {0};
    struct rows_options options = {MLDF_SOURCE_CSV, false, true, false, NULL, 0};
    mldf_error err;
    mldf_schema *schema = NULL;
    if (size < 1)
        return 0;
    options.format = data[0] & 1 ? MLDF_SOURCE_TSV : MLDF_SOURCE_CSV;
    if (mldfi_input_memory(&input, "fuzz", data + 1, size - 1, &err) < 0)
        return 0;
    if (mldfi_rows_open_input(&rows, &input, &options, &columns, &err) == MLDF_OK) {
        if (!(data[0] & 2))
            infer_and_convert(&rows, &options, &columns);
        else if (mldf_schema_parse(NULL, schema_text, strlen(schema_text), &schema, &err) == MLDF_OK)
            convert_all(&rows, &columns, schema, false);
        mldfi_rows_close(&rows);
    }
    mldf_schema_free(schema);
    mldfi_columns_free(&columns);
    return 0;
}
