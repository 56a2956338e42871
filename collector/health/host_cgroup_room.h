/* host_cgroup_room.h - memory that a process's cgroups leave. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * Bytes up to the nearest limit of the cgroups of @pid, of version 1 or 2, and of those above them; memory of files that the kernel
 * can drop counts as free. UINT64_MAX: no limit. @root: "", or a folder with /proc and /sys for tests.
 */
uint64_t host_cgroup_room(const char *root, pid_t pid);
