/* job.c - the files of a job: what is read of them, whatever they hold. */
#include <errno.h>
#include <fcntl.h>
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

#include "collector/job/job.h"

static struct job_session s, t;

static void a_session_reads_as_it_was_written(void **state)
{
	char *text;

	(void)state;
	s = (struct job_session){.host = "g017", .pid = 4711, .beat = 3};
	job_answer_add(&s, "0123456789abcdef")->status = JOB_TAKEN;
	*job_answer_add(&s, "fedcba9876543210") = (struct job_answer){
		.id = "fedcba9876543210", .status = 1, .text = "the report is not there"};
	for (uint32_t i = 1; i <= JOB_STEPS + 5; i++)
		job_step_add(&s, "rank 7", i, 1000 + i);
	job_step_add(&s, "process 12", 1, 0);
	assert_true(
		job_pace_read(&s, "5000000000 90 8 1,2,3,4,5,6,7,8,9,9223372036854775807 rank 7"));
	assert_true(job_pace_read(&s, "5 0 0 0,0,0,0,0,0,0,0,0,0 rank 8\nrest"));
	assert_false(job_pace_read(&s, "5 0 0 0,0,0,0,0,0,0,0,0 rank 8"));
	assert_false(job_pace_read(&s, "5 0 0 0,0,0,0,0,0,0,0,0,0,0 rank 8"));
	assert_false(job_pace_read(&s, "5 4294967296 0 0,0,0,0,0,0,0,0,0,0 rank 8"));
	assert_false(job_pace_read(&s, "5 0 0,0,0,0,0,0,0,0,0,0 rank 8"));
	assert_false(job_pace_read(&s, ""));
	text = job_session_write(&s);
	assert_true(job_session_read(&t, text));
	assert_memory_equal(&s, &t, sizeof(s));
	assert_int_equal(t.series[0].last, JOB_STEPS + 5);
	assert_int_equal(t.series[0].own[0], 1000 + 6);
	assert_int_equal(t.series[0].pace.steps, 90);
	assert_int_equal(t.series[0].pace.size, 8);
	assert_int_equal(t.series[0].pace.part[JOB_POLL], INT64_MAX);
	assert_string_equal(t.series[2].name, "rank 8");
	free(text);
}

static void requests_read_as_they_were_written(void **state)
{
	static struct job_requests r, again;
	char *text;

	(void)state;
	for (unsigned i = 0; i < JOB_REQUESTS + 3; i++) {
		struct job_request q = {.verb = i % JOB_VERBS};

		snprintf(q.id, sizeof(q.id), "%016x", i);
		if (i % 2)
			snprintf(q.text, sizeof(q.text), "a reason of %u words", i);
		if (q.verb == JOB_LATE)
			snprintf(q.to, sizeof(q.to), "rank_%u/a-1-00ff/b-2-00fe", i);
		job_requests_add(&r, &q);
	}
	text = job_requests_write(&r);
	job_requests_read(&again, text);
	assert_int_equal(again.cnt, JOB_REQUESTS);
	assert_memory_equal(&again, &r, sizeof(r));
	assert_non_null(job_request_find(&again, "0000000000000012"));
	assert_null(job_request_find(&again, "0000000000000002"));
	assert_true(job_request_is_to("rank_3/a-1-00ff/b-2-00fe", "a-1-00ff"));
	assert_true(job_request_is_to("rank_3/a-1-00ff/b-2-00fe", "b-2-00fe"));
	assert_false(job_request_is_to("rank_3/a-1-00ff/b-2-00fe", "rank_3"));
	assert_false(job_request_is_to("rank_3/a-1-00ff/b-2-00fe", "a-1-00f"));
	assert_false(job_request_is_to("", "a"));
	free(text);
}

