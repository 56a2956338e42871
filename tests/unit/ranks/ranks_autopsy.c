/* ranks_autopsy.c - the rank that is the cause, from ends that are made by hand; and what a file of a stranger may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters/ranks/autopsy/autopsy.h"
#include "exporters/ranks/autopsy/words.h"
#include "exporters/why/model/frame.h"

#define SECOND INT64_C(1000000000)

static struct autopsy a;
static char *json;

/* One rank more of the file: its own number, comm and seq (0: none) joined at @call s, end at @end s (0: not recorded), wait status. */
static void add(int rank, int comm, int seq, int call, int end, int status, const char *more)
{
	char one[4096], joined[256] = "", at[32] = "null", how[32] = "null";
	char *all;

	if (comm)
		snprintf(joined, sizeof(joined),
			 "{\"comm\": %d, \"seq\": %d, \"op\": \"AllReduce\", \"size\": 4, "
			 "\"call\": %lld, \"end\": "
			 "null}",
			 comm, seq, (long long)(call * SECOND));
	if (end)
		snprintf(at, sizeof(at), "%lld", (long long)(end * SECOND));
	if (end && status >= 0)
		snprintf(how, sizeof(how), "%d", status);
	snprintf(one, sizeof(one),
		 "{\"rank\": %d, \"restart\": 0, \"world\": 4, \"start\": %lld, \"joined\": [%s], "
		 "\"facts\": {\"pid\": %d, "
		 "\"end\": %s, \"status\": %s%s}}",
		 rank, (long long)SECOND, joined, 100 + rank, at, how, more);
	assert_true(asprintf(&all, "%s%s%s", json ? json : "", json ? ", " : "", one) > 0);
	free(json);
	json = all;
}

static const char *dies_at(int tid, const char *function, int line)
{
	static char text[512];

	snprintf(text, sizeof(text),
		 ", \"deaths\": [{\"tid\": %d, \"time\": 5, \"stack\": [[\"raise\", \"raise.c\", "
		 "1, \"libc.so.6\", 0], "
		 "[\"%s\", \"/a/x.c\", %d, \"/a/prog\", %d], [\"main\", \"/a/x.c\", 99, "
		 "\"/a/prog\", %d]]}]",
		 tid, function, line, RANK_NATIVE, RANK_NATIVE);
	return text;
}

/* Judges what was added: the number of the cause; -1: none. */
static int64_t judge(void)
{
	char *all;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_true(asprintf(&all, "{\"version\": 1, \"ranks\": [%s]}", json ? json : "") > 0);
	autopsy_free(&a);
	assert_int_equal(autopsy_read_node(&a, db, "n0", all), SQLITE_OK);
	assert_true(autopsy_judge(&a));
	free(all);
	free(json);
	json = NULL;
	sqlite3_close(db);
	return a.ranks_cnt && a.ranks[0].verdict.role == AUTOPSY_CAUSE ? a.ranks[0].id.rank : -1;
}

static void put_name(FILE *out, const char *text)
{
	fputs(text, out);
}

static const char *place(void)
{
	static char *text;
	size_t len;
	FILE *out;

	free(text);
	out = open_memstream(&text, &len);
	words_place(out, &a.ranks[0], put_name);
	fclose(out);
	return text;
}

static void a_rank_that_dies_first_is_the_cause(void **state)
{
	(void)state;
	add(0, 7, 10, 4, 9, 15, "");
	add(1, 7, 10, 4, 9, 15, "");
	add(2, 7, 9, 3, 5, 11, dies_at(102, "segv", 83));
	add(3, 7, 10, 4, 9, 15, "");
	assert_int_equal(judge(), 2);
	assert_int_equal(a.reason, AUTOPSY_DIED);
	assert_string_equal(place(), "segv (x.c:83)");
	assert_int_equal(a.ranks[0].verdict.waiters, 3);
	assert_int_equal(a.stuck_cnt, 1);
	assert_int_equal(a.stuck[0].in_cnt, 3);
	assert_int_equal(a.stuck[0].missing[0].rank, 2);
}

static void a_rank_that_has_not_joined_is_the_cause_of_a_hang(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		add(i, 7, i == 1 ? 9 : 10, 4, 9, 15, "");
	assert_int_equal(judge(), 1);
	assert_int_equal(a.reason, AUTOPSY_NOT_JOINED);
	/* It left: the others wait all the same. */
	for (int i = 0; i < 4; i++)
		add(i, 7, i == 1 ? 9 : 10, 4, i == 1 ? 5 : 9, i == 1 ? 0 : 15, "");
	assert_int_equal(judge(), 1);
	assert_int_equal(a.reason, AUTOPSY_LEFT);
}

