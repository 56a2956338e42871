/* ranks_top.c - the slowest rank of a running job and its reason, of ranks made by hand; text and JSON of hostile names. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporters/ranks/top/ranks_top.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static struct ranks_top t;

static void session(const char *host, int64_t silent_s)
{
	t.session = reallocarray(t.session, t.sessions + 1, sizeof(*t.session));
	t.session[t.sessions] = (struct top_session){
		.file = strdup(host), .pid = 40 + (uint32_t)t.sessions, .silent_s = silent_s};
	snprintf(t.session[t.sessions++].host, JOB_NAME, "%s", host);
}

/* 100 steps in 5 s, 10 ms of computing each and @own in all. */
static struct job_pace *rank(const char *name, size_t in, int64_t own)
{
	struct job_series k = {.pace = {.span = 5 * S, .steps = 100, .size = 4}};

	snprintf(k.name, sizeof(k.name), "%s", name);
	k.pace.part[JOB_STEP] = 100 * 50 * MS;
	k.pace.part[JOB_OWN] = 100 * own;
	k.pace.part[JOB_CPU] = 100 * 10 * MS;
	assert_true(ranks_top_add(&t, in, &k));
	return &t.rank[t.ranks - 1].pace;
}

static int set_up(void **state)
{
	(void)state;
	t = (struct ranks_top){.run = "4711"};
	session("n0", 0);
	session("n1", 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ranks_top_free(&t);
	return 0;
}

static char *text(size_t rows, size_t width)
{
	static char all[65536];
	FILE *f = fmemopen(all, sizeof(all), "w");

	ranks_top_print(f, &t, rows, width);
	fclose(f);
	return all;
}

static char *json(size_t rows)
{
	static char all[65536];
	FILE *f = fmemopen(all, sizeof(all), "w");

	ranks_top_json(f, &t, rows);
	fclose(f);
	return all;
}

static void the_slowest_rank_has_the_part_that_the_others_lack(void **state)
{
	(void)state;
	rank("rank 0", 0, 20 * MS);
	rank("rank 1", 0, 21 * MS)->part[JOB_SLEEP] = 100 * 3 * MS;
	rank("rank 2", 1, 40 * MS)->part[JOB_FILE] = 100 * 18 * MS;
	rank("rank 3", 1, 22 * MS);
	ranks_top_judge(&t);
	assert_string_equal(t.rank[0].name, "rank 2");
	assert_int_equal(t.rank[0].reason, JOB_FILE);
	assert_true(fabs(t.rank[0].excess_ms - 19) < 1e-9 && fabs(t.rank[0].reason_ms - 18) < 1e-9);
	assert_true(fabs(t.steps_per_s - 20) < 1e-9);
	assert_true(ranks_top_is_late(&t));
	assert_int_equal(t.live, 4);
	assert_int_equal(t.size, 4);
	assert_int_equal(t.hosts, 2);
	assert_non_null(
		strstr(text(20, 0),
		       "run 4711: 4 of 4 ranks on 2 nodes, 2 sessions, 20.0 steps/s\n"
		       "slowest: rank 2 on n1, 40.0 ms by itself in a step, the median is "
		       "21.0 ms: reading or writing a file, a pipe or a device (18.0 ms more)\n"));
	assert_non_null(strstr(
		json(20), "\"slowest\": {\"name\": \"rank 2\", \"rank\": 2, \"host\": \"n1\""));
}

/* Where the other ranks spin until the GPU is done, computing is no difference. */
static void what_no_part_explains_is_not_guessed(void **state)
{
	(void)state;
	rank("rank 0", 0, 20 * MS);
	rank("rank 1", 0, 20 * MS);
	rank("rank 2", 1, 40 * MS)->part[JOB_LOCK] = 100 * 9 * MS;
	ranks_top_judge(&t);
	assert_int_equal(t.rank[0].reason, JOB_PARTS);
	assert_string_equal(ranks_top_reason(&t.rank[0]), "its GPU, or what is not recorded");
	t.rank[0].pace.part[JOB_LOCK] = 100 * 10 * MS;
	ranks_top_judge(&t);
	assert_int_equal(t.rank[0].reason, JOB_LOCK);
}

static void a_healthy_job_has_no_slowest_rank(void **state)
{
	(void)state;
	rank("rank 0", 0, 20 * MS);
	rank("rank 1", 0, 21 * MS);
	rank("rank 2", 1, 20 * MS);
	ranks_top_judge(&t);
	assert_false(ranks_top_is_late(&t));
	assert_non_null(
		strstr(text(20, 0), "no rank is late: 20.0 ms in a step, the longest 21.0 ms"));
	assert_non_null(strstr(json(20), "\"slowest\": null"));
	t.rank[0].pace.part[JOB_OWN] = 100 * 21 * MS + 101;
	ranks_top_judge(&t);
	assert_true(ranks_top_is_late(&t));
}

static void silent_sessions_have_no_pace(void **state)
{
	(void)state;
	session("n2", RANKS_TOP_SILENT_S + 1);
	rank("rank 0", 0, 20 * MS);
	rank("rank 1", 1, 20 * MS);
	rank("rank 2", 2, 90 * MS);
	rank("rank 3", 2, 90 * MS);
	ranks_top_judge(&t);
	assert_int_equal(t.live, 2);
	assert_int_equal(t.stepping, 2);
	assert_int_equal(t.silent, 1);
	assert_false(ranks_top_is_late(&t));
	assert_non_null(strstr(text(20, 0), "run 4711: 2 of 4 ranks on 3 nodes"));
	assert_non_null(strstr(text(20, 0), "silent for 16 s: n2, process 42, 2 ranks\n"));
	assert_non_null(strstr(
		json(20),
		"\"silent\": [{\"host\": \"n2\", \"pid\": 42, \"seconds\": 16, \"ranks\": 2}]"));
}

static void a_rank_that_went_on_elsewhere_counts_once(void **state)
{
	(void)state;
	session("n2", 99);
	rank("rank 0", 0, 20 * MS);
	rank("rank 1", 1, 20 * MS);
	rank("rank 1", 2, 20 * MS);
	rank("rank 2", 0, 20 * MS);
	rank("rank 1", 0, 20 * MS);
	ranks_top_judge(&t);
	assert_int_equal(t.live, 3);
}

static void ranks_without_steps_are_shown(void **state)
{
	(void)state;
	rank("rank 0", 0, 0)->steps = 0;
	rank("process 17", 1, 0)->steps = 0;
	ranks_top_judge(&t);
	assert_int_equal(t.stepping, 0);
	assert_non_null(
		strstr(text(20, 0), "no steps in the last seconds\nsteps are NVTX ranges 'step'"));
	assert_non_null(strstr(json(20), "\"stepMs\": null"));
	t.ranks = 0;
	ranks_top_judge(&t);
	assert_non_null(strstr(text(20, 0), "run 4711: 0 ranks on 2 nodes"));
}

static void output_is_bounded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "rank %u", i);
		rank(name, 0, (20 + i) * MS);
		session("dead", 100);
	}
	ranks_top_judge(&t);
	assert_non_null(strstr(text(3, 0), "\n297 more ranks (--rows)\n"));
	assert_non_null(strstr(text(3, 0), "\nsilent: 297 more sessions\n"));
	assert_null(strstr(text(3, 0), "rank 296 "));
	assert_non_null(strstr(text(3, 0), "rank 297 "));
	assert_non_null(strstr(json(3), "\"omitted\": 297}"));
	for (const char *at = text(5, 20), *end; (end = strchr(at, '\n')); at = end + 1)
		assert_true(end - at <= 20);
}

