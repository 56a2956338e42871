/* rollup.c - the ranks of a report, and its tables that are one query each. */
#include "exporters/ranks/rollup_internal.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/embed.h"
#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/read/db_read.h"
#include "exporters/sql/functions.h"
#include "exporters/sql/report.h"

int rollup_sql(struct rollup *r, const char *sql, rollup_row *row, void *ctx)
{
	struct report text = {.kind = &report_kind, .name = "ranks"};
	char why[256];
	int rc = report_include(&text, sql, why, sizeof(why)) < 0 ? SQLITE_ERROR : SQLITE_OK;

	for (const char *at = text.sql; rc == SQLITE_OK && at && *at;) {
		sqlite3_stmt *stmt = NULL;

		rc = sqlite3_prepare_v2(r->db, at, -1, &stmt, &at);
		if (rc != SQLITE_OK || !stmt)
			break;
		for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
			const char *name = sqlite3_bind_parameter_name(stmt, i);

			if (strcmp(name, ":epoch") == 0)
				sqlite3_bind_int64(stmt, i, r->epoch);
			else if (strcmp(name, ":rank") == 0 && r->ask->rank >= 0)
				sqlite3_bind_int64(stmt, i, r->ask->rank);
			else if (strcmp(name, ":from") == 0)
				sqlite3_bind_text(stmt, i, r->ask->from, -1, SQLITE_STATIC);
			else if (strcmp(name, ":range") == 0)
				sqlite3_bind_text(stmt, i, r->ask->range, -1, SQLITE_STATIC);
		}
		while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
			if (row && sqlite3_column_count(stmt) && (rc = row(ctx, stmt)) != SQLITE_OK)
				break;
		if (rc == SQLITE_DONE || rc == SQLITE_ROW)
			rc = SQLITE_OK;
		sqlite3_finalize(stmt);
	}
	report_free(&text);
	return rc;
}

const char *rollup_embedded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "ranks/rollups/%s.sql", name);
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, path) == 0)
			return e->text;
	return NULL;
}

/* ---- sl_mount(path) ---- */

struct mounts {
	char **list;
	size_t cnt, room;
	bool is_here; /* the report is of this machine, as it is mounted now */
};

static void free_mounts(void *data)
{
	struct mounts *m = data;

	for (size_t i = 0; i < m->cnt; i++)
		free(m->list[i]);
	free(m->list);
	free(m);
}

/* The longest mount point that the path is below; on another machine, its first two folders. */
static void mount_of(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	const struct mounts *m = sqlite3_user_data(ctx);
	const char *path = (const char *)sqlite3_value_text(v[0]), *at;
	size_t best = 1;

	(void)cnt;
	if (!path || *path != '/')
		return;
	for (size_t i = 0; m->is_here && i < m->cnt; i++) {
		size_t len = strlen(m->list[i]);

		if (len > best && strncmp(path, m->list[i], len) == 0 && path[len] == '/')
			best = len;
	}
	for (at = path + 1; !m->is_here && *at; at++)
		if (*at == '/') {
			best = (size_t)(at - path);
			at = strchr(at + 1, '/');
			best = at ? (size_t)(at - path) : best;
			break;
		}
	sqlite3_result_text(ctx, path, (int)best, SQLITE_TRANSIENT);
}

static int add_mounts(struct rollup *r)
{
	struct mounts *m = calloc(1, sizeof(*m));
	FILE *f = m ? setmntent("/proc/self/mounts", "re") : NULL;
	const struct mntent *e;
	char host[256] = "";

	if (!m)
		return SQLITE_NOMEM;
	while (f && (e = getmntent(f)))
		if (grow(&m->list, m->cnt, &m->room, sizeof(*m->list)) &&
		    (m->list[m->cnt] = strdup(e->mnt_dir)))
			m->cnt++;
	if (f)
		endmntent(f);
	gethostname(host, sizeof(host) - 1);
	m->is_here = strcmp(host, r->found->host) == 0;
	return sqlite3_create_function_v2(r->db, "sl_mount", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
					  m, mount_of, NULL, NULL, free_mounts);
}

/* ---- ranks ---- */

struct rank *rollup_rank(struct rollup *r, int64_t pid)
{
	size_t low = search_first(i, 0, r->processes_cnt, r->processes[i].pid < pid);

	return low < r->processes_cnt && r->processes[low].pid == pid
		       ? &r->ranks[r->processes[low].rank]
		       : NULL;
}

const struct rank_step *rollup_step(const struct rank *k, int64_t time)
{
	size_t low = search_first(i, 0, k->steps_cnt, k->steps[i].start <= time);

	return low && time < k->steps[low - 1].end ? &k->steps[low - 1] : NULL;
}

