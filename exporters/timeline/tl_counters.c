/*
 * tl_counters.c - event counters, and counters of GPUs and of the machine, as values over time. An event counter's row for an
 * interval becomes a rate from the interval's start on, and 0 from its end where no other interval of that CPU follows
 * (intervals in which nothing was counted have no row).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exporters/timeline/tl_internal.h"
#include "collector/base/hash.h"
#include "exporters/read/sql_rows.h"

/* Frees @sql. */
static int run_made(sqlite3 *db, char *sql)
{
	int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : -1;
}

int tl_counters(struct tl_run *r)
{
	static const char make[] =
		"DROP TABLE IF EXISTS temp.SL_TL_EVENTS;"
		"CREATE TEMP TABLE SL_TL_EVENTS AS WITH interval AS MATERIALIZED ("
		" SELECT start, end, cpu, counter_id,"
		" lead(start) OVER (PARTITION BY cpu ORDER BY start) AS next FROM PMU_EVENTS WHERE "
		"%s 1"
		"), counter AS MATERIALIZED (SELECT * FROM PMU_EVENT_COUNTERS WHERE %s 1"
		") SELECT start AS timestamp, idx, cpu,"
		" CAST(round(1e9 * value / nullif(end - start, 0)) AS INTEGER) AS value"
		" FROM interval JOIN counter AS c ON c.id = counter_id"
		" UNION ALL SELECT end, idx, cpu, 0"
		" FROM interval JOIN counter AS c ON c.id = counter_id"
		" WHERE next IS NULL OR next > end ORDER BY 1, 3, 2";
	char bound[TL_BOUND], counters[TL_BOUND];

	if (!(r->opt->activities & TL_ACT_METRIC) || !tl_has_column(r->db, "PMU_EVENTS", "start") ||
	    !tl_has_column(r->db, "PMU_EVENT_COUNTERS", "value"))
		return 0;
	tl_bound(r, "PMU_EVENTS", bound, sizeof(bound));
	tl_bound(r, "PMU_EVENT_COUNTERS", counters, sizeof(counters));
	return run_made(r->db, sqlite3_mprintf(make, bound, counters));
}

/*
 * SL_TL_COUNTERS: SL_COUNTERS in millionths, NULL where nothing is known from then on. A sum is a rate from the sample before on,
 * one of time per cent of it. And where samples of GPU metrics end before a gap (counter: typeId).
 */
static int make_samples(struct tl_run *r)
{
	static const char make[] =
		"DROP TABLE IF EXISTS temp.SL_TL_COUNTERS;"
		"CREATE TEMP TABLE SL_TL_COUNTERS AS WITH sample AS ("
		" SELECT counterId, timestamp, value, isSum, unit, lag(timestamp) OVER one AS "
		"before,"
		" lead(timestamp) OVER one AS next"
		" FROM (SELECT * FROM SL_COUNTER_SAMPLES WHERE %s 1) JOIN SL_COUNTERS AS c ON c.id "
		"= counterId"
		" WINDOW one AS (PARTITION BY counterId ORDER BY timestamp)"
		") SELECT timestamp, counterId AS counter, NULL AS metric,"
		" CAST(round(1e6 * value) AS INTEGER) AS micro FROM sample WHERE NOT isSum"
		" UNION ALL SELECT before, counterId, NULL, CAST(round(1e6 * value"
		" * CASE unit WHEN 'ns' THEN 100.0 ELSE 1e9 END / (timestamp - before)) AS INTEGER)"
		" FROM sample WHERE isSum AND before < timestamp"
		" UNION ALL SELECT timestamp, counterId, NULL, NULL"
		" FROM sample WHERE isSum AND next IS NULL AND before IS NOT NULL"
		" UNION ALL SELECT g.start, t.typeId, t.metricId, NULL"
		" FROM (SELECT * FROM SL_GPU_METRIC_GAPS WHERE %s 1) AS g"
		" JOIN TARGET_INFO_GPU_METRICS AS t ON t.typeId = "
		"g.typeId"
		" ORDER BY 1, 2, 3;"
		"DROP TABLE IF EXISTS temp.SL_TL_GAPS;"
		"CREATE TEMP TABLE SL_TL_GAPS AS SELECT start AS timestamp, NULL AS globalTid, "
		"'GPU '"
		" || (typeId & 255) || ' not sampled for ' || round((end - start) / 1e6, 3) || ' "
		"ms: '"
		" || why AS text FROM SL_GPU_METRIC_GAPS WHERE %s 1 ORDER BY start";
	char samples[TL_BOUND], gaps[TL_BOUND];

	tl_bound(r, "SL_COUNTER_SAMPLES", samples, sizeof(samples));
	tl_bound(r, "SL_GPU_METRIC_GAPS", gaps, sizeof(gaps));
	return run_made(r->db, sqlite3_mprintf(make, samples, gaps, gaps));
}

