/* fmt_parquet_rows.c - tables as Parquet, read again: types that widen, NULLs, values at their edges, the footer. */
#include "parquet_reader.h"

extern const struct exporter exporter_parquetdir;

static char *footer;

/* Writes table T of a report and reads its footer. */
static void write_table(const char *sql)
{
	fmt_bare_report(sql);
	fmt_export_folder(&exporter_parquetdir,
			  &(struct export_options){.lazy = true, .tables = "T"});
	fmt_file("out/T.parquet");
	free(footer);
	footer = pqr_footer(fmt_text, fmt_len);
}

/* The column's values; its description is found in the footer by the name. */
static const char *column(const char *name)
{
	char schema[64], path[64];
	const char *of_schema, *of_chunk;
	struct pqr_column c;

	snprintf(schema, sizeof(schema), " 4:\"%s\"", name);
	snprintf(path, sizeof(path), " 3:[\"%s\"]", name);
	of_schema = strstr(footer, schema);
	of_chunk = strstr(footer, path);
	if (!of_schema || !of_chunk)
		fail_msg("no %s in %s", name, footer);
	/* {1:type 3:optional 4:"name" */
	c.optional = of_schema[-1] == '1';
	c.type = of_schema[-5] - '0';
	c.codec = tr_number(of_chunk, " 4:", 0);
	c.rows = tr_number(of_chunk, " 5:", 0);
	c.raw = tr_number(of_chunk, " 6:", 0);
	c.packed = tr_number(of_chunk, " 7:", 0);
	c.at = tr_number(of_chunk, " 9:", 0);
	return pqr_column(fmt_text, c);
}

/* The columns in the schema: type (2 INT64, 5 DOUBLE, 6 BYTE_ARRAY), optional, name, annotation. */
static void schema_is(const char *want)
{
	const char *begin = strstr(footer, "}, ") + 3, *end = strstr(begin, "}] 3:");

	assert_non_null(end);
	fmt_text[fmt_len] = '\0';
	if (strlen(want) != (size_t)(end + 1 - begin) || memcmp(begin, want, strlen(want)) != 0)
		fail_msg("%.*s", (int)(end + 1 - begin), begin);
}

static void types_as_they_are_declared(void **state)
{
	(void)state;
	write_table("CREATE TABLE T (a INTEGER NOT NULL, b BIGINT, c TEXT NOT NULL, d VARCHAR(3), "
		    "e BLOB, "
		    "f REAL, g, h FLOATING POINT, i NUMERIC);"
		    "INSERT INTO T VALUES (1, 2, 'x', 'y', x'00', 1.5, 'z', 3, 4.25)");
	/* "FLOATING POINT" has INT in it: so SQLite takes it, too. */
	schema_is("{1:2 3:0 4:\"a\"}, {1:2 3:1 4:\"b\"}, {1:6 3:0 4:\"c\" 6:0 10:{1:{}}}, "
		  "{1:6 3:1 4:\"d\" 6:0 10:{1:{}}}, {1:6 3:1 4:\"e\"}, {1:5 3:1 4:\"f\"}, "
		  "{1:6 3:1 4:\"g\" 6:0 10:{1:{}}}, {1:2 3:1 4:\"h\"}, {1:5 3:1 4:\"i\"}");
	fmt_same(column("a"), " 1");
	fmt_same(column("b"), " 2");
	fmt_same(column("c"), " 'x'");
	fmt_same(column("d"), " 'y'");
	fmt_same(column("e"), " '\\00'");
	fmt_same(column("f"), " 1.5");
	fmt_same(column("g"), " 'z'");
	fmt_same(column("h"), " 3");
	fmt_same(column("i"), " 4.25");
}

static void numbers_at_their_edges(void **state)
{
	(void)state;
	write_table("CREATE TABLE T (a INTEGER, r REAL);"
		    "INSERT INTO T VALUES (9223372036854775807, 1e308), (-9223372036854775807 - 1, "
		    "-1e999), (0, 5e-324), (NULL, NULL), (-1, 0)");
	fmt_same(column("a"), " 9223372036854775807 -9223372036854775808 0 NULL -1");
	fmt_same(column("r"), " 1e+308 -inf 4.9406564584124654e-324 NULL 0");
	/* null_count, max, min: little-endian */
	assert_non_null(strstr(footer, "{3:1 5:\"\\ff\\ff\\ff\\ff\\ff\\ff\\ff\\7f\" "
				       "6:\"\\00\\00\\00\\00\\00\\00\\00\\80\"}"));
}

