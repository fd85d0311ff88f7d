/* Packed views in C: files whose ids do not mean the same. tests/python/test_pkg_packed.py has what their items show. */
#include "loader_files.h"

static void make_tokens(const void *user, uint64_t sample, mldf_value *values) {
    static uint16_t ids[64];
    uint64_t count = *(const uint64_t *)user + sample % 7;
    for (uint64_t i = 0; i < count; i++)
        ids[i] = (uint16_t)(10 + (sample * 64 + i) % 1000);
    values[0] = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_U16, .data = ids, .bytes = 2 * count, .ndim = 1, .dims = {count}};
}

static mldf_reader *open_tokens(const char *name, const char *arguments, uint64_t samples, uint64_t tokens) {
    const struct files_field fields[] = {{"tokens", MLDF_TEXT_TOKENIZED, arguments, 0}, {0}};
    mldf_reader *reader = NULL;
    mldf_error err;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", check_tmpdir(), name);
    files_make(path, fields, samples, make_tokens, &tokens);
    CHECK_OK(mldf_reader_open(path, NULL, &reader, &err), &err);
    return reader;
}

/* ---- Several files ----------------------------------------------------------------------------------------------------------------- */

#define SHA(c) c c c c c c c c c c c c c c c c

static void files_whose_ids_differ_are_refused(void) {
    static const struct {
        const char *arguments, *word; /* NULL: it goes with the first */
    } files[] = {
        {"{\"vocabulary\":2000,\"pad\":0}", NULL},
        {"{\"vocabulary\":2000,\"tokenizer\":\"gpt\"}", NULL},
        {"{\"dtype\":\"<i4\",\"eos\":2}", NULL}, /* as wide as it may be */
        {"{\"vocabulary\":3000,\"pad\":0}", "vocabulary is 3000, and 2000 in the first file"},
        {"{\"vocabulary\":2000,\"eos\":3}", "eos is 3, and 2 in the first file"},
        {"{\"vocabulary\":2000,\"pad\":1}", "pad is 1, and 0"},
        {"{\"vocabulary\":2000,\"tokenizer\":\"other\"}", "tokenizer is \"other\", and \"gpt\""},
        {"{\"vocabulary\":2000,\"tokenizer_sha256\":\"" SHA("abcd") "\"}", "tokenizer_sha256 is \"abcd"},
        {"{\"vocabulary\":2000,\"specials\":\"parse\"}", "specials is \"parse\", and \"text\""},
        {"{\"vocabulary\":2000,\"eos_inside\":true}", "eos_inside is true, and false"},
    };
    static const char *const views[] = {"packed(tokens, 16)", "windows(tokens, 4)"};
    mldf_reader *first = open_tokens("first.mldf",
                                     "{\"vocabulary\":2000,\"pad\":0,\"eos\":2,\"tokenizer\":\"gpt\",\"specials\":"
                                     "\"text\",\"eos_inside\":false,\"tokenizer_sha256\":\"" SHA("0123") "\"}",
                                     9, 3);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        mldf_reader *second = open_tokens("second.mldf", files[i].arguments, 9, 3);
        const mldf_reader *both[] = {first, second};
        for (size_t k = 0; k < 2; k++) {
            mldf_view *view = NULL;
            mldf_error err;
            mldf_status status = mldf_view_new(both, 2, views[k], &view, &err);
            CHECK_STATUS(files[i].word ? MLDF_E_SCHEMA : MLDF_OK, status, &err);
            if (files[i].word && status == MLDF_E_SCHEMA) {
                CHECK(strstr(err.message, files[i].word));
                CHECK(strstr(err.path, "second.mldf"));
                CHECK_EQ_STR("tokens", err.field);
            }
            mldf_view_free(view);
        }
        mldf_reader_close(second);
    }
    mldf_reader_close(first);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(files_whose_ids_differ_are_refused);
    return check_end();
}