static void lines_that_make_no_sense_are_passed_over(void **state)
{
	struct job_requests r;

	(void)state;
	job_requests_read(&r, JOB_MARK "\n0123456789abcdef rm -rf /\n0123456789abcde dump x\n"
				       "0123456789abcdef dumped\n\n0123456789abcdef\n"
				       "0123456789ABCDEF dump\n0123456789abcdef dump a\x1b[2Jb\n"
				       "0123456789abcdef stop again");
	assert_int_equal(r.cnt, 1);
	assert_int_equal(r.at[0].verb, JOB_DUMP);
	assert_string_equal(r.at[0].text, "a?[2Jb");
	job_requests_read(&r, "0123456789abcdef dump\n");
	assert_int_equal(r.cnt, 0);
	assert_false(job_session_read(&t, "host a\n"));
	assert_false(job_session_read(&t, JOB_MARK "\npid 3\n"));
	assert_true(job_session_read(&t, JOB_MARK "\nhost a\npid 99999999999\nbeat -1\nsteps\n"
						  "steps 1\nsteps 2 1,2,3 too many\nsteps 5 1,x n\n"
						  "steps 4 99999999999999999999 n\nsteps 7 3,4 m\n"
						  "answer 0123456789abcdef 256 x\nanswer 1 1 y\n"));
	assert_int_equal(t.pid, 0);
	assert_int_equal(t.answers, 0);
	assert_int_equal(t.series_cnt, 1);
	assert_string_equal(t.series[0].name, "m");
	assert_int_equal(t.series[0].cnt, 2);
}

static void more_than_there_is_room_for(void **state)
{
	static char text[1 << 20];
	size_t len = (size_t)sprintf(text, JOB_MARK "\nhost a\n");

	(void)state;
	for (int i = 0; i < 300; i++) {
		len += (size_t)sprintf(text + len, "steps 90 ");
		for (int k = 0; k < 80; k++)
			len += (size_t)sprintf(text + len, "%d,", k);
		len += (size_t)sprintf(text + len, "1 %0200d\nanswer %016x 0 %0900d\n", i,
				       (unsigned)i, i);
	}
	assert_true(job_session_read(&t, text));
	assert_true(t.series_cnt <= JOB_SERIES && t.answers == JOB_REQUESTS);
}

/* ---- the folder ---- */

static void files_of_others_and_what_is_no_file_do_not_count(void **state)
{
	char dir[] = "/tmp/sightline-job.XXXXXX", path[128], **names, *text;
	struct job_folder f;
	size_t cnt;
	FILE *out;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(job_open(&f, dir, "run", false), -ENOENT);
	assert_int_equal(job_open(&f, dir, "run", true), 0);
	assert_int_equal(f.owner, geteuid());
	assert_int_equal(job_write(f.at, "one", "text"), 0);
	text = job_read(&f, f.at, "one");
	assert_string_equal(text, "text");
	free(text);
	snprintf(path, sizeof(path), "%s/_jobs/run/at/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(job_read(&f, f.at, "fifo"));
	unlink(path);
	snprintf(path, sizeof(path), "%s/_jobs/run/at/link", dir);
	assert_int_equal(symlink("one", path), 0);
	assert_null(job_read(&f, f.at, "link"));
	unlink(path);
	snprintf(path, sizeof(path), "%s/_jobs/run/at/big", dir);
	out = fopen(path, "w");
	assert_int_equal(ftruncate(fileno(out), JOB_FILE_MAX + 1), 0);
	fclose(out);
	assert_null(job_read(&f, f.at, "big"));
	assert_int_equal(truncate(path, 3), 0); /* bytes that are 0 */
	assert_null(job_read(&f, f.at, "big"));
	unlink(path);
	if (geteuid() == 0) {
		assert_int_equal(job_write(f.at, "other", "text"), 0);
		assert_int_equal(fchownat(f.at, "other", 65534, 65534, 0), 0);
		assert_null(job_read(&f, f.at, "other"));
		unlinkat(f.at, "other", 0);
	}
	cnt = job_list(f.at, &names);
	assert_int_equal(cnt, 1);
	assert_string_equal(names[0], "one");
	job_list_free(names, cnt);
	job_remove(&f, dir, "run");
	assert_int_equal(job_open(&f, dir, "run", true), 0);
	unlinkat(f.at, "one", 0);
	job_remove(&f, dir, "run");
	job_close(&f);
	assert_int_equal(job_open(&f, dir, "run", false), -ENOENT);
	snprintf(path, sizeof(path), "%s/_jobs", dir);
	rmdir(path);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_reads_as_it_was_written),
		cmocka_unit_test(requests_read_as_they_were_written),
		cmocka_unit_test(lines_that_make_no_sense_are_passed_over),
		cmocka_unit_test(more_than_there_is_room_for),
		cmocka_unit_test(files_of_others_and_what_is_no_file_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
