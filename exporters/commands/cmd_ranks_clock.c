/* cmd_ranks_clock.c - sightline ranks clock: how far the clocks of the nodes are apart, by their collectives. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/ask.h"
#include "exporters/ranks/run_choice.h"
#include "exporters/ranks/clock.h"
#include "exporters/ranks/dataset.h"

#define WHY_TEXT 2048

static const char usage[] = "sightline ranks clock -d DATASET [options]";
static const char examples[] = "All ranks end an all-reduce, all-gather, reduce-scatter or "
			       "all-to-all together: from the ends, offset and drift of "
			       "each\n"
			       "node's clock are found, to microseconds, and written into the "
			       "dataset (SL_CLOCK_FIT); times of events stay as they "
			       "are.\n"
			       "Questions about stragglers compare no clocks and need none of "
			       "this; one timeline of several nodes ('ranks fetch') "
			       "does.\n"
			       "\n"
			       "Examples:\n"
			       "  sightline ranks clock -d /shared/dataset\n"
			       "  sightline ranks ask clocks -d /shared/dataset\n";

static int read_nodes(const char *folder, const char *run, struct clock_nodes *nodes)
{
	char why[WHY_TEXT];
	sqlite3 *db = manifests_read(folder, run, why, sizeof(why));
	sqlite3_stmt *stmt = NULL;
	int rc;

	if (!db) {
		sl_warn("ranks clock: %s", why);
		return SL_EXIT_FAIL;
	}
	rc = sqlite3_prepare_v2(db, "SELECT node, start, maxErrorNs FROM manifest ORDER BY node",
				-1, &stmt, NULL);
	while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		struct clock_node n = {.start = DATASET_NULL, .bound = DATASET_NULL};

		/* Other names are of no node that 'ranks add' has made. */
		if (!name || !dataset_word(name))
			continue;
		n.name = strdup(name);
		if (sqlite3_column_type(stmt, 1) == SQLITE_INTEGER)
			n.start = sqlite3_column_int64(stmt, 1);
		if (sqlite3_column_type(stmt, 2) == SQLITE_INTEGER)
			n.bound = sqlite3_column_int64(stmt, 2);
		if (!n.name || !grow(&nodes->list, nodes->cnt, &nodes->room, sizeof(n))) {
			free(n.name);
			rc = SQLITE_NOMEM;
			break;
		}
		nodes->list[nodes->cnt++] = n;
	}
	if (rc != SQLITE_OK)
		sl_warn("ranks clock: %s", sqlite3_errstr(rc));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return rc == SQLITE_OK ? 0 : SL_EXIT_FAIL;
}

static int read_ends(struct ask *a, struct clock_nodes *nodes, struct clock_end **ends, size_t *cnt)
{
	char *script = ask_script(a);
	int out = -1, rc, status;
	pid_t pid = script ? ask_start("ranks clock", a, script, &out) : -1;
	FILE *in = pid > 0 ? fdopen(out, "r") : NULL;

	free(script);
	if (!script)
		sl_warn("ranks clock: out of memory");
	if (pid < 0)
		return SL_EXIT_FAIL;
	rc = in ? clock_read(in, nodes, ends, cnt) : -1;
	if (in)
		fclose(in);
	status = ask_wait("ranks clock", pid);
	if (rc < 0)
		sl_warn("ranks clock: out of memory");
	return rc == 0 && status == 0 ? 0 : SL_EXIT_FAIL;
}

static void put_text(const struct clock_nodes *nodes, const struct clock_fit *f)
{
	size_t at = 0;

	for (uint32_t n = 0; n < nodes->cnt; n++) {
		const struct clock_line *first = f->lines + at, *last;
		double most = 0;
		size_t lines = 0;

		printf("%-24s ", nodes->list[n].name);
		for (; at < f->cnt && f->lines[at].node == n; at++, lines++)
			most = fmax(most, f->lines[at].error);
		if (n == f->reference && f->cnt) {
			puts("the reference");
			continue;
		}
		if (!lines) {
			puts("shares too few collectives with the others");
			continue;
		}
		last = f->lines + at - 1;
		printf("%+.1f us", first->offset / 1e3);
		if (lines > 1)
			printf(" to %+.1f us", last->offset / 1e3);
		printf(", drifts by %+.3f ppm, within %.1f us; of %llu collectives\n",
		       first->drift * 1e6, most / 1e3, (unsigned long long)nodes->list[n].ends);
	}
}

static int fit(struct ask *a)
{
	struct clock_nodes nodes = {0};
	struct clock_end *ends = NULL;
	struct clock_fit f = {0};
	size_t cnt = 0;
	char why[WHY_TEXT];
	int status = read_nodes(a->folder, a->run, &nodes);

	if (status == 0)
		status = read_ends(a, &nodes, &ends, &cnt);
	if (status == 0 && clock_fit(ends, cnt, (uint32_t)nodes.cnt, &f) < 0) {
		sl_warn("ranks clock: out of memory");
		status = SL_EXIT_FAIL;
	}
	if (status == 0 && clock_write(a->folder, a->run, &nodes, &f, why, sizeof(why)) < 0) {
		sl_warn("ranks clock: %s", why);
		status = SL_EXIT_FAIL;
	}
	if (status == 0) {
		put_text(&nodes, &f);
		if (!f.cnt)
			sl_warn("ranks clock: run %s has too few collectives that nodes share: "
				"their clocks are compared by the kernel's bounds only",
				a->run);
	}
	clock_fit_free(&f);
	free(ends);
	for (size_t i = 0; i < nodes.cnt; i++)
		free(nodes.list[i].name);
	free(nodes.list);
	return status;
}

int cmd_ranks_clock(int argc, char **argv)
{
	struct ask a = {.sql = clock_ends_sql, .format = "csv"};
	struct chosen chosen;
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &a.folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "of this run (default: the newest)", &a.run,
		 NULL},
		{0, "engine", OPT_ENUM, "duckdb,spark", "ENGINE",
		 "duckdb or spark (default: the first that is in PATH)", &a.engine, NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "ranks clock"), status;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!a.folder || first < argc) {
		sl_warn("ranks clock: %s (see 'sightline ranks clock --help')",
			a.folder ? "it takes no more words" : "-d DATASET is missing");
		return SL_EXIT_USAGE;
	}
	status = choose_run("ranks clock", &a, &chosen);
	if (status == 0)
		status = choose_engine("ranks clock", &a);
	if (status == 0)
		status = fit(&a);
	choose_free(&chosen);
	return status;
}
