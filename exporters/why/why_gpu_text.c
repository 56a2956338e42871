/* why_gpu_text.c - the lines on GPUs. */
#include <string.h>

#include "exporters/text/cell.h"
#include "exporters/why/why_out.h"

#define GPUS_SHOWN 4
#define WAY_MAX    8
#define WAY_LEAST  0.1 /* of the time: a cause with less has no way in the output */

/* "13 %", "< 1 %" */
static void put_share(FILE *out, const char *what, int64_t ns, int64_t of)
{
	double share = of > 0 ? 100.0 * (double)ns / (double)of : 0;

	if (ns > 0 && share < 1)
		fprintf(out, "%s < 1 %%", what);
	else
		fprintf(out, "%s %.0f %%", what, share);
}

static bool is_host(uint32_t reason)
{
	return reason != WHY_GPU_LAUNCH && reason != WHY_GPU_LATENCY && reason != WHY_GPU_KERNEL &&
	       reason != WHY_GPU_ONLY && reason != WHY_UNKNOWN;
}

static void put_cause(FILE *out, const struct why *y, const struct walk *w,
		      const struct why_cause *c)
{
	const char *place = w->places.list[c->place].text;

	fputs(why_reason_text(c->reason), out);
	why_put_call(out, y, c);
	if (place) {
		fputs(" at ", out);
		text_put_people(out, place);
	}
}

/* "GPU 0 idle 537 ms <- main thread sleeping at a.py:3": from the GPU to the cause. */
static void put_way(FILE *out, const struct why *y, const struct why_gpu *g)
{
	const struct walk *w = &g->walk;
	const struct why_leaf *best = NULL;
	const struct why_hop *way[WAY_MAX], *last = NULL;
	char buf[96], ns[WHY_TIME_MAX];
	int64_t sum = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < w->leaves_cnt; i++)
		if (is_host(w->leaves[i].cause.reason) && (!best || w->leaves[i].ns > best->ns))
			best = &w->leaves[i];
	for (size_t i = 0; best && i < w->leaves_cnt; i++)
		if (memcmp(&w->leaves[i].cause, &best->cause, sizeof(best->cause)) == 0)
			sum += w->leaves[i].ns;
	if (!best || (double)sum < WAY_LEAST * (double)(g->to - g->from))
		return;
	for (uint32_t hop = best->hop; hop && cnt < WAY_MAX; hop = w->hops[hop].parent)
		way[cnt++] = &w->hops[hop];
	fprintf(out, "  idle %s", why_time_text(sum, ns));
	while (cnt) {
		const struct why_hop *h = way[--cnt];

		if (last && last->thread == h->thread &&
		    memcmp(&last->cause, &h->cause, sizeof(h->cause)) == 0)
			continue;
		fprintf(out, " <- %s ", why_thread_text(y, h->thread, buf, sizeof(buf)));
		put_cause(out, y, w, &h->cause);
		last = h;
	}
	fprintf(out, " <- %s ", why_thread_text(y, best->thread, buf, sizeof(buf)));
	put_cause(out, y, w, &best->cause);
	putc('\n', out);
}

void why_put_gpus(FILE *out, const struct why *y)
{
	const struct why_gpus *all = &y->gpus;

	for (size_t i = 0; i < all->list_cnt && i < GPUS_SHOWN; i++) {
		const struct why_gpu *g = &all->list[i];
		int64_t of = g->to - g->from;
		char ns[WHY_TIME_MAX];

		if (y->gpu)
			continue;
		fprintf(out, "GPU %u ", g->device);
		put_share(out, "busy", g->kernel + g->copy, of);
		if (g->copy)
			put_share(out, " (copies alone", g->copy, of), putc(')', out);
		put_share(out, "; idle: host", g->host, of);
		put_share(out, ", launching", g->launch, of);
		put_share(out, ", launch latency", g->latency, of);
		if (g->unknown)
			put_share(out, ", not recorded", g->unknown, of);
		fprintf(out, "; of %s from first launch to last completion\n",
			why_time_text(of, ns));
		put_way(out, y, g);
	}
	if (!y->gpu && all->list_cnt > GPUS_SHOWN)
		fprintf(out, "%zu more GPUs (--gpu, -f json)\n", all->list_cnt - GPUS_SHOWN);
}
