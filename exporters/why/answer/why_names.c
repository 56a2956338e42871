/* why_names.c - texts of the answer: names out of the report, and how a thread is called. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/sql_rows.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/answer/why.h"

char *why_string(const struct why *y, const struct id_map *map, uint32_t number)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	if (number == WHY_NONE)
		return NULL;
	stmt = sql_first_of(y->model.db, "SELECT value FROM StringIds WHERE id = ?1",
			    map->ids[number]);
	if (stmt && sqlite3_column_text(stmt, 0))
		text = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	if (text && map == &y->model.names)
		reason_cut_version(text);
	return text;
}

const char *why_thread_text(const struct why *y, uint32_t thread, char *buf, size_t len)
{
	const struct why_thread *t = &y->model.threads[thread];
	const struct why_process *p = &y->model.processes[t->process];
	const char *exe = p->exe ? strrchr(p->exe, '/') : NULL;

	exe = exe ? exe + 1 : p->exe ? p->exe : "process";
	if (t->process == y->model.threads[y->focus].process) {
		if (p->main_thread == thread)
			snprintf(buf, len, "main thread");
		else
			snprintf(buf, len, "thread %lld", (long long)(t->tid & 0xffffff));
	} else if (p->main_thread == thread) {
		snprintf(buf, len, "%.40s %lld", exe, (long long)(p->pid & 0xffffff));
	} else {
		snprintf(buf, len, "%.40s %lld thread %lld", exe, (long long)(p->pid & 0xffffff),
			 (long long)(t->tid & 0xffffff));
	}
	return buf;
}