/* max, min, of each column; a zero of reals stands for both of them, a whole 0 for itself. */
static void limits_of_columns(void **state)
{
	static const char zeros[] = "\\00\\00\\00\\00\\00\\00\\00\\00",
			  negative[] = "\\00\\00\\00\\00\\00\\00\\00\\80";
	char want[256];

	(void)state;
	write_table(
		"CREATE TABLE T (i INTEGER, r REAL, t TEXT); INSERT INTO T VALUES (0, 0, 'x'), (0, "
		"0, NULL)");
	snprintf(want, sizeof(want), " 12:{3:0 5:\"%s\" 6:\"%s\"}", zeros, zeros);
	assert_non_null(strstr(strstr(footer, "3:[\"i\"]"), want));
	snprintf(want, sizeof(want), " 12:{3:0 5:\"%s\" 6:\"%s\"}", zeros, negative);
	assert_non_null(strstr(strstr(footer, "3:[\"r\"]"), want));
	assert_non_null(strstr(strstr(footer, "3:[\"t\"]"), " 12:{3:1}")); /* texts have none */
	write_table(
		"CREATE TABLE T (i INTEGER, r REAL); INSERT INTO T VALUES (-1, -2), (NULL, NULL), "
		"(258, 0.5), (7, -1)");
	assert_non_null(strstr(footer, " 12:{3:1 5:\"\\02\\01\\00\\00\\00\\00\\00\\00\" "
				       "6:\"\\ff\\ff\\ff\\ff\\ff\\ff\\ff\\ff\"}"));
	assert_non_null(strstr(footer, " 12:{3:1 5:\"\\00\\00\\00\\00\\00\\00\\e0?\" "
				       "6:\"\\00\\00\\00\\00\\00\\00\\00\\c0\"}"));
}

/* A whole number in a column of reals, a text among numbers: the table is begun anew with a wider column. */
static void columns_widen(void **state)
{
	(void)state;
	write_table("CREATE TABLE T (a, b INTEGER, c INTEGER, d INTEGER, e INTEGER);"
		    "INSERT INTO T VALUES ('t', 1, 1, 1, 1), ('u', 2, 9007199254740993, 2.5, 7), "
		    "('v', 3.5, 2.5, 'text', x'ff')");
	assert_int_equal(fmt_events, 3);
	/* 2^53 + 1 is no double: beside 2.5 both are texts. */
	schema_is("{1:6 3:1 4:\"a\" 6:0 10:{1:{}}}, {1:5 3:1 4:\"b\"}, {1:6 3:1 4:\"c\" 6:0 "
		  "10:{1:{}}}, "
		  "{1:6 3:1 4:\"d\" 6:0 10:{1:{}}}, {1:6 3:1 4:\"e\"}");
	fmt_same(column("a"), " 't' 'u' 'v'");
	fmt_same(column("b"), " 1 2 3.5");
	fmt_same(column("c"), " '1' '9007199254740993' '2.5'");
	fmt_same(column("d"), " '1' '2.5' 'text'");
	fmt_same(column("e"), " '1' '7' '\\ff'");
}

static void numbers_that_are_just_doubles(void **state)
{
	(void)state;
	write_table("CREATE TABLE T (a INTEGER, b INTEGER, c INTEGER); INSERT INTO T VALUES "
		    "(9007199254740992, -9007199254740992, -9007199254740993), (0.5, 0.5, 0.5)");
	fmt_same(column("a"), " 9007199254740992 0.5");
	fmt_same(column("b"), " -9007199254740992 0.5");
	fmt_same(column("c"), " '-9007199254740993' '0.5'");
}

static void infinite_numbers_among_texts(void **state)
{
	(void)state;
	write_table("CREATE TABLE T (a); INSERT INTO T VALUES (1e999), (-1e999), ('x'), (1.0)");
	fmt_same(column("a"), " 'inf' '-inf' 'x' '1.0'");
}

static void texts_that_are_no_utf8_are_bytes(void **state)
{
	(void)state;
	write_table("CREATE TABLE T (a TEXT, b TEXT); INSERT INTO T VALUES ('', 'ok'), "
		    "(CAST(x'C3A9' AS TEXT), CAST(x'C3' AS TEXT)), (char(1) || '\"', NULL)");
	schema_is("{1:6 3:1 4:\"a\" 6:0 10:{1:{}}}, {1:6 3:1 4:\"b\"}");
	fmt_same(column("a"), " '' '\\c3\\a9' '\\01\"'");
	fmt_same(column("b"), " 'ok' '\\c3' NULL");
}

/* The table declares NOT NULL; a damaged one may hold NULL. */
static void a_null_where_none_is_allowed(void **state)
{
	(void)state;
	write_table("CREATE TABLE T (a INTEGER NOT NULL); INSERT INTO T VALUES (1), (2);"
		    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = "
		    "'CREATE TABLE T (a INTEGER)' WHERE name = 'T'; PRAGMA writable_schema = RESET;"
		    "INSERT INTO T VALUES (NULL); PRAGMA writable_schema = ON; UPDATE "
		    "sqlite_master SET "
		    "sql = 'CREATE TABLE T (a INTEGER NOT NULL)' WHERE name = 'T'");
	schema_is("{1:2 3:1 4:\"a\"}");
	fmt_same(column("a"), " 1 2 NULL");
}

