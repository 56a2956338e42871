/* ranks_top_text.c - the state of a job as text and as JSON, of a bounded size. */
#include "exporters/ranks/top/ranks_top.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE 512

/* ---- text ---- */

/* Columns: bytes that continue a character have none. */
static void put_line(FILE *out, size_t width, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void put_line(FILE *out, size_t width, const char *format, ...)
{
	size_t columns = 0, len = 0;
	char line[LINE];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	for (; line[len]; len++) {
		columns += ((unsigned char)line[len] & 0xc0) != 0x80;
		if (width && columns > width)
			break;
	}
	fprintf(out, "%.*s\n", (int)len, line);
}

static const char *host_of(const struct ranks_top *t, const struct top_rank *r)
{
	return t->session[r->session].host;
}

static void put_head(FILE *out, const struct ranks_top *t, size_t width)
{
	const struct top_rank *r = t->rank;
	char of[48] = "", steps[96] = "no steps in the last seconds";

	if (t->size)
		snprintf(of, sizeof(of), " of %lld", (long long)t->size);
	if (t->stepping)
		snprintf(steps, sizeof(steps), "%.1f steps/s", t->steps_per_s);
	put_line(out, width, "run %s: %zu%s ranks on %zu nodes, %zu sessions, %s", t->run, t->live,
		 of, t->hosts, t->sessions, steps);
	if (!t->stepping)
		put_line(out, width,
			 "steps are NVTX ranges 'step' (-t nvtx), as --python-step makes them");
	else if (ranks_top_is_late(t))
		put_line(
			out, width,
			"slowest: %s on %s, %.1f ms by itself in a step, the median is %.1f ms: %s "
			"(%.1f ms more)",
			r->name, host_of(t, r), r->own_ms, t->median_ms, ranks_top_reason(r),
			r->reason_ms);
	else
		put_line(out, width, "no rank is late: %.1f ms in a step, the longest %.1f ms",
			 t->median_ms, r->own_ms);
}

static void put_silent(FILE *out, const struct ranks_top *t, size_t rows, size_t width)
{
	size_t shown = 0;

	for (size_t i = 0; i < t->sessions; i++) {
		const struct top_session *s = &t->session[i];

		if (s->silent_s <= RANKS_TOP_SILENT_S)
			continue;
		if (shown++ < rows)
			put_line(out, width, "silent for %lld s: %s, process %u, %zu ranks",
				 (long long)s->silent_s, s->host, s->pid, s->ranks);
	}
	if (shown > rows)
		put_line(out, width, "silent: %zu more sessions", shown - rows);
}

static void put_rank(FILE *out, const struct ranks_top *t, const struct top_rank *r, size_t width)
{
	if (r->is_silent)
		put_line(out, width, "%-14s %-20s %9s %9s %9s %9s  silent", r->name, host_of(t, r),
			 "-", "-", "-", "-");
	else if (!r->pace.steps)
		put_line(out, width, "%-14s %-20s %9s %9s %9s %9s  no steps", r->name,
			 host_of(t, r), "-", "-", "-", "-");
	else
		put_line(out, width, "%-14s %-20s %9.1f %9.2f %9.2f %9.2f  %s", r->name,
			 host_of(t, r), r->pace.steps * 1e9 / (double)r->pace.span, r->step_ms,
			 r->own_ms, r->excess_ms,
			 r->excess_ms > 0.1 && r->excess_ms > 0.05 * t->median_ms
				 ? ranks_top_reason(r)
				 : "");
}

void ranks_top_print(FILE *out, const struct ranks_top *t, size_t rows, size_t width)
{
	put_head(out, t, width);
	put_silent(out, t, rows, width);
	if (!t->ranks)
		return;
	fputc('\n', out);
	put_line(out, width, "%-14s %-20s %9s %9s %9s %9s  %s", "rank", "host", "steps/s",
		 "step ms", "own ms", "more ms", "reason");
	for (size_t i = 0; i < t->ranks && i < rows; i++)
		put_rank(out, t, &t->rank[i], width);
	if (t->ranks > rows)
		put_line(out, width, "%zu more ranks (--rows)", t->ranks - rows);
}

/* ---- JSON ---- */

static void json_rank(struct writer *w, const char *key, const struct ranks_top *t,
		      const struct top_rank *r)
{
	static const char *const names[JOB_PARTS] = {
#define PART(id, name, text) name,
#include "collector/job/parts.def"
	};

	json_open(w, key, '{');
	json_text(w, "name", r->name);
	if (r->number >= 0)
		json_int(w, "rank", r->number);
	json_text(w, "host", host_of(t, r));
	json_bool(w, "silent", r->is_silent);
	json_int(w, "steps", r->pace.steps);
	json_real(w, "seconds", (double)r->pace.span / 1e9);
	json_real(w, "stepMs", r->step_ms);
	json_real(w, "ownMs", r->own_ms);
	json_real(w, "excessMs", r->excess_ms);
	if (r->pace.steps && !r->is_silent) {
		json_text(w, "reason", ranks_top_reason(r));
		json_real(w, "reasonMs", r->reason_ms);
	}
	for (unsigned i = 0; i < JOB_PARTS; i++)
		json_int(w, names[i], r->pace.part[i]);
	json_close(w, '}');
}

static void json_silent(struct writer *w, const struct ranks_top *t, size_t rows)
{
	json_open(w, "silent", '[');
	for (size_t i = 0, shown = 0; i < t->sessions && shown < rows; i++) {
		const struct top_session *s = &t->session[i];

		if (s->silent_s <= RANKS_TOP_SILENT_S)
			continue;
		shown++;
		json_open(w, NULL, '{');
		json_text(w, "host", s->host);
		json_int(w, "pid", s->pid);
		json_int(w, "seconds", s->silent_s);
		json_int(w, "ranks", (int64_t)s->ranks);
		json_close(w, '}');
	}
	json_close(w, ']');
}

void ranks_top_json(FILE *out, const struct ranks_top *t, size_t rows)
{
	struct writer w = {.file = out, .is_spaced = true};

	json_open(&w, NULL, '{');
	json_text(&w, "run", t->run);
	json_int(&w, "ranks", (int64_t)t->live);
	if (t->size)
		json_int(&w, "worldSize", t->size);
	else
		json_null(&w, "worldSize");
	json_int(&w, "stepping", (int64_t)t->stepping);
	json_int(&w, "hosts", (int64_t)t->hosts);
	json_int(&w, "sessions", (int64_t)t->sessions);
	json_int(&w, "silentSessions", (int64_t)t->silent);
	json_real(&w, "stepsPerSecond", t->steps_per_s);
	json_real(&w, "medianMs", t->median_ms);
	if (ranks_top_is_late(t))
		json_rank(&w, "slowest", t, t->rank);
	else
		json_null(&w, "slowest");
	json_silent(&w, t, rows);
	json_open(&w, "perRank", '[');
	for (size_t i = 0; i < t->ranks && i < rows; i++)
		json_rank(&w, NULL, t, &t->rank[i]);
	json_close(&w, ']');
	json_int(&w, "omitted", (int64_t)(t->ranks > rows ? t->ranks - rows : 0));
	json_close(&w, '}');
	fputc('\n', out);
}