/* Clocks of nodes and of the file server differ. */
static void a_session_is_silent_by_the_clock_of_the_others(void **state)
{
	(void)state;
	assert_int_equal(ranks_top_silent(1000, 970, 970), 0);
	assert_int_equal(ranks_top_silent(1000, 970, 950), 20);
	assert_int_equal(ranks_top_silent(900, 970, 970), 0);
	assert_int_equal(ranks_top_silent(1000, 880, 880), 120);
	assert_int_equal(ranks_top_silent(1000, 881, 880), 1);
	assert_int_equal(ranks_top_silent(1000, 970, 980), 0);
}

static void files_of_a_job_become_ranks(void **state)
{
	char dir[] = "/tmp/sightline-top.XXXXXX", path[128];
	struct job_folder f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	ranks_top_free(&t);
	assert_int_equal(ranks_top_read(&t, dir, 0), -ENOENT);
	assert_int_equal(job_open(&f, dir, "4711", true), 0);
	assert_int_equal(ranks_top_read(&t, dir, 0), -ENOENT);
	assert_int_equal(job_write(f.at, "a",
				   JOB_MARK "\nhost n\x1b[2J\npid 3\npace 5000000000 100 2 "
					    "1,2,3,4,5,6,7,8,9,10 rank 1\n"
					    "pace 5 1 2 1,2,3 rank 0\npace x\n"),
			 0);
	assert_int_equal(job_write(f.at, "b", "rubbish"), 0);
	assert_int_equal(job_write(f.at, "c", JOB_MARK "\nhost m\nended 1\n"), 0);
	assert_int_equal(ranks_top_read(&t, dir, 0), 0);
	ranks_top_judge(&t);
	assert_int_equal(t.sessions, 1);
	assert_int_equal(t.ranks, 1);
	assert_int_equal(t.rank[0].pace.part[JOB_POLL], 10);
	assert_null(strchr(text(9, 0), 0x1b));
	unlinkat(f.at, "a", 0);
	unlinkat(f.at, "b", 0);
	unlinkat(f.at, "c", 0);
	job_remove(&f, dir, "4711");
	job_close(&f);
	snprintf(path, sizeof(path), "%s/_jobs", dir);
	rmdir(path);
	assert_int_equal(rmdir(dir), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_slowest_rank_has_the_part_that_the_others_lack),
		TEST(what_no_part_explains_is_not_guessed),
		TEST(a_healthy_job_has_no_slowest_rank),
		TEST(silent_sessions_have_no_pace),
		TEST(a_rank_that_went_on_elsewhere_counts_once),
		TEST(ranks_without_steps_are_shown),
		TEST(output_is_bounded),
		TEST(a_session_is_silent_by_the_clock_of_the_others),
		TEST(files_of_a_job_become_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
