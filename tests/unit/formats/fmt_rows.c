/* fmt_rows.c - which tables and columns reach a format of tables, which times are shifted, when it stops. */
#include "fmt_test.h"

#include "exporters/formats/rows.h"
#include "exporters/formats/table_list.h"

/* A sink that writes down its calls. */
struct seen {
	char text[8192];
	size_t len;
	int rows_left;   /* row() fails when there are none */
	bool refuse_end; /* end() fails */
	bool quiet;      /* rows are not written down */
};

static void note(struct seen *s, const char *text)
{
	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, "%s", text);
	assert_true(s->len < sizeof(s->text));
}

static int on_begin(void *self, const char *table, sqlite3_stmt *stmt, int cols)
{
	struct seen *s = self;

	note(s, table);
	note(s, "(");
	for (int i = 0; i < cols; i++) {
		note(s, i ? "," : "");
		note(s, sqlite3_column_name(stmt, i));
	}
	note(s, ")");
	return strcmp(table, "REFUSED") == 0 ? -1 : 0;
}

static int on_row(void *self, sqlite3_stmt *stmt, int cols)
{
	struct seen *s = self;

	if (s->rows_left-- == 0)
		return -1;
	for (int i = 0; i < cols && !s->quiet; i++) {
		const char *text = (const char *)sqlite3_column_text(stmt, i);

		note(s, i ? "," : " ");
		note(s, text ? text : "-");
	}
	return 0;
}

static int on_end(void *self)
{
	struct seen *s = self;

	note(s, ";\n");
	return s->refuse_end ? -1 : 0;
}

static const struct rows_sink sink = {on_begin, on_row, on_end};
static struct seen seen;

static int rows_with(struct export_options opt)
{
	static const struct exporter none = {.name = "rows"};
	sqlite3 *db = fmt_open();
	struct export_job job = fmt_job(&none, db, &opt);
	int left = seen.rows_left, rc;

	seen = (struct seen){
		.rows_left = left ? left : -1, .refuse_end = seen.refuse_end, .quiet = seen.quiet};
	rc = rows_run(&job, &sink, &seen, fmt_why, sizeof(fmt_why));
	fmt_events = job.events;
	sqlite3_close(db);
	seen.rows_left = 0;
	seen.refuse_end = seen.quiet = false;
	return rc;
}

static const char *rows_of(struct export_options opt)
{
	if (rows_with(opt) != 0)
		fail_msg("%s", fmt_why);
	return seen.text;
}

static void tables_come_in_the_order_of_the_file(void **state)
{
	(void)state;
	fmt_bare_report("CREATE TABLE B (x); CREATE TABLE A (y); CREATE VIEW W AS SELECT 1;"
			"INSERT INTO A VALUES (1), (2); INSERT INTO B VALUES (NULL);"
			"CREATE TABLE SQ (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO SQ "
			"VALUES (5)");
	/* sqlite_sequence and the view are no tables of a report. */
	fmt_same(rows_of((struct export_options){.lazy = true}), "B(x) -;\nA(y) 1 2;\nSQ(id) 5;\n");
	assert_int_equal(fmt_events, 4);
	fmt_same(rows_of((struct export_options){.lazy = true, .tables = "a,,sq"}),
		 "A(y) 1 2;\nSQ(id) 5;\n");
}

/* The view of samples' stacks stands for a table. */
static void the_view_of_samples_is_a_table(void **state)
{
	(void)state;
	fmt_report(
		"INSERT INTO COMPOSITE_EVENTS (id, start, cpuCycles, stackId) VALUES (4, 10, 1, 9);"
		"INSERT INTO SL_STACKS VALUES (9, 0, 3);"
		"INSERT INTO SL_FRAMES (id, kind, symbol, module, inlined) VALUES (3, 0, 1, 2, 0)");
	fmt_same(
		rows_of((struct export_options){.lazy = true, .tables = "SAMPLING.*"}),
		"SAMPLING_CALLCHAINS(id,symbol,module,kernelMode,thumbCode,unresolved,specialEntry,"
		"originalIP,unwindMethod,stackDepth,file,line) 4,1,2,-,0,-,-,-,-,0,-,-;\n");
}

