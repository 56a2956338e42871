/* ranks_manifests.c - manifests as tables, forged ones among them, and the files that they name. */
#include "ranks_test.h"

#include "exporters/ranks/manifests.h"
#include "exporters/ranks/store/part_lock.h"

static sqlite3 *db;

static void read_run(const char *run)
{
	sqlite3_close(db);
	db = manifests_read(test_dir, run, why, sizeof(why));
	if (!db)
		fail_msg("%s", why);
}

static int teardown(void **state)
{
	sqlite3_close(db);
	db = NULL;
	return test_teardown(state);
}

static void assert_bad(const char *want)
{
	assert_rows(db, "SELECT run, node, why FROM bad ORDER BY 1, 2, 3", want);
}

static void folder_that_is_not_there_is_named(void **state)
{
	(void)state;
	assert_null(manifests_read("/nowhere", NULL, why, sizeof(why)));
	assert_string_equal(why, "/nowhere: No such file or directory");
}

static void folder_without_runs_has_empty_tables(void **state)
{
	(void)state;
	read_run(NULL);
	assert_rows(db,
		    "SELECT (SELECT count(*) FROM manifest), (SELECT count(*) FROM rank), (SELECT "
		    "count(*) FROM file), (SELECT count(*) FROM bad)",
		    "0 0 0 0\n");
}

static void manifest_is_a_row_of_each_table(void **state)
{
	(void)state;
	put_manifest(
		"one", "a",
		"{\"job\": \"77\", \"start\": 10, \"end\": 20, \"lost\": 3, \"synchronized\": 1, "
		"\"maxErrorNs\": 500, \"unnamed\": 2, \"version\": \"0.1\", \"ranks\": [{\"rank\": "
		"5, "
		"\"restart\": 1, \"worldSize\": 8, \"host\": \"g0\", \"complete\": 1, \"lost\": "
		"2, \"steps\": 4, \"collectives\": 6, \"gpu\": \"H100\", \"report\": "
		"\"r.sqlite\", \"version\": \"0.1\", \"ncclRank\": 7, \"source\": \"RANK\"}], "
		"\"files\": [{\"table\": \"SL_STEPS\", \"rows\": 4, \"bytes\": 99}]}");
	read_run(NULL);
	assert_rows(db, "SELECT * FROM manifest", "one a 77 10 20 3 1 500 0.1 2\n");
	assert_rows(db, "SELECT * FROM rank", "one a 5 1 8 g0 1 2 4 6 H100 r.sqlite 0.1 7 RANK\n");
	assert_rows(db, "SELECT * FROM file", "one a SL_STEPS 4 99\n");
	assert_bad("");
}

/* A view would read the whole JSON for each rank. */
static void values_are_taken_from_manifests_once(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"ranks\": [{\"rank\": 5}]}");
	read_run(NULL);
	assert_rows(db,
		    "SELECT type, group_concat(name) FROM (SELECT * FROM sqlite_schema ORDER BY "
		    "name) GROUP BY type",
		    "index file_of,packed_of,rank_of,text_of\ntable "
		    "bad,file,manifest,pack,packed,rank,text\n");
}

static void run_alone_is_read_where_it_is_asked_for(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"start\": 1}");
	put_manifest("one", "b", "{\"start\": 2}");
	put_manifest("one2", "a", "{\"start\": 3}");
	read_run("one");
	assert_rows(db, "SELECT run, node, start FROM manifest ORDER BY 1, 2",
		    "one a 1\none b 2\n");
	read_run("on");
	assert_rows(db, "SELECT count(*) FROM manifest", "0\n");
	read_run(NULL);
	assert_rows(db, "SELECT count(*) FROM manifest", "3\n");
}

/* Names of files that are none of a node, and folders that are none of a run. */
static void other_files_are_no_manifests(void **state)
{
	char cmd[512];

	(void)state;
	put_manifest("one", "a", "{}");
	put_file(in_dir("_nodes/run=one/node=.json"), "{}");
	put_file(in_dir("_nodes/run=one/node=b.txt"), "{}");
	put_file(in_dir("_nodes/run=one/nodes=b.json"), "{}");
	put_file(in_dir("_nodes/run=one/.node=b.json.tmp"), "{}");
	put_file(in_dir("_nodes/run=one/b.json"), "{}");
	snprintf(cmd, sizeof(cmd),
		 "mkdir '%s/_nodes/other' && cp '%s/_nodes/run=one/node=a.json' "
		 "'%s/_nodes/other'",
		 test_dir, test_dir, test_dir);
	assert_int_equal(system(cmd), 0);
	read_run(NULL);
	assert_rows(db, "SELECT run, node FROM manifest", "one a\n");
	assert_bad("");
}

