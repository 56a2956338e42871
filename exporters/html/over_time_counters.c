/*
 * over_time_counters.c - charts of samples: hardware metrics and power of GPUs, pressure, disks and network of the machine.
 *
 * A bin has the mean of its samples by time. Where nothing was sampled there is no value, and the line has a gap.
 */
#include <math.h>
#include <string.h>

#include "exporters/html/html_text.h"
#include "exporters/html/page.h"

#define GPUS_MAX   16 /* a chart each */
#define SERIES_MAX 8

/*
 * The span of a sample of GPU metrics: until the next one, or a gap. ?1 typeId, ?2 and ?3 names as LIKE has them; added up.
 */
static const char metric_sql[] =
	"WITH sample AS (SELECT timestamp, sum(coalesce(exact, value)) AS value,"
	" lead(timestamp) OVER (ORDER BY timestamp) AS next FROM GPU_METRICS"
	" WHERE typeId = ?1 AND metricId IN (SELECT metricId FROM TARGET_INFO_GPU_METRICS"
	" WHERE typeId = ?1 AND (metricName LIKE ?2 OR metricName LIKE ?3)) GROUP BY timestamp"
	"), usual AS (SELECT 2 * (max(timestamp) - min(timestamp)) / max(count(*) - 1, 1) AS ns "
	"FROM sample)"
	" SELECT timestamp, min(coalesce(next, timestamp + ns), coalesce((SELECT min(g.start)"
	"  FROM SL_GPU_METRIC_GAPS AS g WHERE g.typeId = ?1 AND g.start > timestamp), next, "
	"timestamp + ns),"
	"  iif(EXISTS (SELECT 1 FROM SL_GPU_METRIC_SETS), 9223372036854775807, timestamp + ns)), "
	"value"
	" FROM sample, usual";

/* Levels hold until the next sample, sums are about the time since the one before. ?1 scope, ?2 name, ?3 number or name of it. */
static const char counter_sql[] =
	"WITH sample AS (SELECT counterId, timestamp, value, isSum, unit, lag(timestamp) OVER one "
	"AS before,"
	" lead(timestamp) OVER one AS next FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS AS c ON c.id = "
	"counterId"
	" WHERE scope = ?1 AND name = ?2 AND (?3 IS NULL OR coalesce(gpuId, scopeName) = ?3)"
	" WINDOW one AS (PARTITION BY counterId ORDER BY timestamp))"
	" SELECT iif(isSum, before, timestamp), iif(isSum, timestamp, next),"
	"  iif(isSum, value * iif(unit = 'ns', 100.0, 1e9) / nullif(timestamp - before, 0), value) "
	"FROM sample"
	" WHERE value IS NOT NULL AND iif(isSum, before, next) IS NOT NULL";

/* @values: the mean of each bin; NAN: no sample. 0: there are some, 1: none, -1. Sums of several counters at one time add up. */
static int bins_of(struct page *p, sqlite3_stmt *stmt, double values[CURVE_BINS])
{
	struct curve sum = {0}, time = {0};
	bool any = false;
	int rc, err = 0;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && !err) {
		int64_t start = scan_time(stmt, 0), end = scan_time(stmt, 1);
		double value = sqlite3_column_double(stmt, 2);

		if (end <= start || !isfinite(value))
			continue;
		any = true;
		err = curve_spread(&sum, &p->scan.axis, start, end, value * (double)(end - start)) |
		      curve_spread(&time, &p->scan.axis, start, end, (double)(end - start));
	}
	for (int i = 0; i < CURVE_BINS; i++) {
		double ns = curve_at(&time, i);

		values[i] = ns > 0 ? curve_at(&sum, i) / ns : NAN;
	}
	curve_free(&sum);
	curve_free(&time);
	if (err || rc != SQLITE_DONE)
		return scan_fail(&p->scan, err ? 0 : rc);
	return !any;
}

static int series(struct page *p, sqlite3_stmt *stmt, const char *name, int colour)
{
	double values[CURVE_BINS];
	int rc = bins_of(p, stmt, values);

	sqlite3_reset(stmt);
	if (rc == 0)
		chart_series(p, name, colour, p->series_cnt == 0, values, CURVE_BINS);
	return rc < 0 ? -1 : 0;
}

/* ---- GPUs ---- */

static int draw_metrics_of(struct page *p, sqlite3_stmt *stmt, int64_t type)
{
	static const struct {
		const char *name, *one, *other;
	} shown[] = {
		{"SMs active", "SMs Active%", ""},
		{"tensor cores active", "Tensor Active%", ""},
		{"DRAM, read and written", "DRAM%Bandwidth%", ""},
		{"PCIe received", "PCIe RX Throughput%", ""},
		{"PCIe sent", "PCIe TX Throughput%", ""},
		{"warps in flight", "Compute Warps in Flight%", ""},
	};
	char id[48], title[96];
	int err = 0;

	snprintf(id, sizeof(id), "gpu-metrics-%lld", (long long)(type & 0xFF));
	snprintf(title, sizeof(title), "Hardware metrics of GPU %lld", (long long)(type & 0xFF));
	chart_begin(p, id, "time", UNIT_PERCENT, 100, title,
		    "Share of what the GPU could do at most, by its own counters.");
	sqlite3_bind_int64(stmt, 1, type);
	for (size_t i = 0; !err && i < sizeof(shown) / sizeof(shown[0]); i++) {
		sqlite3_bind_text(stmt, 2, shown[i].one, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, shown[i].other, -1, SQLITE_STATIC);
		err = series(p, stmt, shown[i].name, (int)i);
	}
	chart_end(p);
	return err;
}

