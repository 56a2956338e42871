/* ranks_name.c - names of runs by the command line of MPICH's launcher. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/options/ranks_name.h"

#define HOUR INT64_C(1795986000) /* 2026-11-29 21:00 UTC */

static char name[128];

static const char *by(const char *line, int64_t start, const char *dataset)
{
	ranks_name_by(line, start, dataset, name, sizeof(name));
	return name;
}

static void all_nodes_have_mpirun_in_common(void **state)
{
	(void)state;
	assert_string_equal(
		by("/usr/bin/hydra_pmi_proxy --control-port g001:40951 --rmk user --proxy-id 0",
		   HOUR + 600, "/none"),
		"g001-40951-20261129-21");
	assert_string_equal(
		by("hydra_pmi_proxy --proxy-id 7 --control-port g001:40951", HOUR + 601, "/none"),
		"g001-40951-20261129-21");
	assert_string_equal(by("hydra_pmi_proxy --control-port [fe80::1]:4 x", HOUR, "/none"), "");
	assert_string_equal(by("hydra_pmi_proxy --control-port ../../x:4", HOUR, "/none"), "");
	assert_string_equal(by("hydra_pmi_proxy --control-port a/b;c:4", HOUR, "/none"),
			    "a-b-c-4-20261129-21");
	assert_string_equal(by("python3 -m torch.distributed.run --nnodes 2", HOUR, "/none"), "");
	assert_string_equal(by("x--control-port a:4", HOUR, "/none"), "");
	assert_string_equal(by("x --control-port ", HOUR, "/none"), "");
	assert_string_equal(by("", HOUR, "/none"), "");
}

static void an_hour_that_has_just_begun_is_the_one_before_where_the_job_is_there(void **state)
{
	static const char line[] = "hydra_pmi_proxy --control-port g001:7";
	char dir[] = "/tmp/sightline-name.XXXXXX", jobs[64], job[128];

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_string_equal(by(line, HOUR + 5, dir), "g001-7-20261129-21");
	snprintf(jobs, sizeof(jobs), "%s/_jobs", dir);
	snprintf(job, sizeof(job), "%s/g001-7-20261129-20", jobs);
	assert_int_equal(mkdir(jobs, 0700), 0);
	assert_int_equal(mkdir(job, 0700), 0);
	assert_string_equal(by(line, HOUR + 5, dir), "g001-7-20261129-20");
	assert_string_equal(by(line, HOUR + 119, dir), "g001-7-20261129-20");
	assert_string_equal(by(line, HOUR + 120, dir), "g001-7-20261129-21");
	rmdir(job);
	rmdir(jobs);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_nodes_have_mpirun_in_common),
		cmocka_unit_test(
			an_hour_that_has_just_begun_is_the_one_before_where_the_job_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
