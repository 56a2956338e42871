/* model_calls.c - calls, samples and messages of the model. */
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
		m->has_gpu_calls = true;
		m->has_gpu_stacks |= c.stack != WHY_NONE;
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

/* globalTid, start, stack, file */
static bool fault_row(struct why_model *m, sqlite3_stmt *stmt)
{
	uint32_t number = why_model_thread(m, sqlite3_column_int64(stmt, 0));
	struct why_fault f = {why_time(stmt, 1), why_number(&m->stacks, stmt, 2),
			      why_number(&m->objects, stmt, 3)};
	struct why_thread *t;

	if (number == WHY_NONE)
		return false;
	t = &m->threads[number];
	if (!grow(&t->faults, t->faults_cnt, &t->faults_room, sizeof(f)))
		return false;
	t->faults[t->faults_cnt++] = f;
	return true;
}

static bool add_io(struct why_io **list, size_t *cnt, size_t *room, const struct why_io *io)
{
	if (!grow(list, *cnt, room, sizeof(**list)))
		return false;
	(*list)[(*cnt)++] = *io;
	return true;
}

/* globalTid, start, end, disk */
static bool io_row(struct why_model *m, sqlite3_stmt *stmt)
{
	struct why_io io = {.start = why_time(stmt, 1),
			    .end = why_time(stmt, 2),
			    .disk = why_number(&m->objects, stmt, 3)};
	struct why_thread *t;
	uint32_t number;

	if (sqlite3_column_type(stmt, 0) == SQLITE_NULL)
		return add_io(&m->ios, &m->ios_cnt, &m->ios_room, &io);
	number = why_model_thread(m, sqlite3_column_int64(stmt, 0));
	if (number == WHY_NONE)
		return false;
	t = &m->threads[number];
	return add_io(&t->ios, &t->ios_cnt, &t->ios_room, &io);
}

