/* why_runners.c - event loops that stand still, and pools of one worker: as text, and as JSON. */
#include "collector/base/json.h"
#include "exporters/text/bounded.h"
#include "exporters/text/cell.h"
#include "exporters/why/why_out.h"

#define SHOWN 3

static const struct {
	const char *name, *remedy;
} runners[] = {
	{NULL, NULL},
#define RUNNER(id, is_pool, text, module, symbol, remedy) {text, remedy},
#include "exporters/why/model/runners.def"
};

static void put_place(FILE *out, const struct why *y, uint32_t place)
{
	const char *text = y->walk.places.list[place].text;

	if (text)
		text_put_people(out, text);
}

static void put_block(FILE *out, const struct why *y, const struct why_block *b)
{
	char name[96], ns[WHY_TIME_MAX], longest[WHY_TIME_MAX];

	text_put_people(out, why_thread_text(y, b->thread, name, sizeof(name)));
	fprintf(out, ": its event loop (%s) stands still for %s, ", runners[b->runner].name,
		why_time_text(b->ns, ns));
	if (b->cnt > 1)
		fprintf(out, "%lld times, up to %s", (long long)b->cnt,
			why_time_text(b->longest, longest));
	else
		fputs("once", out);
	fprintf(out, ": %s", why_reason_text(b->cause.reason));
	why_put_call(out, y, &b->cause);
	fputs(" at ", out);
	put_place(out, y, b->cause.place);
	fprintf(out, ": %s\n", runners[b->runner].remedy);
}

static void put_pool(FILE *out, const struct why *y, const struct why_pool *p)
{
	char name[96], focus[96], ns[WHY_TIME_MAX];

	fprintf(out, "A pool of one (%s): ", runners[p->runner].name);
	text_put_people(out, why_thread_text(y, p->thread, name, sizeof(name)));
	fputs(" does one job after the other at ", out);
	put_place(out, y, p->place);
	fputs(", ", out);
	text_put_people(out, why_thread_text(y, y->focus, focus, sizeof(focus)));
	fprintf(out, " waits %s for it: %s, if the jobs do not need each other\n",
		why_time_text(p->ns, ns), runners[p->runner].remedy);
}

void why_put_runners(FILE *out, const struct why *y)
{
	const struct why_runners *r = &y->runners;

	for (size_t i = 0; i < r->blocks_cnt && i < SHOWN; i++)
		put_block(out, y, &r->blocks[i]);
	if (r->blocks_cnt > SHOWN)
		fprintf(out, "%zu more places where an event loop stands still (-f json)\n",
			r->blocks_cnt - SHOWN);
	for (size_t i = 0; i < r->pools_cnt && i < SHOWN; i++)
		put_pool(out, y, &r->pools[i]);
}

static void put_json_thread(struct writer *w, const struct why *y, uint32_t thread, uint32_t runner)
{
	char name[96];

	json_int(w, "tid", y->model.threads[thread].tid);
	json_text(w, "thread", why_thread_text(y, thread, name, sizeof(name)));
	json_text(w, "of", runners[runner].name);
	json_text(w, "remedy", runners[runner].remedy);
}

void why_put_json_runners(struct writer *w, const struct why *y)
{
	const struct why_runners *r = &y->runners;
	size_t cnt;

	json_line(w, 1);
	cnt = bounded_list(w, "event_loops", r->blocks_cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct why_block *b = &r->blocks[i];

		json_line(w, 2);
		json_open(w, NULL, '{');
		put_json_thread(w, y, b->thread, b->runner);
		json_int(w, "ns", b->ns);
		json_int(w, "longest_ns", b->longest);
		json_int(w, "times", b->cnt);
		why_put_json_cause(w, y, &b->cause);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_line(w, 1);
	cnt = bounded_list(w, "pools_of_one", r->pools_cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct why_pool *p = &r->pools[i];

		json_line(w, 2);
		json_open(w, NULL, '{');
		put_json_thread(w, y, p->thread, p->runner);
		json_int(w, "ns", p->ns);
		json_int(w, "jobs", p->jobs);
		why_put_json_place(w, y, p->place);
		json_close(w, '}');
	}
	json_close(w, ']');
}
