/* fmt_json_rows.c - tables as JSON and as lines of JSON: values at the edges of their types, names that need escapes. */
#include "fmt_test.h"

extern const struct exporter exporter_json, exporter_jsonlines;

#define VALUES                                                                            \
	"CREATE TABLE V (a, b);"                                                          \
	"INSERT INTO V VALUES (9223372036854775807, -9223372036854775807 - 1),"           \
	"(NULL, 0.5), ('', x''), ('q\"\\', x'FF41'), (CAST(x'01C3A97F' AS TEXT), 1e999)," \
	"(-1e999, -0.0), (1e300, 3.0);"

static void values_of_every_type_as_lines(void **state)
{
	const struct export_options opt = {.lazy = true, .tables = "V"};

	(void)state;
	fmt_bare_report(VALUES);
	fmt_same(fmt_export(&exporter_jsonlines, &opt),
		 "{\"table\":\"V\",\"a\":9223372036854775807,\"b\":-9223372036854775808}\n"
		 "{\"table\":\"V\",\"a\":null,\"b\":0.5}\n"
		 "{\"table\":\"V\",\"a\":\"\",\"b\":\"\"}\n"
		 "{\"table\":\"V\",\"a\":\"q\\\"\\\\\",\"b\":\"\\ufffdA\"}\n"
		 "{\"table\":\"V\",\"a\":\"\\u0001\xC3\xA9\\u007f\",\"b\":\"Infinity\"}\n"
		 "{\"table\":\"V\",\"a\":\"-Infinity\",\"b\":-0.0}\n"
		 "{\"table\":\"V\",\"a\":1e+300,\"b\":3.0}\n");
	assert_int_equal(fmt_events, 7);
}

static void tables_are_members_of_one_object(void **state)
{
	(void)state;
	fmt_bare_report("INSERT INTO StringIds VALUES (0, ''), (7, 'seven');"
			"CREATE TABLE Q (x INTEGER, y TEXT); INSERT INTO Q VALUES (1, 'one')");
	fmt_same(fmt_export(&exporter_json, NULL),
		 "{\n\"StringIds\":[\n{\"id\":0,\"value\":\"\"},\n"
		 "{\"id\":7,\"value\":\"seven\"}],\n"
		 "\"Q\":[\n{\"x\":1,\"y\":\"one\"}]\n}\n");
}

static void tables_without_rows_are_left_out(void **state)
{
	const struct export_options strings = {.lazy = true, .tables = "StringIds"};
	const struct export_options empty = {.lazy = false, .tables = "StringIds,SL_SOCKETS"};

	(void)state;
	fmt_bare_report("");
	fmt_same(fmt_export(&exporter_json, &strings), "{\n\n}\n");
	fmt_same(fmt_export(&exporter_jsonlines, &strings), "");
	/* --lazy=false: also a table that only the schema knows. */
	fmt_same(fmt_export(&exporter_json, &empty),
		 "{\n\"StringIds\":[],\n\"SL_SOCKETS\":[]\n}\n");
	fmt_same(fmt_export(&exporter_jsonlines, &empty), "");
}

static void names_of_tables_and_columns_are_escaped(void **state)
{
	const struct export_options opt = {.lazy = true, .tables = "a.*"};

	(void)state;
	fmt_bare_report("CREATE TABLE \"a\"\"b%s\" (\"c\"\"d\" INTEGER, \"e\\\" INTEGER);"
			"INSERT INTO \"a\"\"b%s\" VALUES (1, 2)");
	fmt_same(fmt_export(&exporter_jsonlines, &opt),
		 "{\"table\":\"a\\\"b%s\",\"c\\\"d\":1,\"e\\\\\":2}\n");
	fmt_same(fmt_export(&exporter_json, &opt),
		 "{\n\"a\\\"b%s\":[\n{\"c\\\"d\":1,\"e\\\\\":2}]\n}\n");
}

/* A name of 2,000 characters, all of which need six; the table's heads do not stay from the table before. */
static void long_names(void **state)
{
	const struct export_options opt = {.lazy = true, .tables = "L,M"};
	char want[16384], *p = want;

	(void)state;
	fmt_bare_report("CREATE TABLE L (t TEXT); CREATE TABLE M (u, v);"
			"INSERT INTO L VALUES (replace(printf('%2000s', ''), ' ', char(2)));"
			"INSERT INTO M VALUES (1, 2)");
	p += sprintf(p, "{\"table\":\"L\",\"t\":\"");
	for (int i = 0; i < 2000; i++)
		p += sprintf(p, "\\u0002");
	sprintf(p, "\"}\n{\"table\":\"M\",\"u\":1,\"v\":2}\n");
	fmt_same(fmt_export(&exporter_jsonlines, &opt), want);
}

static void a_pattern_that_no_table_fits(void **state)
{
	const struct export_options opt = {.lazy = true, .tables = "nothing.*"};

	(void)state;
	fmt_bare_report("");
	assert_int_equal(fmt_run(&exporter_jsonlines, &opt), -1);
	fmt_same(fmt_why, "no table fits --tables=nothing.*");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_every_type_as_lines),
		cmocka_unit_test(tables_are_members_of_one_object),
		cmocka_unit_test(tables_without_rows_are_left_out),
		cmocka_unit_test(names_of_tables_and_columns_are_escaped),
		cmocka_unit_test(long_names),
		cmocka_unit_test(a_pattern_that_no_table_fits),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
