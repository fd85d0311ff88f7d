/* How many CPUs this process may really use: its affinity, cut by the quotas of its control groups (containers). */
#include "os/cpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file.h"
#if defined(__linux__)
#include <sched.h>
#endif

#if defined(__linux__)
enum { TEXT_MAX = 4096 };

static int affinity_count(void) {
    /* The kernel refuses a set smaller than its own: try larger ones. */
    for (size_t cpus = 1024; cpus <= (size_t)1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set)
            return 1;
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    return 1;
}

/* A small file as text; "" when it cannot be read. */
static bool read_text(const char *path, char text[TEXT_MAX]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    text[0] = 0;
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, TEXT_MAX - 1);
    (void)close(fd);
    if (n < 0)
        return false;
    text[n] = 0;
    return true;
}

/* ceil(quota / period), or `limit` when that is smaller or there is no quota. */
static int smaller(int limit, long long quota, long long period) {
    if (quota <= 0 || period <= 0)
        return limit;
    long long cpus = quota / period + (quota % period != 0);
    return cpus < limit ? (int)cpus : limit;
}

static int group_limit(const char *root, const char *group, bool unified, int limit) {
    char path[TEXT_MAX], text[TEXT_MAX];
    long long quota = 0, period = 0;
    if (unified) {
        /* "max 100000" or "150000 100000" */
        (void)snprintf(path, sizeof path, "%s%s/cpu.max", root, group);
        if (read_text(path, text) && sscanf(text, "%lld %lld", &quota, &period) == 2)
            return smaller(limit, quota, period);
        return limit;
    }
    (void)snprintf(path, sizeof path, "%s%s/cpu.cfs_quota_us", root, group);
    if (!read_text(path, text) || sscanf(text, "%lld", &quota) != 1)
        return limit;
    (void)snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", root, group);
    if (!read_text(path, text) || sscanf(text, "%lld", &period) != 1)
        return limit;
    return smaller(limit, quota, period);
}

/* The group and all groups above it: each may have a quota. `group` is cut up on the way. */
static int groups_limit(const char *root, char *group, bool unified, int limit) {
    for (;;) {
        limit = group_limit(root, group, unified, limit);
        char *slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = 0;
    }
}

/* "cpu" as a whole word of "cpu,cpuacct"? */
static bool has_cpu(const char *controllers) {
    for (const char *p = controllers; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (strncmp(p, "cpu", 3) == 0 && (p[3] == 0 || p[3] == ','))
            return true;
    return false;
}

/* One line of /proc/self/cgroup: "0::/group" (v2) or "4:cpu,cpuacct:/group" (v1). */
static int line_limit(char *line, const char *mount, int limit) {
    char root[512];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return limit;
    controllers++;
    *group++ = 0;
    if (strlen(group) > TEXT_MAX / 2)
        return limit;
    if (*controllers == 0) {
        char copy[TEXT_MAX];
        (void)snprintf(copy, sizeof copy, "%s", group);
        limit = groups_limit(mount, copy, true, limit);
        /* beside v1 hierarchies the unified one has its own mount */
        if (snprintf(root, sizeof root, "%s/unified", mount) >= (int)sizeof root)
            return limit;
        return groups_limit(root, group, true, limit);
    }
    if (!has_cpu(controllers))
        return limit;
    if (snprintf(root, sizeof root, "%s/%s", mount, controllers) >= (int)sizeof root)
        return limit;
    return groups_limit(root, group, false, limit);
}

int mldfi_cgroup_limit(const char *list, const char *mount, int limit) {
    char text[TEXT_MAX];
    char *rest = NULL;
    if (read_text(list, text))
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            limit = line_limit(line, mount, limit);
    return limit > 0 ? limit : 1;
}

int mldfi_cpu_count(void) {
    return mldfi_cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup", affinity_count());
}
#else
int mldfi_cgroup_limit(const char *list, const char *mount, int limit) {
    (void)list, (void)mount;
    return limit;
}

int mldfi_cpu_count(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 && count < 1 << 20 ? (int)count : 1;
}
#endif