static void sort_ios(struct why_io *list, size_t cnt)
{
	why_sort(list, cnt, sizeof(*list), by_time);
	for (size_t i = 0; i < cnt; i++)
		list[i].reach =
			i && list[i - 1].reach > list[i].end ? list[i - 1].reach : list[i].end;
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

static bool sort_thread(struct why_model *m, uint32_t number)
{
	struct why_thread *t = &m->threads[number];

	why_sort(t->calls, t->calls_cnt, sizeof(*t->calls), by_call);
	why_sort(t->gpu, t->gpu_cnt, sizeof(*t->gpu), by_call);
	why_sort(t->system, t->system_cnt, sizeof(*t->system), by_call);
	why_sort(t->samples, t->samples_cnt, sizeof(*t->samples), by_time);
	why_sort(t->offs, t->offs_cnt, sizeof(*t->offs), by_time);
	why_sort(t->faults, t->faults_cnt, sizeof(*t->faults), by_time);
	sort_ios(t->ios, t->ios_cnt);
	keep_outermost(t->calls, &t->calls_cnt);
	/* The calls of a library include those by which it starts work of a GPU. */
	for (size_t i = 0; i < t->gpu_cnt; i++)
		if (t->gpu[i].correlation && !why_add_launch(m, number, &t->gpu[i]))
			return false;
	keep_outermost(t->gpu, &t->gpu_cnt);
	keep_outermost(t->system, &t->system_cnt);
	return true;
}

/* ---- messages ---- */

/* globalTid, start, end, pathId */
static bool send_row(struct why_model *m, sqlite3_stmt *stmt)
{
	struct why_send s = {
		.start = why_time(stmt, 1),
		.end = why_time(stmt, 2),
		.thread = why_model_thread(m, sqlite3_column_int64(stmt, 0)),
		.object = why_number(&m->objects, stmt, 3),
		.file = sqlite3_column_int64(stmt, 4),
	};

	if (s.thread == WHY_NONE || !grow(&m->sends, m->sends_cnt, &m->sends_room, sizeof(s)))
		return false;
	m->sends[m->sends_cnt++] = s;
	return true;
}

#define PEERS                                                                             \
	"SELECT id FROM StringIds WHERE value GLOB 'tcp:*' OR value GLOB 'tcp6:*' OR "    \
	"value GLOB 'udp:*' OR value GLOB 'udp6:*' OR value GLOB 'unix:*' OR value GLOB " \
	"'socket:*'"

static bool any_row(struct why_model *m, sqlite3_stmt *stmt)
{
	(void)stmt;
	m->has_peers = true;
	return true;
}

/* Calls that send to a peer. Before calls are read: a message leads to a process whose calls are needed, then. */
int why_read_sends(struct why_model *m)
{
	int rc = why_rows(m->db, "SELECT EXISTS (" PEERS ") AS any WHERE any", any_row, m);

	if (rc != SQLITE_OK || !m->has_peers)
		return rc;
	rc = why_rows(m->db,
		      "SELECT globalTid, start, end, pathId, fileAccessId FROM OSRT_API WHERE "
		      "pathId IN (" PEERS
		      ") AND nameId IN (SELECT id FROM StringIds WHERE value IN ('send', 'sendto', "
		      "'sendmsg', 'sendmmsg', 'sendfile', 'write', 'writev', 'connect', "
		      "'shutdown', 'close')) AND globalTid IS NOT NULL",
		      send_row, m);
	why_sort(m->sends, m->sends_cnt, sizeof(*m->sends), by_time);
	return rc;
}

static const char calls_sql[] =
	"SELECT source, globalTid, start, end, nameId, stack, pathId, correlationId "
	"FROM SL_CHAIN_CALLS WHERE level = 0 AND globalTid IS NOT NULL";
static const char samples_sql[] =
	"SELECT globalTid, start, periodic, stack FROM SL_CHAIN_SAMPLES WHERE stack IS NOT NULL "
	"AND globalTid IS NOT NULL";

static const char faults_sql[] = "SELECT globalTid, start, stackId, nullif(pathId, (SELECT id FROM "
				 "StringIds WHERE value = '')) "
				 "FROM SL_PAGE_FAULTS WHERE globalTid IS NOT NULL";

static const char ios_sql[] =
	"SELECT globalTid, start, end, diskId FROM SL_BLOCK_IO WHERE globalTid IS NOT NULL";
/* What a thread waits for that syncs a file is written by the kernel's thread for the journal. */
static const char kernel_ios_sql[] =
	"SELECT globalTid, start, end, diskId FROM SL_BLOCK_IO WHERE globalTid IS NULL AND "
	"(operation = 2 OR nameId IN (SELECT id FROM StringIds WHERE value GLOB 'jbd2/*' OR value "
	"GLOB 'xfs*' OR value GLOB 'btrfs*' OR value GLOB 'f2fs*'))";

static int read_ios(struct why_model *m)
{
	int rc = why_near_rows(m, ios_sql, "globalTid", io_row);

	if (rc == SQLITE_OK)
		rc = why_rows(m->db, kernel_ios_sql, io_row, m);
	sort_ios(m->ios, m->ios_cnt);
	return rc;
}

int why_read_calls(struct why_model *m)
{
	int rc = why_near_rows(m, calls_sql, "globalTid", call_row);

	if (rc == SQLITE_OK && db_read_has(m->db, "COMPOSITE_EVENTS"))
		rc = why_near_rows(m, samples_sql, "globalTid", sample_row);
	if (rc == SQLITE_OK && db_read_has(m->db, "SL_PAGE_FAULTS"))
		rc = why_near_rows(m, faults_sql, "globalTid", fault_row);
	if (rc == SQLITE_OK && db_read_has(m->db, "SL_BLOCK_IO"))
		rc = read_ios(m);
	if (rc != SQLITE_OK)
		return rc;
	for (uint32_t i = 0; i < m->threads_cnt; i++)
		if (!sort_thread(m, i))
			return SQLITE_NOMEM;
	return why_read_gpu(m);
}
