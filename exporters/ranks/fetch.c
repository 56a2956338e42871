/*
 * fetch.c - cuts each report to the processes of its ranks and to the span, by its own clock; several parts become one report
 * (merge.h).
 */
#include "exporters/ranks/fetch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/message.h"
#include "collector/base/new_file.h"
#include "collector/base/saturate.h"
#include "exporters/formats/target.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/rank_labels.h"
#include "exporters/ranks/manifests.h"
#include "exporters/ranks/merge.h"
#include "exporters/ranks/rollup.h"
#include "exporters/ranks/store/shared_folder.h"
#include "exporters/read/db_read.h"

extern const struct exporter exporter_sqlite;

struct part {
	const char *report;
	struct rollup_processes processes;
	char *path; /* of the file with the cut; NULL: none yet */
	int64_t cpus;
	struct merge_line *lines;
	size_t lines_cnt, lines_room;
	bool is_fitted; /* its clock was compared */
};

struct fetching {
	const struct fetch *f;
	sqlite3 *db;    /* manifests */
	int64_t origin; /* of the run, ns since 1970 */
	struct part *parts;
	size_t cnt, room;
	const char *unranked; /* the first report that has no ranks; NULL: all have */
	char *why;
	size_t why_len;
};

static int no_memory(struct fetching *x)
{
	snprintf(x->why, x->why_len, "out of memory");
	return -1;
}

int fetch_check(struct fetch *f, char *why, size_t why_len)
{
	if (!*f->ranks || f->ranks[strspn(f->ranks, "0123456789,")] || *f->ranks == ',' ||
	    f->ranks[strlen(f->ranks) - 1] == ',' || strstr(f->ranks, ",,")) {
		snprintf(why, why_len, "--rank takes numbers, as in 3,7, not '%s'", f->ranks);
		return -1;
	}
	if (f->time && db_filter_time(&f->span, f->time, why, why_len) < 0)
		return -1;
	if (f->span.time_cnt > 1) {
		snprintf(why, why_len, "--time takes one span, not '%s'", f->time);
		return -1;
	}
	if (!f->force && access(f->output, F_OK) == 0) {
		snprintf(why, why_len, "%s exists already; --force-overwrite=true replaces it",
			 f->output);
		return -1;
	}
	f->ranked = calloc(f->reports_cnt + 1, sizeof(*f->ranked));
	if (!f->ranked) {
		snprintf(why, why_len, "out of memory");
		return -1;
	}
	for (size_t i = 0; i < f->reports_cnt; i++)
		if (ranked_report(f->rank_from, f->reports[i], &f->ranked[i], why, why_len) < 0)
			return -1;
	return 0;
}

void fetch_free(struct fetch *f)
{
	db_filter_free(&f->span);
	free(f->ranked);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- clocks ---- */

#define CLOCKS_MAX (16 << 20) /* bytes */

/* The node that a rank of the report is of: of the part that has the report, else of the newest with the rank. */
static const char node_sql[] =
	"SELECT r.node FROM rank AS r JOIN manifest AS m USING (run, node) WHERE r.run = ?1 AND "
	"r.rank IN (SELECT value FROM json_each('[' || ?2 || ']')) ORDER BY r.report = ?3 DESC, "
	"r.host = ?4 DESC, m.start DESC LIMIT 1";

static const char lines_sql[] =
	"SELECT value ->> 'time', value ->> 'offsetNs', value ->> 'driftPpb' FROM json_each(?1, "
	"'$.lines') WHERE type = 'object' AND value ->> 'node' = ?2 AND value ->> 'source' IN "
	"('collectives', "
	"'reference') ORDER BY 1";

static int read_lines(struct fetching *x, struct part *p, const char *node)
{
	char *path = dataset_clocks(x->f->folder, x->f->run),
	     *json = path ? shared_file_read(path, CLOCKS_MAX) : NULL;
	sqlite3_stmt *stmt = NULL;
	int rc = SQLITE_OK;

	free(path);
	if (json)
		rc = sqlite3_prepare_v2(x->db, lines_sql, -1, &stmt, NULL);
	if (stmt) {
		sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, node, -1, SQLITE_STATIC);
	}
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
		if (!grow(&p->lines, p->lines_cnt, &p->lines_room, sizeof(*p->lines))) {
			rc = SQLITE_NOMEM;
			break;
		}
		p->lines[p->lines_cnt++] = (struct merge_line){sqlite3_column_int64(stmt, 0),
							       sqlite3_column_int64(stmt, 1),
							       sqlite3_column_int64(stmt, 2)};
	}
	sqlite3_finalize(stmt);
	free(json);
	p->is_fitted = p->lines_cnt > 0;
	return rc == SQLITE_OK ? 0 : no_memory(x);
}

