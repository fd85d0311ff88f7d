/* tar archives: those of GNU tar in its three formats, our own, and broken ones; samples as WebDataset groups them. */
#include <fcntl.h>
#include <sys/wait.h>
#include <zlib.h>
#include <zstd.h>

#include "check.h"
#include "interop/tar.h"
#include "mldf/reader.h"

/* ---- Helpers ------------------------------------------------------------------------------------------------------------- */

struct list { /* "key: ext=bytes ext=bytes\n" for each sample */
    char text[1 << 16];
    size_t used;
};

static void add_text(struct list *list, const char *format, ...) CHECK_PRINTF(2, 3);
static void add_text(struct list *list, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(list->text + list->used, sizeof list->text - list->used, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof list->text - list->used)
        list->used += (size_t)n;
}

static unsigned warnings;
static char last_warning[1000];
static void warn(void *user, const char *message) {
    (void)user;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", message);
}

static mldf_status list_input(struct tar_input *input, struct list *list, mldf_error *err) {
    struct tar_group_options options = {.warn = warn};
    struct tar_group *group = NULL;
    struct tar_sample s;
    warnings = 0;
    mldf_status status = mldfi_tar_group_new(&group, &options, err);
    if (status >= 0)
        status = mldfi_tar_group_begin(group, input, "x.tar", err);
    while (status == MLDF_OK && (status = mldfi_tar_group_next(group, &s, err)) == MLDF_OK) {
        add_text(list, "%s:", s.key);
        for (size_t i = 0; i < s.part_count; i++)
            add_text(list, " %s=%.*s", s.parts[i].extension, (int)s.parts[i].bytes, (const char *)s.parts[i].data);
        add_text(list, "\n");
    }
    mldfi_tar_group_free(group);
    return status;
}

static mldf_status list_memory(const void *data, size_t bytes, struct list *list, mldf_error *err) {
    struct tar_input *input;
    list->used = 0;
    list->text[0] = 0;
    mldf_status status = mldfi_tar_input_memory(&input, data, bytes, err);
    if (status < 0)
        return status;
    status = list_input(input, list, err);
    mldfi_tar_input_free(input);
    return status;
}

/* Through a pipe, a few bytes at a time, as a slow program would send them. */
static mldf_status list_pipe(const uint8_t *data, size_t bytes, struct list *list, mldf_error *err) {
    int ends[2];
    list->used = 0;
    list->text[0] = 0;
    if (pipe(ends) != 0)
        return MLDF_E_IO;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (size_t at = 0; at < bytes;) {
            size_t now = bytes - at < 777 ? bytes - at : 777;
            ssize_t n = write(ends[1], data + at, now);
            if (n <= 0)
                _exit(1);
            at += (size_t)n;
        }
        _exit(0);
    }
    close(ends[1]);
    struct tar_input *input;
    mldf_status status = mldfi_tar_input_fd(&input, ends[0], err);
    if (status >= 0)
        status = list_input(input, list, err);
    mldfi_tar_input_free(input);
    close(ends[0]);
    int how;
    waitpid(child, &how, 0);
    return status;
}

static uint8_t *gzip(const uint8_t *data, size_t bytes, size_t *out_bytes) {
    z_stream z = {0};
    size_t room = bytes + 10000;
    uint8_t *out = malloc(room);
    CHECK_EQ_INT(Z_OK, deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY));
    z.next_in = (Bytef *)(uintptr_t)data, z.avail_in = (uInt)bytes;
    z.next_out = out, z.avail_out = (uInt)room;
    CHECK_EQ_INT(Z_STREAM_END, deflate(&z, Z_FINISH));
    *out_bytes = room - z.avail_out;
    deflateEnd(&z);
    return out;
}

static struct tar_writer *new_writer(const char *path) {
    struct tar_writer *w = NULL;
    mldf_error err;
    CHECK_OK(mldfi_tar_writer_open(&w, path, true, &err), &err);
    return w;
}

static void part(struct tar_writer *w, const char *key, const char *extension, const char *content) {
    mldf_error err;
    CHECK_OK(mldfi_tar_writer_part(w, key, extension, content, strlen(content), &err), &err);
}