/*
 * Where sampling has ended nothing is known: one interval after the last sample. Of the machine that is the last of all its samples,
 * for a level that hardly ever changes has a row only where it does.
 */
static int add_ends(struct tl_run *r)
{
	static const char counters[] =
		"INSERT INTO temp.SL_TL_COUNTERS WITH sample AS ("
		" SELECT counterId, timestamp, value, lag(timestamp) OVER one AS before,"
		" lead(timestamp) OVER one AS next FROM SL_COUNTER_SAMPLES"
		" WINDOW one AS (PARTITION BY counterId ORDER BY timestamp)"
		"), last AS MATERIALIZED ("
		" SELECT counterId, timestamp, value, timestamp - before AS step, gpuId, isSum"
		" FROM sample JOIN SL_COUNTERS AS c ON c.id = counterId WHERE next IS NULL"
		"), machine AS MATERIALIZED ("
		" SELECT timestamp + min(step) AS until FROM last WHERE gpuId IS NULL AND step > 0"
		" GROUP BY timestamp ORDER BY timestamp DESC LIMIT 1"
		"), ended AS ("
		" SELECT iif(gpuId IS NULL, (SELECT until FROM machine), timestamp + step) AS "
		"until,"
		" counterId, timestamp FROM last WHERE NOT isSum AND value IS NOT NULL"
		") SELECT until, counterId, NULL, NULL FROM ended WHERE until > timestamp "
		"ORDER BY 1, 2";
	/* Samples lie in order of time: the last ones are found from the end on. */
	static const char metrics[] =
		"INSERT INTO temp.SL_TL_COUNTERS WITH type AS ("
		" SELECT DISTINCT typeId FROM TARGET_INFO_GPU_METRICS"
		"), last AS MATERIALIZED ("
		" SELECT typeId, (SELECT timestamp FROM main.GPU_METRICS AS m"
		" WHERE m.typeId = type.typeId ORDER BY m.rowid DESC LIMIT 1) AS at FROM type"
		"), two AS MATERIALIZED ("
		" SELECT typeId, at, (SELECT timestamp FROM main.GPU_METRICS AS m"
		" WHERE m.typeId = last.typeId AND m.timestamp < at ORDER BY m.rowid DESC LIMIT 1)"
		" AS before FROM last"
		") SELECT at + (at - before), typeId, metricId, NULL"
		" FROM two JOIN TARGET_INFO_GPU_METRICS USING (typeId) WHERE before IS NOT NULL "
		"ORDER BY 1, 2, 3";

	if (sqlite3_exec(r->db, counters, NULL, NULL, NULL) != SQLITE_OK)
		return -1;
	if (tl_rows_cnt(r->db, "GPU_METRICS") > 0 &&
	    tl_has_column(r->db, "GPU_METRICS", "timestamp") &&
	    sqlite3_exec(r->db, metrics, NULL, NULL, NULL) != SQLITE_OK)
		return -1;
	return 0;
}