static void times_are_shifted(void **state)
{
	const struct export_options opt = {.lazy = true, .shift = -100};

	(void)state;
	fmt_bare_report(
		"CREATE TABLE E (start, \"end\", timestamp, startedAt, endedAt, wakeupTime, other);"
		"INSERT INTO E VALUES (0, 1000, 300, 50, NULL, 100, 700), (-5, 1, 2, 0, 0, 5, 6);"
		"CREATE TABLE F (openedAt, closedAt, started);"
		"INSERT INTO F VALUES (0, 700, 1), (100, 0, 2);"
		"CREATE TABLE SL_MODULES (start, \"end\", since); INSERT INTO SL_MODULES VALUES "
		"(1, 2, 3);"
		"CREATE TABLE ENUM_X (start); INSERT INTO ENUM_X VALUES (1)");
	fmt_same(rows_of(opt), "E(start,end,timestamp,startedAt,endedAt,wakeupTime,other)"
			       " -100,900,200,-50,-,0,700 -105,-99,-98,-100,-100,-95,6;\n"
			       "F(openedAt,closedAt,started) -,600,1 0,-,2;\n"
			       "SL_MODULES(start,end,since) 1,2,-97;\n"
			       "ENUM_X(start) 1;\n");
	fmt_same(rows_of((struct export_options){.lazy = true, .tables = "F"}),
		 "F(openedAt,closedAt,started) 0,700,1 100,0,2;\n");
}

static void payloads_are_left_out_unless_asked_for(void **state)
{
	(void)state;
	fmt_bare_report("CREATE TABLE N (jsonText, jsonTextId, binaryData, text);"
			"INSERT INTO N VALUES ('{}', 3, 'ff', 't')");
	fmt_same(rows_of((struct export_options){.lazy = true}),
		 "N(jsonText,jsonTextId,binaryData,text) -,-,-,t;\n");
	fmt_same(rows_of((struct export_options){.lazy = true, .include_json = true}),
		 "N(jsonText,jsonTextId,binaryData,text) {},3,-,t;\n");
	fmt_same(rows_of((struct export_options){.lazy = true, .include_blobs = true}),
		 "N(jsonText,jsonTextId,binaryData,text) -,-,ff,t;\n");
}

/* A column that the report lacks is not made up, though reports read it as NULL. */
static void columns_are_those_of_the_file(void **state)
{
	(void)state;
	fmt_bare_report(
		"CREATE TABLE OSRT_API (start, globalTid); INSERT INTO OSRT_API VALUES (1, 2)");
	fmt_same(rows_of((struct export_options){.lazy = true}),
		 "OSRT_API(start,globalTid) 1,2;\n");
	fmt_same(rows_of((struct export_options){.lazy = false, .tables = "OSRT_API,SL_SOCKETS"}),
		 "OSRT_API(start,globalTid) 1,2;\nSL_SOCKETS(fileAccessId,localAddress);\n");
}

static void a_sink_that_fails_stops_it(void **state)
{
	const struct export_options opt = {.lazy = true};

	(void)state;
	fmt_bare_report("CREATE TABLE A (x); INSERT INTO A VALUES (1), (2), (3);"
			"CREATE TABLE REFUSED (x); INSERT INTO REFUSED VALUES (7);"
			"CREATE TABLE Z (x); INSERT INTO Z VALUES (8)");
	assert_int_equal(rows_with(opt), -1);
	fmt_same(seen.text, "A(x) 1 2 3;\nREFUSED(x)");
	fmt_same(fmt_why, "");
	seen.rows_left = 2;
	assert_int_equal(rows_with(opt), -1);
	fmt_same(seen.text, "A(x) 1 2");
	seen.refuse_end = true;
	assert_int_equal(rows_with(opt), -1);
	fmt_same(seen.text, "A(x) 1 2 3;\n");
}

struct progress {
	unsigned calls;
	uint64_t done, total;
	bool stop;
};

static int on_progress(void *self, uint64_t done, uint64_t total)
{
	struct progress *p = self;

	p->calls++;
	p->done = done;
	p->total = total;
	return p->stop ? -1 : 0;
}

/* 40,000 rows and a string: asked after every 16,384th; strings do not count among the rows to come. */
static void progress_can_stop_it(void **state)
{
	static const struct exporter none = {.name = "rows"};

	(void)state;
	fmt_bare_report(
		"INSERT INTO StringIds VALUES (1000000, 'x');"
		"CREATE TABLE R (x); INSERT INTO R WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
		"SELECT i + 1 FROM n WHERE i < 40000) SELECT NULL FROM n;"
		"CREATE TABLE W (k PRIMARY KEY) WITHOUT ROWID");
	for (int stop = 0; stop < 2; stop++) {
		struct export_options opt = {.lazy = true};
		sqlite3 *db = fmt_open();
		struct export_job job = fmt_job(&none, db, &opt);
		struct progress p = {.stop = stop};

		job.timeline.progress = on_progress;
		job.timeline.of_progress = &p;
		seen = (struct seen){.rows_left = -1, .quiet = true};
		assert_int_equal(rows_run(&job, &sink, &seen, fmt_why, sizeof(fmt_why)), -stop);
		assert_int_equal(p.calls, stop ? 1 : 2);
		assert_int_equal(p.done, stop ? 16384 : 32768);
		assert_int_equal(p.total, 40000);
		assert_int_equal(job.events, stop ? 16384 : 40001);
		fmt_same(fmt_why, "");
		sqlite3_close(db);
	}
}

