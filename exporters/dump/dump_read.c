/* dump_read.c - threads of a report's last look, in the order in which why has their waits. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/dump/dump.h"
#include "exporters/read/sql_rows.h"

#define PID_OF(tid) ((tid) & ~INT64_C(0xffffff))

static char *text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text && *text ? strdup(text) : NULL;
}

static uint32_t hang_of(const struct why *y, int64_t tid)
{
	for (uint32_t i = 0; i < y->hangs.list_cnt; i++)
		if (y->model.threads[y->hangs.list[i].thread].tid == tid)
			return i;
	return WHY_NONE;
}

uint32_t dump_stack_of(struct dump *d, int64_t id)
{
	for (uint32_t i = 0; i < d->stacks_cnt; i++)
		if (d->stacks[i].id == id)
			return i;
	if (!grow(&d->stacks, d->stacks_cnt, &d->stacks_room, sizeof(*d->stacks)))
		return WHY_NONE;
	d->stacks[d->stacks_cnt] = (struct dump_stack){.id = id};
	return (uint32_t)d->stacks_cnt++;
}

/* globalTid, name, state, call, path, peer, hasGil, stackId */
static int thread_row(void *ctx, sqlite3_stmt *s)
{
	struct dump *d = ctx;
	struct dump_thread t = {.tid = sqlite3_column_int64(s, 0),
				.stack = WHY_NONE,
				.alike = 1,
				.has_gil = sqlite3_column_int(s, 6) != 0};

	t.hang = hang_of(&d->why, t.tid);
	/* A report of a recording has waits that were over before its end, too. */
	if (t.hang == WHY_NONE && sqlite3_column_type(s, 2) == SQLITE_NULL)
		return SQLITE_OK;
	if (sqlite3_column_type(s, 7) != SQLITE_NULL)
		t.stack = dump_stack_of(d, sqlite3_column_int64(s, 7));
	t.name = text_of(s, 1);
	t.state = text_of(s, 2);
	t.call = text_of(s, 3);
	t.path = text_of(s, 4);
	t.peer = text_of(s, 5);
	if (!grow(&d->threads, d->threads_cnt, &d->threads_room, sizeof(t)))
		return SQLITE_NOMEM;
	d->threads[d->threads_cnt++] = t;
	return SQLITE_OK;
}

/* globalPid, name, command */
static int process_row(void *ctx, sqlite3_stmt *s)
{
	struct dump *d = ctx;

	if (!grow(&d->processes, d->processes_cnt, &d->processes_room, sizeof(*d->processes)))
		return SQLITE_NOMEM;
	d->processes[d->processes_cnt++] = (struct dump_process){
		.pid = sqlite3_column_int64(s, 0), .name = text_of(s, 1), .command = text_of(s, 2)};
	return SQLITE_OK;
}

/* kind, function, module, file, line, inlined */
static int frame_row(struct dump_stack *to, sqlite3_stmt *s)
{
	if (!grow(&to->list, to->cnt, &to->room, sizeof(*to->list)))
		return SQLITE_NOMEM;
	to->list[to->cnt++] = (struct dump_frame){.kind = sqlite3_column_int(s, 0),
						  .function = text_of(s, 1),
						  .module = text_of(s, 2),
						  .file = text_of(s, 3),
						  .line = sqlite3_column_int64(s, 4),
						  .inlined = sqlite3_column_int(s, 5) != 0};
	return SQLITE_OK;
}

static int read_stacks(struct dump *d, sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(
		db,
		"SELECT f.kind, s.value, m.value, p.value, f.line, f.inlined FROM "
		"SL_CHAIN_FRAMES AS f LEFT JOIN StringIds AS s ON s.id = f.symbol LEFT JOIN "
		"StringIds AS m ON m.id = f.module LEFT JOIN StringIds AS p ON p.id = f.file "
		"WHERE f.stack = ? ORDER BY f.depth",
		-1, &s, NULL);

	for (size_t i = 0; i < d->stacks_cnt && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(s, 1, d->stacks[i].id);
		while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
			rc = frame_row(&d->stacks[i], s);
		sqlite3_reset(s);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
	}
	sqlite3_finalize(s);
	return rc;
}

