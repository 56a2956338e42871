/*
 * tl_test.h - a report written by hand, and its timeline as lines of text:
 *
 *   thread 70.71: 10 +20 'read' {fd=3} out 1 stack 4 path 3, 100 bytes
 *   thread 70.71/1: 12 open 'wait'                 on the lane after the first
 *   counter 'read' of process 70: 0 = 100
 *   thread 70.71: 5 on cpu 3; 9 off cpu 3, state 2
 *   thread 70.71: 5 sample cpu 3 ['leaf' in 'app' at 0x10] ['main' in 'app']
 *
 * With SHOW_ROWS the table, its row and the category follow, with SHOW_TRACKS a line for each track that is announced.
 */
#pragma once

#include "exporters/timeline/tl_internal.h"
#include "tests/unit/timeline/tl_report.h"

#define SHOW_ROWS   1u
#define SHOW_TRACKS 2u
#define RANGES_LAST 4u /* projected ranges come after all else */

struct said {
	char *text;
	size_t len;
	FILE *file;
	unsigned show;
	int64_t last;
	uint32_t tracks;
	bool is_projected;
};

static void say_track(FILE *f, const struct tl_track *t)
{
	switch (t->kind) {
	case TL_PROCESS:
	case TL_ASYNC:
		fprintf(f, "%s %lld", t->kind == TL_PROCESS ? "process" : "async",
			(long long)t->process_pid);
		break;
	case TL_THREAD:
	case TL_GIL:
		fprintf(f, "%s %lld.%lld", t->kind == TL_THREAD ? "thread" : "gil",
			(long long)TL_PID(t->global), (long long)TL_TID(t->global));
		break;
	case TL_DEVICE:
		fprintf(f, "gpu %lld of %lld", (long long)t->device, (long long)t->process_pid);
		break;
	case TL_STREAM:
		fprintf(f, t->stream == TL_SYNC_STREAM ? "waits of %lld" : "stream %lld",
			t->stream == TL_SYNC_STREAM ? (long long)t->context : (long long)t->stream);
		break;
	case TL_NVTX_GPU:
		fprintf(f, "ranges of %lld on stream %lld", (long long)TL_TID(t->global),
			(long long)t->stream);
		break;
	case TL_CPU:
		fprintf(f, "cpu %lld", (long long)t->cpu);
		break;
	case TL_MACHINE:
		fprintf(f, "machine");
		break;
	case TL_COUNTER:
		fprintf(f, "counter '%s' of ", t->name);
		say_track(f, t->parent);
		break;
	default:
		fprintf(f, "made '%s' of ", t->name);
		say_track(f, t->parent);
		break;
	}
	if (t->lane > 0)
		fprintf(f, "/%u", t->lane);
}

static void say_arg(FILE *f, const struct tl_arg *a)
{
	fprintf(f, "%s=", a->key);
	switch (a->kind) {
	case TL_INT:
		fprintf(f, "%lld", (long long)a->num);
		break;
	case TL_REAL:
		fprintf(f, "%g", a->real);
		break;
	case TL_TEXT:
		fprintf(f, "'%.*s'", (int)a->text.len, a->text.text);
		break;
	case TL_HEX:
		fprintf(f, "0x%llx", (unsigned long long)a->num);
		break;
	case TL_BOOL:
		fprintf(f, "%s", a->num ? "true" : "false");
		break;
	case TL_VECTOR:
		fprintf(f, "%lldx%lldx%lld", (long long)a->vector[0], (long long)a->vector[1],
			(long long)a->vector[2]);
		break;
	default:
		fprintf(f, "json %.*s", (int)a->text.len, a->text.text);
		break;
	}
}

static void say_frames(FILE *f, const struct tl_event *e)
{
	fprintf(f, "sample cpu %lld", (long long)e->cpu);
	for (uint32_t i = 0; i < e->frame_cnt; i++) {
		const struct tl_frame *g = &e->frames[i];

		fprintf(f, " ['%.*s' in '%.*s'", (int)g->symbol.len, g->symbol.text,
			(int)g->module.len, g->module.text);
		if (g->ip)
			fprintf(f, " at 0x%llx", (unsigned long long)g->ip);
		fprintf(f, "%s]", g->kernel ? " of the kernel" : "");
	}
}