static void of_two_collectives_the_one_that_most_wait_in_counts(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		char comms[64];

		snprintf(comms, sizeof(comms), ", \"comms\": [[%d, 4, %d]]", i == 3 ? 7 : 8, i);
		add(i, i == 3 ? 8 : 7, i == 3 ? 1 : 10, 4, 9, 15, comms);
	}
	assert_int_equal(judge(), 3);
	assert_int_equal(a.reason, AUTOPSY_ELSEWHERE);
	assert_int_equal(a.stuck_cnt, 2);
}

/* Ranks 0 and 1 wait for 2 on one communicator, 2 waits on another for 3, which waits for no rank. */
static void a_chain_leads_to_its_end(void **state)
{
	(void)state;
	add(0, 7, 10, 4, 9, 15, "");
	add(1, 7, 10, 4, 9, 15, "");
	add(2, 8, 5, 4, 9, 15, ", \"comms\": [[7, 3, 2]]");
	add(3, 8, 4, 3, 9, 15, "");
	assert_int_equal(judge(), 3);
	assert_int_equal(a.ranks[0].verdict.waiters, 3);
}

/* The watchdog of NCCL ends ranks that have waited: those are not the cause, though they end first. */
static void a_rank_that_gave_up_waiting_is_not_the_cause(void **state)
{
	(void)state;
	add(0, 7, 10, 4, 600, 6, "");
	add(1, 7, 9, 4, 640, 15, "");
	add(2, 7, 10, 4, 601, 6, "");
	assert_int_equal(judge(), 1);
}

static void without_collectives_the_first_death_counts(void **state)
{
	(void)state;
	add(0, 0, 0, 0, 7, 256, "");
	add(1, 0, 0, 0, 6, 768, dies_at(101, "exits", 94));
	add(2, 0, 0, 0, 7, 256, "");
	assert_int_equal(judge(), 1);
	assert_int_equal(a.reason, AUTOPSY_DIED);
	assert_string_equal(place(), "exits (x.c:94)");
}

/* A wait of the main thread for over a second, and its death there. */
static const char *waits_at(int tid, const char *function, int line)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "%s, \"waits\": [{\"tid\": %d, \"time\": 4, \"call\": \"futex\", \"stack\": "
		 "[[\"f\", \"/a/x.c\", 1, "
		 "\"libc.so.6\", 0]]}]",
		 dies_at(tid, function, line), tid);
	return text;
}

static void of_ranks_ended_together_the_odd_one_counts(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		add(i, 0, 0, 0, 9, 15,
		    waits_at(100 + i, i == 3 ? "sleeps" : "all_reduce", i == 3 ? 12 : 50));
	assert_int_equal(judge(), 3);
	assert_int_equal(a.reason, AUTOPSY_DIFFERS);
	/* They went on until then: where they were is of chance. */
	for (int i = 0; i < 4; i++)
		add(i, 0, 0, 0, 9, 15,
		    dies_at(100 + i, i == 3 ? "sleeps" : "all_reduce", i == 3 ? 12 : 50));
	assert_int_equal(judge(), -1);
	for (int i = 0; i < 4; i++)
		add(i, 0, 0, 0, 9, 15, waits_at(100 + i, "all_reduce", 50));
	assert_int_equal(judge(), -1);
	assert_int_equal(a.reason, AUTOPSY_UNKNOWN);
}

static void a_deadlock_of_threads_is_the_cause(void **state)
{
	static const char *const waits =
		", \"waits\": [{\"tid\": 102, \"time\": 8, \"call\": \"futex\", \"owner\": 202, "
		"\"ownerPid\": 102, \"stack\": "
		"[[\"first\", \"/a/x.c\", 5, \"/a/prog\", 4]]}, {\"tid\": 202, \"time\": 8, "
		"\"call\": \"futex\", \"owner\": 102, "
		"\"ownerPid\": 102, \"stack\": [[\"second\", \"/a/x.c\", 6, \"/a/prog\", 4]]}]";

	(void)state;
	for (int i = 0; i < 3; i++)
		add(i, 0, 0, 0, 9, 9, i == 2 ? waits : "");
	assert_int_equal(judge(), 2);
	assert_int_equal(a.reason, AUTOPSY_DEADLOCK);
	assert_string_equal(place(), "first (x.c:5)");
}

