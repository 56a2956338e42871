/* awaits.c - reads tasks that await each other, each cycle in its order. */
#include "exporters/why/answer/awaits.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/read/sql_rows.h"

static char *text_of(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? strdup(text) : NULL;
}

static void free_await(struct why_await *w)
{
	free(w->name);
	free(w->other);
	free(w->function);
	free(w->file);
}

/* globalPid, deadlock, task, awaits, name, name of the other, function, file, line */
static int await_row(void *ctx, sqlite3_stmt *s)
{
	struct why_awaits *a = ctx;
	const struct why_await *last = a->list_cnt ? &a->list[a->list_cnt - 1] : NULL;
	struct why_await w = {.pid = sqlite3_column_int64(s, 0),
			      .task = sqlite3_column_int64(s, 2),
			      .awaits = sqlite3_column_int64(s, 3),
			      .name = text_of(s, 4),
			      .other = text_of(s, 5),
			      .function = text_of(s, 6),
			      .file = text_of(s, 7),
			      .line = sqlite3_column_int64(s, 8)};

	/* Each process numbers its own. */
	if (!last || last->pid != w.pid || a->number != sqlite3_column_int64(s, 1))
		a->cycles++;
	a->number = sqlite3_column_int64(s, 1);
	w.cycle = a->cycles;
	if (!grow(&a->list, a->list_cnt, &a->list_room, sizeof(w))) {
		free_await(&w);
		return SQLITE_NOMEM;
	}
	a->list[a->list_cnt++] = w;
	return SQLITE_OK;
}

/* Behind each task stands the one that it awaits. */
static void put_in_order(struct why_awaits *a)
{
	for (size_t i = 0; i + 1 < a->list_cnt; i++)
		for (size_t k = i + 1; k < a->list_cnt && a->list[k].cycle == a->list[i].cycle;
		     k++) {
			struct why_await next = a->list[k];

			if (next.task != a->list[i].awaits)
				continue;
			a->list[k] = a->list[i + 1];
			a->list[i + 1] = next;
			break;
		}
}

int why_find_awaits(struct why_awaits *a, sqlite3 *db)
{
	int rc = sql_rows(
		db,
		"SELECT t.globalPid, t.deadlock, t.task, t.awaits, n.value, o.value, s.value, "
		"p.value, f.line FROM SL_ASYNC_TASKS AS t LEFT JOIN SL_ASYNC_TASKS AS u ON u.task "
		"= "
		"t.awaits AND u.globalPid = t.globalPid AND u.timestamp = t.timestamp LEFT JOIN "
		"StringIds AS n ON n.id = t.nameId LEFT JOIN StringIds AS o ON o.id = u.nameId "
		"LEFT "
		"JOIN SL_CHAIN_FRAMES AS f ON f.stack = t.stackId AND f.depth = 0 LEFT JOIN "
		"StringIds AS s ON s.id = f.symbol LEFT JOIN StringIds AS p ON p.id = f.file WHERE "
		"t.deadlock IS NOT NULL AND t.timestamp = (SELECT max(timestamp) FROM "
		"SL_ASYNC_TASKS) ORDER BY t.globalPid, t.deadlock, t.task",
		await_row, a);

	if (rc == SQLITE_OK)
		put_in_order(a);
	return rc;
}

void why_awaits_free(struct why_awaits *a)
{
	for (size_t i = 0; i < a->list_cnt; i++)
		free_await(&a->list[i]);
	free(a->list);
}
