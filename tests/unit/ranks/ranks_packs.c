/* ranks_packs.c - runs whose parts are packed: what of a pack counts, its views, and roll-ups of questions. */
#include "ranks_test.h"

#include <sys/stat.h>

#include "exporters/ranks/manifests.h"
#include "exporters/ranks/packs.h"
#include "exporters/ranks/run_choice.h"

static sqlite3 *db;
static struct packs packs;
static char *script;

static void read_run(const char *run)
{
	packs_free(&packs);
	sqlite3_close(db);
	db = manifests_read(test_dir, run, why, sizeof(why));
	if (!db)
		fail_msg("%s", why);
	assert_int_equal(packs_find(db, &packs), SQLITE_OK);
}

static int teardown(void **state)
{
	packs_free(&packs);
	sqlite3_close(db);
	db = NULL;
	free(script);
	script = NULL;
	return test_teardown(state);
}

#define A                                                                                         \
	"{\"node\":\"a\",\"start\":1,\"ranks\":[{\"rank\":0}],\"files\":[{\"table\":\"SL_LOST\"," \
	"\"bytes\":7}]}"
#define B "{\"node\":\"b\",\"start\":2,\"ranks\":[{\"rank\":1}],\"files\":[]}"

/* A pack of nodes a and b with two tables; the folder of the run's manifests is made. */
static void put_pack(const char *parts)
{
	char text[2048];

	put_manifest("one", "x", "{}");
	unlink(in_dir("_nodes/run=one/node=x.json"));
	snprintf(text, sizeof(text),
		 "{\"generation\": \"g-1\", \"parts\": [%s], \"files\": [{\"table\": \"SL_LOST\", "
		 "\"rows\": null, \"bytes\": 12}, {\"table\": \"SL_CLOCK_FIT\", \"bytes\": 9}]}",
		 parts);
	put_file(in_dir("_nodes/run=one/all.json"), text);
}

static void part_of_a_pack_is_a_node_like_others(void **state)
{
	(void)state;
	put_pack(A ", " B);
	read_run("one");
	assert_rows(db, "SELECT run, node, start FROM manifest ORDER BY node",
		    "one a 1\none b 2\n");
	assert_rows(db, "SELECT node, rank FROM rank ORDER BY node", "a 0\nb 1\n");
	/* Its files are not there: those of the pack are. */
	assert_rows(db, "SELECT node, name, bytes FROM file ORDER BY name",
		    "(packed) SL_CLOCK_FIT 9\n(packed) SL_LOST 12\n");
	assert_int_equal(packs.cnt, 1);
	assert_string_equal(packs.list[0].run, "one");
	assert_string_equal(packs.list[0].folder, "_packed/run=one/g-1");
	assert_string_equal(packs.list[0].nodes, "'a', 'b'");
	assert_null(packs.list[0].replaced);
	assert_true(packs.list[0].is_whole);
	assert_true(pack_has_table(&packs.list[0], "SL_LOST"));
	assert_false(pack_has_table(&packs.list[0], "SL_LOS"));
	assert_false(pack_has_table(&packs.list[0], "SL_RANKS"));
}

static void remainder_of_a_packed_part_changes_nothing(void **state)
{
	(void)state;
	put_pack(A ", " B);
	/* With blanks, as another writer may have it. */
	put_file(in_dir("_nodes/run=one/node=b.json"),
		 "{\"node\": \"b\", \"start\": 2, \"ranks\": [{\"rank\": 1}], \"files\": []}\n");
	read_run("one");
	assert_rows(db, "SELECT node, start FROM manifest ORDER BY node", "a 1\nb 2\n");
	assert_true(packs.list[0].is_whole);
}

static void part_added_again_takes_the_place_of_the_packed(void **state)
{
	(void)state;
	put_pack(A ", " B);
	put_file(in_dir("_nodes/run=one/node=b.json"), "{\"node\": \"b\", \"start\": 5}");
	read_run("one");
	assert_rows(db, "SELECT node, start FROM manifest ORDER BY node", "a 1\nb 5\n");
	assert_string_equal(packs.list[0].nodes, "'a'");
	assert_string_equal(packs.list[0].replaced, "'b'");
	assert_false(packs.list[0].is_whole);
	/* What is no JSON takes its place, too: it may be a part that is damaged. */
	put_file(in_dir("_nodes/run=one/node=b.json"), "{");
	read_run("one");
	assert_rows(db, "SELECT node, start FROM manifest", "a 1\n");
	assert_string_equal(packs.list[0].replaced, "'b'");
}