/* rank, restart, localRank, worldSize, source, pid, ncclRank */
static int rank_row(void *ctx, sqlite3_stmt *stmt)
{
	struct rollup *r = ctx;
	const char *source = (const char *)sqlite3_column_text(stmt, 4);

	if (!grow(&r->ranks, r->ranks_cnt, &r->ranks_room, sizeof(*r->ranks)))
		return SQLITE_NOMEM;
	r->ranks[r->ranks_cnt++] = (struct rank){
		.rank = rollup_number(stmt, 0),
		.restart = rollup_number(stmt, 1),
		.local = rollup_number(stmt, 2),
		.world = rollup_number(stmt, 3),
		.source = strdup(source ? source : "?"),
		.pid = rollup_number(stmt, 5),
		.nccl = rollup_number(stmt, 6),
		.first = DATASET_NULL,
		.last = DATASET_NULL,
	};
	return SQLITE_OK;
}

/* pid, rank, restart: in order of pid */
static int process_row(void *ctx, sqlite3_stmt *stmt)
{
	struct rollup *r = ctx;

	for (size_t i = 0; i < r->ranks_cnt; i++) {
		if (r->ranks[i].rank != sqlite3_column_int64(stmt, 1) ||
		    r->ranks[i].restart != sqlite3_column_int64(stmt, 2))
			continue;
		if (!grow(&r->processes, r->processes_cnt, &r->processes_room,
			  sizeof(*r->processes)))
			return SQLITE_NOMEM;
		r->processes[r->processes_cnt++] =
			(struct rank_process){sqlite3_column_int64(stmt, 0), i};
		break;
	}
	return SQLITE_OK;
}

/* utcEpochNs, host, job */
static int head_row(void *ctx, sqlite3_stmt *stmt)
{
	struct rollup *r = ctx;
	const char *host = (const char *)sqlite3_column_text(stmt, 1);
	const char *job = (const char *)sqlite3_column_text(stmt, 2);

	r->epoch = sqlite3_column_int64(stmt, 0);
	snprintf(r->found->host, sizeof(r->found->host), "%s", host ? host : "");
	snprintf(r->found->job, sizeof(r->found->job), "%s", job ? job : "");
	return SQLITE_OK;
}

static const char head_sql[] =
	"SELECT (SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1), "
	"(SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname' LIMIT 1), "
	"(SELECT value FROM SL_RANK_VARIABLES WHERE (name = 'TORCHELASTIC_RUN_ID' AND value <> "
	"'none') "
	"OR name IN ('SLURM_JOB_ID', 'PMIX_NAMESPACE') ORDER BY name = 'SLURM_JOB_ID' DESC LIMIT "
	"1)";

/* start, end */
static int life_row(void *ctx, sqlite3_stmt *stmt)
{
	struct rank *k = ctx;

	k->first = rollup_number(stmt, 0);
	k->last = rollup_number(stmt, 1);
	return SQLITE_OK;
}

static int find_ranks(struct rollup *r)
{
	int rc = rollup_sql(r, rollup_embedded("here"), NULL, NULL);

	if (rc == SQLITE_OK)
		rc = rollup_sql(r,
				"SELECT rank, restart, localRank, worldSize, source, pid, ncclRank "
				"FROM rank "
				"ORDER BY rank, restart",
				rank_row, r);
	if (rc == SQLITE_OK)
		rc = rollup_sql(r, "SELECT pid, rank, restart FROM rank_process ORDER BY pid",
				process_row, r);
	for (size_t i = 0; rc == SQLITE_OK && i < r->ranks_cnt; i++) {
		char sql[160];

		snprintf(sql, sizeof(sql),
			 "SELECT min(start), max(end) FROM SL_PROCESS_TREE WHERE globalPid >> 24 = "
			 "%lld",
			 (long long)r->ranks[i].pid);
		rc = rollup_sql(r, sql, life_row, &r->ranks[i]);
	}
	if (rc == SQLITE_OK)
		rc = wall_read(r->db, NULL, &r->wall);
	for (size_t i = 0; rc == SQLITE_OK && i < r->ranks_cnt; i++) {
		if (r->ranks[i].first == DATASET_NULL)
			r->ranks[i].first = r->wall.start;
		if (r->ranks[i].last == DATASET_NULL)
			r->ranks[i].last = r->wall.end;
	}
	return rc;
}

/* ---- rows ---- */

