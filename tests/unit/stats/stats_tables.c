/* stats_tables.c - which tables are made of which reports: lists, formats, targets, units, filters, and what is refused. */
#include "tests/unit/formats/fmt_test.h"

#include <utime.h>

#include "exporters/stats/tables.h"

static struct tables t;

/* Times of read: 2000 and 1000 ns, in process 100; of the other call: 0 and 500000, in process 200. */
#define CALLS                                                                                     \
	NAMED "INSERT INTO StringIds VALUES (7, 'read'), (8, 'po\"ll,');" CALL(1000, 3000, 7, T1) \
		CALL(5000, 6000, 7, T1) CALL(7000, 7000, 8, T2) CALL(1000000, 1500000, 8, T2)

static int parse(int argc, char **argv)
{
	bool unused;
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, "usage", NULL, "examples", NULL, NULL},
		{'r', "report", OPT_LIST, NULL, "NAME", "reports", &t.opt_reports, NULL},
		{'o', "output", OPT_LIST, NULL, "TARGET", "targets", &t.opt_outputs, NULL},
		{'q', "quiet", OPT_FLAG, NULL, NULL, "quiet", &t.quiet, NULL},
		{0, "percentiles", OPT_LIST, NULL, "P", "percentiles", &t.opt_percentiles, NULL},
		TABLES_OPTS(&t, &unused),
		{0},
	};

	return tables_parse(&t, opts, argc, argv);
}

/* Up to where it fails: 1 options, 2 inputs, 3 plan, 4 run; 0: nowhere. The word R stands for the report. */
static int stage(const char *words)
{
	static char copy[1024];
	char *argv[32], *rest = copy, *word;
	int argc = 0;

	tables_free(&t);
	t = (struct tables){.kind = &report_kind, .usage = "usage", .quiet = true};
	snprintf(copy, sizeof(copy), "%s", words);
	argv[argc++] = (char *)(uintptr_t) "stats";
	while ((word = strsep(&rest, " ")) != NULL)
		argv[argc++] = strcmp(word, "R") == 0 ? fmt_report_path : word;
	argv[argc] = NULL;
	if (parse(argc, argv) != 0)
		return 1;
	if (tables_check_inputs(&t) != 0)
		return 2;
	return tables_plan(&t) != 0 ? 3 : 0;
}

/* What "-o BASE -f csv" writes. */
static const char *csv_of(const char *report, const char *options)
{
	char words[512], name[128];

	snprintf(words, sizeof(words), "-r %s -o %s/t -f csv --force-overwrite=true R%s", report,
		 fmt_dir, options);
	assert_int_equal(stage(words), 0);
	assert_int_equal(tables_run(&t), 0);
	snprintf(name, sizeof(name), "t_%s.csv", report);
	return fmt_file(name);
}

/* ---- lists, matched position by position ---- */

static void lists_are_matched_by_position(void **state)
{
	(void)state;
	fmt_report("");
	assert_int_equal(stage("-r osrt_sum,cuda_api_sum -r nvtx_sum -f csv,json -o -,@cat R R"),
			 0);
	assert_int_equal(t.per_input, 3);
	assert_int_equal(t.job_cnt, 6); /* two inputs: the same one twice */
	assert_string_equal(t.jobs[0].report->name, "osrt_sum");
	assert_string_equal(t.jobs[1].report->name, "cuda_api_sum");
	assert_string_equal(t.jobs[2].report->name, "nvtx_sum");
	assert_string_equal(t.jobs[5].report->name, "nvtx_sum");
	assert_string_equal(t.jobs[0].format->extension, "csv");
	assert_string_equal(t.jobs[1].format->extension, "json");
	assert_string_equal(t.jobs[2].format->extension, "json"); /* the last one goes on */
	assert_int_equal(t.jobs[0].kind, OUTPUT_CONSOLE);
	assert_null(t.jobs[0].target);
	assert_int_equal(t.jobs[1].kind, OUTPUT_COMMAND);
	assert_string_equal(t.jobs[1].target, "cat");
	assert_false(t.all_defaults);
	/* More formats than reports: the last report is made in each. */
	assert_int_equal(stage("-r osrt_sum -f csv,json,tsv R"), 0);
	assert_int_equal(t.job_cnt, 3);
	assert_string_equal(t.jobs[2].report->name, "osrt_sum");
	assert_string_equal(t.jobs[2].format->extension, "tsv");
}

static void a_comma_behind_a_backslash_does_not_separate(void **state)
{
	(void)state;
	fmt_report("");
	assert_int_equal(stage("-r osrt_sum -o @a\\,b,,@c R"), 0);
	assert_int_equal(t.job_cnt, 2);
	assert_string_equal(t.jobs[0].target, "a,b");
	assert_string_equal(t.jobs[1].target, "c");
}

