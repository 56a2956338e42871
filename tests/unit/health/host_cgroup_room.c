/* host_cgroup_room.c - memory that cgroups of both versions leave, on files made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/health/host_cgroup_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PID 7

static char root[] = "/tmp/cgroups.XXXXXX";

/* With the folders above it. */
static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(full, 0700);
	}
	f = fopen(full, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int make_root(void **state)
{
	(void)state;
	memcpy(root + strlen(root) - 6, "XXXXXX", 6);
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void without_a_limit_there_is_no_bound(void **state)
{
	(void)state;
	assert_true(host_cgroup_room(root, PID) == UINT64_MAX);
	put("proc/7/cgroup", "0::/job\n");
	put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put("sys/fs/cgroup/job/cgroup.type", "domain\n");
	put("sys/fs/cgroup/job/memory.max", "max\n");
	put("sys/fs/cgroup/job/memory.current", "5000\n");
	assert_true(host_cgroup_room(root, PID) == UINT64_MAX);
	/* As the first version of cgroups has it. */
	put("sys/fs/cgroup/job/memory.max", "9223372036854771712\n");
	assert_true(host_cgroup_room(root, PID) == UINT64_MAX);
}

static void the_nearest_limit_counts(void **state)
{
	(void)state;
	put("proc/7/cgroup", "0::/pod/job\n");
	put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put("sys/fs/cgroup/pod/job/memory.max", "100000\n");
	put("sys/fs/cgroup/pod/job/memory.current", "30000\n");
	put("sys/fs/cgroup/pod/job/memory.stat", "anon 20000\ninactive_file 6000\n");
	assert_int_equal(host_cgroup_room(root, PID), 76000);
	put("sys/fs/cgroup/pod/memory.max", "90000\n");
	put("sys/fs/cgroup/pod/memory.current", "80000\n");
	assert_int_equal(host_cgroup_room(root, PID), 10000);
	put("sys/fs/cgroup/pod/memory.current", "95000\n");
	assert_int_equal(host_cgroup_room(root, PID), 0);
	/* More can be dropped than is in use: of another moment. */
	put("sys/fs/cgroup/pod/memory.stat", "inactive_file 200000\n");
	assert_int_equal(host_cgroup_room(root, PID), 76000);
}

static void version_1_has_other_names(void **state)
{
	(void)state;
	put("proc/7/cgroup", "5:memory:/job\n3:cpu:/\n");
	put("proc/self/mountinfo", "31 23 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n");
	put("cg/memory/cgroup.sane_behavior", "0\n");
	put("cg/memory/job/memory.limit_in_bytes", "4000000\n");
	put("cg/memory/job/memory.usage_in_bytes", "1000000\n");
	put("cg/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 300000\n");
	assert_int_equal(host_cgroup_room(root, PID), 3300000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_a_limit_there_is_no_bound, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(the_nearest_limit_counts, make_root, remove_root),
		cmocka_unit_test_setup_teardown(version_1_has_other_names, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