static void new_node_stands_beside_the_pack(void **state)
{
	(void)state;
	put_pack(A);
	put_file(in_dir("_nodes/run=one/node=c.json"), "{\"node\": \"c\", \"start\": 3}");
	read_run("one");
	assert_rows(db, "SELECT node FROM manifest ORDER BY node", "a\nc\n");
	assert_null(packs.list[0].replaced);
	assert_false(packs.list[0].is_whole);
}

/* Names go into paths and statements. */
static void forged_manifest_is_bad(void **state)
{
	static const char *const texts[] = {
		"",
		"[1, 2",
		"{}",
		"[]",
		"{\"generation\": 7}",
		"{\"generation\": \"../g\"}",
		"{\"generation\": \"\"}",
		"{\"generation\": \"g\", \"parts\": [{\"node\": \"a'b\"}]}",
		"{\"generation\": \"g\", \"parts\": [{\"node\": null}]}",
		"{\"generation\": \"g\", \"parts\": [\"a\"]}",
		"{\"generation\": \"g\", \"parts\": [{\"node\": \"_all\"}]}"};

	(void)state;
	put_pack(A);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put_file(in_dir("_nodes/run=one/all.json"), texts[i]);
		read_run("one");
		assert_rows(db, "SELECT count(*) FROM manifest", "0\n");
		/* A number is a word, too. */
		if (i != 4)
			assert_rows(db, "SELECT node, why FROM bad",
				    "(packed) its manifest is none\n");
	}
}

static void near_manifests_have_those_of_the_pack(void **state)
{
	sqlite3 *near;

	(void)state;
	put_pack(A ", " B);
	near = manifests_near(test_dir, "one", "b", why, sizeof(why));
	assert_non_null(near);
	assert_rows(near, "SELECT start FROM manifest WHERE node = 'b'", "2\n");
	sqlite3_close(near);
}

static void packed_files_are_looked_at(void **state)
{
	(void)state;
	put_pack(A);
	assert_int_equal(mkdir(in_dir("_packed"), 0777), 0);
	assert_int_equal(mkdir(in_dir("_packed/run=one"), 0777), 0);
	assert_int_equal(mkdir(in_dir("_packed/run=one/g-1"), 0777), 0);
	put_file(in_dir("_packed/run=one/g-1/SL_LOST.parquet"), "PAR1....PAR1");
	put_file(in_dir("_packed/run=one/g-1/SL_CLOCK_FIT.parquet"), "PAR1PAR");
	read_run("one");
	assert_int_equal(manifests_check_files(db, test_dir, true), SQLITE_OK);
	assert_rows(db, "SELECT run, node, why FROM bad",
		    "one (packed) SL_CLOCK_FIT is cut off, or has been changed\n");
	assert_int_equal(access(in_dir("_packed/run=one/g-1/SL_CLOCK_FIT.parquet"), F_OK), 0);
}

/* ---- views ---- */

static const char *at = "/ds*";

static void put_part(const char *run, const char *node)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd),
		 "mkdir -p '%s/SL_LOST/run=%s/node=%s' && touch "
		 "'%s/SL_LOST/run=%s/node=%s/part-0.parquet'",
		 test_dir, run, node, test_dir, run, node);
	assert_int_equal(system(cmd), 0);
}

static const char *view(const char *sql, const char *base)
{
	static char text[4096];
	struct ask a = {.folder = at,
			.sql = sql,
			.run = "one",
			.base = base,
			.engine = "duckdb",
			.packs = &packs};

	read_run(NULL);
	free(script);
	script = ask_script(&a);
	assert_non_null(script);
	snprintf(text, sizeof(text), "%s", script);
	return text;
}

#define PACKED_LOST                                                                               \
	"SELECT *, 'one' AS run FROM read_parquet('/ds[*]/_packed/run=one/g-1/SL_LOST.parquet', " \
	"hive_partitioning = false)"

static void view_of_a_packed_run_is_one_file(void **state)
{
	(void)state;
	put_pack(A ", " B);
	assert_string_equal(view("SELECT n FROM SL_LOST", NULL),
			    "CREATE TEMP VIEW SL_LOST AS SELECT * FROM (" PACKED_LOST
			    ") AS parts;\nSELECT n FROM SL_LOST");
	/* A table that the pack lacks. */
	assert_non_null(strstr(view("SELECT 1 FROM SL_RANKS", NULL),
			       "read_parquet('/ds[*]/SL_RANKS/run=one/node=*/part-0.parquet'"));
}

static void view_leaves_out_parts_that_were_added_again(void **state)
{
	(void)state;
	put_pack(A ", " B);
	put_file(in_dir("_nodes/run=one/node=b.json"), "{\"node\": \"b\", \"start\": 5}");
	assert_non_null(strstr(view("SELECT n FROM SL_LOST", NULL),
			       PACKED_LOST " WHERE node NOT IN ('b')"));
}

