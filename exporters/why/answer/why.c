/* why.c - the walk over a report, and the sums of its leaves. */
#include "exporters/why/answer/why.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/read/sql_rows.h"
#include "exporters/why/walk/reason.h"

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
	if (l->disk_ns)
		p->disk = !p->disk_ns || p->disk == l->disk ? l->disk : WHY_NONE;
	p->disk_ns += l->disk_ns;
	if (l->ns <= p->hop_ns)
		return;
	p->hop_ns = l->ns;
	p->hop = l->hop;
	p->thread = l->thread;
}

/* Child processes of the same program with the same cause are one part: "gcc, 60 times". */
static bool is_same(const struct why *y, const struct why_part *p, const struct why_leaf *l)
{
	const char *a = y->model.processes[p->process].exe;
	const char *b = y->model.processes[l->process].exe;

	return memcmp(&p->cause, &l->cause, sizeof(l->cause)) == 0 &&
	       (p->process == l->process || (a && b && strcmp(a, b) == 0));
}

/* The longest first; @part_of follows. */
static bool sort_parts(struct why *y, uint32_t *part_of)
{
	uint32_t *place = calloc(y->parts_cnt + 1, sizeof(*place));

	if (!place)
		return false;
	for (uint32_t i = 0; i < y->parts_cnt; i++)
		y->parts[i].number = i;
	if (y->parts_cnt)
		qsort(y->parts, y->parts_cnt, sizeof(*y->parts), by_ns);
	for (uint32_t i = 0; i < y->parts_cnt; i++)
		place[y->parts[i].number] = i;
	for (size_t i = 0; i < y->walk.leaves_cnt; i++)
		part_of[i] = place[part_of[i]];
	free(place);
	return true;
}

/* @part_of: the part of each leaf. */
static int gather(struct why *y, uint32_t *part_of)
{
	const struct walk *w = &y->walk;
	const struct why_leaf **list = malloc((w->leaves_cnt + 1) * sizeof(struct why_leaf *));

	if (!list)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < w->leaves_cnt; i++) {
		list[i] = &w->leaves[i];
		y->of_reason[list[i]->cause.reason] += list[i]->ns;
	}
	qsort(list, w->leaves_cnt, sizeof(struct why_leaf *), by_cause);
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
		part_of[list[i] - w->leaves] = (uint32_t)k;
	}
	free(list);
	if (!sort_parts(y, part_of))
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < WHY_REASON_CNT; i++) {
		uint32_t at = i;

		for (; at && y->of_reason[y->order[at - 1]] < y->of_reason[i]; at--)
			y->order[at] = y->order[at - 1];
		y->order[at] = i;
	}
	return SQLITE_OK;
}

/* The walk over the requested time; for steps, with the pieces of each step. */
static int answer(struct why *y)
{
	uint32_t *part_of;
	int rc = walk_open(&y->walk, &y->model);

	if (rc != SQLITE_OK)
		return rc;
	y->walk.keeps_pieces = y->time.is_steps && y->time.spans_cnt > 1;
	for (size_t i = 0; i < y->time.spans_cnt; i++) {
		const struct why_span *s = &y->time.spans[i];

		y->walk.span_no = (uint32_t)i;
		if (y->gpu)
			why_gpu_cover(&y->walk, y->gpu, s->start, s->end);
		else
			walk_cover(&y->walk, y->focus, s->start, s->end);
	}
	rc = walk_end(&y->walk);
	part_of = calloc(y->walk.leaves_cnt + 1, sizeof(*part_of));
	if (rc == SQLITE_OK)
		rc = part_of ? gather(y, part_of) : SQLITE_NOMEM;
	if (rc == SQLITE_OK && y->walk.keeps_pieces)
		rc = why_compare_steps(&y->steps, &y->time, &y->walk, part_of);
	free(part_of);
	if (rc == SQLITE_OK)
		rc = why_find_culprits(y);
	if (rc == SQLITE_OK)
		rc = why_find_gains(y);
	return rc == SQLITE_OK ? why_find_worst(y) : rc;
}

/* The requested GPU, and without a narrower request, the time between its first launch and its last completion. */
static int focus_gpu(struct why *y, const struct why_ask *ask, char *text, size_t len)
{
	const struct why_gpus *g = &y->gpus;
	const struct why_gpu *near = g->list_cnt ? g->list : NULL;

	if (!ask->of_gpu)
		return 0;
	for (size_t i = 0; i < g->list_cnt; i++)
		if (llabs(g->list[i].device - ask->gpu) < llabs(near->device - ask->gpu))
			near = &g->list[i];
	if (!near)
		snprintf(text, len, "no work of a GPU was recorded%s",
			 y->model.ops_cnt ? " in this time" : "");
	else if (near->device != ask->gpu)
		snprintf(text, len, "GPU %lld is not in the report; the nearest is %u",
			 (long long)ask->gpu, near->device);
	if (!near || near->device != ask->gpu)
		return -1;
	y->gpu = near;
	if (ask->tid || ask->nvtx || ask->step || !y->time.spans_cnt)
		return 0;
	y->focus = near->thread;
	y->time.spans[0] = (struct why_span){near->from, near->to, 0};
	y->from = near->from;
	y->to = near->to;
	y->ns = y->to - y->from;
	return 0;
}

