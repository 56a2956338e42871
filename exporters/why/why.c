/* why.c - the walk over a report, its leaves put together. */
#include "exporters/why/why.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"

static int by_cause(const void *a, const void *b)
{
	const struct why_leaf *x = *(const struct why_leaf *const *)a;
	const struct why_leaf *y = *(const struct why_leaf *const *)b;
	int order = memcmp(&x->cause, &y->cause, sizeof(x->cause));

	if (!order)
		order = (x->process > y->process) - (x->process < y->process);
	return order ? order : (x->hop > y->hop) - (x->hop < y->hop);
}

static int by_ns(const void *a, const void *b)
{
	const struct why_part *x = a, *y = b;
	int order = (x->ns < y->ns) - (x->ns > y->ns);

	return order ? order : memcmp(&x->cause, &y->cause, sizeof(x->cause));
}

static void add_to(struct why_part *p, const struct why_leaf *l)
{
	p->sure = (p->sure * (double)p->ns + l->sure * (double)l->ns) / (double)(p->ns + l->ns);
	p->ns += l->ns;
	p->cnt += l->cnt;
	if (l->ns <= p->hop_ns)
		return;
	p->hop_ns = l->ns;
	p->hop = l->hop;
	p->thread = l->thread;
}

/* Children of the same program that did the same are one part: "gcc, 60 times". */
static bool is_same(const struct why *y, const struct why_part *p, const struct why_leaf *l)
{
	const char *a = y->model.processes[p->process].exe;
	const char *b = y->model.processes[l->process].exe;

	return memcmp(&p->cause, &l->cause, sizeof(l->cause)) == 0 &&
	       (p->process == l->process || (a && b && strcmp(a, b) == 0));
}

static int gather(struct why *y)
{
	const struct walk *w = &y->walk;
	const struct why_leaf **list = malloc((w->leaves_cnt + 1) * sizeof(struct why_leaf *));

	if (!list)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < w->leaves_cnt; i++) {
		list[i] = &w->leaves[i];
		y->of_reason[list[i]->cause.reason] += list[i]->ns;
	}
	qsort(list, w->leaves_cnt, sizeof(*list), by_cause);
	for (size_t i = 0, first = 0; i < w->leaves_cnt; i++) {
		size_t k = first;

		while (k < y->parts_cnt && !is_same(y, &y->parts[k], list[i]))
			k++;
		if (k == y->parts_cnt) {
			if (i && memcmp(&list[i]->cause, &list[i - 1]->cause,
					sizeof(list[i]->cause)) != 0)
				first = k;
			if (!grow(&y->parts, y->parts_cnt, &y->parts_room, sizeof(*y->parts))) {
				free(list);
				return SQLITE_NOMEM;
			}
			y->parts[y->parts_cnt++] = (struct why_part){.cause = list[i]->cause,
								     .process = list[i]->process};
		}
		add_to(&y->parts[k], list[i]);
	}
	free(list);
	if (y->parts_cnt)
		qsort(y->parts, y->parts_cnt, sizeof(*y->parts), by_ns);
	for (uint32_t i = 0; i < WHY_REASON_CNT; i++) {
		uint32_t at = i;

		for (; at && y->of_reason[y->order[at - 1]] < y->of_reason[i]; at--)
			y->order[at] = y->order[at - 1];
		y->order[at] = i;
	}
	return SQLITE_OK;
}

/* A thread by globalTid or by its number alone. */
static uint32_t find_thread(const struct why_model *m, int64_t tid)
{
	uint32_t number = why_model_find(m, tid);

	for (uint32_t i = 0; number == WHY_NONE && i < m->threads_cnt; i++)
		if ((m->threads[i].tid & 0xffffff) == tid)
			number = i;
	return number;
}

static int64_t nearest_thread(const struct why_model *m, int64_t tid)
{
	int64_t best = -1;

	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		int64_t t = m->threads[i].tid & 0xffffff;

		if (best < 0 || llabs(t - tid) < llabs(best - tid))
			best = t;
	}
	return best;
}

int why_run(struct why *y, sqlite3 *db, const struct db_filter *f, int64_t tid, char *why_text,
	    size_t why_len)
{
	int rc;

	memset(y, 0, sizeof(*y));
	y->focus = WHY_NONE;
	rc = why_model_read(&y->model, db, f);
	if (rc != SQLITE_OK) {
		snprintf(why_text, why_len, "%s", sqlite3_errmsg(db));
		return -1;
	}
	y->focus = tid ? find_thread(&y->model, tid) : why_model_root(&y->model);
	if (tid && y->focus == WHY_NONE) {
		int64_t near = nearest_thread(&y->model, tid);

		snprintf(why_text, why_len, "thread %lld is not in the report%s", (long long)tid,
			 near < 0 ? "" : "; the nearest is ");
		if (near >= 0)
			snprintf(why_text + strlen(why_text), why_len - strlen(why_text), "%lld",
				 (long long)near);
		return -1;
	}
	y->from = y->model.wall.start;
	y->to = y->model.wall.end;
	if (y->focus == WHY_NONE)
		return 0;
	rc = walk_run(&y->walk, &y->model, y->focus, y->from, y->to);
	if (rc == SQLITE_OK)
		rc = gather(y);
	if (rc == SQLITE_OK)
		rc = why_find_culprits(y);
	if (rc != SQLITE_OK)
		snprintf(why_text, why_len, "%s", sqlite3_errstr(rc));
	return rc == SQLITE_OK ? 0 : -1;
}

void why_free(struct why *y)
{
	walk_free(&y->walk);
	why_model_free(&y->model);
	free(y->parts);
	free(y->culprits);
}

char *why_string(const struct why *y, const struct id_map *map, uint32_t number)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	if (number == WHY_NONE)
		return NULL;
	if (sqlite3_prepare_v2(y->model.db, "SELECT value FROM StringIds WHERE id = ?1", -1, &stmt,
			       NULL) == SQLITE_OK &&
	    sqlite3_bind_int64(stmt, 1, map->ids[number]) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		text = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
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
