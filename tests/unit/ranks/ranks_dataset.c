/* ranks_dataset.c - the scratch database, the files of a part and its manifest; what a writer that was stopped leaves. */
#include "ranks_test.h"

#include <sys/stat.h>

static struct dataset d;
static struct dataset_part part;

static int setup(void **state)
{
	int rc = test_setup(state);

	part = (struct dataset_part){.folder = test_dir, .run = "one", .node = "n0"};
	return rc ? rc : dataset_begin(&d);
}

static int teardown(void **state)
{
	dataset_end(&d);
	return test_teardown(state);
}

static void write_part(void)
{
	if (dataset_write(&d, &part, why, sizeof(why)) != 0)
		fail_msg("%s", why);
}

static const char *manifest(const char *columns)
{
	char sql[512];

	snprintf(sql, sizeof(sql), "SELECT %s FROM file", columns);
	return json_rows(in_dir("_nodes/run=one/node=n0.json"), sql);
}

static const char *table_file(const char *table, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/run=one/node=n0/%s", table, name);
	return in_dir(path);
}

static void put_rank(int64_t rank, int64_t start, int64_t end)
{
	const union dataset_value v[] = {
		{.number = rank},
		{.number = DATASET_NULL},
		{.number = 4},
		{.number = 0},
		{.text = "RANK"},
		{.text = "g077"},
		{.number = 17},
		{.text = NULL},
		{.text = "H100"},
		{.number = start},
		{.number = end},
		{.number = 5},
		{.number = 6},
		{.number = 1},
		{.number = 7},
		{.number = 8},
		{.text = "r.sqlite"},
		{.text = "0.1"},
		{.number = DATASET_NULL},
	};

	assert_int_equal(dataset_values(&d, DATASET_SL_RANKS, v), SQLITE_OK);
}

/* ---- words and paths ---- */

static void words_of_runs_and_nodes(void **state)
{
	char longest[129];

	(void)state;
	assert_true(dataset_word("run-2026.11_a+B9"));
	assert_false(dataset_word(""));
	assert_false(dataset_word("."));
	assert_false(dataset_word(".."));
	assert_false(dataset_word(".hidden"));
	assert_false(dataset_word("_bad"));
	assert_false(dataset_word("a/b"));
	assert_false(dataset_word("a b"));
	assert_false(dataset_word("a'b"));
	assert_false(dataset_word("a=b"));
	assert_false(dataset_word("\xc3\xa4"));
	memset(longest, 'a', 128);
	longest[128] = 0;
	assert_false(dataset_word(longest));
	longest[127] = 0;
	assert_true(dataset_word(longest));
}

static void paths_are_those_that_engines_look_for(void **state)
{
	char *path = dataset_file("ds", "SL_STEPS", "one", "n0");

	(void)state;
	assert_string_equal(path, "ds/SL_STEPS/run=one/node=n0/part-0.parquet");
	free(path);
	path = dataset_manifest("ds", "one", "n0");
	assert_string_equal(path, "ds/_nodes/run=one/node=n0.json");
	free(path);
	path = dataset_clocks("ds", "one");
	assert_string_equal(path, "ds/_clock/run=one.json");
	free(path);
}

/* ---- rows ---- */

/* A column takes its own type or NULL; else NULL is written, and counted. */
static void rows_have_the_types_of_their_table(void **state)
{
	static const char *const selects[] = {"SELECT 1, 'what', 3", "SELECT NULL, NULL, NULL",
					      "SELECT '1', 2, 3.5",
					      "SELECT x'31', x'32', 9223372036854775807",
					      "SELECT 1e300, 'a', -9223372036854775808"};
	sqlite3_stmt *q;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(sqlite3_prepare_v2(d.db, selects[i], -1, &q, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(q), SQLITE_ROW);
		assert_int_equal(dataset_row(&d, DATASET_SL_LOST, q), SQLITE_OK);
		sqlite3_finalize(q);
	}
	assert_rows(d.db, "SELECT * FROM SL_LOST",
		    "1 what 3\n- - -\n- - -\n- - 9223372036854775807\n- a -9223372036854775808\n");
	/* 3 of the third, 2 of the fourth, 1 of the last */
	assert_int_equal(d.misfits, 6);
}

static void values_are_by_position(void **state)
{
	const union dataset_value one[] = {{.number = 1}, {.text = "x"}, {.number = INT64_MAX}};
	const union dataset_value none[] = {
		{.number = DATASET_NULL}, {.text = NULL}, {.number = DATASET_NULL}};

	(void)state;
	assert_int_equal(dataset_values(&d, DATASET_SL_LOST, one), SQLITE_OK);
	assert_int_equal(dataset_values(&d, DATASET_SL_LOST, none), SQLITE_OK);
	assert_rows(d.db, "SELECT * FROM SL_LOST", "1 x 9223372036854775807\n- - -\n");
}