static void a_job_that_was_cancelled_has_no_cause(void **state)
{
	(void)state;
	/* One rank is a collective ahead, and none has waited for long. */
	for (int i = 0; i < 4; i++)
		add(i, 7, i ? 9 : 10, 9, 9, 15, "");
	assert_int_equal(judge(), -1);
	/* All ended well. */
	for (int i = 0; i < 4; i++)
		add(i, 7, 9, 4, 9, 0, "");
	assert_int_equal(judge(), -1);
	assert_int_equal(judge(), -1);
	assert_int_equal(a.ranks_cnt, 0);
}

static void an_earlier_attempt_does_not_count(void **state)
{
	char *all;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	autopsy_free(&a);
	assert_true(asprintf(&all, "{\"ranks\": [{\"rank\": 0, \"restart\": 0, \"facts\": "
				   "{\"end\": 5, \"status\": 11}}, "
				   "{\"rank\": 0, \"restart\": 1, \"facts\": {\"end\": 900, "
				   "\"status\": 256}}, "
				   "{\"rank\": 1, \"restart\": 1, \"facts\": {\"end\": 500, "
				   "\"status\": 6}}]}") > 0);
	assert_int_equal(autopsy_read_node(&a, db, "n0", all), SQLITE_OK);
	assert_true(autopsy_judge(&a));
	assert_int_equal(a.ranks[0].id.rank, 1);
	free(all);
	sqlite3_close(db);
}

/* Whatever stands in a file: no crash, and what is no rank is none. */
static void files_of_strangers_are_read_as_far_as_they_go(void **state)
{
	static const char *const files[] = {
		"",
		"x",
		"[]",
		"{}",
		"{\"ranks\": 5}",
		"{\"ranks\": [1, null, \"x\", [], {}]}",
		"{\"ranks\": [{\"rank\": \"0\"}, {\"rank\": 1.5}]}",
		"{\"ranks\": [{\"rank\": 0, \"joined\": [{\"comm\": \"x\"}, 1, {\"comm\": 1}], "
		"\"facts\": []}]}",
		"{\"ranks\": [{\"rank\": 0, \"facts\": {\"deaths\": [1, {\"time\": 1, \"stack\": "
		"[1, [], [1, 2], {}]}], \"waits\": {}, "
		"\"calls\": [1, []], \"ranges\": [[], [1]], \"notes\": [1, \"\\u001b[2J\"], "
		"\"children\": [[], 1], \"sample\": 1}}]}",
	};
	static const size_t ranks[] = {0, 0, 0, 0, 0, 0, 0, 1, 1};
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		autopsy_free(&a);
		(void)autopsy_read_node(&a, db, "n0", files[i]);
		assert_int_equal(a.ranks_cnt, ranks[i]);
		assert_true(autopsy_judge(&a));
		autopsy_put_text(out, &a, "r", 0);
		autopsy_put_page(out, &a, "r");
		assert_int_equal(autopsy_put_json(out, &a, "r", NULL), 0);
		fclose(out);
		assert_null(strchr(text, '\x1b'));
		free(text);
	}
	sqlite3_close(db);
}

static void names_are_text_on_the_page(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	add(0, 0, 0, 0, 5, 11, dies_at(100, "<script>alert(1)</script>", 1));
	add(1, 0, 0, 0, 9, 15, "");
	assert_int_equal(judge(), 0);
	autopsy_put_page(out, &a, "r");
	fclose(out);
	assert_null(strstr(text, "<script"));
	assert_non_null(strstr(text, "&#60;script"));
	free(text);
	autopsy_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_that_dies_first_is_the_cause),
		cmocka_unit_test(a_rank_that_has_not_joined_is_the_cause_of_a_hang),
		cmocka_unit_test(of_two_collectives_the_one_that_most_wait_in_counts),
		cmocka_unit_test(a_chain_leads_to_its_end),
		cmocka_unit_test(a_rank_that_gave_up_waiting_is_not_the_cause),
		cmocka_unit_test(without_collectives_the_first_death_counts),
		cmocka_unit_test(of_ranks_ended_together_the_odd_one_counts),
		cmocka_unit_test(a_deadlock_of_threads_is_the_cause),
		cmocka_unit_test(a_job_that_was_cancelled_has_no_cause),
		cmocka_unit_test(an_earlier_attempt_does_not_count),
		cmocka_unit_test(files_of_strangers_are_read_as_far_as_they_go),
		cmocka_unit_test(names_are_text_on_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