/* Of 20,000 rows each third is NULL: two pages of each column, one row group. */
static void pages_of_a_column(void **state)
{
	char *want = malloc(400000), *p = want;

	(void)state;
	write_table("CREATE TABLE T (a INTEGER, t TEXT); WITH RECURSIVE n(i) AS (SELECT 0 UNION "
		    "ALL SELECT "
		    "i + 1 FROM n WHERE i < 19999) INSERT INTO T SELECT iif(i % 3 = 0, NULL, i * i "
		    "* i), "
		    "iif(i % 5, 'n' || i, NULL) FROM n");
	for (int64_t i = 0; i < 20000; i++)
		p = i % 3 ? p + sprintf(p, " %" PRId64, i * i * i) : stpcpy(p, " NULL");
	fmt_same(column("a"), want);
	p = want;
	for (int i = 0; i < 20000; i++)
		p = i % 5 ? p + sprintf(p, " 'n%d'", i) : stpcpy(p, " NULL");
	fmt_same(column("t"), want);
	free(want);
}

/* A row that does not fit after 20,000 that did: those are written again, and counted once. */
static void a_column_widens_behind_a_page(void **state)
{
	const char *values;

	(void)state;
	write_table("CREATE TABLE T (a INTEGER); WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT "
		    "i + 1 "
		    "FROM n WHERE i < 19999) INSERT INTO T SELECT i FROM n; INSERT INTO T VALUES "
		    "(0.5)");
	assert_int_equal(fmt_events, 20001);
	schema_is("{1:5 3:1 4:\"a\"}");
	values = column("a");
	fmt_begins(values, " 0 1 2 3 ");
	fmt_same(values + strlen(values) - 16, " 19998 19999 0.5");
}

static void the_footer(void **state)
{
	(void)state;
	write_table("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.28.1');"
		    "CREATE TABLE T (\"a\"\"b\" INTEGER NOT NULL); INSERT INTO T VALUES (5)");
	assert_memory_equal(
		footer, "{1:1 2:[{4:\"schema\" 5:1}, {1:2 3:0 4:\"a\"b\"}] 3:1 4:[{1:[{2:4 3:{1:2 ",
		strlen("{1:1 2:[{4:\"schema\" 5:1}, {1:2 3:0 4:\"a\"b\"}] 3:1 4:[{1:[{2:4 "
		       "3:{1:2 "));
	assert_non_null(strstr(footer, "] 5:[{1:\"sightline.report\" 2:\"report.sqlite\"}, "
				       "{1:\"sightline.table\" 2:\"T\"}, "
				       "{1:\"sightline.schema_version\" 2:\"3.28.1\"}] "
				       "6:\"sightline\" 7:[{1:{}}]}"));
}

static void a_table_without_rows(void **state)
{
	(void)state;
	fmt_bare_report("CREATE TABLE T (a INTEGER, b TEXT)");
	fmt_export_folder(&exporter_parquetdir,
			  &(struct export_options){.lazy = false, .tables = "T"});
	fmt_file("out/T.parquet");
	free(footer);
	footer = pqr_footer(fmt_text, fmt_len);
	assert_non_null(strstr(footer, "] 3:0 4:[] 5:[{1:\"sightline.report\""));
	schema_is("{1:2 3:1 4:\"a\"}, {1:6 3:1 4:\"b\" 6:0 10:{1:{}}}");
}

/* 20 columns: lists of 15 and more have their length behind. */
static void many_columns(void **state)
{
	char sql[1024], *p = sql;

	(void)state;
	p += sprintf(p, "CREATE TABLE T (c0 INTEGER");
	for (int i = 1; i < 20; i++)
		p += sprintf(p, ", c%d INTEGER", i);
	p += sprintf(p, "); INSERT INTO T VALUES (0");
	for (int i = 1; i < 20; i++)
		p += sprintf(p, ", %d", i * 1000);
	sprintf(p, ")");
	write_table(sql);
	fmt_same(column("c14"), " 14000");
	fmt_same(column("c19"), " 19000");
	assert_int_equal(fmt_count(footer, "{1:{}}"), 20);
}

static void names_that_lead_out_of_the_folder_are_refused(void **state)
{
	(void)state;
	fmt_bare_report("CREATE TABLE \"../x\" (a); INSERT INTO \"../x\" VALUES (1)");
	assert_int_equal(fmt_run(&exporter_parquetdir, NULL), -1);
	fmt_same(fmt_why, "table '../x' cannot be the name of a file");
}

static int tear_down(void **state)
{
	free(footer);
	return fmt_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_as_they_are_declared),
		cmocka_unit_test(numbers_at_their_edges),
		cmocka_unit_test(limits_of_columns),
		cmocka_unit_test(columns_widen),
		cmocka_unit_test(numbers_that_are_just_doubles),
		cmocka_unit_test(infinite_numbers_among_texts),
		cmocka_unit_test(texts_that_are_no_utf8_are_bytes),
		cmocka_unit_test(a_null_where_none_is_allowed),
		cmocka_unit_test(pages_of_a_column),
		cmocka_unit_test(a_column_widens_behind_a_page),
		cmocka_unit_test(the_footer),
		cmocka_unit_test(a_table_without_rows),
		cmocka_unit_test(many_columns),
		cmocka_unit_test(names_that_lead_out_of_the_folder_are_refused),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, tear_down);
}
