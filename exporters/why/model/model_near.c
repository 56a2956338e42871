/*
 * model_near.c - the root process, and the processes that a walk from it may come to: processes whose threads wake each other,
 * directly or not, processes that send messages, and the ranks of NCCL. Calls of all others are not read.
 */
#include "exporters/why/model/model_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/sql_rows.h"

#define LIST_MAX 64 /* processes: beyond, the calls of all are read */

/* ---- results of analyze ---- */

/* Did a pass over the table leave @results in the connection (analyze/rules/shared/event_spans.sql, html/scan.c)? */
static bool is_swept(const struct why_model *m, const char *table, const char *results)
{
	char *sql = sqlite3_mprintf("SELECT 1 FROM temp.event_spans WHERE name = '%q' AND EXISTS "
				    "(SELECT 1 FROM temp.%s)",
				    table, results);
	sqlite3_stmt *stmt = NULL;
	bool is = sql && sqlite3_prepare_v2(m->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
		  sqlite3_step(stmt) == SQLITE_ROW;

	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return is;
}

/* ---- the root ---- */

/* globalTid, a number of calls */
static int count_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	uint32_t number = why_model_thread(m, sqlite3_value_int64(v[0]));

	if (number == WHY_NONE)
		return SQLITE_NOMEM;
	/* nothing is in the list yet */
	m->threads[number].calls_room += (size_t)sqlite3_value_int64(v[1]);
	return SQLITE_OK;
}

/* The root of a report without a process tree: the thread with most calls and switches. */
static int find_busiest(struct why_model *m)
{
	static const char *const tables[] = {"OSRT_API", "CUPTI_ACTIVITY_KIND_RUNTIME",
					     "NVTX_EVENTS", "COMPOSITE_EVENTS"};
	int rc = SQLITE_OK;
	size_t most = 0;

	/* Ranges and samples make a thread known where nothing else does. */
	for (size_t i = 0; i < 4 && rc == SQLITE_OK && (i < 2 || !m->threads_cnt); i++) {
		bool is = i < 2 && is_swept(m, tables[i], "thread_calls");
		char from[80];

		snprintf(from, sizeof(from),
			 is ? "temp.thread_calls WHERE name = '%s'"
			    : "%s WHERE globalTid IS NOT NULL",
			 tables[i]);
		rc = sql_values(m->db, is ? "globalTid, n" : "globalTid, 1", from, count_row, m);
	}
	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		struct why_thread *t = &m->threads[i];

		if (m->root == WHY_NONE || t->calls_room + t->switches_cnt > most) {
			m->root = i;
			most = t->calls_room + t->switches_cnt;
		}
		t->calls_room = 0;
	}
	return rc;
}

static int find_root(struct why_model *m)
{
	const struct why_process *root = NULL;

	for (size_t i = 0; i < m->processes_cnt; i++) {
		const struct why_process *p = &m->processes[i];
		long parent = id_map_find(&m->pids, p->parent);

		if (!p->traced || p->start == WHY_NO_TIME ||
		    (parent >= 0 && m->processes[parent].traced && parent != (long)i))
			continue;
		if (!root || p->start < root->start)
			root = p;
	}
	if (!root)
		return find_busiest(m);
	/* A process without switches has no known thread yet; its main thread has its number. */
	m->root = why_model_thread(m, root->pid << 24 | (root->pid & 0xffffff));
	return m->root == WHY_NONE ? SQLITE_NOMEM : SQLITE_OK;
}

/* ---- groups of processes ---- */

static uint32_t group_of(uint32_t *group, uint32_t process)
{
	while (group[process] != process)
		process = group[process] = group[group[process]];
	return process;
}

/* The group of each process, by its first one; NULL: no memory. */
static uint32_t *find_groups(const struct why_model *m)
{
	uint32_t *group = calloc(m->processes_cnt + 1, sizeof(*group));

	for (uint32_t i = 0; group && i < m->processes_cnt; i++)
		group[i] = i;
	for (size_t i = 0; group && i < m->threads_cnt; i++) {
		const struct why_thread *t = &m->threads[i];

		for (size_t k = 0; k < t->switches_cnt; k++)
			if (t->switches[k].waker != WHY_NONE)
				group[group_of(group, m->threads[t->switches[k].waker].process)] =
					group_of(group, t->process);
	}
	return group;
}

