/* autopsy_json.c - an autopsy as JSON: exporters/schemas/ranks-autopsy.json. */
#include "exporters/ranks/autopsy/autopsy.h"
#include "exporters/ranks/autopsy/words.h"
#include "exporters/text/bounded.h"

struct answer {
	const struct autopsy *a;
	const char *run;
};

static void put_number(struct writer *w, const char *key, int64_t n)
{
	if (n == AUTOPSY_NONE)
		json_null(w, key);
	else
		json_int(w, key, n);
}

static void put_frame(struct writer *w, const char *key, const struct autopsy_frame *f)
{
	json_open(w, key, '{');
	json_text(w, "function", f->function);
	json_text(w, "file", f->file);
	if (f->line)
		json_int(w, "line", f->line);
	else
		json_null(w, "line");
	json_text(w, "module", f->module);
	json_close(w, '}');
}

static void put_thread(struct writer *w, const char *key, const struct autopsy_thread *t)
{
	json_open(w, key, '{');
	json_int(w, "tid", t->tid);
	json_int(w, "time_ns", t->time);
	json_text(w, "call", t->call);
	json_text(w, "object", t->path);
	json_text(w, "peer", t->peer);
	json_text(w, "state", t->state);
	if (t->owner)
		json_int(w, "owner", t->owner);
	else
		json_null(w, "owner");
	json_open(w, "stack", '[');
	for (size_t i = 0; i < t->stack.cnt; i++)
		put_frame(w, NULL, &t->stack.list[i]);
	json_close(w, ']');
	json_close(w, '}');
}

static void put_numbers(struct writer *w, const char *key, const struct autopsy_number *list,
			size_t cnt)
{
	json_open(w, key, '[');
	for (size_t i = 0; i < cnt; i++)
		json_int(w, NULL, list[i].rank);
	json_close(w, ']');
}

static void put_joined(struct writer *w, const struct autopsy_joined *x)
{
	json_open(w, NULL, '{');
	json_format(w, "comm", "\"%016llx\"", (unsigned long long)x->comm);
	json_int(w, "seq", x->seq);
	json_text(w, "op", x->op);
	json_int(w, "ranks", x->size);
	put_number(w, "call_ns", x->call);
	put_number(w, "end_ns", x->end);
	json_close(w, '}');
}

static void put_texts(struct writer *w, const char *key, const struct autopsy_call *list,
		      size_t cnt)
{
	json_open(w, key, '[');
	for (size_t i = 0; i < cnt; i++)
		json_text(w, NULL, list[i].name);
	json_close(w, ']');
}

static void put_rank(struct writer *w, const struct autopsy_rank *r)
{
	static const char *const roles[] = {"other", "cause", "waits"};
	char text[AUTOPSY_EXIT_MAX];

	json_line(w, 2);
	json_open(w, NULL, '{');
	json_int(w, "rank", r->id.rank);
	json_int(w, "restart", r->id.restart);
	json_text(w, "role", roles[r->verdict.role]);
	json_text(w, "host", r->id.host);
	json_int(w, "pid", r->id.pid);
	json_text(w, "report", r->id.report);
	json_text(w, "exit", autopsy_exit_text(r, text, sizeof(text)));
	put_number(w, "status", r->life.status);
	put_number(w, "end_ns", r->life.end);
	put_number(w, "progress_ns", r->life.progress);
	if (r->verdict.frame == SIZE_MAX)
		json_null(w, "place");
	else
		put_frame(w, "place", &r->verdict.thread->stack.list[r->verdict.frame]);
	json_bool(w, "deadlock", r->verdict.is_cycle);
	json_int(w, "waiters", (int64_t)r->verdict.waiters);
	if (r->verdict.thread)
		put_thread(w, "thread", r->verdict.thread);
	else
		json_null(w, "thread");
	json_open(w, "waits", '[');
	for (size_t i = 0; i < r->waits_cnt && r->verdict.role == AUTOPSY_CAUSE; i++)
		put_thread(w, NULL, &r->waits[i]);
	json_close(w, ']');
	json_open(w, "joined", '[');
	for (size_t i = 0; i < r->joined_cnt; i++)
		put_joined(w, &r->joined[i]);
	json_close(w, ']');
	put_texts(w, "notes", r->notes, r->notes_cnt);
	json_open(w, "calls", '[');
	for (size_t i = 0; i < r->calls_cnt; i++) {
		json_open(w, NULL, '{');
		json_text(w, "name", r->calls[i].name);
		json_int(w, "count", r->calls[i].n);
		json_int(w, "ns", r->calls[i].ns);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

static void put_answer(struct writer *w, const void *ctx)
{
	static const char *const reasons[] = {"unknown",   "died",     "left",   "not_joined",
					      "elsewhere", "deadlock", "differs"};
	const struct answer *x = ctx;
	const struct autopsy *a = x->a;
	size_t cnt;

	json_text(w, "run", x->run);
	json_int(w, "ranks_recorded", (int64_t)a->ranks_cnt);
	if (a->world)
		json_int(w, "world_size", a->world);
	else
		json_null(w, "world_size");
	json_line(w, 1);
	if (a->ranks_cnt && a->ranks[0].verdict.role == AUTOPSY_CAUSE)
		json_int(w, "cause", a->ranks[0].id.rank);
	else
		json_null(w, "cause");
	json_text(w, "reason", reasons[a->reason]);
	json_line(w, 1);
	cnt = bounded_list(w, "collectives", a->stuck_cnt);
	for (size_t i = 0; i < cnt; i++) {
		json_line(w, 2);
		json_open(w, NULL, '{');
		json_format(w, "comm", "\"%016llx\"", (unsigned long long)a->stuck[i].comm);
		json_int(w, "seq", a->stuck[i].seq);
		json_text(w, "op", a->stuck[i].op);
		json_int(w, "ranks", a->stuck[i].size);
		put_numbers(w, "in", a->stuck[i].in, a->stuck[i].in_cnt);
		put_numbers(w, "missing", a->stuck[i].missing, a->stuck[i].missing_cnt);
		json_int(w, "not_recorded", (int64_t)a->stuck[i].unknown);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_line(w, 1);
	cnt = bounded_list(w, "ranks", a->ranks_cnt);
	for (size_t i = 0; i < cnt; i++)
		put_rank(w, &a->ranks[i]);
	json_close(w, ']');
}

int autopsy_put_json(FILE *out, const struct autopsy *a, const char *run, const struct bounds *b)
{
	int rc = bounded_print(out, b, put_answer, &(struct answer){a, run});

	putc('\n', out);
	return rc;
}
