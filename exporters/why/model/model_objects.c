/* model_objects.c - the objects of calls: locks with their owners, and sockets with the other ends of their connections. */
#include "exporters/why/model/model_internal.h"

#include <stdlib.h>

#include "collector/base/search.h"
#include "exporters/read/db_read.h"
#include "exporters/read/sql_rows.h"

/* globalTid, start, object, ownerTid */
static int object_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	uint32_t number = why_model_find(m, sqlite3_value_int64(v[0]));
	struct why_object l = {
		.start = why_time(v[1]), .object = sqlite3_value_int64(v[2]), .owner = WHY_NONE};
	struct why_thread *t;

	if (number == WHY_NONE)
		return SQLITE_OK;
	if (sqlite3_value_type(v[3]) != SQLITE_NULL)
		l.owner = why_model_find(m, sqlite3_value_int64(v[3]));
	t = &m->threads[number];
	if (!big_grow(&t->objects, t->objects_cnt, &t->objects_room, sizeof(l)))
		return SQLITE_NOMEM;
	t->objects[t->objects_cnt++] = l;
	return SQLITE_OK;
}

/* fileAccessId, fileAccessId of the other end, pid and end of life there */
static bool end_row(struct why_model *m, sqlite3_stmt *stmt)
{
	struct why_end e = {sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
			    sqlite3_column_int64(stmt, 2),
			    wall_time(sqlite3_column_int64(stmt, 3))};

	if (!e.until)
		e.until = INT64_MAX;
	if (!grow(&m->ends, m->ends_cnt, &m->ends_room, sizeof(e)))
		return false;
	m->ends[m->ends_cnt++] = e;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct why_object *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* An IPv4 address mapped into IPv6 stands for the IPv4 address. */
#define PLAIN(text)                                                                              \
	"CASE WHEN " text " LIKE 'tcp6:[::ffff:%' THEN 'tcp:' || replace(substr(" text ", 14), " \
	"']', '') ELSE " text " END"

static const char ends_sql[] = "WITH s AS MATERIALIZED (SELECT fileAccessId AS file, processId AS "
			       "pid, closedAt AS until, " PLAIN("filePath") " AS peer, " PLAIN(
				       "localAddress") " AS own FROM SL_SOCKETS JOIN "
						       "OSRT_FILE_ACCESS_DESCRIPTORS USING "
						       "(fileAccessId)) SELECT a.file, "
						       "b.file, b.pid, b.until FROM s AS a "
						       "JOIN s AS b ON b.own = a.peer AND "
						       "b.peer = a.own ORDER BY 1";

/* globalTid, start, pid of the child that has ended, as its parent sees it */
static int child_row(void *model, sqlite3_value **v)
{
	struct why_model *m = model;
	uint32_t number = why_model_find(m, sqlite3_value_int64(v[0])), main_thread;
	int64_t pid = sqlite3_value_int64(v[2]);
	struct why_thread *t;
	long child;

	if (number == WHY_NONE)
		return SQLITE_OK;
	t = &m->threads[number];
	child = id_map_find(&m->pids,
			    (m->processes[t->process].pid & ~INT64_C(0xffffff)) | (pid & 0xffffff));
	if (child < 0 || m->processes[child].parent != m->processes[t->process].pid)
		return SQLITE_OK;
	main_thread = m->processes[child].main_thread;
	if (!big_grow(&t->objects, t->objects_cnt, &t->objects_room, sizeof(*t->objects)))
		return SQLITE_NOMEM;
	t->objects[t->objects_cnt++] =
		(struct why_object){.start = why_time(v[1]), .object = pid, .owner = main_thread};
	return SQLITE_OK;
}

int why_read_objects(struct why_model *m)
{
	int rc = SQLITE_OK;

	if (db_read_has(m->db, "SL_OSRT_LOCKS"))
		rc = sql_values(m->db, "globalTid, start, object, ownerTid", "SL_OSRT_LOCKS",
				object_row, m);
	if (rc == SQLITE_OK && db_read_has(m->db, "SL_SOCKETS"))
		rc = why_rows(m->db, ends_sql, end_row, m);
	if (rc == SQLITE_OK && m->ends_cnt)
		rc = sql_values(m->db, "globalTid, start, fileAccessId, NULL",
				"OSRT_API WHERE fileAccessId IN (SELECT fileAccessId FROM "
				"SL_SOCKETS)",
				object_row, m);
	if (rc == SQLITE_OK && m->follows_calls)
		rc = sql_values(m->db, "globalTid, start, fileAccessId, NULL",
				"OSRT_API WHERE fileAccessId IS NOT NULL AND pathId IN (SELECT id "
				"FROM StringIds WHERE value = 'anon_inode:[eventfd]')",
				object_row, m);
	if (rc == SQLITE_OK && m->follows_calls)
		rc = sql_values(m->db, "globalTid, start, returnValue",
				"OSRT_API WHERE returnValue > 0 AND nameId IN (SELECT nameId FROM "
				"SL_FUNCTION_KINDS JOIN StringIds ON id = nameId WHERE waits = "
				"'child' AND value GLOB 'wait*')",
				child_row, m);
	for (uint32_t i = 0; rc == SQLITE_OK && i < m->threads_cnt; i++)
		why_sort(m->threads[i].objects, m->threads[i].objects_cnt,
			 sizeof(struct why_object), by_start);
	if (rc == SQLITE_OK)
		rc = why_find_locks(m);
	return rc == SQLITE_OK && m->follows_calls ? why_read_uses(m) : rc;
}

const struct why_object *why_object_of(const struct why_thread *t, const struct why_call *c)
{
	size_t i = c ? why_last(t->objects, t->objects_cnt, sizeof(*t->objects), c->start)
		     : t->objects_cnt;

	return i < t->objects_cnt && t->objects[i].start == c->start ? &t->objects[i] : NULL;
}

static size_t first_end(const struct why_model *m, int64_t file)
{
	return search_first(i, 0, m->ends_cnt, m->ends[i].file < file);
}

bool why_has_end(const struct why_model *m, int64_t file)
{
	size_t i = first_end(m, file);

	return i < m->ends_cnt && m->ends[i].file == file;
}

bool why_reaches(const struct why_model *m, int64_t file, int64_t time, int64_t pid,
		 const struct why_object *waits_on)
{
	size_t low = first_end(m, file);

	/* The address of the file itself is not known. */
	if (low == m->ends_cnt || m->ends[low].file != file)
		return true;
	for (; low < m->ends_cnt && m->ends[low].file == file; low++) {
		const struct why_end *e = &m->ends[low];

		if (e->pid == (pid & 0xffffff) && e->until >= time &&
		    (!waits_on || waits_on->object == e->other))
			return true;
	}
	return false;
}
