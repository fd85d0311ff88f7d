/* Megatron and datatrove files that are overwritten, and a process that is killed at every step of it: there is no moment at which an index names tokens
 * that are not its own, and the same conversion makes the files whole. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader_files.h"
#include "mldf/tool.h"

static long countdown; /* the call that ends the process; 0: none */

static void count_call(void) {
    if (countdown > 0 && --countdown == 0)
        _exit(9);
}

int __real_rename(const char *from, const char *to);
int __real_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __real_unlink(const char *path);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags);
int __wrap_unlink(const char *path);

int __wrap_fsync(int fd) {
    (void)fd;
    count_call();
    return 0;
}
int __wrap_rename(const char *from, const char *to) {
    count_call();
    return __real_rename(from, to);
}
int __wrap_renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    count_call();
    return __real_renameat2(a, from, b, to, flags);
}
int __wrap_unlink(const char *path) {
    count_call();
    return __real_unlink(path);
}

/* Documents of 3 + sample tokens, all of them `base`. */
static void make_tokens(const void *user, uint64_t sample, mldf_value *values) {
    static uint16_t ids[64];
    uint64_t base = *(const uint64_t *)user, count = base + sample;
    for (uint64_t i = 0; i < count; i++)
        ids[i] = (uint16_t)base;
    values[0] = (mldf_value){
        .kind = MLDF_KIND_ARRAY, .dtype = MLDF_U16, .data = ids, .bytes = 2 * count, .ndim = 1, .dims = {count}};
}

static void make_source(const char *path, uint64_t base) {
    const struct files_field fields[] = {{"tokens", MLDF_TEXT_TOKENIZED, "{\"vocabulary\":1000}", 0}, {0}};
    files_make(path, fields, 5, make_tokens, &base);
}

static mldf_status convert(const char *source, const char *out, const char *format, mldf_error *err) {
    mldf_convert_options options = MLDF_CONVERT_OPTIONS_INIT;
    mldf_writer_options writer = MLDF_WRITER_OPTIONS_INIT;
    mldf_pack_result result = MLDF_PACK_RESULT_INIT;
    writer.overwrite = true;
    options.writer = &writer;
    options.format = format;
    return mldf_convert(&source, 1, out, &options, &result, err);
}

/* 0: it cannot be opened; else the base that all of its documents have. */
static uint64_t base_of(const char *path, const char *format) {
    mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
    mldf_token_file about = MLDF_TOKEN_FILE_INIT;
    mldf_buffer scratch = MLDF_BUFFER_INIT;
    mldf_reader *reader = NULL;
    mldf_error err;
    uint64_t base = 0;
    about.format = format;
    about.dtype = strcmp(format, "datatrove") == 0 ? "u16" : NULL;
    options.token_file = &about;
    if (mldf_reader_open(path, &options, &reader, &err) < 0)
        return 0;
    CHECK_EQ_U64(5, mldf_reader_sample_count(reader));
    for (uint64_t i = 0; i < mldf_reader_sample_count(reader); i++) {
        mldf_value value;
        CHECK_OK(mldf_reader_get(reader, i, 0, &scratch, &value, &err), &err);
        const uint8_t *ids = value.data;
        for (uint64_t k = 0; k < value.dims[0]; k++) {
            uint64_t id = (uint64_t)ids[2 * k] | (uint64_t)ids[2 * k + 1] << 8;
            base = base ? base : id;
            CHECK_EQ_U64(base, id);
        }
        CHECK_EQ_U64(base + i, value.dims[0]);
    }
    mldf_buffer_free(&scratch);
    mldf_reader_close(reader);
    return base;
}

static void no_index_names_other_tokens(const char *format, const char *name) {
    char old[512], new[512], out[512];
    mldf_error err;
    snprintf(old, sizeof old, "%s/old.mldf", check_tmpdir());
    snprintf(new, sizeof new, "%s/new.mldf", check_tmpdir());
    snprintf(out, sizeof out, "%s/%s", check_tmpdir(), name);
    make_source(old, 7);
    make_source(new, 13);
    unsigned gone = 0, kept = 0, made = 0;
    for (long n = 1; n < 1000; n++) {
        int how = 0;
        CHECK_OK(convert(old, out, format, &err), &err);
        CHECK_EQ_U64(7, base_of(out, format));
        pid_t child = fork();
        if (child == 0) {
            countdown = n;
            (void)convert(new, out, format, &err);
            _exit(0);
        }
        CHECK_EQ_INT(child, waitpid(child, &how, 0));
        uint64_t base = base_of(out, format);
        CHECK(base == 0 || base == 7 || base == 13);
        gone += base == 0;
        kept += base == 7;
        made += base == 13;
        CHECK_OK(convert(new, out, format, &err), &err);
        CHECK_EQ_U64(13, base_of(out, format));
        if (WIFEXITED(how) && WEXITSTATUS(how) == 0)
            break;
    }
    CHECK(kept > 0 && gone > 0 && made > 0); /* all three were seen: the process was killed before, between and after */
}

static void a_kill_leaves_no_megatron_index_of_other_tokens(void) {
    no_index_names_other_tokens("megatron", "a.idx");
}
static void a_kill_leaves_no_datatrove_index_of_other_tokens(void) {
    no_index_names_other_tokens("datatrove", "a.ds");
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(a_kill_leaves_no_megatron_index_of_other_tokens);
    RUN(a_kill_leaves_no_datatrove_index_of_other_tokens);
    return check_end();
}
