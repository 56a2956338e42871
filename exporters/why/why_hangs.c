/* why_hangs.c - waits that never ended, as text and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/text/bounded.h"
#include "exporters/text/cell.h"
#include "exporters/why/why_out.h"

#define SHOWN 12

static void put_cause(FILE *out, const struct why *y, const struct why_cause *c)
{
	static const char stopped[] = "stopped by a signal"; /* as the collector names it */
	const char *place = y->walk.places.list[c->place].text;
	char *call = why_string(y, &y->model.names, c->name);

	if (call && strcmp(call, stopped) == 0) {
		fputs(stopped, out);
	} else {
		fputs(why_reason_text(c->reason), out);
		why_put_call(out, y, c);
	}
	free(call);
	if (place) {
		fputs(" at ", out);
		text_put_people(out, place);
	}
}

const char *why_hang_name(const struct why *y, uint32_t thread, char *buf, size_t len)
{
	const struct why_thread *t = &y->model.threads[thread];
	const struct why_process *p = &y->model.processes[t->process];
	char command[72];

	if (y->focus != WHY_NONE)
		why_thread_text(y, thread, buf, len);
	else if (y->model.processes_cnt > 1 && p->main_thread == thread)
		snprintf(buf, len, "process %lld (%.60s)", (long long)(t->tid & 0xffffff),
			 why_command(y, t->process, command, sizeof(command)));
	else
		snprintf(buf, len, "thread %lld", (long long)(t->tid & 0xffffff));
	return buf;
}

/* Of a look at all threads of its process it is not one. */
static bool has_ended(const struct why *y, uint32_t thread, uint32_t of)
{
	const struct why_thread *t = &y->model.threads[thread];

	if (t->switches_cnt)
		return t->switches[t->switches_cnt - 1].is_end;
	return y->model.has_looks && !t->is_looked_at && y->model.threads[of].is_looked_at &&
	       t->process == y->model.threads[of].process;
}

static bool is_held(const struct why_cause *c)
{
	return c->reason == WHY_LOCK || c->reason == WHY_GIL;
}

/* "; thread 4 has it" */
static void put_owner(FILE *out, const struct why *y, const struct why_hang *g)
{
	char name[96];

	if (g->owner == WHY_NONE)
		return;
	why_hang_name(y, g->owner, name, sizeof(name));
	if (!is_held(&g->cause))
		fprintf(out, "; for %s", name);
	else if (has_ended(y, g->owner, g->thread))
		fprintf(out, "; %s had it when it ended", name);
	else
		fprintf(out, "; %s has it", name);
}

/* "deadlock: thread 3 waits for a lock at a.c:5 in one, which thread 4 has; thread 4 waits ..." */
static void put_cycle(FILE *out, const struct why *y, uint32_t cycle)
{
	const struct why_hangs *h = &y->hangs;
	char name[96], owner[96];
	bool any = false;

	fputs("Deadlock: ", out);
	for (size_t i = 0; i < h->list_cnt; i++) {
		const struct why_hang *g = &h->list[i];

		if (g->cycle != cycle)
			continue;
		fprintf(out, "%s%s ", any ? "; " : "",
			why_hang_name(y, g->thread, name, sizeof(name)));
		put_cause(out, y, &g->cause);
		fprintf(out, is_held(&g->cause) ? ", which %s has" : ", for %s",
			why_hang_name(y, g->owner, owner, sizeof(owner)));
		any = true;
	}
	putc('\n', out);
}

static void put_name(FILE *out, const char *name)
{
	fputs("task \"", out);
	text_put_people(out, name ? name : "?");
	putc('"', out);
}