static int find_clock(struct fetching *x, struct part *p)
{
	sqlite3_stmt *stmt = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(x->db, node_sql, -1, &stmt, NULL) != SQLITE_OK) {
		snprintf(x->why, x->why_len, "%s", sqlite3_errmsg(x->db));
		return -1;
	}
	sqlite3_bind_text(stmt, 1, x->f->run, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, p->processes.ranks, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, name_of(p->report), -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 4, p->processes.host, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		err = read_lines(x, p, (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return err;
}

/* The time of the node's clock at a time of the run, session axis. */
static int64_t own_time(const struct fetching *x, const struct part *p, int64_t t)
{
	int64_t own = sat_add(t, x->origin);
	const struct merge_line *l = p->lines;

	for (size_t i = 1; i < p->lines_cnt && p->lines[i].time <= own; i++)
		l = &p->lines[i];
	if (p->lines_cnt)
		own = sat_sub(own, merge_ahead(l, own));
	return sat_sub(own, p->processes.epoch);
}

/* ---- parts ---- */

static int cut(struct fetching *x, const struct part *p, const char *to)
{
	const struct db_filter_time *asked = x->f->span.time;
	struct db_filter_time span;
	struct db_filter filter = {0};
	struct export_job job = {.input = p->report, .output = to};
	const struct target target = {.name = to, .overwrite = true, .packing = OUT_PLAIN};
	char text[64] = "";
	int err = db_filter_pid(&filter, p->processes.pids, x->why, x->why_len);

	if (!err && asked) {
		span = *asked;
		if (span.start != INT64_MIN)
			span.start = own_time(x, p, span.start);
		if (span.end != INT64_MAX)
			span.end = own_time(x, p, span.end);
		filter.time = malloc(sizeof(span));
		if (!filter.time)
			err = no_memory(x);
		else
			*filter.time = span;
		filter.time_cnt = filter.time ? 1 : 0;
		snprintf(text, sizeof(text), "%lld/%lld", (long long)span.start,
			 (long long)span.end);
	}
	job.db = err ? NULL : db_read_open(p->report, x->why, x->why_len);
	if (!job.db)
		err = -1;
	if (!err)
		err = db_filter_apply(job.db, &filter, x->why, x->why_len);
	job.opt.lazy = true;
	job.opt.pid = p->processes.pids;
	job.opt.time = *text ? text : NULL;
	job.timeline.filtered = true;
	db_read_copies(p->report);
	if (!err)
		err = target_write(&target, &exporter_sqlite, &job, x->why, x->why_len);
	sqlite3_close(job.db);
	db_filter_free(&filter);
	return err ? -1 : 0;
}

static bool is_same_host(const struct merge_part *a, const struct merge_part *b)
{
	return *a->host && strcmp(a->host, b->host) == 0;
}

/* CPUs of a host have the same numbers in all of its reports, those of another host others. */
static void number_cpus(struct merge_part *parts, size_t cnt)
{
	int64_t next = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct merge_part *p = &parts[i];
		size_t k = 0;

		while (k < i && !is_same_host(&parts[k], p))
			k++;
		if (k < i) {
			p->first_cpu = parts[k].first_cpu;
			p->cpus = parts[k].cpus;
			continue;
		}
		for (k = i + 1; k < cnt; k++)
			if (is_same_host(&parts[k], p) && parts[k].cpus > p->cpus)
				p->cpus = parts[k].cpus;
		p->first_cpu = next;
		next += p->cpus;
	}
}

static int merge(struct fetching *x, const char *to)
{
	struct merge_part *parts = calloc(x->cnt, sizeof(*parts));
	int err = parts ? 0 : no_memory(x);

	for (size_t i = 0; !err && i < x->cnt; i++) {
		struct part *p = &x->parts[i];

		if (asprintf(&p->path, "%s.part-%zu", x->f->output, i) < 0)
			p->path = NULL;
		err = p->path ? cut(x, p, p->path) : no_memory(x);
		if (!err)
			err = label_report(p->path, &p->processes, &p->cpus, x->why, x->why_len);
		if (!p->is_fitted)
			sl_warn("ranks fetch: %s: its clock is taken as it is ('sightline ranks "
				"clock' compares those of the nodes)",
				p->report);
	}
	for (size_t i = 0; !err && i < x->cnt; i++) {
		const struct part *p = &x->parts[i];

		parts[i] = (struct merge_part){.path = p->path,
					       .name = name_of(p->report),
					       .host = p->processes.host,
					       .epoch = p->processes.epoch,
					       .lines = p->lines,
					       .lines_cnt = p->lines_cnt,
					       .cpus = p->cpus};
	}
	number_cpus(parts, err ? 0 : x->cnt);
	if (!err)
		err = merge_reports(to, parts, x->cnt, x->origin, x->why, x->why_len);
	for (size_t i = 0; i < x->cnt; i++)
		if (x->parts[i].path)
			unlink(x->parts[i].path);
	free(parts);
	return err;
}

/* ---- all of it ---- */

/* The rank that a report had when it was added to the dataset, for all of its processes; -1: it had none, or its own. */
static int64_t rank_when_added(const struct fetching *x, const char *report)
{
	static const char sql[] =
		"SELECT min(rank) FROM rank WHERE run = ?1 AND report = ?2 AND source IN ('file "
		"name', 'option') HAVING count(DISTINCT rank) = 1";
	sqlite3_stmt *stmt = NULL;
	int64_t rank = -1;

	if (sqlite3_prepare_v2(x->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, x->f->run, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, name_of(report), -1, SQLITE_STATIC);
	}
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		rank = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return rank;
}

static int find_processes(struct fetching *x, const struct ranked *r, struct rollup_processes *p)
{
	struct rollup_ask ask = {.rank = r->rank, .from = r->from};
	int err = rollup_processes(r->path, &ask, x->f->ranks, p, x->why, x->why_len);

	if (err || p->is_ranked)
		return err;
	ask.rank = rank_when_added(x, r->path);
	if (ask.rank < 0) {
		x->unranked = x->unranked ? x->unranked : r->path;
		return 0;
	}
	rollup_processes_free(p);
	return rollup_processes(r->path, &ask, x->f->ranks, p, x->why, x->why_len);
}

static int find_parts(struct fetching *x)
{
	for (size_t i = 0; i < x->f->reports_cnt; i++) {
		struct part p = {.report = x->f->ranked[i].path};

		if (find_processes(x, &x->f->ranked[i], &p.processes) < 0)
			return -1;
		if (!p.processes.pids)
			continue;
		p.is_fitted = p.processes.is_merged; /* on the axis of the run already */
		if (!grow(&x->parts, x->cnt, &x->room, sizeof(p))) {
			rollup_processes_free(&p.processes);
			return no_memory(x);
		}
		x->parts[x->cnt++] = p;
		if (!p.is_fitted && find_clock(x, &x->parts[x->cnt - 1]) < 0)
			return -1;
	}
	return 0;
}

/* Is each rank in a report? */
static int check_ranks(struct fetching *x)
{
	char *end;

	for (const char *at = x->f->ranks; *at; at = *end ? end + 1 : end) {
		long long rank = strtoll(at, &end, 10);
		bool found = false;

		for (size_t i = 0; !found && i < x->cnt; i++) {
			char *next;

			for (const char *has = x->parts[i].processes.ranks; *has;
			     has = *next ? next + 1 : next)
				found = strtoll(has, &next, 10) == rank || found;
		}
		if (found)
			continue;
		snprintf(x->why, x->why_len, "rank %lld is in none of the reports", rank);
		if (x->unranked)
			snprintf(x->why, x->why_len,
				 "rank %lld is in none of the reports, and %s does not show which "
				 "rank it is of: %s=N, or --rank-from=PATTERN takes it from the "
				 "file's name",
				 rank, x->unranked, x->unranked);
		return -1;
	}
	return 0;
}

static int read_origin(struct fetching *x)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(x->db, "SELECT min(start) FROM manifest", -1, &stmt, NULL);

	if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		x->origin = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	if (rc != SQLITE_OK)
		snprintf(x->why, x->why_len, "%s", sqlite3_errmsg(x->db));
	return rc == SQLITE_OK ? 0 : -1;
}

