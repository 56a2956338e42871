/* dump_tasks.c - tasks of asyncio: read, and printed as a tree. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/dump/dump.h"
#include "exporters/read/sql_rows.h"
#include "exporters/text/cell.h"

#define DEPTH_MOST 64 /* of the tree that is printed */
#define INDENT     2
#define NAMED      4 /* tasks that are alike: so many are named */

/* ---- read ---- */

static char *text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? strdup(text) : NULL;
}

/* The number of its cycle, as why has it; 0: none. */
static uint32_t deadlock_of(const struct why_awaits *a, const struct dump_task *t)
{
	for (size_t i = 0; i < a->list_cnt; i++)
		if (a->list[i].task == t->task && a->list[i].pid == t->pid)
			return a->list[i].cycle;
	return 0;
}

/* globalPid, globalTid, task, name, state, waitsFor, awaits, stackId */
static int task_row(void *ctx, sqlite3_stmt *s)
{
	struct dump *d = ctx;
	struct dump_task t = {.pid = sqlite3_column_int64(s, 0),
			      .tid = sqlite3_column_int64(s, 1),
			      .task = sqlite3_column_int64(s, 2),
			      .name = text_of(s, 3),
			      .state = text_of(s, 4),
			      .waits_for = text_of(s, 5),
			      .awaits = sqlite3_column_int64(s, 6),
			      .stack = WHY_NONE};

	if (sqlite3_column_type(s, 7) != SQLITE_NULL)
		t.stack = dump_stack_of(d, sqlite3_column_int64(s, 7));
	t.deadlock = deadlock_of(&d->why.awaits, &t);
	if (!grow(&d->tasks, d->tasks_cnt, &d->tasks_room, sizeof(t))) {
		free(t.name);
		free(t.state);
		free(t.waits_for);
		return SQLITE_NOMEM;
	}
	d->tasks[d->tasks_cnt++] = t;
	return SQLITE_OK;
}

