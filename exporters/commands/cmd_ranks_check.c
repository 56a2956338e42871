/* cmd_ranks_check.c - sightline ranks check: the gaps of a dataset. */
#include <stdio.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/read/sql_rows.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/manifests.h"

#define WHY_TEXT 2048

static const char usage[] = "sightline ranks check -d DATASET [options]";
static const char examples[] =
	"Reads alone, also while nodes are added: a part that is being written is no fault.\n"
	"\n"
	"Exit status: 0, 3 when something of --fail-on was found, 1 when the dataset cannot be "
	"read, 2 for wrong "
	"use.\n"
	"\n"
	"Examples:\n"
	"  sightline ranks check -d /shared/dataset\n"
	"  sightline ranks check -d dataset --run 4711 --fail-on missing,files && sightline ranks "
	"ask straggler -d "
	"dataset\n"
	"  sightline ranks check -d dataset --repair\n";

/*
 * The faults of the dataset: run, kind, text. Facts of nodes stand in a line of their own up to @NODES_SHOWN of them, in one together
 * beyond: a thousand lines hide what else there is.
 */
#define NODES_SHOWN "8"
#define OF_NODES(kind, condition, one, all)                                                       \
	"UNION ALL SELECT run, '" kind "', " one " FROM manifest WHERE " condition                \
	" AND run NOT IN (SELECT run FROM manifest WHERE " condition                              \
	" GROUP BY run HAVING count(*) > " NODES_SHOWN ") UNION ALL SELECT run, '" kind "', " all \
	" || (SELECT group_concat(node, ', ') FROM (SELECT node FROM manifest AS a WHERE a.run "  \
	"= m.run AND " condition " ORDER BY node LIMIT " NODES_SHOWN ")) || ', ...' FROM "        \
	"manifest AS m WHERE " condition " GROUP BY run HAVING count(*) > " NODES_SHOWN " "

static const char found_sql[] =
	"WITH RECURSIVE size AS (SELECT run, max(worldSize) AS world FROM rank GROUP BY run), "
	"n(i, run, world) AS (SELECT 0, run, world FROM size WHERE world BETWEEN 1 "
	"AND 1000000 UNION ALL SELECT i + 1, run, world FROM n WHERE i + 1 < world), "
	"lacking AS MATERIALIZED (SELECT run, i FROM n WHERE NOT EXISTS "
	"(SELECT 1 FROM rank AS r WHERE r.run = n.run AND r.rank = n.i)) "
	"SELECT run, 'missing' AS kind, printf('%d of %d ranks are missing: %s', count(*), "
	"(SELECT "
	"world FROM size AS s WHERE s.run = l.run), (SELECT group_concat(i, ', ') FROM "
	"(SELECT i "
	"FROM lacking AS x WHERE x.run = l.run LIMIT 20)) || iif(count(*) > 20, ', ...', '')) "
	"AS "
	"text FROM lacking AS l GROUP BY run "
	"UNION ALL SELECT run, 'twice', printf('rank %d is in the reports of several nodes, "
	"of "
	"which the newest counts: %s', rank, group_concat(DISTINCT node)) FROM rank GROUP BY "
	"run, "
	"rank HAVING count(DISTINCT node) > 1 "
	"UNION ALL SELECT run, 'rank', printf('%d ranks have another number in NCCL: rank %d "
	"(%s) "
	"is %d there', count(*), min(rank), source, ncclRank) FROM rank WHERE ncclRank <> "
	"rank "
	"GROUP BY run "
	"UNION ALL SELECT run, 'cut', printf('the report of rank %d was cut off: %s', rank, "
	"report) FROM rank WHERE complete = 0 " OF_NODES(
		"lost", "lost > 0", "printf('node %s lost %d events', node, lost)",
		"printf('%d nodes lost %d events: ', count(*), sum(lost))")
		OF_NODES("clock", "synchronized = 0",
			 "printf('node %s: nothing keeps its clock (NTP, PTP)', node)",
			 "printf('%d nodes: nothing keeps their clocks (NTP, PTP): ', "
			 "count(*))") "UNION ALL SELECT run, 'versions', printf('reports of "
				      "%d versions: %s', count(DISTINCT "
				      "version), group_concat(DISTINCT version)) FROM rank "
				      "GROUP BY run HAVING count(DISTINCT "
				      "version) > 1 "
				      "UNION ALL SELECT run, 'gpus', printf('%d types of GPU: "
				      "%s', count(DISTINCT gpu), "
				      "group_concat(DISTINCT gpu)) FROM rank GROUP BY run "
				      "HAVING count(DISTINCT gpu) > 1 "
				      "UNION ALL SELECT run, 'steps', printf('%d ranks have "
				      "no steps, %s have', sum(steps = 0), "
				      "sum(steps > 0)) FROM rank GROUP BY run HAVING "
				      "sum(steps = 0) > 0 "
				      "UNION ALL SELECT run, 'files', printf('node %s: %s', "
				      "node, why) FROM bad ORDER BY 1, 2, 3";

static const char runs_sql[] =
	"WITH r AS (SELECT run, count(DISTINCT rank) AS ranks, max(worldSize) AS world, sum(steps) "
	"AS steps, sum(collectives) AS collectives FROM rank GROUP BY run), f AS (SELECT run, "
	"sum(bytes) AS bytes FROM file GROUP BY run), m AS (SELECT run, count(*) AS nodes, "
	"(max(\"end\") - min(start)) / 1e9 AS s, max(maxErrorNs) / 1e6 AS clock FROM manifest "
	"GROUP BY run) SELECT m.run, coalesce(ranks, 0), world, nodes, steps, collectives, s, "
	"clock, bytes / 1e6 FROM m LEFT JOIN r USING (run) LEFT JOIN f USING (run) ORDER BY m.run";