/* Under another name until it is whole. */
static int write_report(struct fetching *x)
{
	char *tmp;
	int err, placed;

	if (asprintf(&tmp, "%s.part", x->f->output) < 0)
		return no_memory(x);
	if (x->cnt > 1) {
		err = merge(x, tmp);
	} else {
		err = cut(x, x->parts, tmp);
		if (!err)
			err = label_report(tmp, &x->parts->processes, &x->parts->cpus, x->why,
					   x->why_len);
		if (err)
			unlink(tmp);
	}
	placed = err ? 0 : new_file_place(tmp, x->f->output, true);
	if (placed) {
		snprintf(x->why, x->why_len, "cannot write %s: %s", x->f->output,
			 new_file_error(placed));
		unlink(tmp);
		err = -1;
	}
	free(tmp);
	return err;
}

int fetch_ranks(struct fetch *f, char *why, size_t why_len)
{
	struct fetching x = {.f = f, .why = why, .why_len = why_len};
	int err;

	x.db = manifests_read(f->folder, f->run, why, why_len);
	err = x.db ? read_origin(&x) : -1;
	if (!err)
		err = find_parts(&x);
	if (!err)
		err = check_ranks(&x);
	if (!err)
		err = x.parts ? write_report(&x) : no_memory(&x);
	for (size_t i = 0; i < x.cnt; i++) {
		rollup_processes_free(&x.parts[i].processes);
		free(x.parts[i].path);
		free(x.parts[i].lines);
	}
	free(x.parts);
	sqlite3_close(x.db);
	return err;
}
