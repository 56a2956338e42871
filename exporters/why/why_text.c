/* why_text.c - the answer for people: one screen. */
#include "exporters/why/why_out.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/text/cell.h"
#include "exporters/text/terminal.h"
#include "exporters/text/view_line.h"
#include "exporters/why/why_out.h"

#define LEAST        0.005 /* of the wall time: a reason with less has no line */
#define MOST         0.05  /* of the wall time: a place with more has a line */
#define CULPRITS_MAX 6
#define HOPS_SHOWN   4
#define KERNELS_MAX  3

const char *why_time_text(int64_t ns, char buf[WHY_TIME_MAX])
{
	if (ns >= 10000000000)
		snprintf(buf, WHY_TIME_MAX, "%.1f s", (double)ns / 1e9);
	else if (ns >= 1000000000)
		snprintf(buf, WHY_TIME_MAX, "%.2f s", (double)ns / 1e9);
	else if (ns >= 10000000)
		snprintf(buf, WHY_TIME_MAX, "%.0f ms", (double)ns / 1e6);
	else if (ns >= 1000000)
		snprintf(buf, WHY_TIME_MAX, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(buf, WHY_TIME_MAX, "%.0f us", (double)ns / 1e3);
	return buf;
}

static void put_string(FILE *out, const struct why *y, const struct id_map *map, uint32_t number,
		       const char *before)
{
	char *text = why_string(y, map, number);

	if (text && *text) {
		fputs(before, out);
		text_put_people(out, text);
	}
	free(text);
}

static void why_put_place(FILE *out, const struct why *y, uint32_t place)
{
	const char *text = y->walk.places.list[place].text;

	if (text)
		text_put_people(out, text);
}

/* " <- main thread waited for a lock at a.py:3 in f" for each hop, the nearest first. */
static void put_way(FILE *out, const struct why *y, uint32_t hop)
{
	const struct why_hop *last = NULL;
	char buf[96];

	for (unsigned n = 0; hop && n < HOPS_SHOWN; hop = y->walk.hops[hop].parent) {
		const struct why_hop *h = &y->walk.hops[hop];

		/* A thread that waits again and again for the same. */
		if (last && last->thread == h->thread &&
		    memcmp(&last->cause, &h->cause, sizeof(h->cause)) == 0)
			continue;
		fprintf(out, "\n%21s<- %s %s", "", why_thread_text(y, h->thread, buf, sizeof(buf)),
			why_reason_text(h->cause.reason));
		put_string(out, y, &y->model.objects, h->cause.object, " ");
		put_string(out, y, &y->model.names, h->cause.name, ", ");
		if (h->cause.place != PLACE_NONE) {
			fputs(" at ", out);
			why_put_place(out, y, h->cause.place);
		}
		last = h;
		n++;
	}
	if (hop)
		fprintf(out, "\n%21s<- ...", "");
}

void why_put_call(FILE *out, const struct why *y, const struct why_cause *c)
{
	put_string(out, y, &y->model.names, c->name, ", ");
	put_string(out, y, &y->model.objects, c->object, " of ");
}

/* ; device vda: 3.1 ms of it */
static void put_disk(FILE *out, const struct why *y, const struct why_part *p)
{
	char ns[WHY_TIME_MAX];

	if (!p->disk_ns)
		return;
	fputs(p->disk == WHY_NONE ? "; devices" : "; device", out);
	put_string(out, y, &y->model.objects, p->disk, " ");
	fprintf(out, ": %s of it", why_time_text(p->disk_ns, ns));
}

/* The part of a reason with most time, in a line of its own. */
static void put_part(FILE *out, const struct why *y, const struct why_part *p)
{
	char buf[96], ns[WHY_TIME_MAX];

	fprintf(out, "%25s  ", why_time_text(p->ns, ns));
	if (p->cause.place != PLACE_NONE)
		why_put_place(out, y, p->cause.place);
	else
		fputs("no stack", out);
	why_put_call(out, y, &p->cause);
	put_disk(out, y, p);
	if (p->thread != y->focus)
		fprintf(out, "  [%s]", why_thread_text(y, p->thread, buf, sizeof(buf)));
	putc('\n', out);
}

const char *why_sure_text(double sure)
{
	return sure >= WHY_SURE ? "sure" : sure >= 0.6 ? "likely" : "unclear";
}

/* A line of the program, else the thread or the command. */
static void put_who(FILE *out, const struct why *y, const struct why_culprit *c)
{
	char buf[96];

	if (c->place != PLACE_NONE) {
		why_put_place(out, y, c->place);
		return;
	}
	text_put_people(out, c->process == y->model.threads[y->focus].process
				     ? why_thread_text(y, c->part.thread, buf, sizeof(buf))
				     : why_command(y, c->process, buf, sizeof(buf)));
	if (c->part.cause.place == PLACE_NONE)
		fputs(", no stack", out);
}

/* @ns: the time by which lines are ranked. */
static void put_culprit(FILE *out, const struct why *y, const struct why_culprit *c, unsigned nr,
			int64_t ns, uint32_t reason, const char *report)
{
	char buf[96], time[WHY_TIME_MAX];

	fprintf(out, "%3u  %5.1f %%  %8s  ", nr, 100.0 * (double)ns / (double)y->ns,
		why_time_text(ns, time));
	put_who(out, y, c);
	fprintf(out, ": %s", why_reason_text(reason));
	if (reason == c->part.cause.reason || c->part.cause.name == WHY_NONE)
		why_put_call(out, y, &c->part.cause);
	if (c->part.thread != y->focus && c->place != PLACE_NONE)
		fprintf(out, "  [%s]", why_thread_text(y, c->part.thread, buf, sizeof(buf)));
	fprintf(out, "  %s", why_sure_text(c->sure));
	put_way(out, y, c->part.hop);
	why_put_view(out, y, c, report);
	putc('\n', out);
}

void why_put_view(FILE *out, const struct why *y, const struct why_culprit *c, const char *report)
{
	char row[24];

	if (c->worst_from == c->worst_to)
		return;
	snprintf(row, sizeof(row), "%lld",
		 (long long)(y->model.threads[c->worst_thread].tid & 0xffffff));
	fprintf(out, "\n%21sat worst: ", "");
	text_put_view(out, report, row, c->worst_from, c->worst_to);
}

static int64_t weight_on_gpu(const struct why_culprit *c)
{
	return c->of_reason[WHY_GPU] + c->of_reason[WHY_GPU_KERNEL];
}

/* Both are of one array: of equal ones the first is the larger. */
static bool is_less_on_gpu(const struct why_culprit *a, const struct why_culprit *b)
{
	if (weight_on_gpu(a) != weight_on_gpu(b))
		return weight_on_gpu(a) < weight_on_gpu(b);
	return a > b;
}

/* Culprits are in the order of why_weight(). */
static void put_causes(FILE *out, const struct why *y, bool is_brief, const char *report)
{
	double least = 2 * LEAST * (double)y->ns;
	unsigned nr = 0;

	for (size_t i = 0; i < y->culprits_cnt && nr < (is_brief ? 1 : CULPRITS_MAX); i++) {
		const struct why_culprit *c = &y->culprits[i];

		/* An idle one stands behind those that are not. */
		if ((double)why_weight(c) < least || (nr && why_is_idle(y, c)))
			continue;
		fputs(nr ? "" : "Causes, without waits for a CPU\n", out);
		put_culprit(out, y, c, ++nr, why_weight(c), why_cost_of(c), report);
	}
}

/* What a GPU computes is its purpose, and no cause: lines of their own. */
static void put_kernels(FILE *out, const struct why *y, bool is_brief, const char *report)
{
	double least = 2 * LEAST * (double)y->ns;
	const struct why_culprit *last = NULL;

	for (unsigned nr = 0; nr < (is_brief ? 1 : KERNELS_MAX); nr++) {
		const struct why_culprit *best = NULL;

		for (size_t i = 0; i < y->culprits_cnt; i++)
			if ((!last || is_less_on_gpu(&y->culprits[i], last)) &&
			    (!best || is_less_on_gpu(best, &y->culprits[i])))
				best = &y->culprits[i];
		if (!best || (double)weight_on_gpu(best) < least)
			break;
		fputs(nr ? "" : "Lines whose kernels a GPU works at\n", out);
		put_culprit(out, y, best, nr + 1, weight_on_gpu(best),
			    best->of_reason[WHY_GPU] > best->of_reason[WHY_GPU_KERNEL]
				    ? WHY_GPU
				    : WHY_GPU_KERNEL,
			    report);
		last = best;
	}
}

/* The part of the wall time that the shares are relative to, if not all. */
static void put_spans(FILE *out, const struct why *y)
{
	const struct why_focus *f = &y->time;
	const struct why_steps *s = &y->steps;
	char ns[WHY_TIME_MAX], least[WHY_TIME_MAX], most[WHY_TIME_MAX];

	if (y->noticed.cnt) {
		f = &y->noticed;
		fprintf(out, "%zu steps ", f->cnt);
		text_put_people(out, f->name);
		fprintf(out, ": median %s", why_time_text(f->median, ns));
		fprintf(out, " (%s .. %s); --step looks at them alone\n",
			why_time_text(f->min, least), why_time_text(f->max, most));
		return;
	}
	if (!f->name && y->gpu)
		fprintf(out,
			"%s from the first launch to the last completion; shares are of this "
			"time\n",
			why_time_text(y->ns, ns));
	if (!f->name)
		return;
	if (!f->is_steps)
		fprintf(out, "%zu ranges ", f->cnt);
	else if (f->spans_cnt == 1)
		fprintf(out, "Step %lld of %zu ", (long long)f->spans[0].no, f->cnt);
	else
		fprintf(out, "%zu steps ", f->cnt);
	text_put_people(out, f->name);
	fprintf(out, ": %s in all", why_time_text(y->ns, ns));
	if (f->is_steps)
		fprintf(out, ", median %s", why_time_text(f->median, ns));
	if (s->cnt)
		fprintf(out, " (%s .. %s)", why_time_text(s->min, least),
			why_time_text(s->max, most));
	fputs("; shares are of this time\n", out);
}

/* The parts that take longer in slow steps. */
static void put_steps(FILE *out, const struct why *y)
{
	const struct why_steps *s = &y->steps;
	char ns[WHY_TIME_MAX], more[WHY_TIME_MAX];
	unsigned nr = 0;

	if (s->cnt < 2 || 20 * (s->slow_ns - s->median) < s->median)
		return;
	fprintf(out, "The slowest %zu steps, %s in the mean, %s more than the median (",
		s->slow_cnt, why_time_text(s->slow_ns, ns),
		why_time_text(s->slow_ns - s->median, more));
	for (size_t i = 0; i < s->slow_cnt && i < STEPS_SHOWN; i++)
		fprintf(out, "%s%lld", i ? ", " : "", (long long)s->slow[i].no);
	fputs(s->slow_cnt > STEPS_SHOWN ? ", ...)\n" : ")\n", out);
	for (size_t i = 0; i < s->parts_cnt && nr < STEPS_SHOWN; i++, nr++) {
		const struct why_excess *e = &s->parts[i];
		const struct why_part *p = &y->parts[e->part];

		if (20 * (e->slow - e->median) < s->slow_ns - s->median)
			break;
		fprintf(out, "%15s%8s  %s", "+", why_time_text(e->slow - e->median, ns),
			why_reason_text(p->cause.reason));
		if (p->cause.place != PLACE_NONE)
			fputs(" at ", out);
		why_put_place(out, y, p->cause.place);
		why_put_call(out, y, &p->cause);
		putc('\n', out);
	}
}

/* The processes that work, one line for each command: what each did, and how to ask for it alone. */
void why_put_busy(FILE *out, const struct why *y)
{
	const struct why_busy *b = &y->busy;
	double all = (double)wall_ns(&y->model.wall);
	char name[72], ns[WHY_TIME_MAX], wait[WHY_TIME_MAX];

	if (!b->is_moved)
		return;
	text_put_people(
		out, why_command(y, y->model.threads[y->model.root].process, name, sizeof(name)));
	fprintf(out, " waits for other processes, %s of", why_time_text(b->idle, ns));
	fprintf(out, " %s; shares are of", why_time_text(wall_ns(&y->model.wall), ns));
	fprintf(out,
		" the %s of the process that its end waits for\nProcesses that work, of the wall "
		"time\n",
		why_time_text(y->ns, ns));
	for (size_t i = 0; i < b->list_cnt && i < WHY_BUSY_SHOWN; i++) {
		const struct why_busy_process *p = &b->list[i];

		fprintf(out, "     %5.1f %%  %8s  ", 100.0 * (double)p->run / all,
			why_time_text(p->run, ns));
		text_put_people(out, why_command(y, p->process, name, sizeof(name)));
		fputs(": on a CPU", out);
		if (p->wait != WHY_NO_CPU)
			fprintf(out, "; %s %s", why_reason_text(p->wait),
				why_time_text(p->wait_ns, wait));
		fprintf(out, " (--process %lld)\n",
			(long long)(y->model.processes[p->process].pid & 0xffffff));
	}
	if (b->list_cnt > WHY_BUSY_SHOWN)
		fprintf(out, "     %zu more\n", b->list_cnt - WHY_BUSY_SHOWN);
}

/* The process that worked alone at the end. */
void why_put_tail(FILE *out, const struct why *y)
{
	const struct why_busy *b = &y->busy;
	char name[72], ns[WHY_TIME_MAX];

	if (b->tail == WHY_NONE || !b->tail_ns)
		return;
	fprintf(out, "Alone at the end: ");
	text_put_people(out, why_command(y, b->tail, name, sizeof(name)));
	fprintf(out, ", for %s (%.1f %%), when all other processes were done (--process %lld)\n",
		why_time_text(b->tail_ns, ns),
		100.0 * (double)b->tail_ns / (double)wall_ns(&y->model.wall),
		(long long)(y->model.processes[b->tail].pid & 0xffffff));
}

static void put_head(FILE *out, const struct why *y, const char *report)
{
	const struct wall *w = &y->model.wall;
	char buf[96], ns[WHY_TIME_MAX];

	text_put_people(out, report);
	fprintf(out, ": %s wall time, %s", why_time_text(wall_ns(w), ns),
		wall_basis_text(w->basis));
	if (w->recorded)
		fprintf(out, " (%s recorded)", why_time_text(w->recorded, ns));
	if (y->gpu)
		fprintf(out, "; GPU %u", y->gpu->device);
	if (y->focus != WHY_NONE) {
		const struct why_process *p =
			&y->model.processes[y->model.threads[y->focus].process];

		fprintf(out, "; %s of ", why_thread_text(y, y->focus, buf, sizeof(buf)));
		text_put_people(out, p->exe ? p->exe : "its process");
	}
	putc('\n', out);
	why_put_busy(out, y);
	put_spans(out, y);
}

bool why_shows_reason(const struct why *y, unsigned r)
{
	int64_t ns = y->of_reason[y->order[r]];

	return ns > 0 && (r <= 2 || (double)ns >= LEAST * (double)y->ns);
}

const struct why_part *why_shown_part(const struct why *y, uint32_t reason)
{
	size_t i = 0;

	while (i < y->parts_cnt && y->parts[i].cause.reason != reason)
		i++;
	return i < y->parts_cnt && (double)y->parts[i].ns >= MOST * (double)y->ns ? &y->parts[i]
										  : NULL;
}

static void put_reasons(FILE *out, const struct why *y, int64_t wall)
{
	char ns[WHY_TIME_MAX];

	fputs("Where the time went\n", out);
	for (unsigned r = 0; r < WHY_REASON_CNT && why_shows_reason(y, r); r++) {
		uint32_t reason = y->order[r];
		const struct why_part *part = why_shown_part(y, reason);

		fprintf(out, "     %5.1f %%  %8s  %s\n",
			100.0 * (double)y->of_reason[reason] / (double)wall,
			why_time_text(y->of_reason[reason], ns), why_reason_text(reason));
		if (part)
			put_part(out, y, part);
	}
}

static void put_text(FILE *out, const struct why *y, const char *report, bool is_brief)
{
	int64_t wall = y->ns;

	put_head(out, y, report);
	why_put_hangs(out, y);
	if (y->focus == WHY_NONE || wall <= 0) {
		if (!y->model.is_look)
			fputs("Nothing was recorded of any thread in this time\n", out);
		return;
	}
	put_reasons(out, y, wall);
	put_causes(out, y, is_brief, report);
	put_kernels(out, y, is_brief, report);
	why_put_gains(out, y, is_brief);
	why_put_runners(out, y);
	why_put_tail(out, y);
	put_steps(out, y);
	why_put_gpus(out, y);
	why_put_notes(out, y);
}

void why_put_text(FILE *out, const struct why *y, const char *report, bool is_brief)
{
	size_t columns = terminal_columns(out), len;
	char *text = NULL;
	FILE *memory = columns ? open_memstream(&text, &len) : NULL;

	if (!memory) {
		put_text(out, y, report, is_brief);
		return;
	}
	put_text(memory, y, report, is_brief);
	if (fclose(memory) == 0)
		text_put_fitted(out, text, columns);
	free(text);
}