struct check {
	const char *folder, *run, *fail_on, *format;
	bool repair;
};

static void put_runs(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, runs_sql, -1, &stmt, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		printf("run %s: %lld", sqlite3_column_text(stmt, 0),
		       (long long)sqlite3_column_int64(stmt, 1));
		if (sqlite3_column_type(stmt, 2) != SQLITE_NULL)
			printf(" of %lld", (long long)sqlite3_column_int64(stmt, 2));
		printf(" ranks on %lld nodes, %.1f s, %lld steps, %lld collectives, %.1f MB",
		       (long long)sqlite3_column_int64(stmt, 3), sqlite3_column_double(stmt, 6),
		       (long long)sqlite3_column_int64(stmt, 4),
		       (long long)sqlite3_column_int64(stmt, 5), sqlite3_column_double(stmt, 8));
		if (sqlite3_column_type(stmt, 7) != SQLITE_NULL)
			printf(", clocks within %.1f ms", sqlite3_column_double(stmt, 7));
		putchar('\n');
	}
	sqlite3_finalize(stmt);
}

static bool is_among(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; list && *list; list += strcspn(list, ","), list += *list == ',')
		if (strncmp(list, word, len) == 0 && (list[len] == ',' || !list[len]))
			return true;
	return false;
}

/* A line for people. Names of hosts, GPUs and reports come out of the dataset, and may hold escape sequences. */
static void put_clean(const char *kind, const char *run, const char *what)
{
	char *line = sqlite3_mprintf("%-8s  run %s: %s", kind, run, what);

	if (!line)
		return;
	sl_clean(line, strlen(line));
	puts(line);
	sqlite3_free(line);
}

/* The exit status. */
static int put_found(sqlite3 *db, const struct check *o)
{
	sqlite3_stmt *stmt = NULL;
	int status = 0, found = 0;
	bool is_json = strcmp(o->format, "json") == 0;
	int rc = sqlite3_prepare_v2(db, found_sql, -1, &stmt, NULL);

	if (rc != SQLITE_OK) {
		sl_warn("ranks check: %s", sqlite3_errmsg(db));
		return SL_EXIT_FAIL;
	}
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *kind = (const char *)sqlite3_column_text(stmt, 1);

		if (!is_json)
			put_clean(kind, (const char *)sqlite3_column_text(stmt, 0),
				  (const char *)sqlite3_column_text(stmt, 2));
		found++;
		if (is_among(o->fail_on, "any") || is_among(o->fail_on, kind))
			status = SL_EXIT_FOUND;
	}
	sqlite3_finalize(stmt);
	if (!found && !is_json)
		printf("nothing is missing\n");
	return status;
}

static void put_json(sqlite3 *db)
{
	static const char sql[] =
		"SELECT json_object('runs', (SELECT json_group_array(json_object('run', run, "
		"'nodes', json(nodes))) FROM "
		"(SELECT run, json_group_array(json(json)) AS nodes FROM (SELECT run, json FROM "
		"text ORDER BY run, "
		"node) GROUP BY run)), 'found', (SELECT json_group_array(json_object('run', run, "
		"'kind', kind, "
		"'text', text)) FROM (%s)))";
	char *whole = sqlite3_mprintf(sql, found_sql);
	sqlite3_stmt *stmt = NULL;

	if (whole && (stmt = sql_first(db, whole)) != NULL)
		puts((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_free(whole);
}

static int check(const struct check *o)
{
	char why[WHY_TEXT];
	sqlite3 *db = manifests_read(o->folder, o->run, why, sizeof(why));
	sqlite3_stmt *stmt = NULL;
	int status = SL_EXIT_FAIL;

	if (!db) {
		sl_warn("ranks check: %s", why);
		return SL_EXIT_FAIL;
	}
	if (sqlite3_prepare_v2(db, "SELECT 1 FROM text UNION ALL SELECT 1 FROM bad", -1, &stmt,
			       NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW) {
		sl_warn("ranks check: %s has no run%s%s: 'sightline ranks add -d %s' puts reports "
			"into it",
			o->folder, o->run ? " " : "", o->run ? o->run : "", o->folder);
	} else if (manifests_check_files(db, o->folder, o->repair) != SQLITE_OK) {
		sl_warn("ranks check: %s", sqlite3_errmsg(db));
	} else {
		if (strcmp(o->format, "json") == 0)
			put_json(db);
		else
			put_runs(db);
		status = put_found(db, o);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return status;
}

int cmd_ranks_check(int argc, char **argv)
{
	struct check o = {.format = "text"};
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &o.folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "of this run (default: all)", &o.run, NULL},
		{0, "fail-on", OPT_LIST,
		 "any,missing,twice,rank,cut,lost,clock,versions,gpus,steps,files", "KIND,...",
		 "exit status 3 where such is found", &o.fail_on, NULL},
		{0, "repair", OPT_FLAG, NULL, NULL,
		 "moves files that are cut off to DATASET/_bad: with them no question can\n"
		 "be answered; their nodes are to be added again",
		 &o.repair, NULL},
		{'f', "format", OPT_ENUM, "text,json", "FORMAT", "text or json (default: text)",
		 &o.format, NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "ranks check");

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!o.folder || first < argc) {
		sl_warn("ranks check: %s (see 'sightline ranks check --help')",
			o.folder ? "it takes no more words" : "-d DATASET is missing");
		return SL_EXIT_USAGE;
	}
	return check(&o);
}
