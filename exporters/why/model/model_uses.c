/*
 * model_uses.c - calls on objects that other threads may wait at, by object and in the order of time. Where the kernel names no
 * wakers, they show which thread has ended a wait.
 */
#include "exporters/why/model/model_internal.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"
#include "collector/base/search.h"
#include "exporters/read/sql_rows.h"

#define TRIES 256 /* uses looked through */

/* In the columns of SL_FUNCTION_KINDS; 0: nothing that others wait for. */
struct function {
	uint32_t of_lock, of_file;  /* enum why_does */
	bool is_semaphore, is_kill; /* is_kill: sends a signal */
};

struct reader {
	struct why_model *m;
	struct function *functions; /* by number of a name */
	bool *is_pipe;              /* by number of an object */
};

uint64_t why_lock_key(uint32_t process, int64_t address)
{
	return hash_join(hash_join(1, process), (uint64_t)address);
}

uint64_t why_pipe_key(uint32_t object)
{
	return hash_join(2, object);
}

uint64_t why_signal_key(void)
{
	return hash_join(4, 0);
}

uint64_t why_file_key(int64_t file)
{
	return hash_join(3, (uint64_t)file);
}

/* nameId, waits, sends, reads, a semaphore's, sends a signal */
static int function_row(void *ctx, sqlite3_stmt *stmt)
{
	const struct reader *r = ctx;
	long name = id_map_find(&r->m->names, sqlite3_column_int64(stmt, 0));
	const char *waits = (const char *)sqlite3_column_text(stmt, 1);
	struct function *f;

	if (name < 0)
		return SQLITE_OK;
	f = &r->functions[name];
	if (!waits || strcmp(waits, "none") == 0 || strcmp(waits, "barrier") == 0)
		f->of_lock = DOES_SIGNAL;
	else if (strcmp(waits, "lock") == 0)
		f->of_lock = DOES_TAKE;
	if (sqlite3_column_int(stmt, 2))
		f->of_file = DOES_SEND;
	else if (sqlite3_column_int(stmt, 3))
		f->of_file = DOES_RECEIVE;
	f->is_semaphore = sqlite3_column_int(stmt, 4);
	f->is_kill = sqlite3_column_int(stmt, 5);
	return SQLITE_OK;
}

/* id */
static int pipe_row(void *ctx, sqlite3_stmt *stmt)
{
	const struct reader *r = ctx;
	long object = id_map_find(&r->m->objects, sqlite3_column_int64(stmt, 0));

	if (object >= 0)
		r->is_pipe[object] = true;
	return SQLITE_OK;
}

static bool add(struct why_model *m, uint64_t object, const struct why_call *c, uint32_t thread,
		uint32_t does)
{
	if (!does)
		return true;
	if (!big_grow(&m->uses, m->uses_cnt, &m->uses_room, sizeof(*m->uses)))
		return false;
	m->uses[m->uses_cnt++] = (struct why_use){object, c->start, c->end, thread, does};
	return true;
}

/* Semaphores of processes that were forked lie at the same address in each: they also have a name without a process. */
static bool add_object(const struct reader *r, uint32_t thread, const struct why_call *c,
		       const struct why_object *o)
{
	const struct function *f = &r->functions[why_what(r->m, c)->name];

	if (f->of_file)
		return add(r->m, why_file_key(o->object), c, thread, f->of_file);
	return add(r->m, why_lock_key(r->m->threads[thread].process, o->object), c, thread,
		   f->of_lock) &&
	       (!f->is_semaphore ||
		add(r->m, why_lock_key(WHY_NONE, o->object), c, thread, f->of_lock));
}

static bool add_thread(const struct reader *r, uint32_t thread)
{
	const struct why_thread *t = &r->m->threads[thread];
	size_t k = 0;

	for (size_t i = 0; i < t->calls_cnt; i++) {
		const struct why_call *c = &t->calls[i];
		const struct why_what *what = why_what(r->m, c);

		while (k < t->objects_cnt && t->objects[k].start < c->start)
			k++;
		if (k < t->objects_cnt && t->objects[k].start == c->start &&
		    !add_object(r, thread, c, &t->objects[k]))
			return false;
		if (r->functions[what->name].is_kill &&
		    !add(r->m, why_signal_key(), c, thread, DOES_SIGNAL))
			return false;
		if (what->object != WHY_NONE && r->is_pipe[what->object] &&
		    !add(r->m, why_pipe_key(what->object), c, thread,
			 r->functions[what->name].of_file))
			return false;
	}
	return true;
}

static int by_object(const void *a, const void *b)
{
	const struct why_use *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

int why_read_uses(struct why_model *m)
{
	struct reader r = {.m = m,
			   .functions = calloc(m->names.cnt + 1, sizeof(*r.functions)),
			   .is_pipe = calloc(m->objects.cnt + 1, sizeof(*r.is_pipe))};
	int rc = r.functions && r.is_pipe ? SQLITE_OK : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = sql_rows(m->db,
			      "SELECT nameId, waits, sends, io = 3, value LIKE 'sem\\_%' ESCAPE "
			      "'\\', value IN ('kill', 'killpg', 'tgkill', 'pthread_kill', "
			      "'sigqueue') FROM SL_FUNCTION_KINDS JOIN StringIds ON id = nameId",
			      function_row, &r);
	m->does = calloc(m->names.cnt + 1, 1);
	if (!m->does)
		rc = SQLITE_NOMEM;
	for (size_t i = 0; rc == SQLITE_OK && i < m->names.cnt; i++)
		m->does[i] = (uint8_t)r.functions[i].of_file;
	if (rc == SQLITE_OK)
		rc = sql_rows(m->db, "SELECT id FROM StringIds WHERE value GLOB 'pipe:*'", pipe_row,
			      &r);
	for (uint32_t i = 0; rc == SQLITE_OK && i < m->threads_cnt; i++)
		if (!add_thread(&r, i))
			rc = SQLITE_NOMEM;
	why_sort(m->uses, m->uses_cnt, sizeof(*m->uses), by_object);
	free(r.functions);
	free(r.is_pipe);
	return rc;
}

const struct why_use *why_last_use(const struct why_model *m, uint64_t object, uint32_t does,
				   uint32_t thread, int64_t from, int64_t to)
{
	size_t i = search_first(k, 0, m->uses_cnt,
				m->uses[k].object < object ||
					(m->uses[k].object == object && m->uses[k].start <= to));

	for (unsigned tries = 0; i-- && m->uses[i].object == object && tries < TRIES; tries++) {
		const struct why_use *u = &m->uses[i];

		if (u->does & does && u->thread != thread && u->end > from)
			return u;
	}
	return NULL;
}