/* ---- files ---- */

static void part_without_rows_has_all_files(void **state)
{
	(void)state;
	write_part();
	for (unsigned n = 0; n < DATASET_TABLES; n++) {
		assert_true(is_parquet(table_file(dataset_tables[n].name, "part-0.parquet")));
		assert_int_not_equal(
			access(table_file(dataset_tables[n].name, ".part-0.parquet.tmp"), F_OK), 0);
	}
	assert_string_equal(
		manifest("whole ->> 'run', whole ->> 'node', whole ->> 'job', whole ->> "
			 "'start', whole ->> 'end', whole ->> 'lost', whole ->> 'misfits', "
			 "whole ->> 'synchronized', json_array_length(whole, '$.ranks'), "
			 "json_array_length(whole, '$.files')"),
		"one n0 - - - 0 0 - 0 10\n");
}

/* Start 100 and end 900 over both ranks; of the clocks the worst. */
static void manifest_says_what_is_in_the_files(void **state)
{
	(void)state;
	put_rank(0, 200, 900);
	put_rank(1, 100, 800);
	exec_sql(d.db, "INSERT INTO SL_LOST VALUES(0, 'a', 3), (NULL, 'b', 4);"
		       "INSERT INTO SL_CLOCK VALUES(1, 2, 1, 3, 500), (1, 2, 0, 3, 400)");
	d.misfits = 2;
	part.job = "77";
	write_part();
	assert_string_equal(
		manifest("whole ->> 'job', whole ->> 'start', whole ->> 'end', whole ->> "
			 "'lost', whole ->> 'misfits', whole ->> 'synchronized', whole ->> "
			 "'maxErrorNs'"),
		"77 100 900 7 2 0 500\n");
	assert_string_equal(
		manifest("whole -> '$.ranks[1]'"),
		"{\"rank\":1,\"restart\":0,\"worldSize\":4,\"host\":\"g077\",\"source\":"
		"\"RANK\",\"complete\":1,\"lost\":7,\"steps\":5,\"collectives\":6,\"gpu\":"
		"\"H100\",\"report\":\"r.sqlite\",\"version\":\"0.1\",\"ncclRank\":null}\n");
}

/* Each file's size is that of the disk; the clocks' may change later. */
static void manifest_has_rows_and_bytes_of_files(void **state)
{
	char want[64];
	struct stat st;

	(void)state;
	put_rank(0, 1, 2);
	write_part();
	assert_int_equal(stat(table_file("SL_RANKS", "part-0.parquet"), &st), 0);
	snprintf(want, sizeof(want), "SL_RANKS 1 %lld\n", (long long)st.st_size);
	assert_string_equal(
		json_rows(in_dir("_nodes/run=one/node=n0.json"),
			  "SELECT value ->> 'table', value ->> 'rows', value ->> 'bytes' "
			  "FROM file, json_each(whole, '$.files') WHERE value ->> 'table' "
			  "= 'SL_RANKS'"),
		want);
	assert_string_equal(json_rows(in_dir("_nodes/run=one/node=n0.json"),
				      "SELECT value ->> 'rows', value ->> 'bytes' FROM file, "
				      "json_each(whole, '$.files') WHERE value ->> 'table' = "
				      "'SL_CLOCK_FIT'"),
			    "0 -\n");
}

static void texts_of_2000_characters_and_numbers_of_2_to_the_63(void **state)
{
	char text[2001];
	const union dataset_value v[] = {
		{.number = INT64_MAX}, {.text = text}, {.number = INT64_MIN + 1}};

	(void)state;
	memset(text, 'x', 2000);
	text[2000] = 0;
	assert_int_equal(dataset_values(&d, DATASET_SL_LOST, v), SQLITE_OK);
	write_part();
	assert_true(is_parquet(table_file("SL_LOST", "part-0.parquet")));
	assert_string_equal(
		json_rows(in_dir("_nodes/run=one/node=n0.json"),
			  "SELECT value ->> 'rows' FROM file, json_each(whole, '$.files') "
			  "WHERE value ->> 'table' = 'SL_LOST'"),
		"1\n");
	/* The sum does not fit with another of its kind: the manifest cannot be made. */
	assert_int_equal(dataset_values(&d, DATASET_SL_LOST, v), SQLITE_OK);
	assert_int_equal(dataset_write(&d, &part, why, sizeof(why)), -1);
	assert_string_equal(why, "integer overflow");
	/* The part is the old one. */
	assert_string_equal(
		json_rows(in_dir("_nodes/run=one/node=n0.json"),
			  "SELECT value ->> 'rows' FROM file, json_each(whole, '$.files') "
			  "WHERE value ->> 'table' = 'SL_LOST'"),
		"1\n");
	assert_int_not_equal(access(table_file("SL_LOST", ".part-0.parquet.tmp"), F_OK), 0);
}

