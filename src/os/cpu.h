/* The part of cpu.c that tests look at; mldfi_cpu_count is in os/file.h. */
#ifndef MLDF_OS_CPU_H
#define MLDF_OS_CPU_H

/* `limit` cut by the CPU quotas of the control groups in `list` (as /proc/self/cgroup has them) and of all above them, under
 * `mount`: cpu.max (v2), cpu.cfs_quota_us and cpu.cfs_period_us (v1). Fractions are rounded up; at least 1. */
int mldfi_cgroup_limit(const char *list, const char *mount, int limit);

#endif
