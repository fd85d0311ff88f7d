/* Errors: what a report holds, and the status of each errno. */
#include <errno.h>

#include "check.h"
#include "util/error.h"

static void every_status_has_its_own_name(void) {
    static const struct {
        mldf_status status;
        const char *name;
    } names[] = {{MLDF_OK, "ok"},
                 {MLDF_END, "end"},
                 {MLDF_ABSENT, "absent"},
                 {MLDF_E_ARGUMENT, "argument"},
                 {MLDF_E_NOT_FOUND, "not_found"},
                 {MLDF_E_NO_SPACE, "no_space"},
                 {MLDF_E_KEY_MISSING, "key_missing"},
                 {MLDF_E_CHECKSUM, "checksum"},
                 {MLDF_E_NO_SAMPLE, "no_sample"},
                 {MLDF_E_SYNTAX, "syntax"}};
    int known = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK_EQ_STR(names[i].name, mldf_status_name(names[i].status));
    for (int a = -60; a <= 2; a++) {
        const char *name = mldf_status_name((mldf_status)a);
        if (strcmp(name, "unknown") == 0)
            continue;
        known++;
        for (int b = a + 1; b <= 2; b++)
            CHECK(strcmp(name, mldf_status_name((mldf_status)b)) != 0);
    }
    CHECK_EQ_INT(34, known);
    CHECK_EQ_STR("unknown", mldf_status_name((mldf_status)-9999));
}

static void versions_are_told(void) {
    CHECK(strlen(mldf_version()) >= 5);
    CHECK_EQ_U64(0x00010001, mldf_format_version());
    CHECK_CONTAINS("zstd", mldf_build_features());
}

static void fail_resets_the_place_and_returns_the_status(void) {
    mldf_error err;
    memset(&err, 0x55, sizeof err);
    CHECK_EQ_INT(MLDF_E_RANGE, mldfi_fail(&err, MLDF_E_RANGE, "value %d", 7));
    CHECK_EQ_INT(MLDF_E_RANGE, err.status);
    CHECK_EQ_INT(0, err.sys_errno);
    CHECK_EQ_U64(MLDF_NONE, err.offset);
    CHECK_EQ_U64(MLDF_NONE, err.sample);
    CHECK_EQ_STR("", err.field);
    CHECK_EQ_STR("value 7", err.message);
    CHECK_EQ_INT(MLDF_E_CORRUPT, mldfi_fail_at(&err, MLDF_E_CORRUPT, 42, "x"));
    CHECK_EQ_U64(42, err.offset);
    CHECK_EQ_INT(MLDF_E_MEMORY, mldfi_fail_memory(&err, 12345));
    CHECK_CONTAINS("12345", TEXT(err));
    CHECK_EQ_U64(MLDF_NONE, err.offset);
}

static void fail_without_an_error_struct_only_returns(void) {
    CHECK_EQ_INT(MLDF_E_RANGE, mldfi_fail(NULL, MLDF_E_RANGE, "%s", "x"));
    CHECK_EQ_INT(MLDF_E_CORRUPT, mldfi_fail_at(NULL, MLDF_E_CORRUPT, 1, "x"));
    CHECK_EQ_INT(MLDF_E_NOT_FOUND, mldfi_fail_errno(NULL, ENOENT, "x"));
    CHECK_EQ_INT(MLDF_E_MEMORY, mldfi_fail_memory(NULL, 1));
    mldfi_error_place(NULL, 1, "f");
    mldfi_error_prefix(NULL, "p");
}

static void errno_chooses_the_status(void) {
    static const struct {
        int number;
        mldf_status status;
    } table[] = {{ENOENT, MLDF_E_NOT_FOUND},
                 {ENOTDIR, MLDF_E_NOT_FOUND},
                 {EACCES, MLDF_E_PERMISSION},
                 {EPERM, MLDF_E_PERMISSION},
                 {EROFS, MLDF_E_PERMISSION},
                 {EEXIST, MLDF_E_EXISTS},
                 {ENOSPC, MLDF_E_NO_SPACE},
                 {EDQUOT, MLDF_E_NO_SPACE},
                 {EBUSY, MLDF_E_BUSY},
                 {EAGAIN, MLDF_E_BUSY},
                 {EIO, MLDF_E_IO},
                 {EPIPE, MLDF_E_IO},
                 {EISDIR, MLDF_E_IO},
                 {ENOMEM, MLDF_E_MEMORY}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        mldf_error err;
        CHECK_STATUS(table[i].status, mldfi_fail_errno(&err, table[i].number, "file %s", "f"), &err);
        CHECK_EQ_INT(table[i].number, err.sys_errno);
        CHECK_CONTAINS("file f: ", TEXT(err));
        CHECK_CONTAINS(strerror(table[i].number), TEXT(err));
    }
}

static void place_is_added_once(void) {
    mldf_error err;
    char longest[100];
    memset(longest, 'n', sizeof longest - 1);
    longest[99] = 0;
    (void)mldfi_fail(&err, MLDF_E_RANGE, "x");
    mldfi_error_place(&err, 17, NULL);
    mldfi_error_place(&err, 18, "image");
    mldfi_error_place(&err, 19, "other");
    CHECK_EQ_U64(17, err.sample);
    CHECK_EQ_STR("image", err.field);
    (void)mldfi_fail(&err, MLDF_E_RANGE, "x");
    mldfi_error_place(&err, 1, longest);
    CHECK_EQ_U64(MLDF_NAME_MAX, strlen(err.field));
}

