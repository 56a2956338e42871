/* model_calls.c - calls, samples and GPU work of the model. */
#include "exporters/why/model_internal.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"

enum { /* SL_CHAIN_CALLS.source */
	OF_LIBC = 1,
	OF_CUDA,
	OF_KERNEL,
	OF_LIBRARY
};

static int by_time(const void *a, const void *b)
{
	int64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* Calls that begin together: the longer one contains the other. */
static int by_call(const void *a, const void *b)
{
	const struct why_call *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->end < y->end) - (x->end > y->end);
}

static bool add_call(struct why_call **list, size_t *cnt, size_t *room, const struct why_call *c)
{
	if (!grow(list, *cnt, room, sizeof(**list)))
		return false;
	(*list)[(*cnt)++] = *c;
	return true;
}

/* source, globalTid, start, end, nameId, stack, pathId, correlationId */
static bool call_row(struct why_model *m, sqlite3_stmt *stmt)
{
	uint32_t number = why_model_thread(m, sqlite3_column_int64(stmt, 1));
	struct why_call c = {
		.start = why_time(stmt, 2),
		.end = why_time(stmt, 3),
		.name = why_number(&m->names, stmt, 4),
		.stack = why_number(&m->stacks, stmt, 5),
		.object = why_number(&m->objects, stmt, 6),
		.correlation = (uint32_t)sqlite3_column_int64(stmt, 7),
	};
	struct why_thread *t;

	if (number == WHY_NONE || c.name == WHY_NONE)
		return false;
	if (c.end < c.start)
		c.end = c.start;
	t = &m->threads[number];
	m->has_calls = true;
	switch (sqlite3_column_int(stmt, 0)) {
	case OF_LIBC:
		return add_call(&t->calls, &t->calls_cnt, &t->calls_room, &c);
	case OF_KERNEL:
		return add_call(&t->system, &t->system_cnt, &t->system_room, &c);
	default:
		return add_call(&t->gpu, &t->gpu_cnt, &t->gpu_room, &c);
	}
}

/* globalTid, start, periodic, stack */
static bool sample_row(struct why_model *m, sqlite3_stmt *stmt)
{
	uint32_t number = why_model_thread(m, sqlite3_column_int64(stmt, 0));
	struct why_sample s = {why_time(stmt, 1), why_number(&m->stacks, stmt, 3)};
	struct why_thread *t;

	if (number == WHY_NONE)
		return false;
	t = &m->threads[number];
	if (sqlite3_column_int(stmt, 2)) {
		m->has_samples = true;
		if (!grow(&t->samples, t->samples_cnt, &t->samples_room, sizeof(s)))
			return false;
		t->samples[t->samples_cnt++] = s;
		return true;
	}
	if (!grow(&t->offs, t->offs_cnt, &t->offs_room, sizeof(s)))
		return false;
	t->offs[t->offs_cnt++] = s;
	return true;
}

/* Drops calls inside of others, and gives the last one that never returned the rest of the time. */
static void keep_outermost(struct why_call *list, size_t *cnt)
{
	size_t kept = 0;

	for (size_t i = 0; i < *cnt; i++)
		if (!kept || list[i].end > list[kept - 1].end)
			list[kept++] = list[i];
	if (kept && list[kept - 1].end == list[kept - 1].start)
		list[kept - 1].end = INT64_MAX;
	*cnt = kept;
}

static void sort_thread(struct why_thread *t)
{
	why_sort(t->calls, t->calls_cnt, sizeof(*t->calls), by_call);
	why_sort(t->gpu, t->gpu_cnt, sizeof(*t->gpu), by_call);
	why_sort(t->system, t->system_cnt, sizeof(*t->system), by_call);
	why_sort(t->samples, t->samples_cnt, sizeof(*t->samples), by_time);
	why_sort(t->offs, t->offs_cnt, sizeof(*t->offs), by_time);
	keep_outermost(t->calls, &t->calls_cnt);
	keep_outermost(t->gpu, &t->gpu_cnt);
	keep_outermost(t->system, &t->system_cnt);
}

/* ---- GPU ---- */

/* start, end, deviceId, streamId, correlationId, globalPid, name */
static bool op_row(struct why_model *m, sqlite3_stmt *stmt)
{
	struct why_op o = {
		.start = why_time(stmt, 0),
		.end = why_time(stmt, 1),
		.device = (uint32_t)sqlite3_column_int(stmt, 2),
		.stream = (uint32_t)sqlite3_column_int(stmt, 3),
		.launch = (uint32_t)sqlite3_column_int64(stmt, 4),
		.process = why_model_process(m, sqlite3_column_int64(stmt, 5) >> 24),
		.name = why_number(&m->names, stmt, 6),
	};

	if (o.process == WHY_NONE || !grow(&m->ops, m->ops_cnt, &m->ops_room, sizeof(o)))
		return false;
	if (o.end >= o.start)
		m->ops[m->ops_cnt++] = o;
	return true;
}

