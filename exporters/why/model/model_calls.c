/* model_calls.c - calls, samples and messages of the model. */
#include "exporters/why/model/model_internal.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/read/sql_rows.h"

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
	if (!big_grow(list, *cnt, room, sizeof(**list)))
		return false;
	(*list)[(*cnt)++] = *c;
	return true;
}

/* source, globalTid, start, end, nameId, stack, pathId, correlationId, result */
static int call_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	uint32_t number = why_model_thread(m, sqlite3_value_int64(v[1]));
	struct why_what what = {why_number(&m->names, v[4]), why_number(&m->stacks, v[5]),
				why_number(&m->objects, v[6]), sqlite3_value_int64(v[8]) != 0};
	struct why_call c = {
		.start = why_time(v[2]),
		.end = why_time(v[3]),
		.what = tuples_add(&m->whats, &what.name),
		.correlation = (uint32_t)sqlite3_value_int64(v[7]),
	};
	struct why_thread *t;
	bool ok;

	if (number == WHY_NONE || what.name == WHY_NONE || c.what == WHY_NONE)
		return SQLITE_NOMEM;
	if (c.end < c.start)
		c.end = c.start;
	t = &m->threads[number];
	m->has_calls = true;
	switch (sqlite3_value_int(v[0])) {
	case OF_LIBC:
		ok = add_call(&t->calls, &t->calls_cnt, &t->calls_room, &c);
		break;
	case OF_KERNEL:
		ok = add_call(&t->system, &t->system_cnt, &t->system_room, &c);
		break;
	default:
		m->has_gpu_calls = true;
		m->has_gpu_stacks |= what.stack != WHY_NONE;
		ok = add_call(&t->gpu, &t->gpu_cnt, &t->gpu_room, &c);
	}
	return ok ? SQLITE_OK : SQLITE_NOMEM;
}

/* globalTid, start, periodic, stack */
static int sample_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	uint32_t number = why_model_thread(m, sqlite3_value_int64(v[0]));
	struct why_sample s = {why_time(v[1]), why_number(&m->stacks, v[3])};
	struct why_thread *t;

	if (number == WHY_NONE)
		return SQLITE_NOMEM;
	t = &m->threads[number];
	if (sqlite3_value_int(v[2])) {
		m->has_samples = true;
		if (!big_grow(&t->samples, t->samples_cnt, &t->samples_room, sizeof(s)))
			return SQLITE_NOMEM;
		t->samples[t->samples_cnt++] = s;
		return SQLITE_OK;
	}
	if (!big_grow(&t->offs, t->offs_cnt, &t->offs_room, sizeof(s)))
		return SQLITE_NOMEM;
	t->offs[t->offs_cnt++] = s;
	return SQLITE_OK;
}

/* globalTid, start, stack, file */
static int fault_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	uint32_t number = why_model_thread(m, sqlite3_value_int64(v[0]));
	struct why_fault f = {why_time(v[1]), why_number(&m->stacks, v[2]),
			      why_number(&m->objects, v[3])};
	struct why_thread *t;

	if (number == WHY_NONE)
		return SQLITE_NOMEM;
	t = &m->threads[number];
	if (!big_grow(&t->faults, t->faults_cnt, &t->faults_room, sizeof(f)))
		return SQLITE_NOMEM;
	t->faults[t->faults_cnt++] = f;
	return SQLITE_OK;
}

static int add_io(struct why_io **list, size_t *cnt, size_t *room, const struct why_io *io)
{
	if (!big_grow(list, *cnt, room, sizeof(**list)))
		return SQLITE_NOMEM;
	(*list)[(*cnt)++] = *io;
	return SQLITE_OK;
}

/* globalTid, start, end, disk */
static int io_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	struct why_io io = {.start = why_time(v[1]),
			    .end = why_time(v[2]),
			    .disk = why_number(&m->objects, v[3])};
	struct why_thread *t;
	uint32_t number;

	if (sqlite3_value_type(v[0]) == SQLITE_NULL)
		return add_io(&m->ios, &m->ios_cnt, &m->ios_room, &io);
	number = why_model_thread(m, sqlite3_value_int64(v[0]));
	if (number == WHY_NONE)
		return SQLITE_NOMEM;
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

void why_end_calls(struct why_call *list, size_t cnt)
{
	if (cnt && list[cnt - 1].end == list[cnt - 1].start)
		list[cnt - 1].end = INT64_MAX;
}

/* Drops calls inside of others. */
static void keep_outermost(struct why_call *list, size_t *cnt)
{
	size_t kept = 0;

	for (size_t i = 0; i < *cnt; i++)
		if (why_is_outermost(list, i, kept))
			list[kept++] = list[i];
	why_end_calls(list, kept);
	*cnt = kept;
}

