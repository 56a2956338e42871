/*
 * model_locks.c - semaphores that serve as locks: a thread both waits on them and posts them. For a semaphore that signals, a
 * thread does one of the two.
 */
#include "exporters/why/model/model_internal.h"

#include <stdlib.h>
#include <string.h>

/* Names of the model that are calls on semaphores. */
struct names {
	uint32_t post, waits[3]; /* WHY_NONE: none */
};

/* A thread posts, or waits on, an object. */
struct use {
	uint32_t process, thread;
	int64_t object;
	bool posts;
};

struct uses {
	struct use *list;
	size_t cnt, room;
};

static void note_name(struct names *n, const char *name, long number)
{
	static const char *const waits[] = {"sem_wait", "sem_timedwait", "sem_clockwait"};

	if (strcmp(name, "sem_post") == 0)
		n->post = (uint32_t)number;
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (strcmp(name, waits[i]) == 0)
			n->waits[i] = (uint32_t)number;
}

static int read_names(const struct why_model *m, struct names *n)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(m->db,
				    "SELECT value, id FROM StringIds WHERE value IN ('sem_wait', "
				    "'sem_timedwait', 'sem_clockwait', 'sem_post')",
				    -1, &stmt, NULL);

	*n = (struct names){WHY_NONE, {WHY_NONE, WHY_NONE, WHY_NONE}};
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		long number = id_map_find(&m->names, sqlite3_column_int64(stmt, 1));

		if (name && number >= 0)
			note_name(n, name, number);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static bool is_wait(const struct names *n, uint32_t name)
{
	return name != WHY_NONE &&
	       (name == n->waits[0] || name == n->waits[1] || name == n->waits[2]);
}

static bool add_use(const struct why_model *m, struct uses *us, uint32_t number,
		    const struct why_object *o, const struct names *n)
{
	const struct why_thread *t = &m->threads[number];
	size_t i = why_last(t->calls, t->calls_cnt, sizeof(*t->calls), o->start);
	const struct why_call *c = i < t->calls_cnt ? &t->calls[i] : NULL;

	uint32_t name;

	if (!c || c->start != o->start)
		return true;
	name = why_what(m, c)->name;
	if (name != n->post && !is_wait(n, name))
		return true;
	if (!big_grow(&us->list, us->cnt, &us->room, sizeof(*us->list)))
		return false;
	us->list[us->cnt++] = (struct use){t->process, number, o->object, name == n->post};
	return true;
}

static int by_object(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

static int by_use(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	int object = by_object(a, b);

	if (object)
		return object;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->posts - y->posts;
}

/* Keeps one entry of each object that is a lock. */
static void keep_locks(struct uses *us)
{
	size_t kept = 0;

	for (size_t i = 1; i < us->cnt; i++) {
		const struct use *a = &us->list[i - 1], *b = &us->list[i];

		if (by_object(a, b) == 0 && a->thread == b->thread && !a->posts && b->posts &&
		    (!kept || by_object(&us->list[kept - 1], b) != 0))
			us->list[kept++] = *b;
	}
	us->cnt = kept;
}

static void mark(struct why_model *m, const struct uses *locks)
{
	for (uint32_t i = 0; locks->cnt && i < m->threads_cnt; i++) {
		struct why_thread *t = &m->threads[i];

		for (size_t k = 0; k < t->objects_cnt; k++) {
			const struct use key = {.process = t->process,
						.object = t->objects[k].object};

			t->objects[k].is_lock = bsearch(&key, locks->list, locks->cnt, sizeof(key),
							by_object) != NULL;
		}
	}
}

int why_find_locks(struct why_model *m)
{
	struct uses us = {0};
	struct names n;
	int rc = read_names(m, &n);

	if (rc != SQLITE_OK || n.post == WHY_NONE)
		return rc;
	for (uint32_t i = 0; rc == SQLITE_OK && i < m->threads_cnt; i++) {
		const struct why_thread *t = &m->threads[i];

		for (size_t k = 0; rc == SQLITE_OK && k < t->objects_cnt; k++)
			if (!add_use(m, &us, i, &t->objects[k], &n))
				rc = SQLITE_NOMEM;
	}
	if (rc == SQLITE_OK) {
		why_sort(us.list, us.cnt, sizeof(*us.list), by_use);
		keep_locks(&us);
		mark(m, &us);
	}
	big_free(us.list);
	return rc;
}
