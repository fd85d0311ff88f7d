/* New files: temporary until published, never in the way of the old one. */
#include <errno.h>
#include <fcntl.h>

#include "check.h"
#include "os/file.h"

/* Files in the folder, without . and .. */
static int entries_of(const char *folder) {
    DIR *dir = opendir(folder);
    int count = 0;
    if (!dir)
        return -1;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static const char *fresh_folder(const char *name) {
    const char *path = check_tmp(name);
    return mkdir(path, 0755) == 0 ? path : NULL;
}

static bool holds(const char *path, const char *text) {
    size_t bytes;
    uint8_t *data = check_read_file(path, &bytes);
    bool same = data && bytes == strlen(text) && memcmp(data, text, bytes) == 0;
    free(data);
    return same;
}

static mode_t mode_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? info.st_mode & 07777 : 0;
}

static void create_makes_a_hidden_neighbour(void) {
    const char *folder = fresh_folder("create");
    struct os_file file;
    mldf_error err;
    char target[1200], start[1300];
    REQUIRE(folder != NULL);
    snprintf(target, sizeof target, "%s/data.mldf", folder);
    mode_t before = umask(027);
    mldf_status status = mldfi_file_create_beside(&file, target, &err);
    umask(before);
    REQUIRE_STATUS(MLDF_OK, status, &err);
    snprintf(start, sizeof start, "%s/.data.mldf.", folder);
    CHECK_EQ_INT(0, strncmp(start, file.path, strlen(start)));
    CHECK_EQ_STR(".tmp", file.path + strlen(file.path) - 4);
    CHECK_EQ_INT(0640, mode_of(file.path));
    CHECK(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
    CHECK_OK(mldfi_file_write(&file, 0, "x", 1, &err), &err);
    CHECK_EQ_INT(1, entries_of(folder));
    mldfi_file_discard(&file);
    CHECK_EQ_INT(0, entries_of(folder));
    CHECK_EQ_INT(-1, file.fd);
    mldfi_file_discard(&file);
}

static void create_refuses_targets_that_cannot_become_a_file(void) {
    struct os_file file;
    mldf_error err;
    char path[1200];
    CHECK_STATUS(MLDF_E_NOT_FOUND, mldfi_file_create_beside(&file, check_tmp("no/such/folder"), &err), &err);
    CHECK_EQ_INT(-1, file.fd);
    CHECK_CONTAINS("no/such/folder", TEXT(err));
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_file_create_beside(&file, "", &err), &err);
    snprintf(path, sizeof path, "%s/", check_tmpdir());
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_file_create_beside(&file, path, &err), &err);
    CHECK_STATUS(MLDF_E_ARGUMENT, mldfi_file_create_beside(&file, "..", &err), &err);
    CHECK_STATUS(MLDF_E_IO, mldfi_file_create_beside(&file, check_tmpdir(), &err), &err);
    CHECK_EQ_INT(EISDIR, err.sys_errno);
    if (access("/proc/self", F_OK) == 0)
        CHECK(mldfi_file_create_beside(&file, "/proc/self/data", &err) < 0);
    if (geteuid() != 0) {
        const char *folder = fresh_folder("readonly");
        REQUIRE(folder != NULL);
        chmod(folder, 0555);
        snprintf(path, sizeof path, "%s/data", folder);
        CHECK_STATUS(MLDF_E_PERMISSION, mldfi_file_create_beside(&file, path, &err), &err);
    }
}

static void create_copes_with_the_longest_names(void) {
    struct os_file file;
    mldf_error err;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    REQUIRE_OK(mldfi_file_create_beside(&file, check_tmp(name), &err), &err);
    CHECK_OK(mldfi_file_publish(&file, check_tmp(name), false, &err), &err);
    CHECK_EQ_STR(check_tmp(name), file.path);
    mldfi_file_close(&file);
    CHECK_EQ_INT(0, access(check_tmp(name), F_OK));
}

static void unlinked_files_leave_no_name(void) {
    const char *folder = fresh_folder("spill");
    struct os_file file;
    mldf_error err;
    char target[1200], got[5];
    REQUIRE(folder != NULL);
    snprintf(target, sizeof target, "%s/data", folder);
    REQUIRE_OK(mldfi_file_create_unlinked(&file, target, &err), &err);
    CHECK_EQ_INT(0, entries_of(folder));
    CHECK_OK(mldfi_file_write(&file, 10, "spill", 5, &err), &err);
    CHECK_OK(mldfi_file_read(&file, 10, got, 5, &err), &err);
    CHECK_MEM_EQ("spill", got, 5);
    mldfi_file_discard(&file);
}

static void temporary_files_have_no_name_and_one_owner(void) {
    struct os_file file;
    mldf_error err;
    struct stat st;
    uint64_t available, total;
    CHECK(mkdir(check_tmp("scratch"), 0700) == 0);
    REQUIRE_OK(mldfi_file_create_temporary(&file, check_tmp("scratch"), &err), &err);
    CHECK_OK(mldfi_file_write(&file, 5, "abc", 3, &err), &err);
    CHECK(fstat(file.fd, &st) == 0 && st.st_nlink == 0 && st.st_size == 8 && (st.st_mode & 0777) == 0600);
    mldfi_file_space(&file, &available, &total);
    CHECK(total > 0 && available <= total);
    mldfi_file_close(&file);
    CHECK(rmdir(check_tmp("scratch")) == 0); /* empty */
    CHECK_STATUS(MLDF_E_NOT_FOUND, mldfi_file_create_temporary(&file, check_tmp("scratch"), &err), &err);
    CHECK(strstr(TEXT(err), "scratch takes no file (TMPDIR names another)") != NULL);
    CHECK(file.fd < 0);
}

