/* ranks_superseded_rows.c - rows that newer ones have replaced, and which run and engine a question is about. */
#include "ranks_test.h"

#include "collector/base/message.h"
#include "exporters/ranks/run_choice.h"

/* ---- older ---- */

/* Which rows (run, node, rank, restart) of a table stay, of all that the manifests name. */
static const char *newest(const char *condition_of)
{
	static struct older o;
	sqlite3 *db = manifests_read(test_dir, NULL, why, sizeof(why));
	const char *got;
	char sql[8192], *where;

	assert_non_null(db);
	assert_int_equal(older_find(db, &o), SQLITE_OK);
	where = strcmp(condition_of, "restarts") == 0 ? o.restarts : o.sql;
	snprintf(sql, sizeof(sql),
		 "SELECT run, node, rank, restart FROM rank WHERE %s ORDER BY 1, 2, 3, 4",
		 where ? where : "1");
	got = rows(db, sql);
	older_free(&o);
	assert_null(o.sql);
	assert_null(o.restarts);
	sqlite3_close(db);
	return got;
}

static void dataset_without_runs_has_nothing_older(void **state)
{
	sqlite3 *db = manifests_read(test_dir, NULL, why, sizeof(why));
	struct older o;

	(void)state;
	assert_non_null(db);
	assert_int_equal(older_find(db, &o), SQLITE_OK);
	assert_null(o.sql);
	assert_null(o.restarts);
	older_free(&o);
	sqlite3_close(db);
}

