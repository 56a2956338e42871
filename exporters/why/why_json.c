/* why_json.c - the answer for programs: one object; times are ns, what is not known is null. */
#include "exporters/why/why_out.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/text/format.h"

static void why_put_json_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": ", name);
	if (text)
		json_string(out, text, strlen(text));
	else
		fputs("null", out);
}

void why_put_json_place(FILE *out, const struct why *y, uint32_t place)
{
	const struct place *p = &y->walk.places.list[place];

	why_put_json_text(out, "place", p->text), fputs(", ", out);
	why_put_json_text(out, "file", p->file), fputs(", ", out);
	why_put_json_text(out, "function", p->function);
	if (p->line)
		fprintf(out, ", \"line\": %d", p->line);
	else
		fputs(", \"line\": null", out);
}

static void put_cause(FILE *out, const struct why *y, const struct why_cause *c)
{
	char *name = why_string(y, &y->model.names, c->name);
	char *object = why_string(y, &y->model.objects, c->object);

	why_put_json_text(out, "reason", why_reason_name(c->reason)), fputs(", ", out);
	why_put_json_text(out, "call", name), fputs(", ", out);
	why_put_json_text(out, "object", object), fputs(", ", out);
	why_put_json_place(out, y, c->place);
	free(name);
	free(object);
}

static void put_thread(FILE *out, const struct why *y, uint32_t thread)
{
	char buf[96];

	fprintf(out, "\"tid\": %lld, ", (long long)y->model.threads[thread].tid);
	why_put_json_text(out, "thread", why_thread_text(y, thread, buf, sizeof(buf)));
}

/* null: no request to a block device was under way. */
static void put_disk(FILE *out, const struct why *y, const struct why_part *p)
{
	char *name = p->disk_ns ? why_string(y, &y->model.objects, p->disk) : NULL;

	if (p->disk_ns) {
		fputs(", \"device\": {", out);
		why_put_json_text(out, "name", name);
		fprintf(out, ", \"ns\": %lld}", (long long)p->disk_ns);
	} else {
		fputs(", \"device\": null", out);
	}
	free(name);
}

static void put_part(FILE *out, const struct why *y, const struct why_part *p)
{
	fprintf(out, "{\"ns\": %lld, \"pieces\": %lld, \"confidence\": %.3f, ", (long long)p->ns,
		(long long)p->cnt, p->sure);
	put_cause(out, y, &p->cause);
	fputs(", ", out);
	put_thread(out, y, p->thread);
	put_disk(out, y, p);
	fputs(", \"chain\": [", out);
	for (uint32_t hop = p->hop; hop; hop = y->walk.hops[hop].parent) {
		putc('{', out);
		put_thread(out, y, y->walk.hops[hop].thread);
		fputs(", ", out);
		put_cause(out, y, &y->walk.hops[hop].cause);
		fputs(y->walk.hops[hop].parent ? "}, " : "}", out);
	}
	fputs("]}", out);
}

static void put_culprit(FILE *out, const struct why *y, const struct why_culprit *c)
{
	const struct place *p = &y->walk.places.list[c->place];

	fprintf(out, "{\"ns\": %lld, \"confidence\": %.3f, ", (long long)c->ns, c->sure);
	why_put_json_text(out, "place", p->text), fputs(", ", out);
	why_put_json_text(out, "file", p->file), fputs(", ", out);
	why_put_json_text(out, "function", p->function);
	if (p->line)
		fprintf(out, ", \"line\": %d, \"reasons\": {", p->line);
	else
		fputs(", \"line\": null, \"reasons\": {", out);
	for (uint32_t r = 0, any = 0; r < WHY_REASON_CNT; r++)
		if (c->of_reason[r])
			fprintf(out, "%s\"%s\": %lld", any++ ? ", " : "", why_reason_name(r),
				(long long)c->of_reason[r]);
	fputs("}, \"most\": ", out);
	put_part(out, y, &c->part);
	putc('}', out);
}

/* The time of the focus, if it is not the wall time. */
static void put_spans(FILE *out, const struct why *y)
{
	const struct why_focus *f = &y->time;

	fprintf(out, "%s\"ns\": %lld", y->focus == WHY_NONE ? "" : ", ", (long long)y->ns);
	if (!f->name)
		return;
	fprintf(out, ", \"%s\": ", f->is_steps ? "steps" : "ranges");
	json_string(out, f->name, strlen(f->name));
	fputs(", \"spans\": [", out);
	for (size_t i = 0; i < f->spans_cnt; i++)
		fprintf(out, "%s[%lld, %lld]", i ? ", " : "", (long long)f->spans[i].start,
			(long long)f->spans[i].end);
	putc(']', out);
}