static void options_stand_before_or_behind_files(void **state)
{
	(void)state;
	fmt_report("");
	assert_int_equal(stage("R -r osrt_sum R -f json"), 0);
	assert_int_equal(t.inputs.cnt, 2);
	assert_int_equal(t.job_cnt, 2);
	assert_string_equal(t.jobs[0].format->extension, "json");
	/* Behind "--" there are files only. */
	assert_int_equal(stage("-r osrt_sum -- -q R"), 2);
	assert_int_equal(t.inputs.cnt, 2);
	assert_string_equal(t.inputs.word[0], "-q");
}

static void defaults_are_all_reports_of_a_kind(void **state)
{
	(void)state;
	fmt_report("");
	assert_int_equal(stage("R"), 0);
	assert_true(t.all_defaults);
	assert_true(t.job_cnt > 10);
	assert_string_equal(t.jobs[0].report->name, "nvtx_sum");
	assert_true(t.jobs[0].format->for_people);
}

static void units_of_time(void **state)
{
	static const struct {
		const char *word, *option;
	} units[] = {
		{"nsec", "nsec"},         {"ns", "nsec"},   {"nanoseconds", "nsec"},
		{"usec", "usec"},         {"us", "usec"},   {"ms", "msec"},
		{"milliseconds", "msec"}, {"s", "seconds"}, {"seconds", "seconds"},
	};
	char words[64];

	(void)state;
	fmt_report("");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		snprintf(words, sizeof(words), "-r osrt_sum --timeunit=%s R", units[i].word);
		assert_int_equal(stage(words), 0);
		assert_string_equal(t.unit->option, units[i].option);
	}
	assert_int_equal(stage("-r osrt_sum R"), 0);
	assert_string_equal(t.unit->option, "nsec");
	assert_int_equal(stage("--timeunit=days R"), 1);
}

/* ---- what is refused ---- */

static void what_is_wrong_is_found_before_anything_is_made(void **state)
{
	char words[512];

	(void)state;
	fmt_report(CALLS);
	assert_int_equal(stage("-r nonsense R"), 3);
	assert_int_equal(stage("-r osrt_sum -f nonsense R"), 3);
	assert_int_equal(stage("--filter-time=x R"), 1);
	assert_int_equal(stage("--filter-pid=x R"), 1);
	assert_int_equal(stage("--percentiles=101 R"), 1);
	assert_int_equal(stage("-r osrt_sum /no/such.sqlite"), 2);
	assert_int_equal(stage("-r osrt_sum"), 2); /* no input */
	/* Two tables for one file; a file that is there. */
	snprintf(words, sizeof(words), "-r osrt_sum -f csv -o %s/x R R", fmt_dir);
	assert_int_equal(stage(words), 3);
	assert_false(fmt_exists("x_osrt_sum.csv"));
	snprintf(words, sizeof(words), "-r osrt_sum -f csv -o %s/t R", fmt_dir);
	csv_of("osrt_sum", "");
	assert_int_equal(stage(words), 3);
	snprintf(words, sizeof(words), "-r osrt_sum -f csv --force-overwrite=true -o %s/t R",
		 fmt_dir);
	assert_int_equal(stage(words), 0);
}

/* The database beside x.nsys-rep is taken, unless it is older. */
static void a_report_of_nsys_stands_for_its_database(void **state)
{
	char nsys[128], sqlite[128], words[256];
	struct utimbuf old = {1000, 1000};

	(void)state;
	fmt_report("");
	snprintf(nsys, sizeof(nsys), "%s/report.nsys-rep", fmt_dir);
	snprintf(sqlite, sizeof(sqlite), "%s/gone.nsys-rep", fmt_dir);
	snprintf(words, sizeof(words), "-r osrt_sum %s", sqlite);
	assert_int_equal(stage(words), 2);
	fclose(fopen(nsys, "w"));
	utime(nsys, &old);
	snprintf(words, sizeof(words), "-r osrt_sum %s", nsys);
	assert_int_equal(stage(words), 0);
	assert_string_equal(t.inputs.word[0], fmt_report_path);
	utime(fmt_report_path, &(struct utimbuf){500, 500});
	assert_int_equal(stage(words), 2);
	unlink(nsys);
}

/* ---- names of files ---- */

static void file_is(const char *base, const char *input, const char *want)
{
	char *path = tables_file(base, input, "sum", "csv");

	assert_string_equal(path, want);
	free(path);
}

