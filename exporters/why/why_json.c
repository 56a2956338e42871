/* why_json.c - the answer for programs: one object; times are ns, unknown values null. */
#include "exporters/why/why_out.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/text/bounded.h"

static void put_thread(struct writer *w, const struct why *y, uint32_t thread)
{
	char buf[96];

	json_int(w, "tid", y->model.threads[thread].tid);
	json_text(w, "thread", why_thread_text(y, thread, buf, sizeof(buf)));
}

/* null: no request to a block device was under way. */
static void put_disk(struct writer *w, const struct why *y, const struct why_part *p)
{
	char *name;

	if (!p->disk_ns) {
		json_null(w, "device");
		return;
	}
	name = why_string(y, &y->model.objects, p->disk);
	json_open(w, "device", '{');
	json_text(w, "name", name);
	json_int(w, "ns", p->disk_ns);
	json_close(w, '}');
	free(name);
}

static void put_part(struct writer *w, const char *key, const struct why *y,
		     const struct why_part *p)
{
	size_t hops = 0;

	json_open(w, key, '{');
	json_int(w, "ns", p->ns);
	json_int(w, "pieces", p->cnt);
	json_format(w, "confidence", "%.3f", p->sure);
	why_put_json_cause(w, y, &p->cause);
	put_thread(w, y, p->thread);
	put_disk(w, y, p);
	for (uint32_t hop = p->hop; hop; hop = y->walk.hops[hop].parent)
		hops++;
	hops = bounded_list(w, "chain", hops);
	for (uint32_t hop = p->hop; hop && hops; hop = y->walk.hops[hop].parent, hops--) {
		json_open(w, NULL, '{');
		put_thread(w, y, y->walk.hops[hop].thread);
		why_put_json_cause(w, y, &y->walk.hops[hop].cause);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

static void put_culprit(struct writer *w, const struct why *y, const struct why_culprit *c)
{
	json_open(w, NULL, '{');
	json_int(w, "ns", c->ns);
	json_format(w, "confidence", "%.3f", c->sure);
	why_put_json_place(w, y, c->place);
	json_text(w, "reason", why_reason_name(why_main_reason(c)));
	json_open(w, "reasons", '{');
	for (uint32_t r = 0; r < WHY_REASON_CNT; r++)
		if (c->of_reason[r])
			json_int(w, why_reason_name(r), c->of_reason[r]);
	json_close(w, '}');
	put_part(w, "most", y, &c->part);
	json_close(w, '}');
}

/* The time of the focus, if it is not the wall time. */
static void put_spans(struct writer *w, const struct why *y)
{
	const struct why_focus *f = &y->time;
	size_t cnt;

	json_int(w, "ns", y->ns);
	if (!f->name)
		return;
	json_text(w, f->is_steps ? "steps" : "ranges", f->name);
	cnt = bounded_list(w, "spans", f->spans_cnt);
	for (size_t i = 0; i < cnt; i++) {
		json_open(w, NULL, '[');
		json_int(w, NULL, f->spans[i].start);
		json_int(w, NULL, f->spans[i].end);
		json_close(w, ']');
	}
	json_close(w, ']');
}

static void open_steps(struct writer *w, size_t cnt, int64_t median, int64_t min, int64_t max)
{
	json_line(w, 1);
	json_open(w, "steps", '{');
	json_format(w, "count", "%zu", cnt);
	json_int(w, "median_ns", median);
	json_int(w, "min_ns", min);
	json_int(w, "max_ns", max);
}

static void put_steps(struct writer *w, const struct why *y)
{
	const struct why_steps *s = &y->steps;
	const struct why_focus *f = &y->noticed;
	size_t cnt;

	if (f->cnt) {
		open_steps(w, f->cnt, f->median, f->min, f->max);
		json_text(w, "name", f->name);
		json_close(w, '}');
	}
	if (!s->cnt)
		return;
	open_steps(w, s->cnt, s->median, s->min, s->max);
	cnt = bounded_list(w, "slow", s->slow_cnt);
	for (size_t i = 0; i < cnt; i++)
		json_int(w, NULL, s->slow[i].no);
	json_close(w, ']');
	json_int(w, "slow_ns", s->slow_ns);
	json_int(w, "excess_ns", s->slow_ns - s->median);
	cnt = bounded_list(w, "excess", s->parts_cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct why_excess *e = &s->parts[i];

		json_line(w, 2);
		json_open(w, NULL, '{');
		json_int(w, "ns", e->slow - e->median);
		json_int(w, "slow_ns", e->slow);
		json_int(w, "median_ns", e->median);
		why_put_json_cause(w, y, &y->parts[e->part].cause);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

/* Processes that work while the root waits for them. */
static void put_busy(struct writer *w, const struct why *y)
{
	const struct why_busy *b = &y->busy;
	char name[72];
	size_t cnt;

	json_line(w, 1);
	cnt = bounded_list(w, "processes", b->list_cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct why_busy_process *p = &b->list[i];

		json_line(w, 2);
		json_open(w, NULL, '{');
		json_int(w, "pid", y->model.processes[p->process].pid & 0xffffff);
		json_text(w, "command", why_command(y, p->process, name, sizeof(name)));
		json_int(w, "cpu_ns", p->run);
		json_int(w, "ready_ns", p->ready);
		json_bool(w, "focus",
			  b->is_moved && y->model.threads[y->focus].process == p->process);
		if (b->tail == p->process && b->tail_ns)
			json_int(w, "alone_at_end_ns", b->tail_ns);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_gpus(struct writer *w, const struct why *y)
{
	size_t cnt;

	if (!y->gpus.list_cnt)
		return;
	json_line(w, 1);
	cnt = bounded_list(w, "gpu", y->gpus.list_cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct why_gpu *g = &y->gpus.list[i];

		json_line(w, 2);
		json_open(w, NULL, '{');
		json_int(w, "device", g->device);
		json_format(w, "operations", "%zu", g->ops);
		json_int(w, "start", g->from);
		json_int(w, "end", g->to);
		json_int(w, "ns", g->to - g->from);
		json_int(w, "kernel_ns", g->kernel);
		json_int(w, "copy_only_ns", g->copy);
		json_int(w, "launch_latency_ns", g->latency);
		json_int(w, "launching_ns", g->launch);
		json_int(w, "host_ns", g->host);
		json_int(w, "not_recorded_ns", g->unknown);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_notes(struct writer *w, const struct why *y)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	json_line(w, 1);
	json_open(w, "notes", '[');
	if (f) {
		why_put_notes(f, y);
		if (fclose(f) != 0)
			len = 0;
		for (char *rest = len ? text : NULL, *line; (line = strsep(&rest, "\n"));)
			if (*line)
				json_text(w, NULL, line);
		free(text);
	}
	json_close(w, ']');
}

static void put_wall(struct writer *w, const struct wall *wall)
{
	json_line(w, 1);
	json_open(w, "wall", '{');
	json_int(w, "start", wall->start);
	json_int(w, "end", wall->end);
	json_int(w, "ns", wall_ns(wall));
	json_int(w, "recorded_ns", wall->recorded);
	json_text(w, "basis", wall_basis_text(wall->basis));
	json_close(w, '}');
}

static void put_checks(struct writer *w, const struct why *y)
{
	int64_t sum = 0;

	for (size_t i = 0; i < y->parts_cnt; i++)
		sum += y->parts[i].ns;
	json_line(w, 1);
	json_open(w, "checks", '{');
	json_int(w, "sum_ns", sum);
	json_int(w, "not_recorded_ns", y->of_reason[WHY_UNKNOWN]);
	json_int(w, "lost", y->model.lost);
	json_int(w, "replay_error_ns", y->replay_error);
	json_bool(w, "switches", y->model.has_switches);
	json_bool(w, "samples", y->model.has_samples);
	json_bool(w, "calls", y->model.has_calls);
	json_close(w, '}');
}

static void put_partition(struct writer *w, const struct why *y)
{
	size_t cnt;
	int64_t ns = 0;

	json_line(w, 1);
	cnt = bounded_list(w, "partition", y->parts_cnt);
	for (size_t i = 0; i < cnt; i++) {
		json_line(w, 2);
		put_part(w, NULL, y, &y->parts[i]);
	}
	json_close(w, ']');
	for (size_t i = cnt; i < y->parts_cnt; i++)
		ns += y->parts[i].ns;
	bounded_time(w, "partition", ns, y->ns);
}

static void put_culprits(struct writer *w, const struct why *y)
{
	size_t cnt;
	int64_t ns = 0;

	json_line(w, 1);
	cnt = bounded_list(w, "culprits", y->culprits_cnt);
	for (size_t i = 0; i < cnt; i++) {
		json_line(w, 2);
		put_culprit(w, y, &y->culprits[i]);
	}
	json_close(w, ']');
	for (size_t i = cnt; i < y->culprits_cnt; i++)
		ns += y->culprits[i].ns;
	bounded_time(w, "culprits", ns, y->ns);
}

struct answer {
	const struct why *y;
	const char *report;
};

static void put_answer(struct writer *w, const void *ctx)
{
	const struct answer *a = ctx;
	const struct why *y = a->y;

	json_text(w, "report", a->report);
	put_wall(w, &y->model.wall);
	json_line(w, 1);
	json_open(w, "focus", '{');
	if (y->focus != WHY_NONE) {
		put_thread(w, y, y->focus);
		if (y->gpu)
			json_int(w, "gpu", y->gpu->device);
		put_spans(w, y);
	}
	json_close(w, '}');
	put_partition(w, y);
	put_culprits(w, y);
	why_put_json_gains(w, y);
	put_steps(w, y);
	put_busy(w, y);
	why_put_json_hangs(w, y);
	why_put_json_runners(w, y);
	put_gpus(w, y);
	put_notes(w, y);
	put_checks(w, y);
}

int why_put_json(FILE *out, const struct why *y, const char *report, const struct bounds *b)
{
	int rc = bounded_print(out, b, put_answer, &(struct answer){y, report});

	putc('\n', out);
	return rc;
}
