/* cell.c - asks the engine for the step, and the report for its clock. */
#include "exporters/ranks/spans/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/saturate.h"
#include "exporters/ranks/manifests.h"
#include "exporters/ranks/spans/report_place.h"

static const char cell_sql[] =
	"SELECT 'C|' || own.\"rank\" || '|' || own.step || '|' || own.\"start\" || '|' || "
	"own.\"end\" AS t FROM SL_STEPS AS own JOIN (SELECT step, quantile_cont(\"end\" - "
	"\"start\" "
	"- coalesce(exposedCollNs, 0), 0.5) AS mid FROM SL_STEPS WHERE run = :run GROUP BY step) "
	"AS "
	"m ON m.step = own.step WHERE own.run = :run AND own.\"end\" >= own.\"start\"%s%s ORDER BY "
	"own.\"end\" - own.\"start\" - coalesce(own.exposedCollNs, 0) - m.mid DESC, own.\"rank\", "
	"own.step LIMIT 1;\n";

static char *script_of(const struct ask *a, int64_t rank, int64_t step)
{
	char of_rank[64] = "", of_step[64] = "", *script;
	struct ask one = *a;
	char *sql = NULL;

	if (rank >= 0)
		snprintf(of_rank, sizeof(of_rank), " AND own.\"rank\" = %lld", (long long)rank);
	if (step >= 0)
		snprintf(of_step, sizeof(of_step), " AND own.step = %lld", (long long)step);
	if (asprintf(&sql, cell_sql, of_rank, of_step) < 0)
		return NULL;
	one.sql = sql;
	script = ask_script(&one);
	free(sql);
	return script;
}

/* 0, 1: no such cell; -1 after a line. */
static int ask_engine_for(struct cell *c, const char *command, const struct ask *a, int64_t rank,
			  int64_t step)
{
	char *script = script_of(a, rank, step), *line = NULL;
	int from = -1, found = 1, status;
	pid_t pid = script ? ask_start(command, a, script, &from) : -1;
	FILE *f = pid > 0 ? fdopen(from, "r") : NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		long long n[4];

		if (sscanf(line, "C|%lld|%lld|%lld|%lld", &n[0], &n[1], &n[2], &n[3]) == 4) {
			c->rank = n[0];
			c->step = n[1];
			c->start = n[2];
			c->end = n[3];
			found = 0;
		}
	}
	free(line);
	if (f)
		fclose(f);
	else if (from >= 0)
		close(from);
	status = pid > 0 ? ask_wait(command, pid) : -1;
	free(script);
	return status ? -1 : found;
}

static int find_time(struct cell *c, const char *command)
{
	const struct rollup_ask ask = {.rank = -1, .from = "option"};
	struct rollup_processes p;
	char rank[32], why[1024];

	snprintf(rank, sizeof(rank), "%lld", (long long)c->rank);
	if (rollup_processes(c->report, &ask, rank, &p, why, sizeof(why)) < 0) {
		sl_warn("%s: %s", command, why);
		return -1;
	}
	c->from = sat_sub(c->start, p.epoch);
	c->to = sat_sub(c->end, p.epoch);
	c->pid = p.pids ? strtoll(p.pids, NULL, 10) : -1;
	rollup_processes_free(&p);
	return 0;
}

int cell_find(struct cell *c, const char *command, const struct ask *a, int64_t rank, int64_t step)
{
	char why[1024];
	sqlite3 *db;
	int found;

	memset(c, 0, sizeof(*c));
	found = ask_engine_for(c, command, a, rank, step);
	if (found > 0)
		sl_warn("%s: run %s has no such step%s", command, a->run,
			rank < 0 && step < 0 ? ": none was recorded ('profile --python-step')"
					     : "");
	if (found != 0)
		return -1;
	db = manifests_read(a->folder, a->run, why, sizeof(why));
	if (db)
		c->report = report_place(db, a->folder, a->run, c->rank, why, sizeof(why));
	sqlite3_close(db);
	if (!c->report) {
		sl_warn("%s: rank %lld: %s", command, (long long)c->rank, why);
		return -1;
	}
	return find_time(c, command);
}

void cell_free(struct cell *c)
{
	free(c->report);
	memset(c, 0, sizeof(*c));
}
