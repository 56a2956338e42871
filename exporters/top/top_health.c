/*
 * top_health.c - the last samples of GPUs and of the machine: a line of each.
 *
 * The newest rows alone are looked at: a growing report has no index. A sum is a rate since the sample before.
 */
#include <stdio.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/top/top.h"

#define FRESH_NS 3000000000ll /* older samples are of the past */

/* In the order of the line. Times are per cent, the others in @unit, @scale of the counter's. */
static const struct shown {
	const char *scope, *name, *label, *unit;
	double scale;
} shown[] = {
	{"gpu", "GPU Utilization", "utilization", "%", 1},
	{"gpu", "SM Clock", "SM", "MHz", 1e-6},
	{"gpu", "Power", "", "W", 1},
	{"gpu", "Temperature", "", "C", 1},
	{"gpu", "Memory Used", "memory", "GB", 1e-9},
	{"gpu", "Throttled: Power", "throttled by power", "%", 1},
	{"host", "CPU User", "CPU user", "%", 1},
	{"host", "CPU System", "system", "%", 1},
	{"host", "Memory Available", "memory available", "GB", 1e-9},
	{"host", "CPU Pressure Some", "pressure CPU", "%", 1},
	{"host", "Memory Pressure Some", "memory", "%", 1},
	{"host", "I/O Pressure Some", "disks", "%", 1},
	{"cgroup", "Memory Used", "cgroup memory", "GB", 1e-9},
	{"cgroup", "CPU Throttled", "cgroup throttled", "%", 1},
};

static const char counters_sql[] =
	"WITH late AS MATERIALIZED (SELECT counterId, timestamp, value FROM main.SL_COUNTER_SAMPLES"
	" ORDER BY rowid DESC LIMIT 4000), sample AS (SELECT counterId, timestamp, value,"
	" lead(timestamp) OVER one AS before, row_number() OVER one AS nr FROM late"
	" WINDOW one AS (PARTITION BY counterId ORDER BY timestamp DESC))"
	" SELECT scope, name, gpuId, CASE WHEN isSum THEN value * iif(unit = 'ns', 100.0, 1e9)"
	" / nullif(timestamp - before, 0) ELSE value END FROM sample JOIN main.SL_COUNTERS ON id = "
	"counterId"
	" WHERE nr = 1 AND value IS NOT NULL AND timestamp >= ?1 AND scope IN ('gpu', 'host', "
	"'cgroup')"
	" ORDER BY gpuId, id";

static const char metrics_sql[] =
	"WITH late AS MATERIALIZED (SELECT timestamp, typeId, metricId, coalesce(exact, value) AS "
	"value"
	" FROM main.GPU_METRICS ORDER BY rowid DESC LIMIT 2000), newest AS (SELECT typeId, "
	"max(timestamp)"
	" AS timestamp FROM late GROUP BY 1) SELECT typeId & 255, metricName, value FROM late JOIN "
	"newest"
	" USING (typeId, timestamp) JOIN main.TARGET_INFO_GPU_METRICS USING (typeId, metricId)"
	" WHERE timestamp >= ?1 AND metricName IN ('SMs Active [Throughput %]', 'Tensor Active "
	"[Throughput %]',"
	" 'DRAM Bandwidth [Throughput %]', 'DRAM Read Bandwidth [Throughput %]') ORDER BY 1, "
	"metricId";

struct line {
	char *text;
	size_t size;
	long long gpu; /* the part at hand; -1: none */
};

/* "GPU 0: 600 W, 71 C   GPU 1: ..." */
static void put(struct line *l, long long gpu, const char *label, double value, const char *unit)
{
	size_t at = strlen(l->text);
	char of[40] = "";

	if (gpu != l->gpu)
		snprintf(of, sizeof(of), "%sGPU %lld: ", at ? "   " : "", gpu);
	else if (at)
		snprintf(of, sizeof(of), ", ");
	l->gpu = gpu;
	snprintf(l->text + at, l->size - at, "%s%s%s%.*f %s", of, label, *label ? " " : "",
		 value < 9.95 && value > -9.95 ? 1 : 0, value, unit);
}

static const struct shown *find(const char *scope, const char *name)
{
	for (size_t i = 0; scope && name && i < sizeof(shown) / sizeof(shown[0]); i++)
		if (strcmp(shown[i].scope, scope) == 0 && strcmp(shown[i].name, name) == 0)
			return &shown[i];
	return NULL;
}

static void read_counters(sqlite3 *db, int64_t since, struct line *gpus, struct line *machine)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, counters_sql, -1, &stmt, NULL) == SQLITE_OK)
		sqlite3_bind_int64(stmt, 1, since);
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
		const struct shown *s = find((const char *)sqlite3_column_text(stmt, 0),
					     (const char *)sqlite3_column_text(stmt, 1));
		double value = sqlite3_column_double(stmt, 3);

		if (!s || sqlite3_column_type(stmt, 3) == SQLITE_NULL)
			continue;
		if (sqlite3_column_type(stmt, 2) != SQLITE_NULL)
			put(gpus, sqlite3_column_int64(stmt, 2), s->label, value * s->scale,
			    s->unit);
		else
			put(machine, -1, s->label, value * s->scale, s->unit);
	}
	sqlite3_finalize(stmt);
}

static void read_metrics(sqlite3 *db, int64_t since, struct line *gpus)
{
	sqlite3_stmt *stmt = NULL;
	char label[64];

	if (sqlite3_prepare_v2(db, metrics_sql, -1, &stmt, NULL) == SQLITE_OK)
		sqlite3_bind_int64(stmt, 1, since);
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 1);

		snprintf(label, sizeof(label), "%.*s", (int)strcspn(name, "["), name);
		label[strlen(label) - (*label != 0)] = '\0';
		put(gpus, sqlite3_column_int64(stmt, 0), label, sqlite3_column_double(stmt, 2),
		    "%");
	}
	sqlite3_finalize(stmt);
}

/* The lines are empty for a version without these tables, or a report without samples. */
void top_read_health(struct top *t, sqlite3 *db, int64_t now)
{
	struct line gpus = {t->gpus, sizeof(t->gpus), -1},
		    metrics = {t->metrics, sizeof(t->metrics), -1},
		    machine = {t->machine, sizeof(t->machine), -1};
	int64_t since = (now > t->time ? now : t->time) - FRESH_NS;

	t->gpus[0] = t->metrics[0] = t->machine[0] = '\0';
	read_counters(db, since, &gpus, &machine);
	read_metrics(db, since, &metrics);
}