/* globalPid */
static bool rank_row(struct why_model *m, sqlite3_stmt *stmt)
{
	uint32_t process = why_model_process(m, sqlite3_column_int64(stmt, 0) >> 24);

	if (process == WHY_NONE)
		return false;
	m->processes[process].is_near = true;
	return true;
}

/* Kernels of NCCL wait for kernels of other processes. */
static int find_ranks(struct why_model *m)
{
	return why_rows(
		m->db,
		is_swept(m, "CUPTI_ACTIVITY_KIND_KERNEL", "gpu_sums")
			? "SELECT globalPid FROM temp.gpu_sums WHERE what = 'kernel' AND detail IN "
			  "(SELECT id FROM StringIds WHERE value GLOB 'nccl*Kernel*')"
			: "SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE shortName IN "
			  "(SELECT id FROM StringIds WHERE value GLOB 'nccl*Kernel*')",
		rank_row, m);
}

/* globalTid */
static bool thread_row(struct why_model *m, sqlite3_stmt *stmt)
{
	return why_model_thread(m, sqlite3_column_int64(stmt, 0)) != WHY_NONE;
}

int why_find_near(struct why_model *m, const struct why_scope *scope)
{
	bool is_all = scope->is_all || scope->thread || m->follows_calls;
	uint32_t focus, *group;
	int rc = find_root(m);

	/* Ranges that are asked for may be all that is known of a thread. */
	if (rc == SQLITE_OK && is_all)
		rc = why_rows(m->db,
			      "SELECT DISTINCT globalTid FROM NVTX_EVENTS WHERE eventType IN (59, "
			      "60) AND globalTid IS NOT NULL",
			      thread_row, m);
	if (rc == SQLITE_OK)
		rc = find_ranks(m);
	if (rc != SQLITE_OK)
		return rc;
	focus = m->root;
	/* A thread without switches is not known yet: its calls are among all. */
	for (uint32_t i = 0; scope->thread && i < m->threads_cnt; i++)
		if (m->threads[i].tid == scope->thread ||
		    (m->threads[i].tid & 0xffffff) == scope->thread) {
			focus = i;
			is_all = scope->is_all || m->follows_calls;
		}
	group = find_groups(m);
	if (!group)
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < m->processes_cnt; i++)
		m->processes[i].is_near |=
			is_all || focus == WHY_NONE ||
			group_of(group, i) == group_of(group, m->threads[focus].process);
	for (size_t i = 0; i < m->sends_cnt; i++)
		m->processes[m->threads[m->sends[i].thread].process].is_near = true;
	m->processes_seen = m->processes_cnt;
	free(group);
	return rc;
}

/* ---- reading ---- */

/* @from with the condition; sqlite3_free(); NULL: no memory. */
static char *near_from(const struct why_model *m, const char *from, const char *id)
{
	sqlite3_str *text = sqlite3_str_new(m->db);
	size_t near = 0, cnt = 0;
	long long only = 0;

	for (size_t i = 0; i < m->processes_seen; i++)
		if (m->processes[i].is_near) {
			near++;
			only = m->processes[i].pid;
		}
	sqlite3_str_appendall(text, from);
	if (near < m->processes_seen && near == 1) {
		/* The same as below, in less time. */
		sqlite3_str_appendf(text, " AND %s BETWEEN %lld AND %lld", id, only * (1 << 24),
				    only * (1 << 24) + 0xffffff);
	} else if (near < m->processes_seen && near && near <= LIST_MAX) {
		sqlite3_str_appendf(text, " AND %s >> 24 IN (", id);
		for (size_t i = 0; i < m->processes_seen; i++)
			if (m->processes[i].is_near)
				sqlite3_str_appendf(text, "%s%lld", cnt++ ? ", " : "",
						    (long long)m->processes[i].pid);
		sqlite3_str_appendchar(text, 1, ')');
	}
	return sqlite3_str_finish(text);
}

int why_near_rows(struct why_model *m, const char *columns, const char *from, const char *id,
		  why_values *row)
{
	char *text = near_from(m, from, id);
	int rc = text ? sql_values(m->db, columns, text, row, m) : SQLITE_NOMEM;

	sqlite3_free(text);
	return rc;
}