static void sort_thread(struct why_thread *t)
{
	why_sort(t->calls, t->calls_cnt, sizeof(*t->calls), by_call);
	why_sort(t->gpu, t->gpu_cnt, sizeof(*t->gpu), by_call);
	why_sort(t->system, t->system_cnt, sizeof(*t->system), by_call);
	why_sort(t->samples, t->samples_cnt, sizeof(*t->samples), by_time);
	why_sort(t->offs, t->offs_cnt, sizeof(*t->offs), by_time);
	why_sort(t->faults, t->faults_cnt, sizeof(*t->faults), by_time);
	sort_ios(t->ios, t->ios_cnt);
	keep_outermost(t->calls, &t->calls_cnt);
	keep_outermost(t->system, &t->system_cnt);
}

/* ---- messages ---- */

/* globalTid, start, end, pathId, fileAccessId */
static int send_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	struct why_send s = {
		.start = why_time(v[1]),
		.end = why_time(v[2]),
		.thread = why_model_thread(m, sqlite3_value_int64(v[0])),
		.object = why_number(&m->objects, v[3]),
		.file = sqlite3_value_int64(v[4]),
	};

	if (s.thread == WHY_NONE || !big_grow(&m->sends, m->sends_cnt, &m->sends_room, sizeof(s)))
		return SQLITE_NOMEM;
	m->sends[m->sends_cnt++] = s;
	return SQLITE_OK;
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

/* Calls that send to a peer, read before all other calls: a message leads to a process whose calls are needed. */
int why_read_sends(struct why_model *m)
{
	int rc = why_rows(m->db, "SELECT EXISTS (" PEERS ") AS any WHERE any", any_row, m);

	if (rc != SQLITE_OK || !m->has_peers)
		return rc;
	rc = sql_values(
		m->db, "globalTid, start, end, pathId, fileAccessId",
		"OSRT_API WHERE pathId IN (" PEERS
		") AND nameId IN (SELECT nameId FROM SL_FUNCTION_KINDS WHERE sends) AND globalTid "
		"IS NOT NULL",
		send_row, m);
	why_sort(m->sends, m->sends_cnt, sizeof(*m->sends), by_time);
	return rc;
}

/* Part by part, as SQLite would write all rows of the view aside before it reads the first. */
static int read_part(void *model, const char *select)
{
	struct why_model *m = model;
	char *from = sqlite3_mprintf("(%s) WHERE level = 0 AND globalTid IS NOT NULL", select);
	int rc = SQLITE_NOMEM;

	if (from)
		rc = why_near_rows(
			m,
			"source, globalTid, start, end, nameId, stack, pathId, correlationId, "
			"result",
			from, "globalTid", call_row);
	sqlite3_free(from);
	return rc;
}

static const char samples_from[] =
	"SL_CHAIN_SAMPLES WHERE stack IS NOT NULL AND globalTid IS NOT NULL";

/* The kernel's thread for the journal makes the writes that a thread in fsync() waits for. */
static const char kernel_ios[] =
	"SL_BLOCK_IO WHERE globalTid IS NULL AND (operation = 2 OR nameId IN (SELECT id FROM "
	"StringIds WHERE value GLOB 'jbd2/*' OR value GLOB 'xfs*' OR value GLOB 'btrfs*' OR value "
	"GLOB 'f2fs*'))";

static int read_ios(struct why_model *m)
{
	static const char columns[] = "globalTid, start, end, diskId";
	int rc = why_near_rows(m, columns, "SL_BLOCK_IO WHERE globalTid IS NOT NULL", "globalTid",
			       io_row);

	if (rc == SQLITE_OK)
		rc = sql_values(m->db, columns, kernel_ios, io_row, m);
	sort_ios(m->ios, m->ios_cnt);
	return rc;
}

int why_read_calls(struct why_model *m)
{
	int rc = db_read_chain_calls(m->db, read_part, m);

	if (rc == SQLITE_OK && db_read_has(m->db, "COMPOSITE_EVENTS"))
		rc = why_near_rows(m, "globalTid, start, periodic, stack", samples_from,
				   "globalTid", sample_row);
	if (rc == SQLITE_OK && db_read_has(m->db, "SL_PAGE_FAULTS"))
		rc = why_near_rows(m,
				   "globalTid, start, stackId, nullif(pathId, (SELECT id FROM "
				   "StringIds WHERE value = ''))",
				   "SL_PAGE_FAULTS WHERE globalTid IS NOT NULL", "globalTid",
				   fault_row);
	if (rc == SQLITE_OK && db_read_has(m->db, "SL_BLOCK_IO"))
		rc = read_ios(m);
	for (uint32_t i = 0; rc == SQLITE_OK && i < m->threads_cnt; i++)
		sort_thread(&m->threads[i]);
	return rc;
}
