/* tl_stacks.c - the frames of samples, in our reports by the number of the stack, in those of nsys by that of the sample. */
#include "tl_test.h"

static const struct tl_options samples = {.activities = TL_ACT_SAMPLE, .no_args = true};

static void frames_of_a_stack_come_innermost_first(void **state)
{
	(void)state;
	/* Frame 7 is in no table, stack 3 neither; the last sample is the end of time without a CPU. */
	check_with(
		&samples, 0,
		"strings: (1, 'leaf'), (2, 'main'), (3, 'app'), (4, 'do_read'), "
		"(5, '[kernel]');"
		"CREATE TABLE SL_STACKS(id, depth, frameId);"
		"CREATE TABLE SL_FRAMES(id INTEGER PRIMARY KEY, kind, symbol, module, file, "
		"line, inlined, unresolved, originalIP);"
		"CREATE TABLE COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start, cpu, "
		"threadState, globalTid, cpuCycles, stackId, end);"
		"INSERT INTO SL_FRAMES VALUES (1, 0, 1, 3, NULL, NULL, 0, 0, 16), "
		"(2, 0, 2, 3, NULL, NULL, 0, 0, NULL), (3, 2, 4, 5, NULL, NULL, 0, 0, -1);"
		"INSERT INTO SL_STACKS VALUES (1, 0, 1), (1, 1, 2), (2, 2, 2), (2, 0, 3), "
		"(2, 1, 7), (2, 3, 2);"
		"INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, 3, 1, $70.71, 1, 1, NULL), "
		"(2, 20, NULL, 1, $70.71, 1, 2, NULL), (3, 30, 3, 1, $70.72, 1, 1, NULL), "
		"(4, 40, 3, 1, $70.71, 1, 3, NULL), (5, 50, 3, 1, $70.71, 1, NULL, NULL), "
		"(6, 60, 3, 1, $70.71, 1, 0, NULL), (7, 70, 3, 1, NULL, 1, 1, NULL), "
		"(8, 80, 3, 1, $70.71, 0, 1, 90);",
		"thread 70.71: 10 sample cpu 3 ['leaf' in 'app' at 0x10] ['main' in 'app'] stack "
		"1\n"
		"thread 70.71: 20 sample cpu -1 ['do_read' in '[kernel]' at 0xffffffffffffffff of "
		"the "
		"kernel] ['main' in 'app'] ['main' in 'app'] stack 2\n"
		"thread 70.72: 30 sample cpu 3 ['leaf' in 'app' at 0x10] ['main' in 'app'] stack "
		"1\n"
		"thread 70.71: 40 sample cpu 3 stack 3\n"
		"thread 70.71: 50 sample cpu 3\n"
		"thread 70.71: 60 sample cpu 3\n");
}

static void samples_of_nsys_have_frames_of_their_own(void **state)
{
	const char *want =
		"thread 70.71: 10 sample cpu 3 ['leaf' in 'app']\n"
		"thread 70.71: 20 sample cpu 4 ['do_read' in '[kernel]' of the kernel] ['main' in "
		"'app']\n"
		"thread 70.71: 30 sample cpu 5\n";

	(void)state;
	check_with(&samples, 0,
		   "strings: (1, 'leaf'), (2, 'main'), (3, 'app'), (4, 'do_read'), "
		   "(5, '[kernel]');"
		   "SAMPLING_CALLCHAINS(id, symbol, module, kernelMode, stackDepth): (2, 2, 3, "
		   "NULL, 1), (1, 1, 3, 0, 0), (2, 4, 5, 1, 0);"
		   "CREATE INDEX by_id ON SAMPLING_CALLCHAINS(id, stackDepth);"
		   "COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start, cpu, threadState, "
		   "globalTid, cpuCycles): (1, 10, 3, 1, $70.71, 5), (2, 20, 4, 1, $70.71, 5), "
		   "(3, 30, 5, 1, $70.71, 5);",
		   want);
	/* Old files have no index: they are sorted first. */
	check_with(&samples, 0,
		   "strings: (1, 'leaf'), (2, 'main'), (3, 'app'), (4, 'do_read'), "
		   "(5, '[kernel]');"
		   "SAMPLING_CALLCHAINS(id, symbol, module, kernelMode, stackDepth): (2, 2, 3, "
		   "NULL, 1), (1, 1, 3, 0, 0), (2, 4, 5, 1, 0);"
		   "COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start, cpu, threadState, "
		   "globalTid, cpuCycles): (1, 10, 3, 1, $70.71, 5), (2, 20, 4, 1, $70.71, 5), "
		   "(3, 30, 5, 1, $70.71, 5);",
		   want);
}

static void samples_of_a_report_without_stacks_are_left_out(void **state)
{
	(void)state;
	check_with(&samples, 0,
		   "strings: (1, 'leaf'), (2, 'main'), (3, 'app'), (4, 'do_read'), "
		   "(5, '[kernel]');"
		   "COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start, cpu, globalTid): (1, 10, 3, "
		   "5);",
		   "");
}

struct long_names {
	int64_t cnt;
};

static int no_track(void *self, struct tl_track *t)
{
	(void)self;
	(void)t;
	return 0;
}

/* Symbol i is a million times the letter A + i % 26. */
static int long_frame(void *self, const struct tl_event *e)
{
	struct long_names *s = self;
	int64_t i = s->cnt++ % 55;

	assert_int_equal(e->frame_cnt, 2);
	assert_int_equal(e->frames[0].symbol.len, 1000000);
	assert_int_equal(e->frames[0].symbol.text[999999], 'A' + i % 26);
	assert_int_equal(e->frames[1].symbol.text[0], 'A');
	return 0;
}

static void frames_are_read_again_when_their_texts_were_forgotten(void **state)
{
	static const struct tl_sink sink = {no_track, long_frame, NULL};
	struct long_names seen = {0};
	sqlite3 *db = report_of(
		"CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value);"
		"CREATE TABLE SL_STACKS(id, depth, frameId);"
		"CREATE TABLE SL_FRAMES(id INTEGER PRIMARY KEY, kind, symbol, module, file, "
		"line, inlined, unresolved, originalIP);"
		"CREATE TABLE COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start, cpu, "
		"threadState, globalTid, cpuCycles, stackId, end);"
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "
		"54)INSERT INTO StringIds SELECT i + 1, printf('%.*c', 1000000, char(65 + i "
		"% 26)) FROM n;"
		"INSERT INTO SL_FRAMES SELECT id, 0, id, 0, NULL, NULL, 0, 0, 0 FROM "
		"StringIds;"
		"INSERT INTO SL_STACKS SELECT id, 0, id FROM StringIds UNION ALL SELECT id, "
		"1, 1 FROM StringIds ORDER BY 1, 2;"
		"INSERT INTO COMPOSITE_EVENTS(id, start, globalTid, stackId) SELECT id, id, "
		"5, id FROM StringIds UNION ALL SELECT id + 55, id + 55, 5, id FROM "
		"StringIds;");
	char why[100];

	(void)state;
	/* 55 MB of texts, twice: more than the 48 MiB that are kept. */
	assert_int_equal(timeline_run(db, &samples, &sink, &seen, why, sizeof(why)), 110);
	assert_int_equal(seen.cnt, 110);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_a_stack_come_innermost_first),
		cmocka_unit_test(samples_of_nsys_have_frames_of_their_own),
		cmocka_unit_test(samples_of_a_report_without_stacks_are_left_out),
		cmocka_unit_test(frames_are_read_again_when_their_texts_were_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
