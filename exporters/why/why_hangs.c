/* why_hangs.c - waits that never ended, as text and as JSON. */
#include "collector/base/json.h"
#include "exporters/text/bounded.h"
#include "exporters/text/cell.h"
#include "exporters/why/why_out.h"

#define SHOWN 12

static void put_cause(FILE *out, const struct why *y, const struct why_cause *c)
{
	const char *place = y->walk.places.list[c->place].text;

	fputs(why_reason_text(c->reason), out);
	why_put_call(out, y, c);
	if (place) {
		fputs(" at ", out);
		text_put_people(out, place);
	}
}

static const char *name_of(const struct why *y, uint32_t thread, char *buf, size_t len)
{
	const struct why_thread *t = &y->model.threads[thread];

	if (y->focus != WHY_NONE)
		why_thread_text(y, thread, buf, len);
	else
		snprintf(buf, len, "thread %lld", (long long)(t->tid & 0xffffff));
	return buf;
}

static bool has_ended(const struct why *y, uint32_t thread)
{
	const struct why_thread *t = &y->model.threads[thread];

	return t->switches_cnt && t->switches[t->switches_cnt - 1].is_end;
}

/* "; thread 4 has it" */
static void put_owner(FILE *out, const struct why *y, const struct why_hang *g)
{
	char name[96];

	if (g->owner == WHY_NONE)
		return;
	name_of(y, g->owner, name, sizeof(name));
	if (g->cause.reason != WHY_LOCK)
		fprintf(out, "; for %s", name);
	else if (has_ended(y, g->owner))
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
		fprintf(out, "%s%s ", any ? "; " : "", name_of(y, g->thread, name, sizeof(name)));
		put_cause(out, y, &g->cause);
		fprintf(out, g->cause.reason == WHY_LOCK ? ", which %s has" : ", for %s",
			name_of(y, g->owner, owner, sizeof(owner)));
		any = true;
	}
	putc('\n', out);
}

void why_put_hangs(FILE *out, const struct why *y)
{
	const struct why_hangs *h = &y->hangs;
	char ns[WHY_TIME_MAX], name[96];
	bool lacks_stack = false;

	if (!h->list_cnt)
		return;
	for (uint32_t c = 1; c <= h->cycles; c++)
		put_cycle(out, y, c);
	fputs("Still waiting at the end\n", out);
	for (size_t i = 0; i < h->list_cnt && i < SHOWN; i++) {
		const struct why_hang *g = &h->list[i];

		fprintf(out, "%25s  %s: ", why_time_text(g->ns, ns),
			name_of(y, g->thread, name, sizeof(name)));
		put_cause(out, y, &g->cause);
		put_owner(out, y, g);
		fputs(g->is_killed ? "; killed there\n" : "\n", out);
		lacks_stack |= g->cause.place == PLACE_NONE;
	}
	if (h->list_cnt > SHOWN)
		fprintf(out, "%25zu more threads\n", h->list_cnt - SHOWN);
	if (lacks_stack)
		fputs("Not recorded: stacks of waits that never ended (--off-cpu-threshold=80us, "
		      "before they begin)\n",
		      out);
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
		json_text(w, "thread", name_of(y, g->thread, name, sizeof(name)));
		json_int(w, "ns", g->ns);
		why_put_json_cause(w, y, &g->cause);
		if (g->owner == WHY_NONE)
			json_null(w, "owner");
		else
			json_int(w, "owner", y->model.threads[g->owner].tid);
		if (g->cycle)
			json_int(w, "deadlock", g->cycle);
		else
			json_null(w, "deadlock");
		json_bool(w, "killed", g->is_killed);
		json_close(w, '}');
	}
	json_close(w, ']');
}