/* ---- forged ---- */

static void what_is_no_json_is_bad(void **state)
{
	(void)state;
	put_manifest("one", "a", "");
	put_manifest("one", "b", "{\"start\": 1");
	put_manifest("one", "c", "{\"start\": 1}");
	read_run(NULL);
	assert_rows(db, "SELECT node FROM manifest", "c\n");
	assert_bad("one a its manifest is no JSON\none b its manifest is no JSON\n");
}

static void manifest_that_is_a_folder_cannot_be_read(void **state)
{
	char cmd[256];

	(void)state;
	put_manifest("one", "a", "{}");
	snprintf(cmd, sizeof(cmd), "mkdir '%s/_nodes/run=one/node=b.json'", test_dir);
	assert_int_equal(system(cmd), 0);
	read_run(NULL);
	assert_bad("one b its manifest cannot be read\n");
	assert_rows(db, "SELECT node FROM manifest", "a\n");
}

/* JSON of any form: nothing of it is a rank or file. */
static void json_of_another_form_has_no_ranks(void **state)
{
	static const char *const forms[] = {
		"7",
		"null",
		"\"text\"",
		"[1, 2]",
		"{\"ranks\": 7, \"files\": \"x\"}",
		"{\"ranks\": {}, \"files\": []}",
		"{\"ranks\": [\"x\", 1.5, [7]], \"files\": [\"x\", null]}"};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		put_manifest("one", "a", forms[i]);
		read_run(NULL);
		assert_rows(db, "SELECT count(*) FROM rank", "0\n");
		assert_rows(db, "SELECT count(*) FROM file", "0\n");
		assert_rows(db, "SELECT count(*) FROM manifest", "1\n");
		assert_int_equal(manifests_check_files(db, test_dir, true), SQLITE_OK);
		assert_bad("");
	}
}

static void numbers_of_2_to_the_63_and_long_names(void **state)
{
	char json[4096], name[2001];

	(void)state;
	memset(name, 'r', 2000);
	name[2000] = 0;
	snprintf(json, sizeof(json),
		 "{\"start\": 9223372036854775807, \"end\": 99999999999999999999, \"ranks\": "
		 "[{\"rank\": -9223372036854775808, \"report\": \"%s\"}]}",
		 name);
	put_manifest("one", "a", json);
	read_run(NULL);
	assert_rows(db, "SELECT start, typeof(\"end\") FROM manifest",
		    "9223372036854775807 real\n");
	assert_rows(db, "SELECT rank, length(report) FROM rank", "-9223372036854775808 2000\n");
}

/* ---- files ---- */

/* The file of a table with so many bytes in it, the first and last 4 as Parquet has them. */
static void put_table(const char *table, const char *text)
{
	char cmd[512], name[256];

	snprintf(cmd, sizeof(cmd), "mkdir -p '%s/%s/run=one/node=a'", test_dir, table);
	assert_int_equal(system(cmd), 0);
	snprintf(name, sizeof(name), "%s/run=one/node=a/part-0.parquet", table);
	put_file(in_dir(name), text);
}

static void check_files(const char *json)
{
	put_manifest("one", "a", json);
	read_run(NULL);
	assert_int_equal(manifests_check_files(db, test_dir, true), SQLITE_OK);
}

static void whole_files_are_not_bad(void **state)
{
	(void)state;
	put_table("SL_STEPS", "PAR1....PAR1");
	put_table("SL_CLOCK_FIT", "PAR1PAR1");
	/* Of the clocks' file the size is not known. */
	check_files("{\"files\": [{\"table\": \"SL_STEPS\", \"bytes\": 12}, {\"table\": "
		    "\"SL_CLOCK_FIT\", \"bytes\": null}]}");
	assert_bad("");
	assert_int_equal(access(in_dir("SL_STEPS/run=one/node=a/part-0.parquet"), F_OK), 0);
}