static int interrupt(void *unused)
{
	(void)unused;
	return 1;
}

/* SQLite's own words where it stops before the first table is known. */
static void a_list_of_tables_that_cannot_be_read(void **state)
{
	static const struct exporter none = {.name = "rows"};
	struct export_options opt = {.lazy = true};
	struct export_job job;
	sqlite3 *db;

	(void)state;
	fmt_bare_report("CREATE TABLE A (x)");
	db = fmt_open();
	job = fmt_job(&none, db, &opt);
	sqlite3_progress_handler(db, 1, interrupt, NULL);
	seen = (struct seen){.rows_left = -1};
	assert_int_equal(rows_run(&job, &sink, &seen, fmt_why, sizeof(fmt_why)), -1);
	fmt_same(fmt_why, "interrupted");
	sqlite3_close(db);
}

/* A page in the middle of a table is overwritten. */
static void damage_ends_the_export(void **state)
{
	char junk[4096];
	int fd;

	(void)state;
	fmt_bare_report(
		"CREATE TABLE R (x); INSERT INTO R WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
		"SELECT i + 1 FROM n WHERE i < 4000) SELECT i FROM n");
	fd = open(fmt_report_path, O_RDWR);
	memset(junk, 0x55, sizeof(junk));
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 5 * 4096), sizeof(junk));
	close(fd);
	seen.quiet = true;
	assert_int_equal(rows_with((struct export_options){.lazy = true}), -1);
	fmt_same(fmt_why, "R: database disk image is malformed (the file is damaged)");
}

/* ---- --tables ---- */

static bool has(const char *patterns, const char *name)
{
	struct table_list list;
	bool is_in;

	assert_int_equal(table_list_parse(&list, patterns, fmt_why, sizeof(fmt_why)), 0);
	is_in = table_list_has(&list, name);
	table_list_free(&list);
	return is_in;
}

static void patterns_are_for_whole_names(void **state)
{
	(void)state;
	assert_true(has(NULL, "ANY"));
	assert_true(has("", "ANY"));
	assert_true(has(",,", "ANY"));
	assert_true(has("A,B", "A"));
	assert_true(has("A,B", "B"));
	assert_false(has("A,B", "C"));
	assert_false(has("A", "AB"));
	assert_false(has("B", "AB"));
	assert_true(has("a.*", "ABC")); /* regardless of case */
	assert_false(has("A|B", "AB")); /* each alternative is for a whole name */
	assert_true(has("A|B,", "B"));
	assert_true(has("CUPTI_.*_(KERNEL|MEMCPY)", "CUPTI_ACTIVITY_KIND_MEMCPY"));
	assert_false(has("CUPTI_.*_(KERNEL|MEMCPY)", "CUPTI_ACTIVITY_KIND_MEMCPY2"));
}

static void a_pattern_that_is_none(void **state)
{
	struct table_list list;
	char why[200], tiny[24];

	(void)state;
	assert_int_equal(table_list_parse(&list, "A,(b,C", why, sizeof(why)), -1);
	assert_memory_equal(why, "--tables: '(b' is no regular expression: ", 41);
	assert_true(strlen(why) > 41);
	assert_int_equal(list.cnt, 0);
	assert_int_equal(table_list_parse(&list, "(b", tiny, sizeof(tiny)), -1);
	assert_string_equal(tiny, "--tables: '(b' is no re");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_come_in_the_order_of_the_file),
		cmocka_unit_test(the_view_of_samples_is_a_table),
		cmocka_unit_test(times_are_shifted),
		cmocka_unit_test(payloads_are_left_out_unless_asked_for),
		cmocka_unit_test(columns_are_those_of_the_file),
		cmocka_unit_test(a_sink_that_fails_stops_it),
		cmocka_unit_test(progress_can_stop_it),
		cmocka_unit_test(a_list_of_tables_that_cannot_be_read),
		cmocka_unit_test(damage_ends_the_export),
		cmocka_unit_test(patterns_are_for_whole_names),
		cmocka_unit_test(a_pattern_that_is_none),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