static void ranks_of_one_node_each_are_all_new(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"start\": 10, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	put_manifest("one", "b", "{\"start\": 20, \"ranks\": [{\"rank\": 1, \"restart\": 0}]}");
	/* Another run has the same rank. */
	put_manifest("two", "a", "{\"start\": 30, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	assert_string_equal(newest("sql"), "one a 0 0\none b 1 0\ntwo a 0 0\n");
	assert_string_equal(newest("restarts"), "one a 0 0\none b 1 0\ntwo a 0 0\n");
}

/* Node b took the place of a: of rank 0 b counts, of rank 1, which b does not have, a. */
static void newest_node_of_a_rank_counts(void **state)
{
	(void)state;
	put_manifest("one", "a",
		     "{\"start\": 10, \"ranks\": [{\"rank\": 0, \"restart\": 0}, {\"rank\": 1, "
		     "\"restart\": 0}]}");
	put_manifest("one", "b",
		     "{\"start\": 20, \"ranks\": [{\"rank\": 0, \"restart\": 0}, {\"rank\": 2, "
		     "\"restart\": 0}]}");
	assert_string_equal(newest("sql"), "one a 1 0\none b 0 0\none b 2 0\n");
	assert_string_equal(newest("restarts"), "one a 1 0\none b 0 0\none b 2 0\n");
}

/* a began later, but b has the later start of the rank. */
static void later_restart_is_before_the_later_node(void **state)
{
	(void)state;
	put_manifest("one", "a", "{\"start\": 30, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	put_manifest("one", "b", "{\"start\": 20, \"ranks\": [{\"rank\": 0, \"restart\": 1}]}");
	assert_string_equal(newest("sql"), "one b 0 1\n");
}

static void first_of_nodes_with_equal_times_counts(void **state)
{
	(void)state;
	put_manifest("one", "c", "{\"start\": 20, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	put_manifest("one", "b", "{\"start\": 20, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	assert_string_equal(newest("sql"), "one b 0 0\n");
}

/* Rank 0 was started three times in place, rank 1 once. */
static void last_start_of_a_rank_counts(void **state)
{
	(void)state;
	put_manifest("one", "a",
		     "{\"start\": 10, \"ranks\": [{\"rank\": 0, \"restart\": 0}, {\"rank\": 0, "
		     "\"restart\": 2}, {\"rank\": 0, \"restart\": 1}, {\"rank\": 1, \"restart\": "
		     "0}]}");
	assert_string_equal(newest("restarts"), "one a 0 2\none a 1 0\n");
	/* Tables without restarts have no such condition. */
	assert_string_equal(newest("sql"), "one a 0 0\none a 0 1\none a 0 2\none a 1 0\n");
}

/* Rows without a rank are of the report, and of no rank that is older. */
static void rows_without_a_rank_stay(void **state)
{
	(void)state;
	put_manifest(
		"one", "a",
		"{\"start\": 10, \"ranks\": [{\"rank\": 0, \"restart\": 0}, {\"restart\": 0}]}");
	put_manifest("one", "b", "{\"start\": 20, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	assert_string_equal(newest("sql"), "one a - 0\none b 0 0\n");
}

/* A folder whose name is none of a run has no rows; a manifest may hold anything. */
static void texts_in_place_of_ranks_are_no_ranks(void **state)
{
	(void)state;
	put_manifest("o'ne", "a", "{\"start\": 30, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	put_manifest("one", "a'b", "{\"start\": 30, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	put_manifest("one", "b", "{\"start\": 10, \"ranks\": [{\"rank\": 0, \"restart\": 0}]}");
	put_manifest(
		"one", "c",
		"{\"start\": 20, \"ranks\": [{\"rank\": 0, \"restart\": 0}, {\"rank\": \"1); DROP "
		"TABLE text; --\", \"restart\": 9}, {\"rank\": 2, \"restart\": \"x\"}, 7, "
		"\"text\"]}");
	put_manifest("one", "d", "{\"start\": \"never\", \"ranks\": {}}");
	assert_string_equal(newest("sql"), "one c 0 0\none c 2 x\none c 1); DROP TABLE "
					   "text; -- 9\n");
	assert_string_equal(newest("restarts"), newest("sql"));
}

/* Without the conditions rows would count twice: a query that ends early is an error. */
static void query_that_fails_is_an_error(void **state)
{
	struct older o;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(older_find(db, &o), SQLITE_ERROR);
	assert_null(o.sql);
	/* The second row is what ends it. */
	exec_sql(
		db,
		"CREATE TABLE manifest AS SELECT 'one' AS run, 'a' AS node, 1 AS start UNION ALL "
		"SELECT 'one', 'b', 2; CREATE TABLE text(node, rank); INSERT INTO text "
		"VALUES('a', '0'), ('b', '0'); CREATE VIEW rank AS SELECT 'one' AS run, node, rank "
		"->> '$' AS rank, 0 AS restart FROM text");
	assert_int_equal(older_find(db, &o), SQLITE_OK);
	assert_non_null(o.sql);
	older_free(&o);
	exec_sql(db, "INSERT INTO text VALUES('c', 'no JSON')");
	assert_int_equal(older_find(db, &o), SQLITE_ERROR);
	older_free(&o);
	sqlite3_close(db);
}

/* ---- the run ---- */

/* What a call writes to stderr. */
static int said_fd;

static void listen(void)
{
	fflush(stderr);
	said_fd = dup(STDERR_FILENO);
	assert_non_null(freopen(in_dir("stderr"), "w", stderr));
}

static const char *said(void)
{
	fflush(stderr);
	dup2(said_fd, STDERR_FILENO);
	close(said_fd);
	return file_text(in_dir("stderr"));
}

static int choose(const char *run, struct ask *a, struct chosen *c)
{
	*a = (struct ask){.folder = test_dir, .run = run};
	return choose_run("ranks ask", a, c);
}

static void newest_run_is_chosen(void **state)
{
	struct chosen c;
	struct ask a;

	(void)state;
	put_manifest("one", "a", "{\"start\": 10, \"ranks\": []}");
	put_manifest("two", "a", "{\"start\": 30, \"ranks\": []}");
	put_manifest("three", "a", "{\"start\": 20, \"ranks\": []}");
	assert_int_equal(choose(NULL, &a, &c), 0);
	assert_string_equal(a.run, "two");
	assert_ptr_equal(a.older, &c.older);
	/* The engine runs elsewhere: the folder's path is whole. */
	assert_int_equal(*a.folder, '/');
	choose_free(&c);
	assert_int_equal(choose("one", &a, &c), 0);
	assert_string_equal(a.run, "one");
	choose_free(&c);
}

static void run_that_is_not_there_is_refused(void **state)
{
	struct chosen c;
	struct ask a;

	(void)state;
	put_manifest("one", "a", "{\"start\": 10, \"ranks\": []}");
	listen();
	assert_int_equal(choose("two", &a, &c), SL_EXIT_FAIL);
	assert_non_null(strstr(said(), "has no run two"));
	choose_free(&c);
	/* Not a pattern, and not a part. */
	listen();
	assert_int_equal(choose("on", &a, &c), SL_EXIT_FAIL);
	said();
	choose_free(&c);
}

static void dataset_without_runs_is_refused(void **state)
{
	struct chosen c;
	struct ask a;

	(void)state;
	listen();
	assert_int_equal(choose(NULL, &a, &c), SL_EXIT_FAIL);
	assert_non_null(strstr(said(), "'sightline ranks add' puts reports into it"));
	choose_free(&c);
	listen();
	a = (struct ask){.folder = "/nowhere"};
	assert_int_equal(choose_run("ranks ask", &a, &c), SL_EXIT_FAIL);
	assert_non_null(strstr(said(), "/nowhere: No such file"));
}

/* ---- the engine ---- */

static void put_program(const char *name, const char *text)
{
	char cmd[256];

	put_file(in_dir(name), text);
	snprintf(cmd, sizeof(cmd), "chmod +x '%s'", in_dir(name));
	assert_int_equal(system(cmd), 0);
}

static char *path_before;

static int engine_setup(void **state)
{
	path_before = strdup(getenv("PATH"));
	return test_setup(state);
}

static int engine_teardown(void **state)
{
	setenv("PATH", path_before, 1);
	free(path_before);
	return test_teardown(state);
}

static void engine_is_that_in_path(void **state)
{
	struct ask a = {0};

	(void)state;
	setenv("PATH", test_dir, 1);
	listen();
	assert_int_equal(choose_engine("ranks ask", &a), SL_EXIT_FAIL);
	assert_non_null(strstr(said(), "no engine is in PATH"));
	setenv("PATH", path_before, 1);
	put_program("spark-sql", "");
	setenv("PATH", test_dir, 1);
	assert_int_equal(choose_engine("ranks ask", &a), 0);
	assert_string_equal(a.engine, "spark");
	setenv("PATH", path_before, 1);
	put_program("duckdb", "");
	setenv("PATH", test_dir, 1);
	/* The engine that was asked for stays. */
	assert_int_equal(choose_engine("ranks ask", &a), 0);
	assert_string_equal(a.engine, "spark");
	a.engine = NULL;
	assert_int_equal(choose_engine("ranks ask", &a), 0);
	assert_string_equal(a.engine, "duckdb");
}

/* Runs a program in place of DuckDB; its exit status, its output in @out. */
static int run_engine(const char *program, const char *script, char *out, size_t len)
{
	struct ask a = {.engine = "duckdb", .format = "csv"};
	char path[4096];
	size_t got = 0;
	ssize_t n;
	pid_t pid;
	int fd;

	put_program("duckdb", program);
	snprintf(path, sizeof(path), "%s:%s", test_dir, path_before);
	setenv("PATH", path, 1);
	pid = ask_start("ranks ask", &a, script, &fd);
	assert_true(pid > 0);
	while (got < len - 1 && (n = read(fd, out + got, len - 1 - got)) > 0)
		got += (size_t)n;
	out[got] = 0;
	close(fd);
	return ask_wait("ranks ask", pid);
}

static void engine_reads_the_script_and_its_status_is_known(void **state)
{
	char out[4096];

	(void)state;
	assert_int_equal(run_engine("#!/bin/sh\necho \"$@\"\ncat\nexit 3\n", "SELECT 1;\n", out,
				    sizeof(out)),
			 3);
	assert_string_equal(out, "-init /dev/null -bail -csv -nullvalue \nSELECT 1;\n");
	assert_int_equal(run_engine("#!/bin/sh\nexit 0\n", "", out, sizeof(out)), 0);
	assert_string_equal(out, "");
	/* 128 and the signal, as a shell has it */
	assert_int_equal(run_engine("#!/bin/sh\nkill -9 $$\n", "", out, sizeof(out)), 128 + 9);
}

static void engine_that_is_not_there_is_not_started(void **state)
{
	struct ask a = {.engine = "spark", .format = "text"};

	(void)state;
	setenv("PATH", test_dir, 1);
	listen();
	assert_int_equal(ask_start("ranks ask", &a, "", NULL), -1);
	assert_non_null(strstr(said(), "spark-sql is not in PATH: 'pip install pyspark'"));
	listen();
	assert_int_equal(ask_wait("ranks ask", getpid()), -1);
	assert_non_null(strstr(said(), "ranks ask: "));
}

#define ENGINE_TEST(f) cmocka_unit_test_setup_teardown(f, engine_setup, engine_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dataset_without_runs_has_nothing_older),
		TEST(ranks_of_one_node_each_are_all_new),
		TEST(newest_node_of_a_rank_counts),
		TEST(later_restart_is_before_the_later_node),
		TEST(first_of_nodes_with_equal_times_counts),
		TEST(last_start_of_a_rank_counts),
		TEST(rows_without_a_rank_stay),
		TEST(texts_in_place_of_ranks_are_no_ranks),
		TEST(query_that_fails_is_an_error),
		TEST(newest_run_is_chosen),
		TEST(run_that_is_not_there_is_refused),
		TEST(dataset_without_runs_is_refused),
		ENGINE_TEST(engine_is_that_in_path),
		ENGINE_TEST(engine_reads_the_script_and_its_status_is_known),
		ENGINE_TEST(engine_that_is_not_there_is_not_started),
	};

	return cmocka_run_group_tests_name("ranks_superseded_rows", tests, NULL, NULL);
}
