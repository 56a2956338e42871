/* html_page.c - figures and charts of the summary: numbers, units and what is escaped, by hand. */
#include "tests/unit/formats/fmt_test.h"

#include <math.h>

#include "exporters/html/html_text.h"
#include "exporters/html/page.h"

static struct page p;
static char *body, *data;
static size_t body_len, data_len;

static void end_page(void)
{
	scan_free(&p.scan);
	sqlite3_close(p.db);
	free(body);
	free(data);
	body = data = NULL;
	memset(&p, 0, sizeof(p));
}

static void new_page(const char *sql)
{
	end_page();
	p.out = open_memstream(&body, &body_len);
	p.data = open_memstream(&data, &data_len);
	p.input = "a<b>.sqlite";
	p.rows = 50;
	p.charts = true;
	if (sql) {
		fmt_report(sql);
		p.db = fmt_open();
		p.scan.db = p.db;
		if (scan_report(&p.scan) != 0)
			fail_msg("%s", p.scan.why);
	}
}

static void close_page(void)
{
	fclose(p.out);
	fclose(p.data);
}

/* The figures of a report, a line each: "id[!] value exact|text|more"; ! where it alarms. */
static const char *figures(const char *sql)
{
	static char list[4096];
	const char *at;
	size_t len = 0;

	new_page(sql);
	assert_int_equal(page_figures(&p), 0);
	close_page();
	*list = '\0';
	for (at = body; (at = strstr(at, "<div id=\"fig-")) != NULL; at++) {
		const char *id = at + 13, *exact = strstr(at, "data-v=\"") + 8;
		const char *text = strchr(exact, '>') + 1, *end = strstr(at, "</div>");
		const char *sub = strstr(at, "<dd class=\"sub\">");
		int id_len = (int)strcspn(id, "\"");
		bool alarm = strncmp(id + id_len, "\" class=\"alarm\"", 15) == 0;

		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%.*s%s %.*s|%.*s",
					len ? "\n" : "", id_len, id, alarm ? "!" : "",
					(int)strcspn(exact, "\""), exact, (int)strcspn(text, "<"),
					text);
		if (sub && sub < end)
			len += (size_t)snprintf(list + len, sizeof(list) - len, "|%.*s",
						(int)strcspn(sub + 16, "<"), sub + 16);
	}
	return list;
}

static void figures_of_an_empty_report(void **state)
{
	(void)state;
	assert_int_equal(fmt_count(figures(""), "\n"), 0);
	assert_memory_equal(figures(""), "wall 1|1 ns", 11);
}

static void figures_of_processes(void **state)
{
	static const char tree[] = "INSERT INTO SL_PROCESS_TREE (globalPid, start, end, kind, "
				   "traced, exitStatus) VALUES "
				   "(" P1 ", 0, 500, 0, 1, NULL), (" P1
				   ", 500, 1000, 2, 1, 256), (" P2 ", 100, 200, 1, 0, 9);"
				   "INSERT INTO ThreadNames VALUES (1, 20, " T1 "), (1, 20, " T1B
				   "), (2, 20, " T1 ");";
	const char *list;

	(void)state;
	list = figures(tree);
	/* An exec makes no new process; exit status 1 is no signal. */
	assert_non_null(strstr(list, "\nprocesses! 2|2|1 traced, 2 threads, 1 ended by a signal"));
	assert_memory_equal(list, "wall 1000|1 \xC2\xB5s|life of the root process", 40);
	assert_non_null(strstr(figures(CALL(0, 1, 1, T1) CALL(0, 1, 1, T2)),
			       "\nprocesses 2|2|with events"));
}

#define COPY(start, end, device)                                                              \
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, " \
	"globalPid, "                                                                         \
	"bytes, copyKind) VALUES (" #start ", " #end ", " #device ", 1, 7, " P1 ", 1536, 1);"