static void part_is_replaced_as_a_whole(void **state)
{
	(void)state;
	put_rank(0, 1, 2);
	write_part();
	/* What 'ranks clock' compared may be another clock now. */
	assert_int_equal(
		dataset_write_text(test_dir, in_dir("_clock/run=one.json"), "{}", why, sizeof(why)),
		0);
	put_rank(1, 1, 2);
	write_part();
	assert_string_equal(manifest("json_array_length(whole, '$.ranks')"), "2\n");
	assert_int_not_equal(access(in_dir("_clock/run=one.json"), F_OK), 0);
}

static void table_alone_is_written_anew(void **state)
{
	struct stat before, after;

	(void)state;
	write_part();
	assert_int_equal(stat(table_file("SL_CLOCK_FIT", "part-0.parquet"), &before), 0);
	exec_sql(d.db, "INSERT INTO SL_CLOCK_FIT VALUES(1, 2, 3, 4, 5, 'n0', 'reference')");
	assert_int_equal(dataset_write_table(&d, &part, DATASET_SL_CLOCK_FIT, why, sizeof(why)), 0);
	assert_int_equal(stat(table_file("SL_CLOCK_FIT", "part-0.parquet"), &after), 0);
	assert_true(after.st_size > before.st_size);
	assert_true(is_parquet(table_file("SL_CLOCK_FIT", "part-0.parquet")));
}

/* The first part of a run has all files, which engines need; later ones those that have rows. */
static void later_part_has_no_files_of_tables_without_rows(void **state)
{
	(void)state;
	write_part();
	part.node = "n1";
	put_rank(0, 1, 2);
	write_part();
	assert_true(is_parquet(in_dir("SL_RANKS/run=one/node=n1/part-0.parquet")));
	assert_int_not_equal(access(in_dir("SL_LOST/run=one/node=n1"), F_OK), 0);
	assert_string_equal(json_rows(in_dir("_nodes/run=one/node=n1.json"),
				      "SELECT value ->> 'table' FROM file, "
				      "json_each(whole, '$.files')"),
			    "SL_RANKS\n");
	/* That part's commit, stopped before its renames, wants no other file. */
	assert_int_equal(rename(in_dir("_nodes/run=one/node=n1.json"),
				in_dir("_nodes/run=one/.node=n1.json.ready")),
			 0);
	assert_int_equal(dataset_finish(test_dir, "one", "n1"), 0);
	/* The first part, added once more, has its files still. */
	part.node = "n0";
	write_part();
	assert_true(is_parquet(table_file("SL_LOST", "part-0.parquet")));
	assert_string_equal(manifest("json_array_length(whole, '$.files')"), "10\n");
}

/* A link in the place of a run's folder, or of a node's. */
static void no_link_is_followed(void **state)
{
	(void)state;
	put_file(in_dir("x"), "");
	assert_int_equal(mkdir(in_dir("elsewhere"), 0777), 0);
	assert_int_equal(mkdir(in_dir("SL_RANKS"), 0777), 0);
	assert_int_equal(symlink(in_dir("elsewhere"), in_dir("SL_RANKS/run=one")), 0);
	assert_int_equal(dataset_write(&d, &part, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "a folder on its path is a link"));
	assert_int_not_equal(access(in_dir("elsewhere/node=n0"), F_OK), 0);
	unlink(in_dir("SL_RANKS/run=one"));
	assert_int_equal(mkdir(in_dir("SL_RANKS/run=one"), 0777), 0);
	assert_int_equal(symlink(in_dir("elsewhere"), in_dir("SL_RANKS/run=one/node=n0")), 0);
	assert_int_equal(dataset_write(&d, &part, why, sizeof(why)), -1);
	unlink(in_dir("SL_RANKS/run=one/node=n0"));
	/* Any user may exchange what is in it. */
	assert_int_equal(chmod(in_dir("SL_RANKS/run=one"), 0777), 0);
	assert_int_equal(dataset_write(&d, &part, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "can be changed by another user"));
	assert_int_equal(chmod(in_dir("SL_RANKS/run=one"), 0755), 0);
	assert_int_equal(chmod(in_dir("SL_RANKS"), 0777), 0);
	assert_int_equal(dataset_write(&d, &part, why, sizeof(why)), -1);
	assert_int_equal(chmod(in_dir("SL_RANKS"), 01777), 0);
	write_part();
}

/* ---- failures ---- */

static void folder_that_is_a_file_is_named(void **state)
{
	(void)state;
	put_file(in_dir("file"), "");
	part.folder = in_dir("file");
	assert_int_equal(dataset_write(&d, &part, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "cannot write "));
	assert_non_null(strstr(why, "/file"));
	assert_int_equal(dataset_write_text(test_dir, in_dir("file/a/b"), "x", why, sizeof(why)),
			 -1);
	assert_int_equal(dataset_write_table(&d, &part, DATASET_SL_LOST, why, sizeof(why)), -1);
}