static void put_steps(FILE *out, const struct why *y)
{
	const struct why_steps *s = &y->steps;

	const struct why_focus *f = &y->noticed;

	if (f->cnt) {
		fprintf(out,
			",\n \"steps\": {\"count\": %zu, \"median_ns\": %lld, \"min_ns\": %lld, ",
			f->cnt, (long long)f->median, (long long)f->min);
		fprintf(out, "\"max_ns\": %lld, ", (long long)f->max);
		why_put_json_text(out, "name", f->name);
		putc('}', out);
	}
	if (!s->cnt)
		return;
	fprintf(out,
		",\n \"steps\": {\"count\": %zu, \"median_ns\": %lld, \"min_ns\": %lld, "
		"\"max_ns\": %lld, \"slow\": [",
		s->cnt, (long long)s->median, (long long)s->min, (long long)s->max);
	for (size_t i = 0; i < s->slow_cnt; i++)
		fprintf(out, "%s%lld", i ? ", " : "", (long long)s->slow[i].no);
	fprintf(out, "], \"slow_ns\": %lld, \"excess_ns\": %lld, \"excess\": [",
		(long long)s->slow_ns, (long long)(s->slow_ns - s->median));
	for (size_t i = 0; i < s->parts_cnt; i++) {
		const struct why_excess *e = &s->parts[i];

		fprintf(out, "%s{\"ns\": %lld, \"slow_ns\": %lld, \"median_ns\": %lld, ",
			i ? ",\n  " : "\n  ", (long long)(e->slow - e->median), (long long)e->slow,
			(long long)e->median);
		put_cause(out, y, &y->parts[e->part].cause);
		putc('}', out);
	}
	fputs("]}", out);
}

static void put_gpus(FILE *out, const struct why *y)
{
	if (!y->gpus.list_cnt)
		return;
	fputs(",\n \"gpu\": [", out);
	for (size_t i = 0; i < y->gpus.list_cnt; i++) {
		const struct why_gpu *g = &y->gpus.list[i];

		fprintf(out,
			"%s{\"device\": %u, \"operations\": %zu, \"start\": %lld, \"end\": "
			"%lld, \"ns\": %lld, \"kernel_ns\": %lld, \"copy_only_ns\": %lld, "
			"\"launch_latency_ns\": %lld, \"launching_ns\": %lld, \"host_ns\": %lld, "
			"\"not_recorded_ns\": %lld}",
			i ? ",\n  " : "\n  ", g->device, g->ops, (long long)g->from,
			(long long)g->to, (long long)(g->to - g->from), (long long)g->kernel,
			(long long)g->copy, (long long)g->latency, (long long)g->launch,
			(long long)g->host, (long long)g->unknown);
	}
	putc(']', out);
}

static void put_notes(FILE *out, const struct why *y)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool is_first = true;

	fputs(",\n \"notes\": [", out);
	if (f) {
		why_put_notes(f, y);
		if (fclose(f) != 0)
			len = 0;
		for (char *rest = len ? text : NULL, *line; (line = strsep(&rest, "\n"));) {
			if (!*line)
				continue;
			fputs(is_first ? "" : ", ", out);
			json_string(out, line, strlen(line));
			is_first = false;
		}
		free(text);
	}
	putc(']', out);
}

void why_put_json(FILE *out, const struct why *y, const char *report)
{
	const struct wall *w = &y->model.wall;
	int64_t sum = 0;

	for (size_t i = 0; i < y->parts_cnt; i++)
		sum += y->parts[i].ns;
	putc('{', out);
	why_put_json_text(out, "report", report);
	fprintf(out,
		",\n \"wall\": {\"start\": %lld, \"end\": %lld, \"ns\": %lld, \"recorded_ns\": "
		"%lld, ",
		(long long)w->start, (long long)w->end, (long long)wall_ns(w),
		(long long)w->recorded);
	why_put_json_text(out, "basis", wall_basis_text(w->basis));
	fputs("},\n \"focus\": {", out);
	if (y->focus != WHY_NONE) {
		put_thread(out, y, y->focus);
		if (y->gpu)
			fprintf(out, ", \"gpu\": %u", y->gpu->device);
		put_spans(out, y);
	}
	fputs("},\n \"partition\": [", out);
	for (size_t i = 0; i < y->parts_cnt; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		put_part(out, y, &y->parts[i]);
	}
	fputs("],\n \"culprits\": [", out);
	for (size_t i = 0; i < y->culprits_cnt; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		put_culprit(out, y, &y->culprits[i]);
	}
	fputs("],\n ", out);
	why_put_json_gains(out, y);
	put_steps(out, y);
	put_gpus(out, y);
	put_notes(out, y);
	fprintf(out,
		",\n \"checks\": {\"sum_ns\": %lld, \"not_recorded_ns\": %lld, \"lost\": %lld, "
		"\"replay_error_ns\": %lld, "
		"\"switches\": %s, \"samples\": %s, \"calls\": %s}}\n",
		(long long)sum, (long long)y->of_reason[WHY_UNKNOWN], (long long)y->model.lost,
		(long long)y->replay_error, y->model.has_switches ? "true" : "false",
		y->model.has_samples ? "true" : "false", y->model.has_calls ? "true" : "false");
}