static void prefix_stands_before_the_message(void) {
    mldf_error err;
    (void)mldfi_fail_at(&err, MLDF_E_RANGE, 5, "deep reason");
    mldfi_error_prefix(&err, "line %d", 3);
    mldfi_error_prefix(&err, "table %d", 4);
    CHECK_EQ_STR("deep reason", err.message);
    CHECK_EQ_STR("table 4: line 3", err.context);
    CHECK_EQ_STR("table 4: line 3: deep reason", TEXT(err));
    CHECK_EQ_U64(5, err.offset);
    CHECK_EQ_INT(MLDF_E_RANGE, err.status);
}

static void the_text_names_each_part_once(void) {
    mldf_error err;
    char text[MLDF_TEXT_MAX + 1], path[600], small[16];
    (void)mldfi_fail_file(&err, MLDF_E_RANGE, "x.mldf", "value %d", 7);
    mldfi_error_path(&err, "other.mldf"); /* the first one knows best */
    CHECK_EQ_STR("x.mldf: value 7", TEXT(err));
    mldfi_error_place(&err, 3, "image");
    mldfi_error_prefix(&err, "crop");
    CHECK_EQ_STR("x.mldf: sample 3, field image: crop: value 7", TEXT(err));
    CHECK_EQ_STR("value 7", err.message);
    CHECK_EQ_STR("x.mldf: sample 3, field image: crop: value 7", mldf_error_text(&err, text, sizeof text));
    CHECK_EQ_STR("x.mldf: sample ", mldf_error_text(&err, small, sizeof small));
    mldfi_error_line(&err, "t.csv", 17, 3); /* the file that a cell names goes into the context */
    CHECK_EQ_STR("t.csv:17:3: sample 3, field image: x.mldf: crop: value 7", TEXT(err));
    mldfi_error_outer(&err, "t.csv:17:3");
    CHECK_EQ_STR("t.csv:17:3: sample 3, field image: x.mldf: crop: value 7", TEXT(err));
    memset(path, 'd', sizeof path - 1);
    memcpy(path + sizeof path - 8, "/a.mldf", 8);
    (void)mldfi_fail_file_errno(&err, ENOENT, path, "cannot be opened");
    CHECK_STATUS(MLDF_E_NOT_FOUND, err.status, NULL);
    CHECK_EQ_U64(MLDF_PLACE_MAX, strlen(err.path));
    CHECK(strncmp(err.path, "...d", 4) == 0);
    CHECK_CONTAINS("d/a.mldf: cannot be opened: ", TEXT(err));
    CHECK_EQ_STR("", mldf_error_text(NULL, text, sizeof text));
    /* The longest of all parts fits. */
    memset(text, 'm', sizeof text - 1);
    text[sizeof text - 1] = 0;
    (void)mldfi_fail_file(&err, MLDF_E_RANGE, path, "%s", text);
    mldfi_error_prefix(&err, "%s", text);
    memset(path, 'f', sizeof path - 1);
    mldfi_error_place(&err, UINT64_MAX - 1, path);
    CHECK_EQ_U64(2 * MLDF_PLACE_MAX + MLDF_MESSAGE_MAX + MLDF_NAME_MAX + strlen("sample 18446744073709551614, field ") +
                     6,
                 strlen(TEXT(err)));
}

static void messages_are_one_line_of_whole_characters(void) {
    mldf_error err;
    char text[2000];
    (void)mldfi_fail(&err, MLDF_E_IO,
                     "a\nb\tc\x7f"
                     "d");
    CHECK_EQ_STR("a?b?c?d", err.message);
    for (size_t before = 0; before < 4; before++) {
        size_t used = before;
        memset(text, 'x', before);
        while (used + 3 < 1500) {
            memcpy(text + used, "\xE2\x82\xAC", 3);
            used += 3;
        }
        text[used] = 0;
        (void)mldfi_fail(&err, MLDF_E_IO, "%s", text);
        size_t bytes = strlen(err.message);
        CHECK(bytes <= MLDF_MESSAGE_MAX && bytes > MLDF_MESSAGE_MAX - 4);
        CHECK_EQ_U64(0, (bytes - before) % 3);
    }
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = 0;
    mldfi_error_prefix(&err, "%s", text);
    CHECK_EQ_U64(MLDF_PLACE_MAX, strlen(err.context));
    CHECK_STATUS(MLDF_E_IO, mldfi_fail_errno(&err, EIO, "%s", text), NULL);
    CHECK_EQ_U64(MLDF_MESSAGE_MAX, strlen(err.message));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(every_status_has_its_own_name);
    RUN(versions_are_told);
    RUN(fail_resets_the_place_and_returns_the_status);
    RUN(fail_without_an_error_struct_only_returns);
    RUN(errno_chooses_the_status);
    RUN(place_is_added_once);
    RUN(prefix_stands_before_the_message);
    RUN(the_text_names_each_part_once);
    RUN(messages_are_one_line_of_whole_characters);
    return check_end();
}