static void free_answer(struct why *y)
{
	walk_free(&y->walk);
	why_steps_free(&y->steps);
	free(y->parts);
	free(y->culprits);
	free(y->culprit_of_place);
	free(y->culprit_of_group);
	free(y->command_of);
	tuples_free(&y->groups);
	free(y->imports_again);
	free(y->gains);
	memset(&y->walk, 0, sizeof(y->walk));
	memset(&y->steps, 0, sizeof(y->steps));
	memset(&y->groups, 0, sizeof(y->groups));
	memset(y->of_reason, 0, sizeof(y->of_reason));
	y->parts = NULL;
	y->culprits = NULL;
	y->culprit_of_place = NULL;
	y->culprit_of_group = NULL;
	y->command_of = NULL;
	y->imports_again = NULL;
	y->gains = NULL;
	y->parts_cnt = y->parts_room = y->culprits_cnt = y->culprits_room = 0;
	y->culprit_of_group_cnt = y->culprit_of_group_room = y->gains_cnt = y->gains_room = 0;
}

/* The answer about the process that works, instead of the root's. */
static int move(struct why *y, uint32_t process)
{
	const struct why_ask ask = {.pid = y->model.processes[process].pid & 0xffffff};
	char text[256];

	free_answer(y);
	why_focus_free(&y->time);
	y->time = (struct why_focus){.thread = WHY_NONE};
	if (why_find_focus(&y->time, &y->model, &ask, text, sizeof(text)) < 0)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < y->busy.list_cnt; i++)
		if (y->busy.list[i].process == process)
			y->time.thread = y->busy.list[i].thread;
	y->busy.is_moved = true;
	y->focus = y->time.thread;
	y->from = y->time.from;
	y->to = y->time.to;
	y->ns = y->time.ns;
	return answer(y);
}

/* Where the root waits for processes that work, they are the answer. */
static int look_for_work(struct why *y)
{
	uint32_t process;
	int rc = why_find_busy(&y->busy, y);

	if (rc != SQLITE_OK)
		return rc;
	process = why_busy_focus(&y->busy, y);
	if (process != WHY_NONE)
		rc = move(y, process);
	if (rc == SQLITE_OK && (y->busy.is_moved || y->busy.tail != WHY_NONE))
		why_busy_waits(&y->busy, y);
	return rc;
}

/* Waits that never ended; where no thread is known by its events, they are the answer. */
static int look_for_hangs(struct why *y, sqlite3 *db, const struct db_filter *f)
{
	int rc = SQLITE_OK;
	size_t kept = 0;

	if (f && (f->time_cnt || f->nvtx_cnt || f->pid_cnt))
		return SQLITE_OK;
	if (!y->walk.m)
		rc = walk_open(&y->walk, &y->model);
	if (rc == SQLITE_OK)
		rc = why_find_hangs(&y->hangs, y);
	if (rc == SQLITE_OK)
		rc = why_find_awaits(&y->awaits, db);
	for (size_t i = 0; i < y->gains_cnt; i++) {
		const struct why_gain *g = &y->gains[i];
		const struct why_part *p =
			g->culprit == WHY_NONE ? NULL : &y->culprits[g->culprit].part;

		if (!p || !why_hangs_at(&y->hangs, p->thread, &p->cause))
			y->gains[kept++] = *g;
	}
	y->gains_cnt = kept;
	return rc;
}

int why_run(struct why *y, sqlite3 *db, const struct db_filter *f, const struct why_ask *ask,
	    char *why_text, size_t why_len)
{
	struct why_scope scope = {.filter = f, .wall = ask->wall, .thread = ask->tid};
	int rc;

	memset(y, 0, sizeof(*y));
	y->focus = y->time.thread = WHY_NONE;
	scope.is_all = ask->nvtx || ask->step || ask->of_gpu || ask->pid;
	rc = why_model_read(&y->model, db, &scope);
	if (rc != SQLITE_OK) {
		snprintf(why_text, why_len, "%s", why_error_text(db, rc));
		return -1;
	}
	if (why_find_focus(&y->time, &y->model, ask, why_text, why_len) < 0)
		return -1;
	y->focus = y->time.thread;
	y->from = y->time.from;
	y->to = y->time.to;
	y->ns = y->time.ns;
	if (y->focus == WHY_NONE) {
		rc = look_for_hangs(y, db, f);
		if (rc != SQLITE_OK)
			snprintf(why_text, why_len, "%s", sqlite3_errstr(rc));
		return rc == SQLITE_OK ? focus_gpu(y, ask, why_text, why_len) : -1;
	}
	rc = why_find_gpus(&y->gpus, &y->model);
	if (rc == SQLITE_OK && focus_gpu(y, ask, why_text, why_len) < 0)
		return -1;
	if (rc == SQLITE_OK && !y->time.name && !y->gpu)
		rc = why_notice_steps(&y->noticed, &y->model);
	if (rc == SQLITE_OK)
		rc = answer(y);
	if (rc == SQLITE_OK && y->time.spans_cnt && !ask->tid && !ask->pid && !y->time.name &&
	    !y->gpu && y->model.has_switches)
		rc = look_for_work(y);
	if (rc == SQLITE_OK)
		rc = look_for_hangs(y, db, f);
	if (rc == SQLITE_OK && !y->gpu && y->time.spans_cnt)
		rc = why_find_runners(&y->runners, y);
	if (rc != SQLITE_OK)
		snprintf(why_text, why_len, "%s", sqlite3_errstr(rc));
	return rc == SQLITE_OK ? 0 : -1;
}

bool why_has_answer(const struct why *y)
{
	return y->focus != WHY_NONE || y->hangs.list_cnt || y->gpus.list_cnt;
}

void why_free(struct why *y)
{
	free_answer(y);
	why_model_free(&y->model);
	why_focus_free(&y->time);
	why_focus_free(&y->noticed);
	why_gpus_free(&y->gpus);
	why_busy_free(&y->busy);
	why_hangs_free(&y->hangs);
	why_awaits_free(&y->awaits);
	why_runners_free(&y->runners);
}
