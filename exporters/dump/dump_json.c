/* dump_json.c - threads as JSON: exporters/schemas/dump.json. */
#include "collector/base/json.h"
#include "exporters/dump/dump.h"
#include "exporters/text/bounded.h"
#include "exporters/why/model/frame.h"
#include "exporters/why/why_out.h"

static void put_frame(struct writer *w, const struct dump_frame *f)
{
	static const char *const kinds[] = {"native", "python", "kernel", "jit", "remark"};

	json_line(w, 4);
	json_open(w, NULL, '{');
	json_text(w, "function", f->function);
	json_text(w, "module", f->module);
	json_text(w, "file", f->file);
	if (f->line)
		json_int(w, "line", f->line);
	else
		json_null(w, "line");
	json_text(w, "kind",
		  f->kind >= 0 && f->kind <= FRAME_IS_REMARK ? kinds[f->kind] : "native");
	json_bool(w, "inlined", f->inlined);
	json_close(w, '}');
}

static void put_stack(struct writer *w, const struct dump *d, uint32_t stack)
{
	json_line(w, 3);
	if (stack == WHY_NONE) {
		json_null(w, "stack");
		return;
	}
	json_open(w, "stack", '[');
	for (size_t i = 0; i < d->stacks[stack].cnt; i++)
		put_frame(w, &d->stacks[stack].list[i]);
	json_close(w, ']');
}

static void put_task(struct writer *w, const struct dump *d, const struct dump_task *t)
{
	json_line(w, 2);
	json_open(w, NULL, '{');
	json_int(w, "task", t->task);
	json_int(w, "pid", t->pid >> 24 & 0xffffff);
	if (t->tid)
		json_int(w, "tid", t->tid & 0xffffff);
	else
		json_null(w, "tid");
	json_text(w, "name", t->name);
	json_text(w, "state", t->state);
	json_text(w, "waits_for", t->waits_for);
	if (t->awaits)
		json_int(w, "awaits", t->awaits);
	else
		json_null(w, "awaits");
	json_open(w, "awaiters", '[');
	for (size_t i = 0; i < d->edges_cnt; i++)
		if (&d->tasks[d->edges[i].task] == t)
			json_int(w, NULL, d->tasks[d->edges[i].awaiter].task);
	json_close(w, ']');
	if (t->deadlock)
		json_int(w, "deadlock", t->deadlock);
	else
		json_null(w, "deadlock");
	put_stack(w, d, t->stack);
	json_close(w, '}');
}

static void put_thread(struct writer *w, const struct dump *d, const struct dump_thread *t)
{
	const struct why *y = &d->why;
	const struct why_hang none = {.owner = WHY_NONE}, *g = &none;

	if (t->hang != WHY_NONE)
		g = &y->hangs.list[t->hang];
	json_line(w, 2);
	json_open(w, NULL, '{');
	json_int(w, "tid", t->tid & 0xffffff);
	json_int(w, "pid", t->tid >> 24 & 0xffffff);
	json_text(w, "name", t->name);
	json_text(w, "state", t->state);
	json_text(w, "call", t->call);
	json_text(w, "object", t->path);
	json_text(w, "peer", t->peer);
	json_bool(w, "has_gil", t->has_gil);
	json_text(w, "reason", t->hang == WHY_NONE ? NULL : why_reason_name(g->cause.reason));
	why_put_json_place(w, y, t->hang == WHY_NONE ? PLACE_NONE : g->cause.place);
	if (g->owner == WHY_NONE)
		json_null(w, "owner");
	else
		json_int(w, "owner", y->model.threads[g->owner].tid & 0xffffff);
	if (g->cycle)
		json_int(w, "deadlock", g->cycle);
	else
		json_null(w, "deadlock");
	put_stack(w, d, t->stack);
	json_close(w, '}');
}

struct answer {
	const struct dump *dump;
	const char *report;
};

static void put_answer(struct writer *w, const void *ctx)
{
	const struct answer *a = ctx;
	const struct dump *d = a->dump;
	size_t cnt;

	json_text(w, "report", a->report);
	json_line(w, 1);
	cnt = bounded_list(w, "processes", d->processes_cnt);
	for (size_t i = 0; i < cnt; i++) {
		json_line(w, 2);
		json_open(w, NULL, '{');
		json_int(w, "pid", d->processes[i].pid >> 24 & 0xffffff);
		json_text(w, "name", d->processes[i].name);
		json_text(w, "command", d->processes[i].command);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_line(w, 1);
	json_int(w, "deadlocks", d->why.hangs.cycles);
	json_line(w, 1);
	cnt = bounded_list(w, "threads", d->threads_cnt);
	for (size_t i = 0; i < cnt; i++)
		put_thread(w, d, &d->threads[i]);
	json_close(w, ']');
	json_line(w, 1);
	json_int(w, "task_deadlocks", d->why.awaits.cycles);
	json_line(w, 1);
	cnt = bounded_list(w, "tasks", d->tasks_cnt);
	for (size_t i = 0; i < cnt; i++)
		put_task(w, d, &d->tasks[i]);
	json_close(w, ']');
}

int dump_put_json(FILE *out, const struct dump *d, const char *report, const struct bounds *b)
{
	int rc = bounded_print(out, b, put_answer, &(struct answer){d, report});

	putc('\n', out);
	return rc;
}