/* gpuUuid, gpuName, complete, lost, clockErrorNs, version */
struct rank_facts {
	char uuid[64], name[128], version[64];
	int64_t complete, lost, clock_error;
};

static void copy_text(char *to, size_t len, sqlite3_stmt *stmt, int i)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);

	snprintf(to, len, "%s", text ? text : "");
}

static int facts_row(void *ctx, sqlite3_stmt *stmt)
{
	struct rank_facts *f = ctx;

	copy_text(f->uuid, sizeof(f->uuid), stmt, 0);
	copy_text(f->name, sizeof(f->name), stmt, 1);
	f->complete = rollup_number(stmt, 2);
	f->lost = rollup_number(stmt, 3);
	f->clock_error = rollup_number(stmt, 4);
	copy_text(f->version, sizeof(f->version), stmt, 5);
	return SQLITE_OK;
}

static const char facts_sql[] = "SELECT g.uuid, g.name, (SELECT min(CAST(value AS INTEGER)) FROM "
				"META_DATA_EXPORT WHERE name = "
				"'SL_COMPLETE'), (SELECT coalesce(sum(count), 0) FROM "
				"SL_LOST_EVENTS), (SELECT max(maxErrorNs) FROM "
				"SL_CLOCK_SNAPSHOTS), (SELECT value FROM META_DATA_EXPORT WHERE "
				"name = 'EXPORT_PRODUCT_VERSION') "
				"FROM (SELECT 1) LEFT JOIN (SELECT uuid, name FROM TARGET_INFO_GPU "
				"WHERE id = (SELECT gpuId FROM rank_gpu WHERE (pid & 16777215) = "
				"%lld)) AS g";

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static int put_ranks(struct rollup *r, const char *path)
{
	const char *name = strrchr(path, '/');
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < r->ranks_cnt; i++) {
		const struct rank *k = &r->ranks[i];
		const struct rank_step *last = k->steps_cnt ? &k->steps[k->steps_cnt - 1] : NULL;
		struct rank_facts f = {.complete = DATASET_NULL};
		char *sql = sqlite3_mprintf(facts_sql, (long long)(k->pid & 0xffffff));
		union dataset_value v[] = {
			{.number = k->rank},
			{.number = k->local},
			{.number = k->world},
			{.number = k->restart},
			{.text = k->source},
			{.text = or_null(r->found->host)},
			{.number = k->pid & 0xffffff},
			{.text = NULL},
			{.text = NULL},
			{.number = rollup_utc(r, k->first)},
			/* A process that was killed with its collector has no end. */
			{.number =
				 rollup_utc(r, last && last->end > k->last ? last->end : k->last)},
			{.number = (int64_t)k->steps_cnt},
			{.number = (int64_t)k->collectives},
			{.number = 0},
			{.number = 0},
			{.number = 0},
			{.text = name ? name + 1 : path},
			{.text = NULL},
			{.number = k->nccl},
		};

		rc = sql ? rollup_sql(r, sql, facts_row, &f) : SQLITE_NOMEM;
		sqlite3_free(sql);
		v[7].text = or_null(f.uuid);
		v[8].text = or_null(f.name);
		/* An export of nsys is whole, or was not exported. */
		v[13].number = f.complete == DATASET_NULL ? 1 : f.complete;
		v[14].number = f.lost;
		v[15].number = f.clock_error;
		v[17].text = or_null(f.version);
		if (rc == SQLITE_OK)
			rc = dataset_values(r->d, DATASET_SL_RANKS, v);
	}
	return rc;
}

struct to_table {
	struct dataset *d;
	enum dataset_number table;
};

static int table_row(void *ctx, sqlite3_stmt *stmt)
{
	struct to_table *t = ctx;

	return dataset_row(t->d, t->table, stmt);
}

static int put_queries(struct rollup *r)
{
	int rc = SQLITE_OK;

	for (unsigned n = 0; rc == SQLITE_OK && n < DATASET_TABLES; n++) {
		struct to_table t = {r->d, n};
		const char *sql = rollup_embedded(dataset_tables[n].name);

		if (sql)
			rc = rollup_sql(r, sql, table_row, &t);
	}
	return rc;
}

static void count(struct rollup *r)
{
	r->found->ranks = r->ranks_cnt;
	for (size_t i = 0; i < r->ranks_cnt; i++) {
		r->found->steps += r->ranks[i].steps_cnt;
		r->found->collectives += r->ranks[i].collectives;
	}
}

static void free_rollup(struct rollup *r)
{
	for (size_t i = 0; i < r->ranks_cnt; i++) {
		free(r->ranks[i].source);
		free(r->ranks[i].steps);
	}
	free(r->ranks);
	free(r->processes);
	sqlite3_close(r->db);
}