/* As why has them; others behind, those that run last. */
static int by_order(const void *a, const void *b)
{
	const struct dump_thread *x = a, *y = b;
	bool x_runs = x->state && *x->state == 'R', y_runs = y->state && *y->state == 'R';

	if (x->hang != y->hang)
		return x->hang < y->hang ? -1 : 1;
	if (x_runs != y_runs)
		return x_runs ? 1 : -1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Workers that wait for work. */
static bool are_alike(const struct why *y, const struct dump_thread *a, const struct dump_thread *b)
{
	if (a->stack == WHY_NONE || a->stack != b->stack || PID_OF(a->tid) != PID_OF(b->tid) ||
	    a->has_gil || b->has_gil || !is_same(a->call, b->call) || !is_same(a->path, b->path) ||
	    !is_same(a->peer, b->peer) || (a->hang == WHY_NONE) != (b->hang == WHY_NONE))
		return false;
	return a->hang == WHY_NONE ||
	       (!y->hangs.list[a->hang].cycle &&
		y->hangs.list[a->hang].owner == y->hangs.list[b->hang].owner &&
		!y->hangs.list[a->hang].waiters && !y->hangs.list[b->hang].waiters);
}

static void join_alike(struct dump *d)
{
	for (size_t i = 0; i < d->threads_cnt; i++) {
		size_t next = i + 1;

		if (!d->threads[i].alike)
			continue;
		/* They may stand apart: each moves to the first one. */
		for (size_t k = next; k < d->threads_cnt; k++) {
			struct dump_thread t = d->threads[k];

			if (!are_alike(&d->why, &d->threads[i], &t))
				continue;
			memmove(d->threads + next + 1, d->threads + next,
				(k - next) * sizeof(*d->threads));
			t.alike = 0;
			d->threads[next++] = t;
			d->threads[i].alike++;
		}
	}
}

static int read_all(struct dump *d, sqlite3 *db)
{
	int rc = sql_rows(
		db,
		"SELECT w.globalTid, (SELECT s.value FROM ThreadNames AS t JOIN StringIds AS s ON "
		"s.id = t.nameId WHERE t.globalTid = w.globalTid), w.state, n.value, p.value, "
		"w.peer, w.hasGil, w.stackId FROM SL_OPEN_WAITS AS w JOIN (SELECT globalTid AS "
		"tid, max(rowid) AS last FROM SL_OPEN_WAITS GROUP BY globalTid) AS l ON w.rowid = "
		"l.last LEFT JOIN StringIds AS n ON n.id = w.nameId LEFT JOIN StringIds AS p ON "
		"p.id = w.pathId",
		thread_row, d);

	if (rc == SQLITE_OK)
		rc = sql_rows(db,
			      "SELECT p.globalPid, p.name, (SELECT commandLine FROM "
			      "SL_PROCESS_TREE AS t WHERE t.globalPid = p.globalPid ORDER BY "
			      "t.start DESC LIMIT 1) FROM PROCESSES AS p",
			      process_row, d);
	if (rc == SQLITE_OK)
		rc = dump_read_tasks(d, db);
	return rc == SQLITE_OK ? read_stacks(d, db) : rc;
}

int dump_read(struct dump *d, sqlite3 *db, char *why_text, size_t why_len)
{
	static const struct why_ask ask;
	int rc;

	memset(d, 0, sizeof(*d));
	if (why_run(&d->why, db, NULL, &ask, why_text, why_len) < 0)
		return -1;
	rc = read_all(d, db);
	if (rc != SQLITE_OK) {
		snprintf(why_text, why_len, "%s", why_error_text(db, rc));
		return -1;
	}
	if (d->threads_cnt)
		qsort(d->threads, d->threads_cnt, sizeof(*d->threads), by_order);
	join_alike(d);
	return 0;
}

void dump_free(struct dump *d)
{
	for (size_t i = 0; i < d->stacks_cnt; i++) {
		for (size_t k = 0; k < d->stacks[i].cnt; k++) {
			free(d->stacks[i].list[k].function);
			free(d->stacks[i].list[k].module);
			free(d->stacks[i].list[k].file);
		}
		free(d->stacks[i].list);
	}
	for (size_t i = 0; i < d->threads_cnt; i++) {
		free(d->threads[i].name);
		free(d->threads[i].state);
		free(d->threads[i].call);
		free(d->threads[i].path);
		free(d->threads[i].peer);
	}
	for (size_t i = 0; i < d->processes_cnt; i++) {
		free(d->processes[i].name);
		free(d->processes[i].command);
	}
	for (size_t i = 0; i < d->tasks_cnt; i++) {
		free(d->tasks[i].name);
		free(d->tasks[i].state);
		free(d->tasks[i].waits_for);
	}
	free(d->tasks);
	free(d->edges);
	free(d->processes);
	free(d->threads);
	free(d->stacks);
	why_free(&d->why);
}

const struct dump_process *dump_process_of(const struct dump *d, int64_t tid)
{
	for (size_t i = 0; i < d->processes_cnt; i++)
		if (d->processes[i].pid == PID_OF(tid))
			return &d->processes[i];
	return NULL;
}