/* A pack of another run is no part of this one's condition, nor of its files; both are of a comparison. */
static void view_has_the_packs_of_its_runs(void **state)
{
	const char *text;

	(void)state;
	put_pack(A ", " B);
	put_file(in_dir("_nodes/run=one/node=c.json"), "{\"node\": \"c\", \"start\": 5}");
	put_manifest("another", "x", "{}");
	put_file(in_dir("_nodes/run=another/all.json"),
		 "{\"generation\": \"h\", \"parts\": [{\"node\": \"y\"}], \"files\": [{\"table\": "
		 "\"SL_LOST\"}]}");
	text = view("SELECT n FROM SL_LOST", NULL);
	assert_non_null(strstr(text, "_packed/run=one/g-1/"));
	assert_null(strstr(text, "another"));
	text = view("SELECT n FROM SL_LOST", "another");
	assert_non_null(strstr(text, "_packed/run=one/g-1/"));
	assert_non_null(strstr(text, "'another' AS run"));
	/* Parts have no files here. */
	assert_null(strstr(text, "run=*"));
	/* With one, those of both packs are left out beside it. */
	at = test_dir;
	put_part("one", "c");
	text = view("SELECT n FROM SL_LOST", NULL);
	assert_non_null(strstr(text, "union_by_name = true) WHERE NOT (run = 'one' AND node IN "
				     "('a', 'b'))) AS parts"));
	text = view("SELECT n FROM SL_LOST", "another");
	assert_non_null(strstr(text, "NOT (run = 'one' AND node IN ('a', 'b'))"));
	assert_non_null(strstr(text, " AND NOT (run = 'another' AND node IN ('y'))"));
	at = "/ds*";
}

/* ---- roll-ups ---- */

static const char question[] = "-- title: T\n"
			       "WITH\n"
			       "-- roll-up SL_SUMS: s\n"
			       "a AS (SELECT 1), s AS (\n"
			       "	SELECT x FROM SL_LOST\n"
			       "	JOIN few USING (x) -- not rolled up\n"
			       ")\n"
			       "-- roll-up end\n"
			       ", b AS (SELECT 2),\n"
			       "-- roll-up SL_MORE: m\n"
			       "m AS (SELECT 3)\n"
			       "-- roll-up end\n"
			       "SELECT * FROM s, b, m;\n";

static void part_of_a_question_is_a_statement(void **state)
{
	char table[64];
	char *made = ask_rollup(question, 0, table);

	(void)state;
	assert_string_equal(table, "SL_SUMS");
	assert_string_equal(
		made, "WITH\na AS (SELECT 1), s AS (\n	SELECT x FROM SL_LOST\n)\nSELECT * FROM s");
	free(made);
	made = ask_rollup(question, 1, table);
	assert_string_equal(table, "SL_MORE");
	assert_string_equal(made, "WITH\nm AS (SELECT 3)\nSELECT * FROM m");
	free(made);
	assert_null(ask_rollup(question, 2, table));
	assert_null(ask_rollup("SELECT 1", 0, table));
	/* A mark that does not end is none. */
	assert_null(ask_rollup("-- roll-up SL_SUMS: s\ns AS (SELECT 1)\n", 0, table));
}

static void question_reads_its_rollups(void **state)
{
	char *made = ask_over_rollups(question);

	(void)state;
	assert_string_equal(made, "-- title: T\nWITH\ns AS (SELECT * FROM SL_SUMS)\n, b AS (SELECT "
				  "2),\nm AS (SELECT * FROM SL_MORE)\nSELECT * FROM s, b, m;\n");
	free(made);
	assert_null(ask_over_rollups("SELECT 1"));
}

#define PACK_TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PACK_TEST(part_of_a_pack_is_a_node_like_others),
		PACK_TEST(remainder_of_a_packed_part_changes_nothing),
		PACK_TEST(part_added_again_takes_the_place_of_the_packed),
		PACK_TEST(new_node_stands_beside_the_pack),
		PACK_TEST(forged_manifest_is_bad),
		PACK_TEST(near_manifests_have_those_of_the_pack),
		PACK_TEST(packed_files_are_looked_at),
		PACK_TEST(view_of_a_packed_run_is_one_file),
		PACK_TEST(view_leaves_out_parts_that_were_added_again),
		PACK_TEST(view_has_the_packs_of_its_runs),
		PACK_TEST(part_of_a_question_is_a_statement),
		PACK_TEST(question_reads_its_rollups),
	};

	return cmocka_run_group_tests_name("ranks_packs", tests, NULL, NULL);
}