/* "Deadlock: task "a" at a.py:5 in one awaits task "b"; task "b" ..." */
static void put_awaits(FILE *out, const struct why_awaits *a)
{
	for (size_t i = 0; i < a->list_cnt; i++) {
		const struct why_await *w = &a->list[i];
		bool is_first = !i || w[-1].cycle != w->cycle;

		fputs(!is_first ? "; " : i ? "\nDeadlock: " : "Deadlock: ", out);
		put_name(out, w->name);
		if (w->file) {
			fputs(" at ", out);
			text_put_people(out, w->file);
			fprintf(out, ":%lld in ", (long long)w->line);
			text_put_people(out, w->function ? w->function : "?");
		}
		fputs(" awaits ", out);
		put_name(out, w->other);
	}
	if (a->list_cnt)
		putc('\n', out);
}

static void put_json_awaits(struct writer *w, const struct why_awaits *a)
{
	size_t cnt;

	if (!a->list_cnt)
		return;
	json_line(w, 1);
	cnt = bounded_list(w, "awaits", a->list_cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct why_await *t = &a->list[i];

		json_line(w, 2);
		json_open(w, NULL, '{');
		json_int(w, "deadlock", t->cycle);
		json_int(w, "pid", t->pid >> 24 & 0xffffff);
		json_text(w, "task", t->name);
		json_text(w, "awaits", t->other);
		json_text(w, "function", t->function);
		json_text(w, "file", t->file);
		json_int(w, "line", t->line);
		json_close(w, '}');
	}
	json_close(w, ']');
}

void why_put_deadlocks(FILE *out, const struct why *y)
{
	for (uint32_t c = 1; c <= y->hangs.cycles; c++)
		put_cycle(out, y, c);
	put_awaits(out, &y->awaits);
}

void why_put_hang(FILE *out, const struct why *y, const struct why_hang *g)
{
	put_cause(out, y, &g->cause);
	put_owner(out, y, g);
}

void why_put_hangs(FILE *out, const struct why *y)
{
	const struct why_hangs *h = &y->hangs;
	char ns[WHY_TIME_MAX], name[96];
	bool lacks_stack = false;

	if (!h->list_cnt)
		return;
	why_put_deadlocks(out, y);
	fputs(y->model.is_look ? "Waiting at the moment of the look\n"
			       : "Still waiting at the end\n",
	      out);
	for (size_t i = 0; i < h->list_cnt && i < SHOWN; i++) {
		const struct why_hang *g = &h->list[i];

		fprintf(out, "%25s  %s: ", y->model.is_look ? "" : why_time_text(g->ns, ns),
			why_hang_name(y, g->thread, name, sizeof(name)));
		why_put_hang(out, y, g);
		fputs(g->is_killed ? "; killed there\n" : "\n", out);
		lacks_stack |= g->cause.place == PLACE_NONE;
	}
	if (h->list_cnt > SHOWN)
		fprintf(out, "%25zu more threads\n", h->list_cnt - SHOWN);
	if (lacks_stack && !y->model.is_look)
		fputs("Not recorded: stacks of waits that never ended (--off-cpu-threshold=80us, "
		      "before they begin)\n",
		      out);
}

void why_put_json_owner(struct writer *w, const struct why *y, const struct why_hang *g)
{
	if (g->owner == WHY_NONE)
		json_null(w, "owner");
	else
		json_int(w, "owner", y->model.threads[g->owner].tid);
	if (g->cycle)
		json_int(w, "deadlock", g->cycle);
	else
		json_null(w, "deadlock");
}

void why_put_json_hangs(struct writer *w, const struct why *y)
{
	const struct why_hangs *h = &y->hangs;
	char name[96];
	size_t cnt;

	json_line(w, 1);
	cnt = bounded_list(w, "open_waits", h->list_cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct why_hang *g = &h->list[i];

		json_line(w, 2);
		json_open(w, NULL, '{');
		json_int(w, "tid", y->model.threads[g->thread].tid);
		json_text(w, "thread", why_hang_name(y, g->thread, name, sizeof(name)));
		if (y->model.is_look)
			json_null(w, "ns");
		else
			json_int(w, "ns", g->ns);
		why_put_json_cause(w, y, &g->cause);
		why_put_json_owner(w, y, g);
		json_bool(w, "killed", g->is_killed);
		json_close(w, '}');
	}
	json_close(w, ']');
	put_json_awaits(w, &y->awaits);
}