int tl_samples(struct tl_run *r)
{
	bool has_metrics = r->opt->ends && tl_has_column(r->db, "GPU_METRICS", "timestamp");

	if (!(r->opt->activities & TL_ACT_METRIC) ||
	    (!tl_has_column(r->db, "SL_COUNTER_SAMPLES", "value") &&
	     !tl_has_column(r->db, "SL_GPU_METRIC_GAPS", "why") && !has_metrics))
		return 0;
	if (make_samples(r) < 0)
		return -1;
	return r->opt->ends ? add_ends(r) : 0;
}

/* The unit of a track, by the unit in SL_COUNTERS: constants. */
static const char *unit_of(const char *unit, bool is_sum)
{
	static const char *const units[][3] = {
		{"B", "bytes", "bytes/s"}, {"ns", "ns", "%"}, {"J", "J", "W"}, {"%", "%", "%/s"},
		{"W", "W", "W/s"},         {"Hz", "Hz", ""},  {"C", "C", ""},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i][0], unit) == 0)
			return units[i][is_sum ? 2 : 1];
	return is_sum ? "/s" : "";
}

/* Among types of GPU metrics are none with these numbers. */
#define COUNTER_TYPE (INT64_C(1) << 61)

static int64_t key_of(int64_t counter)
{
	return (int64_t)hash_u64((uint64_t)(COUNTER_TYPE | counter));
}

static struct tl_track *make_track(struct tl_run *r, int64_t counter)
{
	/* The name begins with the counter's scope, but for the machine itself. */
	static const char sql[] =
		"SELECT CASE scope WHEN 'host' THEN '' WHEN 'gpu' THEN 'GPU ' || coalesce(gpuId, "
		"scopeId) || ': '"
		" WHEN 'core' THEN 'CPU ' || scopeId || ': ' WHEN 'cgroup' THEN 'cgroup: '"
		" WHEN 'process' THEN coalesce('GPU ' || gpuId || ', ', '') || 'process ' || "
		"(scopeId >> 24 & 16777215) || ': '"
		" ELSE coalesce('GPU ' || gpuId || ', ', '') || coalesce(scopeName, scope || ' ' "
		"|| scopeId, scope) || ': ' END || name,"
		" unit, isSum FROM SL_COUNTERS WHERE id = ?1";
	struct tl_track *machine = tl_track_machine(r->tracks), *made = NULL;
	const char *unit = "";
	char name[200];
	sqlite3_stmt *stmt = NULL;

	snprintf(name, sizeof(name), "counter %lld", (long long)counter);
	stmt = sql_first_of(r->db, sql, counter);
	if (stmt && sqlite3_column_bytes(stmt, 0) > 0) {
		const char *text = (const char *)sqlite3_column_text(stmt, 1);

		snprintf(name, sizeof(name), "%s", (const char *)sqlite3_column_text(stmt, 0));
		unit = unit_of(text ? text : "", sqlite3_column_int(stmt, 2) != 0);
	}
	sqlite3_finalize(stmt);
	if (machine)
		made = tl_track_counter(r->tracks, machine, key_of(counter), name, unit);
	return made;
}

static struct tl_track *track_of(struct tl_run *r, int64_t counter)
{
	uint64_t *at = map_at(&r->metrics, (uint64_t)key_of(counter), true);

	if (at && *at == 0)
		*at = (uintptr_t)make_track(r, counter);
	return at ? (struct tl_track *)(uintptr_t)*at : NULL;
}

int tl_sample_row(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t metric = tl_key(s, 1), micro = tl_key(s, 2);

	e->track = metric == TL_NONE ? track_of(r, tl_key(s, 0))
				     : tl_metric_track(r, tl_key(s, 0), metric);
	e->kind = TL_VALUE;
	e->is_real = true;
	e->real = micro == TL_NONE ? NAN : (double)micro / 1e6;
	return e->track ? tl_emit(r, e) : -1;
}