static void names_of_files(void **state)
{
	(void)state;
	file_is("out", "/a/run.sqlite", "out_sum.csv");
	file_is(".", "/a/run.sqlite", "/a/run_sum.csv");
	file_is(".", "run.x.sqlite", "run.x_sum.csv");
	file_is(".", "/a.b/run", "/a.b/run_sum.csv");
	file_is(".", "/a/.hidden", "/a/.hidden_sum.csv");
	file_is(".", ".hidden", ".hidden_sum.csv");
	file_is("./o", "x.sqlite", "./o_sum.csv");
}

/* Arguments of a report and the range are part of its name. */
static void names_of_reports_with_arguments(void **state)
{
	char words[256], want[256];

	(void)state;
	fmt_report(RANGE(0, 10, "'a/b'", T1));
	snprintf(words, sizeof(words),
		 "-r cuda_gpu_kern_sum:base -f csv --filter-nvtx=a\\/b -o %s/n R", fmt_dir);
	assert_int_equal(stage(words), 0);
	snprintf(want, sizeof(want), "%s/n_cuda_gpu_kern_sum_base_nvtx=a\\-b.csv", fmt_dir);
	assert_string_equal(t.jobs[0].target, want);
}

/* ---- tables ---- */

#define HEAD(u)                                                                             \
	"Time (%),Total Time (" u "),Num Calls,Avg (" u "),Med (" u "),Min (" u "),Max (" u \
	"),StdDev (" u "),Name\n"

static void a_table_of_calls(void **state)
{
	(void)state;
	fmt_report(CALLS);
	/* 3000 of 503000 ns; 500000 in two calls */
	fmt_same(csv_of("osrt_sum", ""),
		 HEAD("ns") "99.4,500000,2,250000.0,250000.0,0,500000,353553.4,\"po\"\"ll,\"\n"
			    "0.6,3000,2,1500.0,1500.0,1000,2000,707.1,read\n");
}

static void times_in_microseconds(void **state)
{
	(void)state;
	fmt_report(CALLS);
	fmt_same(csv_of("osrt_sum", " --timeunit=usec"),
		 HEAD("us") "99.4,500.000,2,250.000,250.000,0.000,500.000,353.553,\"po\"\"ll,\"\n"
			    "0.6,3.000,2,1.500,1.500,1.000,2.000,0.707,read\n");
}

/* A call that overlaps the time counts whole; one process alone. */
static void filters_cut_the_table(void **state)
{
	(void)state;
	fmt_report(CALLS);
	fmt_same(csv_of("osrt_sum", " --filter-time=2000/5001"),
		 HEAD("ns") "100.0,3000,2,1500.0,1500.0,1000,2000,707.1,read\n");
	fmt_same(csv_of("osrt_sum", " --filter-time=2000/5000"),
		 HEAD("ns") "100.0,2000,1,2000.0,2000.0,2000,2000,0.0,read\n");
	fmt_same(csv_of("osrt_sum", " --filter-pid=200 --filter-time=0/2ms"),
		 HEAD("ns") "100.0,500000,2,250000.0,250000.0,0,500000,353553.4,\"po\"\"ll,\"\n");
}

static void a_filter_that_leaves_nothing(void **state)
{
	(void)state;
	fmt_report(CALLS);
	fmt_same(csv_of("osrt_sum", " --filter-time=1s/2s"), HEAD("ns"));
	/* A range that no program opened is an error of the user. */
	assert_int_equal(stage("-r osrt_sum --filter-nvtx=missing R"), 2);
	assert_int_equal(stage("-r osrt_sum --filter-pid=77 R"), 2);
}

static void files_have_the_input_in_their_name(void **state)
{
	(void)state;
	fmt_report(CALLS);
	assert_int_equal(stage("-r osrt_sum,osrt_sum -f csv,json -o . R"), 0);
	assert_int_equal(tables_run(&t), 0);
	assert_true(fmt_exists("report_osrt_sum.csv"));
	assert_memory_equal(fmt_file("report_osrt_sum.json"), "[", 1);
}

static int tear_down(void **state)
{
	tables_free(&t);
	return fmt_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_matched_by_position),
		cmocka_unit_test(a_comma_behind_a_backslash_does_not_separate),
		cmocka_unit_test(options_stand_before_or_behind_files),
		cmocka_unit_test(defaults_are_all_reports_of_a_kind),
		cmocka_unit_test(units_of_time),
		cmocka_unit_test(what_is_wrong_is_found_before_anything_is_made),
		cmocka_unit_test(a_report_of_nsys_stands_for_its_database),
		cmocka_unit_test(names_of_files),
		cmocka_unit_test(names_of_reports_with_arguments),
		cmocka_unit_test(a_table_of_calls),
		cmocka_unit_test(times_in_microseconds),
		cmocka_unit_test(filters_cut_the_table),
		cmocka_unit_test(a_filter_that_leaves_nothing),
		cmocka_unit_test(files_have_the_input_in_their_name),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, tear_down);
}