struct key {
	int64_t pid, task;
	uint32_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

static int by_awaiter(const void *a, const void *b)
{
	const struct dump_edge *x = a, *y = b;

	if (x->awaiter != y->awaiter)
		return x->awaiter < y->awaiter ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

struct edges {
	struct dump *d;
	struct key *keys;
};

static const struct key *key_of(const struct edges *e, int64_t pid, int64_t task)
{
	const struct key key = {pid, task, 0};

	return e->d->tasks_cnt ? bsearch(&key, e->keys, e->d->tasks_cnt, sizeof(key), by_key)
			       : NULL;
}

/* globalPid, task, awaiter */
static int edge_row(void *ctx, sqlite3_stmt *s)
{
	struct edges *e = ctx;
	struct dump *d = e->d;
	int64_t pid = sqlite3_column_int64(s, 0);
	const struct key *task = key_of(e, pid, sqlite3_column_int64(s, 1)),
			 *awaiter = key_of(e, pid, sqlite3_column_int64(s, 2));

	if (!task || !awaiter)
		return SQLITE_OK;
	if (!grow(&d->edges, d->edges_cnt, &d->edges_room, sizeof(*d->edges)))
		return SQLITE_NOMEM;
	d->edges[d->edges_cnt++] = (struct dump_edge){awaiter->at, task->at};
	d->tasks[task->at].awaiters++;
	return SQLITE_OK;
}

static int read_edges(struct dump *d, sqlite3 *db)
{
	struct edges e = {d, calloc(d->tasks_cnt + 1, sizeof(*e.keys))};
	int rc = SQLITE_NOMEM;

	for (uint32_t i = 0; e.keys && i < d->tasks_cnt; i++)
		e.keys[i] = (struct key){d->tasks[i].pid, d->tasks[i].task, i};
	if (e.keys) {
		qsort(e.keys, d->tasks_cnt, sizeof(*e.keys), by_key);
		rc = sql_rows(db,
			      "SELECT DISTINCT globalPid, task, awaiter FROM SL_ASYNC_AWAITERS "
			      "WHERE timestamp = (SELECT max(timestamp) FROM SL_ASYNC_TASKS)",
			      edge_row, &e);
	}
	if (rc == SQLITE_OK && d->edges_cnt)
		qsort(d->edges, d->edges_cnt, sizeof(*d->edges), by_awaiter);
	free(e.keys);
	return rc;
}

int dump_read_tasks(struct dump *d, sqlite3 *db)
{
	int rc = sql_rows(
		db,
		"SELECT t.globalPid, t.globalTid, t.task, n.value, t.state, t.waitsFor, t.awaits, "
		"t.stackId FROM SL_ASYNC_TASKS AS t LEFT JOIN StringIds AS n ON n.id = "
		"t.nameId WHERE t.timestamp = (SELECT max(timestamp) FROM SL_ASYNC_TASKS) ORDER BY "
		"t.deadlock IS NULL, t.globalPid, t.deadlock, t.task",
		task_row, d);

	return rc == SQLITE_OK && d->tasks_cnt ? read_edges(d, db) : rc;
}

/* ---- printed ---- */

static void put_name(FILE *out, const struct dump_task *t)
{
	fputs("task \"", out);
	text_put_people(out, t->name ? t->name : "?");
	putc('"', out);
}

static const struct dump_task *awaited(const struct dump *d, const struct dump_task *t)
{
	for (size_t i = 0; t->awaits && i < d->tasks_cnt; i++)
		if (d->tasks[i].task == t->awaits && d->tasks[i].pid == t->pid)
			return &d->tasks[i];
	return NULL;
}

static const struct dump_edge *first_edge(const struct dump *d, uint32_t awaiter)
{
	size_t from = 0, to = d->edges_cnt;

	while (from < to) {
		size_t half = from + (to - from) / 2;

		if (d->edges[half].awaiter < awaiter)
			from = half + 1;
		else
			to = half;
	}
	return from < d->edges_cnt && d->edges[from].awaiter == awaiter ? &d->edges[from] : NULL;
}

static bool has_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Tasks in the same place that wait for no other: one paragraph. */
static bool are_alike(const struct dump *d, uint32_t a, uint32_t b)
{
	const struct dump_task *x = &d->tasks[a], *y = &d->tasks[b];

	return x->stack == y->stack && x->stack != WHY_NONE && x->pid == y->pid &&
	       x->tid == y->tid && !x->deadlock && !y->deadlock && has_text(x->state, y->state) &&
	       has_text(x->waits_for, y->waits_for) && !first_edge(d, a) && !first_edge(d, b);
}

static void put_wait(FILE *out, const struct dump *d, const struct dump_task *t)
{
	const struct dump_task *next = awaited(d, t);

	fprintf(out, ": %s", t->state ? t->state : "?");
	if (next) {
		fputs(" for ", out);
		put_name(out, next);
	} else if (t->waits_for) {
		fprintf(out, " for a %s", t->waits_for);
	}
	if (t->deadlock)
		fprintf(out, " (deadlock %u)", t->deadlock);
}

static void put_tree(FILE *out, struct dump *d, const uint32_t *list, size_t cnt, int depth);

static void put_children(FILE *out, struct dump *d, uint32_t task, int depth)
{
	const struct dump_edge *e = first_edge(d, task), *end = d->edges + d->edges_cnt;
	size_t cnt = 0;
	uint32_t *list;

	while (e && e + cnt < end && e[cnt].awaiter == task)
		cnt++;
	list = cnt ? malloc(cnt * sizeof(*list)) : NULL;
	for (size_t i = 0; list && i < cnt; i++)
		list[i] = e[i].task;
	if (list)
		put_tree(out, d, list, cnt, depth);
	free(list);
}

/* The tasks, each with the tasks that it waits for; one that was printed already has its name alone. */
static void put_tree(FILE *out, struct dump *d, const uint32_t *list, size_t cnt, int depth)
{
	for (size_t i = 0; i < cnt;) {
		struct dump_task *t = &d->tasks[list[i]];
		size_t next = i + 1;

		while (!t->shown && next < cnt && are_alike(d, list[i], list[next]) &&
		       !d->tasks[list[next]].shown)
			next++;
		fprintf(out, "%*s", depth * INDENT, "");
		for (size_t k = i; k < next && k < i + NAMED; k++) {
			fputs(k > i ? ", " : "", out);
			put_name(out, &d->tasks[list[k]]);
		}
		if (next - i > NAMED)
			fprintf(out, " and %zu more", next - i - NAMED);
		put_wait(out, d, t);
		fputs(t->shown ? ", as above\n" : "\n", out);
		if (!t->shown && t->stack != WHY_NONE)
			dump_put_frames(out, &d->stacks[t->stack], depth * INDENT + 4);
		if (!t->shown && depth < DEPTH_MOST) {
			t->shown = 1;
			put_children(out, d, list[i], depth + 1);
		}
		for (; i < next; i++)
			d->tasks[list[i]].shown = 1;
	}
}

static void put_process(FILE *out, struct dump *d, int64_t pid, uint32_t *list)
{
	size_t cnt = 0, all = 0;

	/* Tasks that await each other, then the roots; then the rest, which hangs on neither. */
	for (uint32_t i = 0; i < d->tasks_cnt; i++) {
		all += d->tasks[i].pid == pid;
		if (d->tasks[i].pid == pid && (!d->tasks[i].awaiters || d->tasks[i].deadlock))
			list[cnt++] = i;
	}
	fprintf(out,
		"\nTasks of asyncio of process %lld (%zu): below each the tasks that it waits "
		"for\n",
		(long long)(pid >> 24 & 0xffffff), all);
	put_tree(out, d, list, cnt, 0);
	cnt = 0;
	for (uint32_t i = 0; i < d->tasks_cnt; i++)
		if (d->tasks[i].pid == pid && !d->tasks[i].shown)
			list[cnt++] = i;
	put_tree(out, d, list, cnt, 0);
}

void dump_put_tasks(FILE *out, struct dump *d)
{
	uint32_t *list = malloc((d->tasks_cnt + 1) * sizeof(*list));

	for (size_t i = 0; i < d->tasks_cnt; i++)
		d->tasks[i].shown = 0;
	for (size_t i = 0; list && i < d->tasks_cnt; i++)
		if (!d->tasks[i].shown)
			put_process(out, d, d->tasks[i].pid, list);
	free(list);
}