static void figures_of_gpus(void **state)
{
	const char *list;

	(void)state;
	list = figures(COPY(0, 100, 0) COPY(150, 200, 0));
	assert_non_null(strstr(list, "\ngpu 75|75.0 %|of the wall time, kernels and copies"));
	assert_non_null(strstr(list, "\nkernels 0|0|0 ns of kernel time"));
	assert_non_null(strstr(list, "\ncopied 3072|3 KiB|in 2 copies"));
	list = figures(COPY(0, 100, 0) COPY(0, 50, 1));
	assert_non_null(strstr(list, "\ngpu 75|75.0 %|GPU 0 100.0 %, GPU 1 50.0 %"));
	list = figures(COPY(0, 100, 0));
	assert_non_null(strstr(list, "|1.50 KiB|in 1 copy"));
	list = figures(
		COPY(0, 100, 0) "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0, 60, 0, "
				"1, NULL, 7, 1, " P1 ", 1, 1)");
	assert_non_null(strstr(
		list, "\nkernels 0|0|0 ns of kernel time; without those of 1 graph launch\n"));
	assert_non_null(strstr(list, "|1.50 KiB|in 1 copy; without those of 1 graph launch\n"));
	list = figures(COPY(0, 100, 0) COPY(0, 50, 1) COPY(0, 100, 2) COPY(0, 100, 3)
			       COPY(0, 100, 4));
	assert_non_null(strstr(list, "\ngpu 90|90.0 %|mean of 5 GPUs"));
}

static void figures_of_losses(void **state)
{
	const char *list;

	(void)state;
	list = figures("INSERT INTO SL_LOST_EVENTS VALUES (0, 1, NULL, 'full ring', 3), (0, 1, "
		       "NULL, 'other', 4), "
		       "(0, 1, NULL, 'context switches: 5 left out by the kernel', 20);"
		       "INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 1, 2, 'w', NULL), (0, 1, 1, 1, "
		       "'i', NULL)");
	assert_non_null(strstr(list, "\nlost! 7|7|see Recording"));
	assert_non_null(strstr(list, "\nlost-switches 20|20|"));
	assert_non_null(strstr(list, "\ndiagnostics 1|1|0 errors, 1 warning; see Recording"));
	list = figures("INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 1, 3, 'e', NULL)");
	assert_non_null(strstr(list, "\ndiagnostics! 1|1|1 error, 0 warnings; see Recording"));
}

static void figures_of_processors(void **state)
{
	static const char run[] =
		"INSERT INTO SCHED_EVENTS VALUES (0, 1, 1, " T1 ", NULL, NULL), (50, 1, 0, " T1
		", NULL, NULL), (100, 3, 1, " T1 ", NULL, NULL), (200, 3, 0, " T1 ", NULL, NULL);";
	const char *list;

	(void)state;
	list = figures(run);
	/* 150 of 200 ns on one of four */
	assert_non_null(strstr(
		list, "\ncpu 18.75|18.8 %|recorded threads, 0.75 of 4 processors on average"));
}

static void figures_of_reading(void **state)
{
	const char *list;

	(void)state;
	list = figures("INSERT INTO StringIds VALUES (1, 'read'), (9, 'libc'); INSERT INTO "
		       "SL_FUNCTIONS(nameId, library, io, isStdio) VALUES "
		       "(1, 9, 3, 0); INSERT INTO OSRT_API (start, end, eventClass, globalTid, "
		       "nameId, returnValue, "
		       "nestingLevel, callchainId, argumentsId, bytesDone) VALUES (0, 100, 27, " T1
		       ", 1, 0, 0, 0, 0, 2048)");
	assert_non_null(strstr(list, "\nread 2048|2 KiB|in 1 call\n"));
	assert_non_null(strstr(list, "\nwritten 0|0 B|in 0 calls"));
	/* Two short calls of the kernel and one of fread(), and four whose rows were lost. */
	list = figures("INSERT INTO StringIds VALUES (1, 'read'), (2, 'fread'), (9, 'libc'); "
		       "INSERT INTO SL_FUNCTIONS(nameId, library, io, isStdio) VALUES (1, 9, 3, "
		       "0), (2, 9, 3, 1); "
		       "INSERT INTO SL_OSRT_TOTALS VALUES (" T1
		       ", 0, 1, 2, 1, 1, 1, 20, 0, 4, 5, 0), (" T1
		       ", 0, 2, 1, 1, 1, 1, 4, 0, 0, 0, 0)");
	assert_non_null(strstr(list, "\nread 24|24 B|in 7 calls, 1 of them of stdio\n"));
}