/* Cut off, longer, without a mark at either end, of 3 bytes; and one that is not there. */
static void files_that_are_not_whole_are_moved_aside(void **state)
{
	(void)state;
	put_table("SL_STEPS", "PAR1....PAR1");
	put_table("SL_FILES", "PAR1....PAR1");
	put_table("SL_CALLS", "PAR2....PAR1");
	put_table("SL_CLOCK", "PAR1....PAR2");
	put_table("SL_LOST", "PAR");
	put_table("SL_CLOCK_FIT", "PAR1PAR");
	check_files(
		"{\"files\": [{\"table\": \"SL_STEPS\", \"bytes\": 13}, {\"table\": \"SL_FILES\", "
		"\"bytes\": 11}, {\"table\": \"SL_CALLS\", \"bytes\": 12}, {\"table\": "
		"\"SL_CLOCK\", \"bytes\": 12}, {\"table\": \"SL_LOST\", \"bytes\": 3}, "
		"{\"table\": \"SL_CLOCK_FIT\"}, {\"table\": \"SL_RANKS\", \"bytes\": 5}]}");
	assert_bad("one a SL_CALLS is cut off, or has been changed; moved to _bad\n"
		   "one a SL_CLOCK is cut off, or has been changed; moved to _bad\n"
		   "one a SL_CLOCK_FIT is cut off, or has been changed; moved to _bad\n"
		   "one a SL_FILES is cut off, or has been changed; moved to _bad\n"
		   "one a SL_LOST is cut off, or has been changed; moved to _bad\n"
		   "one a SL_RANKS is not there\n"
		   "one a SL_STEPS is cut off, or has been changed; moved to _bad\n");
	assert_string_equal(file_text(in_dir("_bad/SL_STEPS-one-a.parquet")), "PAR1....PAR1");
	assert_int_not_equal(access(in_dir("SL_STEPS/run=one/node=a/part-0.parquet"), F_OK), 0);
	assert_int_not_equal(access(in_dir("_bad/SL_RANKS-one-a.parquet"), F_OK), 0);
}

static void check_alone_moves_nothing(void **state)
{
	(void)state;
	put_table("SL_STEPS", "PAR1....PAR1");
	put_manifest("one", "a", "{\"files\": [{\"table\": \"SL_STEPS\", \"bytes\": 13}]}");
	read_run(NULL);
	assert_int_equal(manifests_check_files(db, test_dir, false), SQLITE_OK);
	assert_bad("one a SL_STEPS is cut off, or has been changed\n");
	assert_int_equal(access(in_dir("SL_STEPS/run=one/node=a/part-0.parquet"), F_OK), 0);
	assert_int_not_equal(access(in_dir("_bad"), F_OK), 0);
}

/* The part was added again after the manifest had been read. */
static void file_that_fits_the_manifest_of_now_is_whole(void **state)
{
	(void)state;
	put_table("SL_STEPS", "PAR1....PAR1");
	put_manifest("one", "a", "{\"files\": [{\"table\": \"SL_STEPS\", \"bytes\": 13}]}");
	read_run(NULL);
	put_manifest("one", "a", "{\"files\": [{\"table\": \"SL_STEPS\", \"bytes\": 12}]}");
	assert_int_equal(manifests_check_files(db, test_dir, true), SQLITE_OK);
	assert_bad("");
	assert_int_equal(access(in_dir("SL_STEPS/run=one/node=a/part-0.parquet"), F_OK), 0);
}

static void part_that_is_being_written_is_no_fault(void **state)
{
	int lock;

	(void)state;
	put_table("SL_STEPS", "PAR1....PAR1");
	put_manifest("one", "a", "{\"files\": [{\"table\": \"SL_STEPS\", \"bytes\": 13}]}");
	lock = part_lock(test_dir, "one", "a", PART_WRITE);
	assert_true(lock >= 0);
	read_run(NULL);
	assert_int_equal(manifests_check_files(db, test_dir, false), SQLITE_OK);
	assert_bad("");
	part_unlock(lock);
	assert_int_equal(manifests_check_files(db, test_dir, false), SQLITE_OK);
	assert_bad("one a SL_STEPS is cut off, or has been changed\n");
}

/* Names of tables that lead out of the dataset, or are none. */
static void forged_names_of_tables_move_nothing(void **state)
{
	char cmd[512];

	(void)state;
	snprintf(cmd, sizeof(cmd), "mkdir -p '%s/ds' '%s/out/run=one/node=a'", test_dir, test_dir);
	assert_int_equal(system(cmd), 0);
	put_file(in_dir("out/run=one/node=a/part-0.parquet"), "secret");
	check_files("{\"files\": [{\"table\": \"../out\", \"bytes\": 1}, {\"table\": \"_nodes\", "
		    "\"bytes\": 1}, {\"table\": \"\", \"bytes\": 1}, {\"table\": 7, \"bytes\": 1}, "
		    "{\"table\": null, \"bytes\": 1}, {}, 5, {\"table\": \"a/b\", \"bytes\": 1}]}");
	assert_string_equal(file_text(in_dir("out/run=one/node=a/part-0.parquet")), "secret");
	/* 7 is a word, and there is no such table. */
	assert_bad("one a 7 is not there\n");
}

