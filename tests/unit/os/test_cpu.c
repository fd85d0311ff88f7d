/* CPU quotas, on made-up control groups. */
#include "check.h"
#include "os/cpu.h"
#include "os/file.h"

static void put(const char *mount, const char *name, const char *text) {
    char path[1500];
    snprintf(path, sizeof path, "%s/%s", mount, name);
    for (char *p = path + strlen(mount) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = 0;
        mkdir(path, 0755);
        *p = '/';
    }
    CHECK(check_write_file(path, text, strlen(text)));
}

static const char *fresh_mount(const char *name, const char *list) {
    const char *mount = check_tmp(name);
    mkdir(mount, 0755);
    put(mount, "list", list);
    return mount;
}

static int limit_of(const char *mount, int limit) {
    char list[1500];
    snprintf(list, sizeof list, "%s/list", mount);
    return mldfi_cgroup_limit(list, mount, limit);
}

static void no_quota_is_no_limit(void) {
    const char *mount = fresh_mount("free", "0::/a/b\n");
    CHECK_EQ_INT(8, limit_of(mount, 8));
    put(mount, "a/b/cpu.max", "max 100000\n");
    CHECK_EQ_INT(8, limit_of(mount, 8));
    CHECK_EQ_INT(8, mldfi_cgroup_limit("/no/such/file", mount, 8));
    put(mount, "a/b/cpu.max", "");
    CHECK_EQ_INT(8, limit_of(mount, 8));
}

static void unified_quota_is_rounded_up(void) {
    const char *mount = fresh_mount("v2", "0::/a/b\n");
    put(mount, "a/b/cpu.max", "150000 100000\n");
    CHECK_EQ_INT(2, limit_of(mount, 8));
    put(mount, "a/b/cpu.max", "1000 100000\n");
    CHECK_EQ_INT(1, limit_of(mount, 8));
    put(mount, "a/b/cpu.max", "300000 100000\n");
    CHECK_EQ_INT(3, limit_of(mount, 8));
    CHECK_EQ_INT(2, limit_of(mount, 2));
}

static void the_tightest_group_above_counts(void) {
    const char *mount = fresh_mount("above", "0::/a/b/c\n");
    put(mount, "a/b/c/cpu.max", "700000 100000\n");
    put(mount, "a/cpu.max", "500000 100000\n");
    CHECK_EQ_INT(5, limit_of(mount, 8));
    put(mount, "cpu.max", "400000 100000\n");
    CHECK_EQ_INT(4, limit_of(mount, 8));
}

static void first_version_quota_counts(void) {
    const char *mount = fresh_mount("v1", "5:cpuset:/x\n4:cpu,cpuacct:/box\n0::/\n");
    put(mount, "cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    put(mount, "cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    CHECK_EQ_INT(8, limit_of(mount, 8));
    put(mount, "cpu,cpuacct/box/cpu.cfs_quota_us", "250000\n");
    CHECK_EQ_INT(3, limit_of(mount, 8));
    put(mount, "unified/cpu.max", "200000 100000\n");
    CHECK_EQ_INT(2, limit_of(mount, 8));
}

static void broken_lists_are_ignored(void) {
    CHECK_EQ_INT(8, limit_of(fresh_mount("broken", "nonsense\n:\n::\n\n1:cpux:/a\n"), 8));
    CHECK_EQ_INT(1, limit_of(fresh_mount("none", ""), 0));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(no_quota_is_no_limit);
    RUN(unified_quota_is_rounded_up);
    RUN(the_tightest_group_above_counts);
    RUN(first_version_quota_counts);
    RUN(broken_lists_are_ignored);
    return check_end();
}