/* ---- the recording ---- */

static void texts_of_the_recording_are_escaped(void **state)
{
	(void)state;
	new_page("INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', 'app<'), "
		 "('PROCESS_0:ARGUMENT_10', 'ten'), ('PROCESS_0:ARGUMENT_2', 'two\"');"
		 "INSERT INTO META_DATA_EXPORT VALUES ('SL_COMPLETE', '0');"
		 "INSERT INTO SL_LOST_EVENTS VALUES (5, 9, NULL, '<ring>', 3);"
		 "INSERT INTO TARGET_INFO_GPU (vmId, id, name) VALUES (0, 0, 'Toy'), (0, 1, "
		 "'Toy'), (0, 2, 'Big')");
	assert_int_equal(page_recording(&p), 0);
	close_page();
	assert_non_null(strstr(body, "<dt>Report</dt><dd>a&#60;b&#62;.sqlite</dd>"));
	assert_non_null(strstr(body, "<dt>Command</dt><dd>app&#60; two&#34; ten</dd>"));
	assert_non_null(strstr(body, "<dt>GPUs</dt><dd>Big, 2 \xC3\x97 Toy</dd>"));
	assert_non_null(strstr(body, "<dt>Complete</dt><dd>no: it was still being written</dd>"));
	assert_non_null(strstr(body, "<h3>Losses</h3>"));
	assert_non_null(strstr(body, "&#60;ring&#62;"));
	assert_null(strstr(body, "<h3>Diagnostics</h3>"));
	assert_null(strstr(body, "<ring>"));
}

static void long_lists_are_cut(void **state)
{
	(void)state;
	new_page("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70) "
		 "INSERT INTO "
		 "SL_LOST_EVENTS SELECT 0, 1, NULL, 'what ' || i, i FROM n");
	assert_int_equal(page_recording(&p), 0);
	close_page();
	assert_non_null(strstr(body, "<p class=\"note\">The first 50 of 70.</p>"));
	assert_non_null(strstr(body, "what 70<"));
	assert_null(strstr(body, "what 20<"));
}

/* ---- charts ---- */

static double edge(int slot)
{
	return slot * 1000;
}