static uint8_t *finish(struct tar_writer *w, const char *path, size_t *bytes) {
    mldf_error err;
    CHECK_OK(mldfi_tar_writer_finish(w, &err), &err);
    mldfi_tar_writer_free(w);
    return check_read_file(path, bytes);
}

static bool shell(const char *command) {
    char text[4096];
    snprintf(text, sizeof text, "cd '%s' && %s", check_tmpdir(), command);
    int how = system(text);
    return how != -1 && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static uint8_t *small_tar(size_t *bytes) {
    const char *path = check_tmp("small.tar");
    struct tar_writer *w = new_writer(path);
    part(w, "0001", "jpg", "one");
    part(w, "0001", "cls", "7");
    part(w, "a/0002", "jpg", "two");
    part(w, "a/0002", "seg.png", "mask");
    part(w, "b/0003", "JSON", "{}");
    return finish(w, path, bytes);
}
static const char small_text[] = "0001: jpg=one cls=7\na/0002: jpg=two seg.png=mask\nb/0003: json={}\n";

/* ---- Names ----------------------------------------------------------------------------------------------------------------- */

static void names_are_cut_as_webdataset_cuts_them(void) {
    static const struct {
        const char *name;
        int key, extension; /* -1: not a part */
    } cases[] = {{"0001.jpg", 4, 5},     {"a.b/0001.seg.png", 8, 9}, {"./x.cls", 3, 4},      {"README", -1, -1},
                 {".hidden", -1, -1},    {"a/.hidden", -1, -1},      {"a.b/README", -1, -1}, {"x.", -1, -1},
                 {"__meta.x__", -1, -1}, {"a/__m.x__", 5, 6},        {"", -1, -1},           {"/", -1, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t key = 99, extension = 99;
        bool good = mldfi_tar_split(cases[i].name, strlen(cases[i].name), &key, &extension);
        CHECK_EQ_INT(cases[i].key >= 0, good);
        if (good) {
            CHECK_EQ_INT(cases[i].key, (int)key);
            CHECK_EQ_INT(cases[i].extension, (int)extension);
        }
    }
}

static void check_shards(const char *pattern, const char *want) {
    struct tar_shards shards;
    mldf_error err;
    struct list list = {.used = 0};
    REQUIRE_OK(mldfi_tar_shards_expand(&shards, pattern, &err), &err);
    for (size_t i = 0; i < shards.count; i++)
        add_text(&list, "%s%s", i ? " " : "", shards.paths[i]);
    CHECK_EQ_STR(want, list.text);
    mldfi_tar_shards_free(&shards);
}

static void brace_patterns_expand(void) {
    check_shards("data.tar", "data.tar");
    check_shards("d-{000..003}.tar", "d-000.tar d-001.tar d-002.tar d-003.tar");
    check_shards("d-{8..11}.tar", "d-8.tar d-9.tar d-10.tar d-11.tar");
    check_shards("d-{3..1}", "d-3 d-2 d-1");
    check_shards("{train,val}-{0..1}.tar", "train-0.tar train-1.tar val-0.tar val-1.tar");
    check_shards("{a,}x", "ax x");
    check_shards("{x}.tar", "{x}.tar");
    check_shards("{x}{0..1}", "{x}0 {x}1");
    check_shards("{..}{1..}{..1}", "{..}{1..}{..1}");
    check_shards("{", "{");
    struct tar_shards shards;
    mldf_error err;
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_tar_shards_expand(&shards, "{0..9999}{0..9999}", &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_tar_shards_expand(&shards, "{0..999999999999}", &err), &err);
}

/* ---- Round trips -------------------------------------------------------------------------------------------------------------- */

static void samples_come_back_from_memory_pipe_gzip_and_zstd(void) {
    size_t bytes, packed_bytes;
    uint8_t *data = small_tar(&bytes);
    struct list list;
    mldf_error err;
    CHECK_EQ_U64(0, bytes % TAR_RECORD);
    CHECK_STATUS(MLDF_END, list_memory(data, bytes, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    CHECK_STATUS(MLDF_END, list_pipe(data, bytes, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    uint8_t *packed = gzip(data, bytes, &packed_bytes);
    CHECK_STATUS(MLDF_END, list_memory(packed, packed_bytes, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    CHECK_STATUS(MLDF_END, list_pipe(packed, packed_bytes, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    CHECK_STATUS(MLDF_E_TRUNCATED, list_memory(packed, packed_bytes / 2, &list, &err), &err);
    packed[packed_bytes / 2] ^= 0x55;
    CHECK(list_memory(packed, packed_bytes, &list, &err) < 0);
    free(packed);
    /* two gzip members, cut anywhere: what pigz and bgzip make */
    size_t first_bytes, second_bytes;
    uint8_t *first = gzip(data, 1000, &first_bytes), *second = gzip(data + 1000, bytes - 1000, &second_bytes);
    uint8_t *both = malloc(first_bytes + second_bytes + 3);
    memcpy(both, first, first_bytes);
    memcpy(both + first_bytes, second, second_bytes);
    memcpy(both + first_bytes + second_bytes, "xyz", 3);
    CHECK_STATUS(MLDF_END, list_pipe(both, first_bytes + second_bytes + 3, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    free(first);
    free(second);
    free(both);
    size_t room = ZSTD_compressBound(bytes);
    packed = malloc(room);
    packed_bytes = ZSTD_compress(packed, room, data, bytes, 3);
    CHECK_STATUS(MLDF_END, list_memory(packed, packed_bytes, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    CHECK_STATUS(MLDF_END, list_pipe(packed, packed_bytes, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    CHECK_STATUS(MLDF_E_TRUNCATED, list_pipe(packed, packed_bytes - 5, &list, &err), &err);
    free(packed);
    free(data);
}

static void long_names_come_back_and_real_tar_reads_them(void) {
    char names[5][700];
    snprintf(names[0], 700, "%0100d", 1);                     /* 100: with its extension beyond the field */
    snprintf(names[1], 700, "%0150d/%090d", 2, 2);            /* prefix and name */
    snprintf(names[2], 700, "%0200d/%0200d/%0200d", 3, 3, 3); /* PAX */
    snprintf(names[3], 700,
             "\xc3\xbc"
             "mlaut");                             /* PAX: not ASCII */
    snprintf(names[4], 700, "%0155d/%096d", 4, 4); /* fills both fields */
    const char *path = check_tmp("long.tar");
    struct tar_writer *w = new_writer(path);
    struct list want = {.used = 0}, got;
    for (int i = 0; i < 5; i++) {
        part(w, names[i], "txt", "content");
        add_text(&want, "%s: txt=content\n", names[i]);
    }
    size_t bytes;
    uint8_t *data = finish(w, path, &bytes);
    mldf_error err;
    CHECK_STATUS(MLDF_END, list_memory(data, bytes, &got, &err), &err);
    CHECK_EQ_STR(want.text, got.text);
    free(data);
    CHECK(shell("tar -tf long.tar | sed 's/[.]txt$/: txt=content/' > list.txt"));
    data = check_read_file(check_tmp("list.txt"), &bytes);
    char *u = data ? strstr((char *)data, "\\303\\274") : NULL; /* how tar shows it without a locale */
    if (!u)
        CHECK_BYTES_EQ(want.text, want.used, data, bytes);
    free(data);
}

static void writer_refuses_keys_that_would_be_cut_elsewhere(void) {
    struct tar_writer *w = new_writer(check_tmp("no.tar"));
    mldf_error err;
    CHECK_STATUS(MLDF_E_KEY, mldfi_tar_writer_part(w, "a.b", "jpg", "", 0, &err), &err);
    CHECK_STATUS(MLDF_E_KEY, mldfi_tar_writer_part(w, "a/", "jpg", "", 0, &err), &err);
    CHECK_STATUS(MLDF_E_KEY, mldfi_tar_writer_part(w, "", "jpg", "", 0, &err), &err);
    CHECK_STATUS(MLDF_E_KEY, mldfi_tar_writer_part(w, "a", "x/y", "", 0, &err), &err);
    static const char *const leaving[] = {"..", "../a", "a/../b", "a/..", "/a",    "a//b",   "a/./b",
                                          ".",  "./",   "././a",  "a\nb", "a\x7f", "caf\xe9"};
    for (size_t i = 0; i < sizeof leaving / sizeof leaving[0]; i++)
        CHECK_STATUS(MLDF_E_KEY, mldfi_tar_writer_check(w, leaving[i], "jpg", &err), &err);
    CHECK_OK(mldfi_tar_writer_check(w, "./a..b/c d", "jpg", &err), &err);
    CHECK_OK(mldfi_tar_writer_check(w, "...a/c", "jpg", &err), &err);
    CHECK_OK(mldfi_tar_writer_begin(w, "a.b/c.jpg", 10, &err), &err);
    CHECK_STATUS(MLDF_E_STATE, mldfi_tar_writer_write(w, "12345678901", 11, &err), &err);
    CHECK_OK(mldfi_tar_writer_write(w, "12345", 5, &err), &err);
    CHECK_STATUS(MLDF_E_STATE, mldfi_tar_writer_finish(w, &err), &err);
    mldfi_tar_writer_free(w);
    CHECK(access(check_tmp("no.tar"), F_OK) != 0);
}

static void writer_streams_to_a_pipe(void) {
    CHECK(shell("rm -rf piped && mkdir piped"));
    char command[1024];
    snprintf(command, sizeof command, "tar -xf - -C '%s/piped'", check_tmpdir());
    FILE *f = popen(command, "w");
    REQUIRE(f != NULL);
    struct tar_writer *w;
    mldf_error err;
    REQUIRE_OK(mldfi_tar_writer_fd(&w, fileno(f), &err), &err);
    static char big[3 << 20];
    memset(big, 'x', sizeof big);
    CHECK_OK(mldfi_tar_writer_part(w, "k", "bin", big, sizeof big, &err), &err);
    CHECK_OK(mldfi_tar_writer_part(w, "k", "txt", "t", 1, &err), &err);
    CHECK_OK(mldfi_tar_writer_finish(w, &err), &err);
    mldfi_tar_writer_free(w);
    CHECK_EQ_INT(0, pclose(f));
    size_t bytes;
    uint8_t *data = check_read_file(check_tmp("piped/k.bin"), &bytes);
    CHECK_BYTES_EQ(big, sizeof big, data, bytes);
    free(data);
}

/* ---- GNU tar ------------------------------------------------------------------------------------------------------------------ */

static void archives_of_gnu_tar_read(void) {
    if (!shell("tar --version > /dev/null 2>&1"))
        return;
    char long1[121], long2[301], command[2000];
    memset(long1, 'n', 120), long1[120] = 0;
    for (int i = 0; i < 300; i++)
        long2[i] = i % 100 == 99 ? '/' : 'm';
    long2[300] = 0;
    snprintf(command, sizeof command,
             "rm -rf g && mkdir -p g/%s && cd g && printf A > 1.txt && printf BB > 1.cls && printf CCC > %s.txt && "
             "printf DDDD > %sx.txt && ln -s 1.txt 2.txt && ln 1.txt 3.txt && mkfifo p.txt",
             long2, long1, long2);
    REQUIRE(shell(command));
    static const char *const formats[] = {"gnu", "pax", "ustar", "v7", "oldgnu", "posix"};
    for (int f = 0; f < 6; f++) {
        bool big = f != 2 && f != 3; /* ustar and v7 have no room for such names, and v7 none for a pipe */
        snprintf(command, sizeof command, "cd g && tar --format=%s -cf ../g.tar 1.cls 1.txt 2.txt 3.txt%s %s%s %s%s",
                 formats[f], f == 3 ? "" : " p.txt", big ? long1 : "", big ? ".txt" : "", big ? long2 : "",
                 big ? "x.txt" : "");
        REQUIRE(shell(command));
        size_t bytes;
        uint8_t *data = check_read_file(check_tmp("g.tar"), &bytes);
        struct list want = {.used = 0}, got;
        add_text(&want, "1: cls=BB txt=A\n");
        if (big)
            add_text(&want, "%s: txt=CCC\n%sx: txt=DDDD\n", long1, long2);
        mldf_error err;
        CHECK_STATUS(MLDF_END, list_memory(data, bytes, &got, &err), &err);
        CHECK_EQ_STR(want.text, got.text);
        CHECK_EQ_INT(f == 3 ? 2 : 3, (int)warnings); /* symbolic link, hard link, pipe */
        CHECK_STATUS(MLDF_END, list_pipe(data, bytes, &got, &err), &err);
        CHECK_EQ_STR(want.text, got.text);
        free(data);
    }
}

static void sparse_members_are_refused_in_words(void) {
    static const char *const kinds[] = {"--format=gnu", "--format=pax", "--format=pax --sparse-version=0.0",
                                        "--format=pax --sparse-version=0.1"};
    for (int i = 0; i < 4; i++) {
        char command[400];
        snprintf(
            command, sizeof command,
            "rm -f hole.bin && truncate -s 1000000 hole.bin && printf x >> hole.bin && tar --sparse %s -cf s.tar hole.bin",
            kinds[i]);
        if (!shell(command))
            return;
        size_t bytes;
        uint8_t *data = check_read_file(check_tmp("s.tar"), &bytes);
        struct list list;
        mldf_error err;
        CHECK_STATUS(MLDF_E_UNSUPPORTED, list_memory(data, bytes, &list, &err), &err);
        CHECK_CONTAINS("sparse", TEXT(err));
        free(data);
    }
}

/* Nine gibibytes: beyond the eleven octal digits. Only the headers are there, the content is cut off. */
static void check_huge(const char *name) {
    size_t bytes;
    uint8_t *data = check_read_file(check_tmp(name), &bytes);
    struct tar_input *input;
    struct tar_reader *reader;
    struct tar_member m;
    mldf_error err;
    REQUIRE_OK(mldfi_tar_input_memory(&input, data, bytes, &err), &err);
    REQUIRE_OK(mldfi_tar_reader_new(&reader, input, NULL, NULL, &err), &err);
    CHECK_OK(mldfi_tar_next(reader, &m, &err), &err);
    CHECK_EQ_U64((uint64_t)9 << 30, m.size);
    CHECK_EQ_STR("huge.bin", m.name);
    CHECK_STATUS(MLDF_E_TRUNCATED, mldfi_tar_next(reader, &m, &err), &err);
    mldfi_tar_reader_free(reader);
    mldfi_tar_input_free(input);
    free(data);
}

static void sizes_beyond_eight_gibibytes_read_and_are_written(void) {
    if (shell("truncate -s 9G huge.bin")) {
        CHECK(shell("tar --format=gnu -cf - huge.bin 2> err | head -c 4096 > huge1.tar"));
        check_huge("huge1.tar");
        CHECK(shell("tar --format=pax -cf - huge.bin 2> err | head -c 4096 > huge2.tar"));
        check_huge("huge2.tar");
        CHECK(shell("rm huge.bin"));
    }
    static uint8_t zeros[2 << 20];
    struct tar_writer *w;
    mldf_error err;
    int fd = open(check_tmp("huge3.tar"), O_WRONLY | O_CREAT, 0666);
    REQUIRE_OK(mldfi_tar_writer_fd(&w, fd, &err), &err);
    CHECK_OK(mldfi_tar_writer_begin(w, "huge.bin", (uint64_t)9 << 30, &err), &err);
    CHECK_OK(mldfi_tar_writer_write(w, zeros, sizeof zeros, &err), &err);
    mldfi_tar_writer_free(w);
    close(fd);
    check_huge("huge3.tar");
    CHECK(shell("tar -tvf huge3.tar 2> err | grep -q 9663676416"));
}

/* ---- Headers made by hand -------------------------------------------------------------------------------------------------------- */

static void fix_checksum(uint8_t *h) {
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
}

static void base_256_sizes_and_signed_checksums_read(void) {
    size_t bytes;
    uint8_t *data = small_tar(&bytes);
    struct list list;
    mldf_error err;
    memset(data + 124, 0, 12);
    data[124] = 0x80, data[135] = 3;
    fix_checksum(data);
    CHECK_STATUS(MLDF_END, list_memory(data, bytes, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    data[1] = 0xfc; /* this byte and the size's first are above 127: the sum as if characters had a sign */
    fix_checksum(data);
    unsigned sum = (unsigned)strtoul((char *)data + 148, NULL, 8);
    snprintf((char *)data + 148, 8, "%06o", sum - 512);
    CHECK_STATUS(MLDF_END, list_memory(data, bytes, &list, &err), &err);
    snprintf((char *)data + 148, 8, "%06o", sum - 255);
    CHECK_STATUS(MLDF_E_CHECKSUM, list_memory(data, bytes, &list, &err), &err);
    CHECK_EQ_U64(0, err.offset);
    free(data);
}

static void sizes_that_lie_take_no_memory(void) {
    static const uint8_t sizes[3][12] = {{0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                         {0x80, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                         {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    static const mldf_status want[3] = {MLDF_E_CORRUPT, MLDF_E_TRUNCATED, MLDF_E_CORRUPT};
    for (int i = 0; i < 3; i++) {
        size_t bytes;
        uint8_t *data = small_tar(&bytes);
        struct list list;
        mldf_error err;
        memcpy(data + 124, sizes[i], 12);
        fix_checksum(data);
        CHECK_STATUS(want[i], list_memory(data, bytes, &list, &err), &err);
        CHECK_STATUS(want[i], list_pipe(data, bytes, &list, &err), &err);
        free(data);
    }
}

static void cut_archives_name_the_last_whole_sample_or_lack_the_end_mark_alone(void) {
    size_t bytes;
    uint8_t *data = small_tar(&bytes);
    struct list list;
    mldf_error err;
    for (size_t cut = 0; cut < 5 * 1024 + 512; cut += cut % 512 == 0 ? 1 : cut % 512 == 1 ? 510 : 1) {
        uint8_t *exact = malloc(cut ? cut : 1);
        memcpy(exact, data, cut);
        /* Members are a block of header and one of content: between them nothing is missing but the mark. */
        mldf_status got = list_memory(exact, cut, &list, &err);
        bool between = cut > 0 && cut % 1024 == 0, inside = cut == 0 || (cut % 1024 >= 1 && cut % 1024 <= 512);
        CHECK(between  ? got == MLDF_END
              : inside ? got == MLDF_E_TRUNCATED
                       : got == MLDF_END || got == MLDF_E_TRUNCATED);
        if (got == MLDF_END)
            CHECK_EQ_INT(1, (int)warnings);
        else
            CHECK_CONTAINS("last whole sample is", TEXT(err));
        free(exact);
    }
    /* one block of zeros is an end with a warning; what is behind the end does not count, with a warning too unless it is zeros */
    CHECK_STATUS(MLDF_END, list_memory(data, 5 * 1024 + 512, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    CHECK_EQ_INT(1, (int)warnings);
    CHECK_STATUS(MLDF_END, list_memory(data, bytes, &list, &err), &err);
    CHECK_EQ_INT(0, (int)warnings);
    memset(data + 5 * 1024 + 1024, 'g', 100);
    CHECK_STATUS(MLDF_END, list_memory(data, bytes, &list, &err), &err);
    CHECK_EQ_STR(small_text, list.text);
    CHECK_EQ_INT(1, (int)warnings);
    free(data);
}

/* ---- Grouping ---------------------------------------------------------------------------------------------------------------------- */

static void parts_and_keys_that_come_twice_are_errors(void) {
    const char *path = check_tmp("twice.tar");
    struct tar_writer *w = new_writer(path);
    part(w, "k", "jpg", "1");
    part(w, "k", "JPG", "2");
    size_t bytes;
    uint8_t *data = finish(w, path, &bytes);
    struct list list;
    mldf_error err;
    CHECK_STATUS(MLDF_E_KEY, list_memory(data, bytes, &list, &err), &err);
    CHECK_EQ_U64(1024, err.offset);
    CHECK_CONTAINS("two parts .jpg", TEXT(err));
    free(data);
    w = new_writer(path);
    part(w, "k", "jpg", "1");
    part(w, "l", "jpg", "2");
    part(w, "k", "cls", "3");
    data = finish(w, path, &bytes);
    CHECK_STATUS(MLDF_E_KEY, list_memory(data, bytes, &list, &err), &err);
    CHECK_EQ_U64(2048, err.offset);
    CHECK_CONTAINS("byte 2048 of x.tar; it was at byte 0 of x.tar", err.message);
    CHECK_EQ_STR("k: jpg=1\nl: jpg=2\n", list.text);
    free(data);
}

static void keys_are_watched_over_all_shards(void) {
    size_t bytes;
    uint8_t *data = small_tar(&bytes);
    struct tar_group *group;
    struct tar_input *inputs[2];
    struct tar_sample s;
    mldf_error err;
    mldf_status status = MLDF_OK;
    REQUIRE_OK(mldfi_tar_group_new(&group, NULL, &err), &err);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(mldfi_tar_input_memory(&inputs[i], data, bytes, &err), &err);
        REQUIRE_OK(mldfi_tar_group_begin(group, inputs[i], i ? "s1.tar" : "s0.tar", &err), &err);
        do
            status = mldfi_tar_group_next(group, &s, &err);
        while (status == MLDF_OK);
        CHECK_STATUS(i ? MLDF_E_KEY : MLDF_END, status, &err);
    }
    CHECK_CONTAINS("byte 0 of s1.tar; it was at byte 0 of s0.tar", err.message);
    mldfi_tar_group_free(group);
    mldfi_tar_input_free(inputs[0]);
    mldfi_tar_input_free(inputs[1]);
    free(data);
}

static void index_finds_samples_by_number_and_key(void) {
    size_t bytes;
    uint8_t *data = small_tar(&bytes);
    struct tar_index index;
    mldf_error err;
    REQUIRE_OK(mldfi_tar_index_build(&index, data, bytes, warn, NULL, &err), &err);
    REQUIRE_EQ_U64(3, index.sample_count);
    REQUIRE_EQ_U64(5, index.part_count);
    REQUIRE_EQ_U64(4, index.extension_count);
    CHECK_EQ_STR("seg.png", index.extensions[2]);
    CHECK_EQ_U64(1, mldfi_tar_index_find(&index, "a/0002", 6));
    CHECK_EQ_U64(MLDF_NONE, mldfi_tar_index_find(&index, "a/0004", 6));
    const struct tar_index_sample *s = &index.samples[1];
    CHECK_EQ_STR("a/0002", (const char *)index.keys.data + s->key_at);
    REQUIRE_EQ_U64(2, s->part_count);
    const struct tar_index_part *p = &index.parts[s->first_part + 1];
    CHECK_EQ_U64(2, p->extension);
    CHECK_BYTES_EQ("mask", 4, data + p->offset, (size_t)p->bytes);
    mldfi_tar_index_free(&index);
    size_t packed_bytes;
    uint8_t *packed = gzip(data, bytes, &packed_bytes);
    CHECK_STATUS(MLDF_E_UNSUPPORTED, mldfi_tar_index_build(&index, packed, packed_bytes, NULL, NULL, &err), &err);
    free(packed);
    free(data);
}

static void damaged_archives_are_read_without_harm(void) {
    uint64_t seed = check_seed();
    size_t bytes;
    uint8_t *data = small_tar(&bytes);
    struct list *list = malloc(sizeof *list);
    for (int round = 0; round < 5000; round++) {
        size_t cut = check_rand_below(&seed, 3) ? 6 * 1024 : check_rand_below(&seed, 6 * 1024);
        uint8_t *copy = malloc(cut ? cut : 1);
        memcpy(copy, data, cut);
        for (uint64_t n = 1 + check_rand_below(&seed, 6); n > 0 && cut > 0; n--) {
            size_t at = check_rand_below(&seed, cut);
            if (check_rand_below(&seed, 2))
                at = at / 512 * 512 + (size_t[]){124, 125, 134, 156, 157, 0, 257, 345}[check_rand_below(&seed, 8)];
            if (at < cut)
                copy[at] = check_rand_below(&seed, 2) ? (uint8_t)check_rand(&seed) : (uint8_t) "LKxgS012"[round % 8];
        }
        for (size_t at = 0; at + 512 <= cut; at += 512)
            if (memcmp(copy + at + 257, "ustar", 5) == 0)
                fix_checksum(copy + at);
        mldf_error err;
        (void)list_memory(copy, cut, list, &err);
        free(copy);
    }
    free(list);
    free(data);
}

/* Samples of a compressed archive come in ascending order, some of them left out, each as often as it is asked for. */
static void streams_give_samples_in_order(void) {
    static const tar_compression kinds[] = {TAR_GZIP, TAR_ZSTD};
    for (size_t k = 0; k < 2; k++) {
        struct tar_writer *w = new_writer(check_tmp("s.tar.x"));
        mldf_error err;
        REQUIRE_OK(mldfi_tar_writer_compress(w, kinds[k], &err), &err);
        for (int i = 0; i < 20; i++) {
            char key[8], text[4000];
            memset(text, 'a' + i, sizeof text);
            snprintf(key, sizeof key, "%02d", i);
            CHECK_OK(mldfi_tar_writer_part(w, key, "txt", text, (uint64_t)i * 199, &err), &err);
            part(w, key, "cls", "7");
        }
        REQUIRE_OK(mldfi_tar_writer_finish(w, &err), &err);
        mldfi_tar_writer_free(w);

        mldf_reader_options options = MLDF_READER_OPTIONS_INIT;
        mldf_buffer scratch = MLDF_BUFFER_INIT;
        mldf_reader *reader;
        mldf_value value;
        options.sequential = true;
        REQUIRE_OK(mldf_reader_open(check_tmp("s.tar.x"), &options, &reader, &err), &err);
        CHECK_EQ_U64(20, mldf_reader_sample_count(reader));
        for (uint64_t i = 3; i < 20; i += 5) {
            CHECK_OK(mldf_reader_get(reader, i, 1, &scratch, &value, &err), &err);
            CHECK_EQ_INT(7, value.as.i);
            CHECK_OK(mldf_reader_get(reader, i, 0, &scratch, &value, &err), &err);
            CHECK_EQ_U64(i * 199, value.bytes);
            CHECK(((const char *)value.data)[i * 199 - 1] == (char)('a' + i));
        }
        CHECK_STATUS(MLDF_E_STATE, mldf_reader_get(reader, 17, 0, &scratch, &value, &err), &err);
        CHECK(strstr(TEXT(err), "opened to be read in order") != NULL);
        CHECK_OK(mldf_reader_get(reader, 19, 0, &scratch, &value, &err), &err);
        mldf_reader_close(reader);
        mldf_buffer_free(&scratch);
    }
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(names_are_cut_as_webdataset_cuts_them);
    RUN(brace_patterns_expand);
    RUN(samples_come_back_from_memory_pipe_gzip_and_zstd);
    RUN(long_names_come_back_and_real_tar_reads_them);
    RUN(writer_refuses_keys_that_would_be_cut_elsewhere);
    RUN(writer_streams_to_a_pipe);
    RUN(archives_of_gnu_tar_read);
    RUN(sparse_members_are_refused_in_words);
    RUN(sizes_beyond_eight_gibibytes_read_and_are_written);
    RUN(base_256_sizes_and_signed_checksums_read);
    RUN(sizes_that_lie_take_no_memory);
    RUN(cut_archives_name_the_last_whole_sample_or_lack_the_end_mark_alone);
    RUN(parts_and_keys_that_come_twice_are_errors);
    RUN(keys_are_watched_over_all_shards);
    RUN(index_finds_samples_by_number_and_key);
    RUN(damaged_archives_are_read_without_harm);
    RUN(streams_give_samples_in_order);
    return check_end();
}