int rollup_add(struct dataset *d, const char *path, const struct rollup_ask *ask,
	       struct rollup_found *found, char *why, size_t why_len)
{
	struct rollup r = {.d = d, .ask = ask, .found = found};
	int rc;

	memset(found, 0, sizeof(*found));
	r.db = db_read_open(path, why, why_len);
	if (!r.db)
		return -1;
	rc = sql_functions(r.db, NULL);
	if (rc == SQLITE_OK)
		rc = rollup_sql(&r, head_sql, head_row, &r);
	if (rc == SQLITE_OK)
		rc = add_mounts(&r);
	if (rc == SQLITE_OK)
		rc = find_ranks(&r);
	if (rc == SQLITE_OK && r.ranks_cnt == 0) {
		snprintf(why, why_len, "%s",
			 ask->rank >= 0
				 ? "the report has no processes"
				 : "the report does not show which rank it is of: --rank=N, or "
				   "--rank-from=PATTERN "
				   "takes it from the file's name");
		free_rollup(&r);
		return -1;
	}
	if (rc == SQLITE_OK)
		rc = rollup_find_steps(&r);
	if (rc == SQLITE_OK)
		rc = rollup_collectives(&r);
	if (rc == SQLITE_OK)
		rc = rollup_steps(&r);
	if (rc == SQLITE_OK)
		rc = put_queries(&r);
	if (rc == SQLITE_OK)
		rc = put_ranks(&r, path);
	if (rc == SQLITE_OK && ask->look)
		rc = ask->look(ask->look_ctx, d, r.db, r.epoch);
	count(&r);
	if (rc != SQLITE_OK)
		snprintf(why, why_len, "%s",
			 sqlite3_errcode(r.db) ? sqlite3_errmsg(r.db) : sqlite3_errstr(rc));
	free_rollup(&r);
	return rc == SQLITE_OK ? 0 : -1;
}

/* ---- processes alone ---- */

static const char processes_sql[] =
	"SELECT group_concat(DISTINCT pid & 16777215), group_concat(DISTINCT rank), "
	"group_concat('(' "
	"|| pid || ', ' || rank || ')', ', '), EXISTS (SELECT 1 FROM rank_process) FROM "
	"rank_process WHERE rank IN (SELECT value FROM json_each('[%s]'))";

static int processes_row(void *ctx, sqlite3_stmt *stmt)
{
	struct rollup_processes *p = ctx;
	char **const to[] = {&p->pids, &p->ranks, &p->pairs};

	for (int i = 0; i < 3; i++) {
		const char *text = (const char *)sqlite3_column_text(stmt, i);

		*to[i] = text ? strdup(text) : NULL;
		if (text && !*to[i])
			return SQLITE_NOMEM;
	}
	p->is_ranked = sqlite3_column_int(stmt, 3);
	return SQLITE_OK;
}

int rollup_processes(const char *path, const struct rollup_ask *ask, const char *ranks,
		     struct rollup_processes *p, char *why, size_t why_len)
{
	struct rollup_found found = {0};
	struct rollup r = {.ask = ask, .found = &found};
	char *sql = sqlite3_mprintf(processes_sql, ranks);
	int rc = sql ? SQLITE_OK : SQLITE_NOMEM;

	memset(p, 0, sizeof(*p));
	r.db = db_read_open(path, why, why_len);
	if (!r.db) {
		sqlite3_free(sql);
		return -1;
	}
	if (rc == SQLITE_OK)
		rc = sql_functions(r.db, NULL);
	if (rc == SQLITE_OK)
		rc = rollup_sql(&r, head_sql, head_row, &r);
	if (rc == SQLITE_OK)
		rc = rollup_sql(&r, rollup_embedded("here"), NULL, NULL);
	if (rc == SQLITE_OK)
		rc = rollup_sql(&r, sql, processes_row, p);
	p->epoch = r.epoch;
	p->is_merged = db_read_has(r.db, "META_DATA_EXPORT.name=SL_MERGE_OF");
	snprintf(p->host, sizeof(p->host), "%s", found.host);
	if (rc != SQLITE_OK)
		snprintf(why, why_len, "%s: %s", path,
			 sqlite3_errcode(r.db) ? sqlite3_errmsg(r.db) : sqlite3_errstr(rc));
	free_rollup(&r);
	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : -1;
}

void rollup_processes_free(struct rollup_processes *p)
{
	free(p->pids);
	free(p->ranks);
	free(p->pairs);
	memset(p, 0, sizeof(*p));
}