/* The last of the tables cannot be written: of the others nothing is left aside. */
static void part_that_fails_leaves_nothing_aside(void **state)
{
	(void)state;
	put_file(in_dir("SL_LOST"), "");
	assert_int_equal(dataset_write(&d, &part, why, sizeof(why)), -1);
	assert_int_not_equal(access(table_file("SL_RANKS", ".part-0.parquet.tmp"), F_OK), 0);
	assert_int_not_equal(access(table_file("SL_RANKS", "part-0.parquet"), F_OK), 0);
	assert_int_not_equal(access(in_dir("_nodes/run=one/node=n0.json"), F_OK), 0);
}

/* ---- a writer that was stopped ---- */

/* All that a writer has done before it renames: files aside, the manifest ready. */
static void stop_before_rename(void)
{
	write_part();
	for (unsigned n = 0; n < DATASET_TABLES; n++)
		assert_int_equal(rename(table_file(dataset_tables[n].name, "part-0.parquet"),
					table_file(dataset_tables[n].name, ".part-0.parquet.tmp")),
				 0);
	assert_int_equal(rename(in_dir("_nodes/run=one/node=n0.json"),
				in_dir("_nodes/run=one/.node=n0.json.ready")),
			 0);
}

static void part_of_a_writer_that_was_stopped_is_put_in_place(void **state)
{
	(void)state;
	stop_before_rename();
	/* One file was renamed already. */
	assert_int_equal(rename(table_file("SL_RANKS", ".part-0.parquet.tmp"),
				table_file("SL_RANKS", "part-0.parquet")),
			 0);
	assert_int_equal(dataset_finish(test_dir, "one", "n0"), 0);
	assert_true(is_parquet(table_file("SL_RANKS", "part-0.parquet")));
	assert_true(is_parquet(table_file("SL_LOST", "part-0.parquet")));
	assert_int_equal(access(in_dir("_nodes/run=one/node=n0.json"), F_OK), 0);
	/* Once more does no harm: all is in place. */
	assert_int_equal(dataset_finish(test_dir, "one", "n0"), 0);
}

static void part_with_a_file_missing_is_not_finished(void **state)
{
	(void)state;
	stop_before_rename();
	unlink(table_file("SL_LOST", ".part-0.parquet.tmp"));
	assert_int_equal(dataset_finish(test_dir, "one", "n0"), -1);
	assert_int_not_equal(access(in_dir("_nodes/run=one/node=n0.json"), F_OK), 0);
	/* Nor is anything written over it, as its files would be taken for the new ones. */
	assert_int_equal(dataset_write(&d, &part, why, sizeof(why)), -1);
}

/* The next writer puts the old part in place first, then its own. */
static void next_writer_finishes_the_part_before_its_own(void **state)
{
	(void)state;
	put_rank(0, 1, 2);
	stop_before_rename();
	put_rank(1, 1, 2);
	write_part();
	assert_string_equal(manifest("json_array_length(whole, '$.ranks')"), "2\n");
	assert_int_not_equal(access(in_dir("_nodes/run=one/.node=n0.json.ready"), F_OK), 0);
}

static void nothing_is_finished_where_there_is_nothing(void **state)
{
	(void)state;
	assert_int_equal(dataset_finish(test_dir, "one", "n0"), -1);
}

#define PART_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_runs_and_nodes),
		cmocka_unit_test(paths_are_those_that_engines_look_for),
		PART_TEST(rows_have_the_types_of_their_table),
		PART_TEST(values_are_by_position),
		PART_TEST(part_without_rows_has_all_files),
		PART_TEST(manifest_says_what_is_in_the_files),
		PART_TEST(manifest_has_rows_and_bytes_of_files),
		PART_TEST(texts_of_2000_characters_and_numbers_of_2_to_the_63),
		PART_TEST(part_is_replaced_as_a_whole),
		PART_TEST(table_alone_is_written_anew),
		PART_TEST(later_part_has_no_files_of_tables_without_rows),
		PART_TEST(no_link_is_followed),
		PART_TEST(folder_that_is_a_file_is_named),
		PART_TEST(part_that_fails_leaves_nothing_aside),
		PART_TEST(part_of_a_writer_that_was_stopped_is_put_in_place),
		PART_TEST(part_with_a_file_missing_is_not_finished),
		PART_TEST(next_writer_finishes_the_part_before_its_own),
		PART_TEST(nothing_is_finished_where_there_is_nothing),
	};

	return cmocka_run_group_tests_name("ranks_dataset", tests, NULL, NULL);
}