static void charts_are_json(void **state)
{
	static const double values[] = {0, 1.5, 12345678, -0.25}, gap[] = {NAN, 3, NAN};

	(void)state;
	new_page(NULL);
	chart_begin(&p, "one", "time", UNIT_BYTES, 100.5, "A<\"title\">", "words & more");
	chart_series(&p, "x</script>", 3, true, values, 4);
	chart_series(&p, "gap", 0, false, gap, 3);
	chart_end(&p);
	chart_begin(&p, "two", "histogram", UNIT_PERCENT, 0, "T", "w");
	chart_labels(&p, "apart", edge, human_time, 1, 2);
	chart_series(&p, "s", 1, true, values, 1);
	chart_end(&p);
	chart_begin(&p, "three", "histogram", UNIT_PERCENT, 0, "T", "w");
	chart_labels(&p, NULL, edge, human_bytes, 0, 0);
	chart_end(&p);
	close_page();
	fmt_same(data, "\n{\"id\":\"one\",\"kind\":\"time\",\"unit\":\"bytes\",\"max\":100.5,"
		       "\"title\":\"A\\u003c\\u0022title\\u0022"
		       "\\u003e\",\"series\":[{\"name\":\"x\\u003c/"
		       "script\\u003e\",\"colour\":3,\"fill\":true,\"values\":[0,1.5,"
		       "1.235e+07,-0.25]},{\"name\":\"gap\",\"colour\":0,\"fill\":false,\"values\":"
		       "[null,3,null]}]},"
		       "\n{\"id\":\"two\",\"kind\":\"histogram\",\"unit\":\"percent\",\"max\":0,"
		       "\"title\":\"T\",\"apart\":true,\"labels\":"
		       "[\"apart\",\"1 \xC2\xB5s\",\"2 \xC2\xB5s\",\"3 "
		       "\xC2\xB5s\"],\"series\":[{\"name\":\"s\",\"colour\":1,\"fill\":"
		       "true,\"values\":[0]}]},"
		       "\n{\"id\":\"three\",\"kind\":\"histogram\",\"unit\":\"percent\",\"max\":0,"
		       "\"title\":\"T\",\"labels\":"
		       "[\"0 B\",\"0.98 KiB\"]}");
	assert_int_equal(p.chart_cnt, 3);
	assert_memory_equal(
		body,
		"<figure id=\"one\" class=\"chart "
		"time\"><figcaption><h3>A&#60;&#34;title&#34;&#62;</h3>"
		"<p>words &#38; more</p></figcaption><div class=\"plot\"></div></figure>\n",
		150);
}

static void charts_without_the_library_have_words_only(void **state)
{
	(void)state;
	new_page(NULL);
	p.charts = false;
	chart_begin(&p, "one", "time", UNIT_BYTES, 0, "T", "w");
	chart_end(&p);
	close_page();
	fmt_same(body, "<figure id=\"one\" class=\"chart "
		       "time\"><figcaption><h3>T</h3><p>w</p></figcaption>"
		       "</figure>\n");
}

/* The process with the most time first; from the ninth on they are one. */
static void processes_on_the_chart_of_processors(void **state)
{
	(void)state;
	for (int cnt = 8; cnt <= 9; cnt++) {
		char sql[512];

		snprintf(sql, sizeof(sql),
			 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
			 "%d) INSERT INTO "
			 "SCHED_EVENTS SELECT in_ * i * 10, 0, 1 - in_, (1 << 48) + (i << 24) + i, "
			 "NULL, NULL FROM n, "
			 "(SELECT 0 AS in_ UNION ALL SELECT 1) ORDER BY 1, 3 DESC",
			 cnt);
		new_page(sql);
		assert_int_equal(page_over_time(&p), 0);
		close_page();
		assert_int_equal(fmt_count(data, "\"name\":"), 8);
		assert_int_equal(fmt_count(data, "2 other processes"), cnt - 8);
		assert_non_null(strstr(data, cnt == 8 ? "\"series\":[{\"name\":\"process (8)\""
						      : "\"series\":[{\"name\":\"process (9)\""));
	}
}

static void errors_that_a_page_outlives(void **state)
{
	(void)state;
	assert_true(page_tolerates("no such column: x"));
	assert_false(page_tolerates("T: database disk image is malformed"));
	assert_false(page_tolerates("out of memory"));
	assert_false(page_tolerates("interrupted"));
	assert_non_null(page_asset("page.js"));
	assert_null(page_asset("nothing.js"));
}

static int tear_down(void **state)
{
	end_page();
	return fmt_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_of_an_empty_report),
		cmocka_unit_test(figures_of_processes),
		cmocka_unit_test(figures_of_gpus),
		cmocka_unit_test(figures_of_losses),
		cmocka_unit_test(figures_of_processors),
		cmocka_unit_test(figures_of_reading),
		cmocka_unit_test(texts_of_the_recording_are_escaped),
		cmocka_unit_test(long_lists_are_cut),
		cmocka_unit_test(charts_are_json),
		cmocka_unit_test(charts_without_the_library_have_words_only),
		cmocka_unit_test(processes_on_the_chart_of_processors),
		cmocka_unit_test(errors_that_a_page_outlives),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, tear_down);
}