static void exists_sees_dangling_links(void) {
    bool there = true;
    mldf_error err;
    CHECK_OK(mldfi_file_exists(check_tmp("nobody"), &there, &err), &err);
    CHECK(!there);
    REQUIRE_EQ_INT(0, symlink("nowhere", check_tmp("dangling")));
    CHECK_OK(mldfi_file_exists(check_tmp("dangling"), &there, &err), &err);
    CHECK(there);
    CHECK_OK(mldfi_file_exists(check_tmp("no/folder"), &there, &err), &err);
    CHECK(!there);
    CHECK_OK(mldfi_file_exists(check_tmpdir(), &there, &err), &err);
    CHECK(there);
}

static void publish_gives_the_name(void) {
    const char *folder = fresh_folder("publish");
    struct os_file file;
    mldf_error err;
    char target[1200];
    REQUIRE(folder != NULL);
    snprintf(target, sizeof target, "%s/data", folder);
    REQUIRE_OK(mldfi_file_create_beside(&file, target, &err), &err);
    REQUIRE_OK(mldfi_file_write(&file, 0, "new", 3, &err), &err);
    CHECK_OK(mldfi_file_publish(&file, target, false, &err), &err);
    CHECK_EQ_STR(target, file.path);
    mldfi_file_close(&file);
    CHECK(holds(target, "new"));
    CHECK_EQ_INT(1, entries_of(folder));
}

static void publish_without_overwrite_leaves_the_old_file(void) {
    const char *folder = fresh_folder("keep");
    struct os_file file;
    mldf_error err;
    char target[1200];
    REQUIRE(folder != NULL);
    snprintf(target, sizeof target, "%s/data", folder);
    REQUIRE_OK(mldfi_file_create_beside(&file, target, &err), &err);
    REQUIRE_OK(mldfi_file_write(&file, 0, "new", 3, &err), &err);
    REQUIRE(check_write_file(target, "old", 3)); /* appeared meanwhile */
    CHECK_STATUS(MLDF_E_EXISTS, mldfi_file_publish(&file, target, false, &err), &err);
    CHECK_CONTAINS(target, TEXT(err));
    mldfi_file_discard(&file);
    CHECK(holds(target, "old"));
    CHECK_EQ_INT(1, entries_of(folder));
}

static void publish_with_overwrite_replaces_and_keeps_permissions(void) {
    const char *folder = fresh_folder("replace");
    struct os_file file, old;
    mldf_error err;
    char target[1200], got[3];
    REQUIRE(folder != NULL);
    snprintf(target, sizeof target, "%s/data", folder);
    REQUIRE(check_write_file(target, "old", 3));
    REQUIRE_EQ_INT(0, chmod(target, 0600));
    REQUIRE_OK(mldfi_file_open(&old, target, OS_OPEN_READ, &err), &err);
    REQUIRE_OK(mldfi_file_create_beside(&file, target, &err), &err);
    REQUIRE_OK(mldfi_file_write(&file, 0, "newer", 5, &err), &err);
    CHECK(holds(target, "old"));
    CHECK_OK(mldfi_file_publish(&file, target, true, &err), &err);
    mldfi_file_close(&file);
    CHECK(holds(target, "newer"));
    CHECK_EQ_INT(0600, mode_of(target));
    CHECK_EQ_INT(1, entries_of(folder));
    /* Who had the old one open still has it. */
    CHECK_OK(mldfi_file_read(&old, 0, got, 3, &err), &err);
    CHECK_MEM_EQ("old", got, 3);
    mldfi_file_close(&old);
}

static void publish_works_for_a_name_without_a_folder(void) {
    char before[1024];
    struct os_file file;
    mldf_error err;
    const char *folder = fresh_folder("here");
    REQUIRE(folder != NULL && getcwd(before, sizeof before) && chdir(folder) == 0);
    mldf_status status = mldfi_file_create_beside(&file, "bare", &err);
    CHECK_STATUS(MLDF_OK, status, &err);
    if (status == MLDF_OK) {
        CHECK_OK(mldfi_file_publish(&file, "bare", false, &err), &err);
        mldfi_file_close(&file);
        CHECK_EQ_INT(0, access("bare", F_OK));
    }
    CHECK_EQ_INT(0, chdir(before));
}

static void publish_that_fails_keeps_the_temporary_name(void) {
    struct os_file file;
    mldf_error err;
    char temporary[1200];
    REQUIRE_OK(mldfi_file_create_beside(&file, check_tmp("later"), &err), &err);
    snprintf(temporary, sizeof temporary, "%s", file.path);
    REQUIRE(fresh_folder("later") != NULL); /* a folder takes the name */
    CHECK(mldfi_file_publish(&file, check_tmp("later"), true, &err) < 0);
    CHECK_EQ_STR(temporary, file.path);
    CHECK_STATUS(MLDF_E_EXISTS, mldfi_file_publish(&file, check_tmp("later"), false, &err), &err);
    mldfi_file_discard(&file);
    CHECK(access(temporary, F_OK) != 0);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(create_makes_a_hidden_neighbour);
    RUN(create_refuses_targets_that_cannot_become_a_file);
    RUN(create_copes_with_the_longest_names);
    RUN(unlinked_files_leave_no_name);
    RUN(temporary_files_have_no_name_and_one_owner);
    RUN(exists_sees_dangling_links);
    RUN(publish_gives_the_name);
    RUN(publish_without_overwrite_leaves_the_old_file);
    RUN(publish_with_overwrite_replaces_and_keeps_permissions);
    RUN(publish_works_for_a_name_without_a_folder);
    RUN(publish_that_fails_keeps_the_temporary_name);
    return check_end();
}
