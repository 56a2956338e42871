/* fmt_csv.c - tables as CSV: what is quoted, what is empty, names of tables that would lead out of the folder. */
#include "fmt_test.h"

extern const struct exporter exporter_csv;

static void fields(void **state)
{
	(void)state;
	fmt_bare_report(
		"CREATE TABLE V (a, \"b,c\", \"d\"\"e\");"
		"INSERT INTO V VALUES (1, NULL, ''), (-9223372036854775807 - 1, 0.1, 'x y'),"
		"('a,b', 'say \"hi\"', char(13)), ('\"', char(10) || 'z', ' plain '),"
		"(x'FF00', 'tab' || char(9), '\"\"')");
	fmt_export_folder(&exporter_csv, &(struct export_options){.lazy = true, .tables = "V"});
	fmt_file("out/V.csv");
	/* The blob holds a 0. */
	assert_int_equal(fmt_len, strlen(fmt_text) + 1 + strlen(fmt_text + strlen(fmt_text) + 1));
	fmt_same(fmt_text, "a,\"b,c\",\"d\"\"e\"\r\n"
			   "1,,\"\"\r\n"
			   "-9223372036854775808,0.1,x y\r\n"
			   "\"a,b\",\"say \"\"hi\"\"\",\"\r\"\r\n"
			   "\"\"\"\",\"\nz\", plain \r\n"
			   "\xFF");
	fmt_same(fmt_text + strlen(fmt_text) + 1, ",tab\t,\"\"\"\"\"\"\r\n");
}

static void a_file_for_each_table_with_rows(void **state)
{
	(void)state;
	fmt_bare_report("CREATE TABLE E (x); CREATE TABLE F (x); INSERT INTO F VALUES (NULL)");
	fmt_export_folder(&exporter_csv, NULL);
	assert_false(fmt_exists("out/E.csv"));
	assert_false(fmt_exists("out/StringIds.csv"));
	fmt_same(fmt_file("out/F.csv"), "x\r\n\r\n");
	fmt_export_folder(&exporter_csv, &(struct export_options){.lazy = false, .tables = "E|F"});
	fmt_same(fmt_file("out/E.csv"), "x\r\n");
}

/* A buffer holds 256 KiB: fields of more than half of it go past it. */
static void a_field_longer_than_the_buffer(void **state)
{
	const size_t len = 300000;

	(void)state;
	fmt_bare_report("CREATE TABLE V (a TEXT, b TEXT);"
			"INSERT INTO V VALUES (printf('%300000s', ''), 'end'), ('next', '\"')");
	fmt_export_folder(&exporter_csv, &(struct export_options){.lazy = true, .tables = "V"});
	fmt_file("out/V.csv");
	fmt_same(fmt_text + 5 + len, ",end\r\nnext,\"\"\"\"\r\n");
	assert_int_equal(strspn(fmt_text + 5, " "), len);
}

static void refuses_name(const char *sql, const char *why)
{
	fmt_bare_report(sql);
	assert_int_equal(fmt_run(&exporter_csv, NULL), -1);
	fmt_same(fmt_why, why);
}

static void names_that_lead_out_of_the_folder_are_refused(void **state)
{
	(void)state;
	fmt_export_folder(&exporter_csv, NULL);
	refuses_name("CREATE TABLE \"../x\" (a); INSERT INTO \"../x\" VALUES (1)",
		     "table '../x' cannot be the name of a file");
	refuses_name("CREATE TABLE \"a/b\" (a); INSERT INTO \"a/b\" VALUES (1)",
		     "table 'a/b' cannot be the name of a file");
	refuses_name("CREATE TABLE \".x\" (a); INSERT INTO \".x\" VALUES (1)",
		     "table '.x' cannot be the name of a file");
	assert_false(fmt_exists("x.csv"));
}

static void a_file_that_is_there_stays(void **state)
{
	char path[128];

	(void)state;
	fmt_bare_report("CREATE TABLE V (a); INSERT INTO V VALUES (1)");
	fmt_export_folder(&exporter_csv, NULL);
	snprintf(path, sizeof(path), "%s/V.csv", fmt_out_path);
	assert_int_equal(truncate(path, 2), 0);
	assert_int_equal(fmt_run(&exporter_csv, NULL), -1);
	fmt_same(fmt_why, "cannot write result/V.csv: File exists");
	fmt_same(fmt_file("out/V.csv"), "a\r");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),
		cmocka_unit_test(a_file_for_each_table_with_rows),
		cmocka_unit_test(a_field_longer_than_the_buffer),
		cmocka_unit_test(names_that_lead_out_of_the_folder_are_refused),
		cmocka_unit_test(a_file_that_is_there_stays),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