static void say_what(FILE *f, const struct tl_event *e)
{
	switch (e->kind) {
	case TL_SLICE:
		if (e->dur == TL_OPEN)
			fprintf(f, "open ");
		else
			fprintf(f, "+%lld ", (long long)e->dur);
		/* fall through */
	case TL_INSTANT:
		fprintf(f, "'%.*s'", (int)e->name.len, e->name.text);
		break;
	case TL_VALUE:
		if (e->is_real)
			fprintf(f, "= %g", e->real);
		else
			fprintf(f, "= %lld", (long long)e->value);
		break;
	case TL_SCHED:
		fprintf(f, "%s cpu %lld", e->sched_in ? "on" : "off", (long long)e->cpu);
		if (e->state >= 0)
			fprintf(f, ", state %d", e->state);
		break;
	default:
		say_frames(f, e);
	}
}

static int on_track(void *self, struct tl_track *t)
{
	struct said *s = self;

	assert_int_equal(t->id, ++s->tracks);
	assert_true(!t->parent || t->parent->id < t->id);
	if (!(s->show & SHOW_TRACKS))
		return 0;
	fprintf(s->file, "%u: ", t->id);
	say_track(s->file, t);
	fprintf(s->file, " '%s' in %u, pid %lld tid %lld sort %d", t->name,
		t->parent ? t->parent->id : 0, (long long)t->pid, (long long)t->tid, t->sort);
	if (t->unit)
		fprintf(s->file, " unit '%s'", t->unit);
	if (t->rank >= 0)
		fprintf(s->file, " rank %d", t->rank);
	fprintf(s->file, "\n");
	return 0;
}

static int on_event(void *self, const struct tl_event *e)
{
	struct said *s = self;
	FILE *f = s->file;

	if ((s->show & RANGES_LAST) && e->track->kind == TL_NVTX_GPU && !s->is_projected) {
		s->is_projected = true;
		s->last = INT64_MIN;
	}
	assert_true(e->ts >= s->last && e->track->id <= s->tracks);
	s->last = e->ts;
	say_track(f, e->track);
	fprintf(f, ": %lld ", (long long)e->ts);
	say_what(f, e);
	for (uint32_t i = 0; i < e->arg_cnt; i++) {
		fprintf(f, i ? ", " : " {");
		say_arg(f, &e->args[i]);
	}
	if (e->arg_cnt > 0)
		fprintf(f, "}");
	if (e->flow_out)
		fprintf(f, " out %llu", (unsigned long long)e->flow_out);
	if (e->flow_in)
		fprintf(f, " in %llu", (unsigned long long)e->flow_in);
	if (e->stack)
		fprintf(f, " stack %lld", (long long)e->stack);
	if (e->path >= 0)
		fprintf(f, " path %lld, %lld bytes", (long long)e->path, (long long)e->bytes);
	if (s->show & SHOW_ROWS)
		fprintf(f, " (%s %lld, %s)", e->table, (long long)e->row, e->category);
	fprintf(f, "\n");
	return 0;
}

/* Its timeline as text, to be freed, or one sentence that begins with "failed: ". */
static char *timeline_of(sqlite3 *db, const struct tl_options *opt, unsigned show)
{
	static const struct tl_sink sink = {on_track, on_event, NULL};
	struct said s = {.show = show, .last = INT64_MIN};
	char why[512] = "";
	int64_t events;
	size_t lines = 0;

	s.file = open_memstream(&s.text, &s.len);
	assert_non_null(s.file);
	events = timeline_run(db, opt, &sink, &s, why, sizeof(why));
	if (events < 0)
		fprintf(s.file, "failed: %s\n", why);
	fclose(s.file);
	for (const char *p = s.text; *p; p++)
		lines += *p == '\n';
	if (events >= 0)
		assert_int_equal(lines, events + (show & SHOW_TRACKS ? (int64_t)s.tracks : 0));
	return s.text;
}

static void check_with(const struct tl_options *opt, unsigned show, const char *sql,
		       const char *want)
{
	sqlite3 *db = report_of(sql);
	char *text = timeline_of(db, opt, show);

	assert_string_equal(text, want);
	free(text);
	/* Nothing of a run is left behind. */
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The whole of a report, with and without arguments; only the first text has them. */
__attribute__((unused)) static void check(const char *sql, const char *want)
{
	check_with(&(struct tl_options){.activities = TL_ACT_ALL, .no_args = true}, 0, sql, want);
}