static int by_launch(const void *a, const void *b)
{
	const struct why_launch *x = a, *y = b;

	return x->process != y->process
		       ? (x->process > y->process) - (x->process < y->process)
		       : (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* Which call started an operation: a table by process and correlation id. */
static bool find_launches(struct why_model *m)
{
	for (uint32_t t = 0; t < m->threads_cnt; t++)
		for (uint32_t i = 0; i < m->threads[t].gpu_cnt; i++) {
			const struct why_call *c = &m->threads[t].gpu[i];

			if (!c->correlation)
				continue;
			if (!grow(&m->launches, m->launches_cnt, &m->launches_room,
				  sizeof(*m->launches)))
				return false;
			m->launches[m->launches_cnt++] =
				(struct why_launch){c->correlation, m->threads[t].process, t, i};
		}
	if (m->launches_cnt)
		qsort(m->launches, m->launches_cnt, sizeof(*m->launches), by_launch);
	for (size_t i = 0; i < m->ops_cnt; i++) {
		struct why_launch key = {.correlation = m->ops[i].launch,
					 .process = m->ops[i].process};
		const struct why_launch *found =
			m->launches_cnt ? bsearch(&key, m->launches, m->launches_cnt, sizeof(key),
						  by_launch)
					: NULL;

		m->ops[i].launch = found ? (uint32_t)(found - m->launches) : WHY_NONE;
	}
	return true;
}

/* ---- messages ---- */

/* Calls of this name send to a peer. */
static bool is_send(const char *name)
{
	static const char *const names[] = {"send",   "sendto",  "sendmsg",  "write",
					    "writev", "connect", "shutdown", "close"};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool is_socket(const char *path)
{
	return path && (!strncmp(path, "tcp:", 4) || !strncmp(path, "unix:", 5) ||
			!strncmp(path, "udp:", 4) || !strncmp(path, "tcp6:", 5) ||
			!strncmp(path, "socket:", 7));
}

/* globalTid, start, end, pathId */
static bool send_row(struct why_model *m, sqlite3_stmt *stmt)
{
	struct why_send s = {
		.start = why_time(stmt, 1),
		.end = why_time(stmt, 2),
		.thread = why_model_find(m, sqlite3_column_int64(stmt, 0)),
		.object = why_number(&m->objects, stmt, 3),
	};

	if (!is_send((const char *)sqlite3_column_text(stmt, 4)) ||
	    !is_socket((const char *)sqlite3_column_text(stmt, 5)) || s.thread == WHY_NONE)
		return true;
	if (!grow(&m->sends, m->sends_cnt, &m->sends_room, sizeof(s)))
		return false;
	m->sends[m->sends_cnt++] = s;
	return true;
}

static const char ops_sql[] =
	"SELECT start, end, deviceId, streamId, correlationId, globalPid, shortName "
	"FROM CUPTI_ACTIVITY_KIND_KERNEL "
	"UNION ALL SELECT start, end, deviceId, streamId, correlationId, globalPid, NULL "
	"FROM CUPTI_ACTIVITY_KIND_MEMCPY "
	"UNION ALL SELECT start, end, deviceId, streamId, correlationId, globalPid, NULL "
	"FROM CUPTI_ACTIVITY_KIND_MEMSET "
	"UNION ALL SELECT start, end, deviceId, streamId, correlationId, globalPid, NULL "
	"FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE";

int why_read_calls(struct why_model *m)
{
	int rc = why_rows(m->db,
			  "SELECT source, globalTid, start, end, nameId, stack, pathId, "
			  "correlationId FROM SL_CHAIN_CALLS WHERE level = 0 AND globalTid IS NOT "
			  "NULL",
			  call_row, m);

	if (rc == SQLITE_OK && db_read_has(m->db, "COMPOSITE_EVENTS"))
		rc = why_rows(m->db,
			      "SELECT globalTid, start, periodic, stack FROM SL_CHAIN_SAMPLES "
			      "WHERE stack IS NOT NULL AND globalTid IS NOT NULL",
			      sample_row, m);
	if (rc == SQLITE_OK)
		rc = why_rows(m->db, ops_sql, op_row, m);
	if (rc == SQLITE_OK)
		rc = why_rows(m->db,
			      "SELECT c.globalTid, c.start, c.end, c.pathId, n.value, p.value "
			      "FROM OSRT_API c JOIN StringIds p ON p.id = c.pathId "
			      "JOIN StringIds n ON n.id = c.nameId "
			      "WHERE c.globalTid IS NOT NULL AND p.value GLOB '*:*'",
			      send_row, m);
	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < m->threads_cnt; i++)
		sort_thread(&m->threads[i]);
	why_sort(m->ops, m->ops_cnt, sizeof(*m->ops), by_time);
	why_sort(m->sends, m->sends_cnt, sizeof(*m->sends), by_time);
	return find_launches(m) ? SQLITE_OK : SQLITE_NOMEM;
}