static void bytes_that_are_a_text_are_0(void **state)
{
	(void)state;
	put_table("SL_STEPS", "PAR1PAR1");
	check_files("{\"files\": [{\"table\": \"SL_STEPS\", \"bytes\": \"x\"}]}");
	assert_bad("one a SL_STEPS is cut off, or has been changed; moved to _bad\n");
}

/* ---- a writer that was stopped ---- */

static void put_aside(const char *table)
{
	char name[256], to[256];

	put_table(table, "PAR1PAR1");
	snprintf(name, sizeof(name), "%s/run=one/node=a/part-0.parquet", table);
	snprintf(to, sizeof(to), "%s/run=one/node=a/.part-0.parquet.tmp", table);
	assert_int_equal(rename(in_dir(name), in_dir(to)), 0);
}

static const char *const tables[] = {"SL_RANKS",      "SL_STEPS", "SL_COLLECTIVES", "SL_KERNELS",
				     "SL_FILES",      "SL_CALLS", "SL_CLOCK",       "SL_CLOCK_FIT",
				     "SL_GPU_HEALTH", "SL_LOST"};

static void ready_part_is_put_in_place(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"start\": 1}");
	put_file(in_dir("_nodes/run=one/.node=a.json.ready"), "{\"start\": 2}");
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		put_aside(tables[i]);
	/* Names that are of no node. */
	put_file(in_dir("_nodes/run=one/.node=.json.ready"), "{}");
	put_file(in_dir("_nodes/run=one/.node=_x.json.ready"), "{}");
	read_run(NULL);
	assert_rows(db, "SELECT node, start FROM manifest", "a 2\n");
	assert_bad("");
	assert_true(is_parquet(in_dir("SL_LOST/run=one/node=a/part-0.parquet")));
}

static void ready_part_without_its_files_is_bad(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"start\": 1}");
	put_file(in_dir("_nodes/run=one/.node=a.json.ready"), "{\"start\": 2}");
	read_run(NULL);
	assert_rows(db, "SELECT node, start FROM manifest", "a 1\n");
	assert_bad("one a it was not added to the end, and its files cannot be put in place\n");
}

#define MANIFEST_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, teardown)

static void near_ones_are_the_own_and_one_other(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"job\": \"1\"}");
	put_manifest("one", "b", "no JSON");
	put_manifest("one", "c", "{\"job\": \"2\"}");
	put_manifest("one", "d", "{\"job\": \"2\"}");
	put_manifest("two", "a", "{\"job\": \"3\"}");
	sqlite3_close(db);
	db = manifests_near(test_dir, "one", "a", why, sizeof(why));
	assert_rows(db, "SELECT job FROM manifest ORDER BY job", "1\n2\n");
	sqlite3_close(db);
	db = manifests_near(test_dir, "one", "new", why, sizeof(why));
	assert_rows(db, "SELECT count(*) FROM manifest", "1\n");
	sqlite3_close(db);
	db = manifests_near(test_dir, "none", "a", why, sizeof(why));
	assert_rows(db, "SELECT count(*) FROM manifest", "0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MANIFEST_TEST(near_ones_are_the_own_and_one_other),
		MANIFEST_TEST(folder_that_is_not_there_is_named),
		MANIFEST_TEST(folder_without_runs_has_empty_tables),
		MANIFEST_TEST(manifest_is_a_row_of_each_table),
		MANIFEST_TEST(values_are_taken_from_manifests_once),
		MANIFEST_TEST(run_alone_is_read_where_it_is_asked_for),
		MANIFEST_TEST(other_files_are_no_manifests),
		MANIFEST_TEST(what_is_no_json_is_bad),
		MANIFEST_TEST(manifest_that_is_a_folder_cannot_be_read),
		MANIFEST_TEST(json_of_another_form_has_no_ranks),
		MANIFEST_TEST(numbers_of_2_to_the_63_and_long_names),
		MANIFEST_TEST(whole_files_are_not_bad),
		MANIFEST_TEST(files_that_are_not_whole_are_moved_aside),
		MANIFEST_TEST(check_alone_moves_nothing),
		MANIFEST_TEST(file_that_fits_the_manifest_of_now_is_whole),
		MANIFEST_TEST(part_that_is_being_written_is_no_fault),
		MANIFEST_TEST(forged_names_of_tables_move_nothing),
		MANIFEST_TEST(bytes_that_are_a_text_are_0),
		MANIFEST_TEST(ready_part_is_put_in_place),
		MANIFEST_TEST(ready_part_without_its_files_is_bad),
	};

	return cmocka_run_group_tests_name("ranks_manifests", tests, NULL, NULL);
}