static int draw_metrics(struct page *p)
{
	sqlite3_stmt *types = scan_prepare(
		&p->scan,
		"SELECT DISTINCT typeId FROM TARGET_INFO_GPU_METRICS WHERE metricName LIKE "
		"'%\\%]' ESCAPE '\\' ORDER BY typeId & 255, typeId LIMIT 16");
	sqlite3_stmt *stmt = types ? scan_prepare(&p->scan, metric_sql) : NULL;
	int err = stmt ? 0 : -1;

	while (!err && sqlite3_step(types) == SQLITE_ROW)
		err = draw_metrics_of(p, stmt, sqlite3_column_int64(types, 0));
	sqlite3_finalize(types);
	sqlite3_finalize(stmt);
	return err;
}

/* A series for each GPU, disk or interface that has this counter: those of the lowest ids. */
static int draw_each(struct page *p, sqlite3_stmt *stmt, const char *scope, const char *name,
		     const char *label)
{
	sqlite3_stmt *all = scan_prepare(
		&p->scan,
		"SELECT DISTINCT coalesce(gpuId, scopeName), iif(gpuId IS NULL, scopeName, 'GPU ' "
		"|| "
		"gpuId) FROM SL_COUNTERS WHERE scope = ?1 AND name = ?2 ORDER BY id LIMIT ?3");
	char text[160];
	int err = all ? 0 : -1;

	sqlite3_bind_text(all, 1, scope, -1, SQLITE_STATIC);
	sqlite3_bind_text(all, 2, name, -1, SQLITE_STATIC);
	sqlite3_bind_int(all, 3, SERIES_MAX - p->series_cnt);
	sqlite3_bind_text(stmt, 1, scope, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, name, -1, SQLITE_STATIC);
	while (!err && sqlite3_step(all) == SQLITE_ROW) {
		const char *of = (const char *)sqlite3_column_text(all, 1);

		snprintf(text, sizeof(text), "%s%s%s", of ? of : "", of && *label ? " " : "",
			 label);
		sqlite3_bind_value(stmt, 3, sqlite3_column_value(all, 0));
		err = series(p, stmt, text, p->series_cnt % 8);
	}
	sqlite3_finalize(all);
	return err;
}

/* ---- charts of counters ---- */

static const struct counted_chart {
	const char *id, *unit, *title, *words;
	struct {
		const char *scope, *name, *label;
	} of[6];
} charts[] = {
	{"gpu-power", UNIT_WATT, "Power of GPUs", "As the GPUs report it.", {{"gpu", "Power", ""}}},
	{"pressure",
	 UNIT_PERCENT,
	 "Pressure",
	 "Share of the time in which some threads of the machine, or all, stood still for want of "
	 "it.",
	 {{"host", "CPU Pressure Some", "processors, some"},
	  {"host", "Memory Pressure Some", "memory, some"},
	  {"host", "Memory Pressure Full", "memory, all"},
	  {"host", "I/O Pressure Some", "disks, some"},
	  {"host", "I/O Pressure Full", "disks, all"}}},
	{"disks",
	 UNIT_RATE,
	 "Disks and network",
	 "Of the whole machine.",
	 {{"disk", "Disk Read", "read"},
	  {"disk", "Disk Written", "written"},
	  {"nic", "Network Received", "received"},
	  {"nic", "Network Sent", "sent"}}},
};

static bool is_counted(struct page *p, const struct counted_chart *c)
{
	bool any = false;

	for (size_t i = 0; c->of[i].scope; i++) {
		char sql[256];
		int64_t n = 0;

		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM SL_COUNTERS WHERE scope = '%s' AND name = '%s'",
			 c->of[i].scope, c->of[i].name);
		any |= scan_number(&p->scan, sql, 0, &n) == 0 && n > 0;
	}
	return any;
}

static int draw_chart(struct page *p, sqlite3_stmt *stmt, const struct counted_chart *c)
{
	double max = strcmp(c->unit, UNIT_PERCENT) == 0 ? 1 : 0;
	int err = 0;

	chart_begin(p, c->id, "time", c->unit, max, c->title, c->words);
	for (size_t i = 0; !err && c->of[i].scope; i++)
		err = draw_each(p, stmt, c->of[i].scope, c->of[i].name, c->of[i].label);
	chart_end(p);
	return err;
}

bool page_has_counters(struct page *p)
{
	return db_read_has(p->db, "SL_COUNTERS") || db_read_has(p->db, "GPU_METRICS");
}

int page_counters(struct page *p)
{
	sqlite3_stmt *stmt;
	int err = 0;

	if (db_read_has(p->db, "GPU_METRICS"))
		err = draw_metrics(p);
	if (err || !db_read_has(p->db, "SL_COUNTERS"))
		return err;
	stmt = scan_prepare(&p->scan, counter_sql);
	if (!stmt)
		return -1;
	for (size_t i = 0; !err && i < sizeof(charts) / sizeof(charts[0]); i++)
		if (is_counted(p, &charts[i]))
			err = draw_chart(p, stmt, &charts[i]);
	sqlite3_finalize(stmt);
	return err;
}
