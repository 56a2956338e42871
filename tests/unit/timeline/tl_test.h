/*
 * tl_test.h - a report written by hand, and its timeline as lines of text:
 *
 *   thread 70.71: 10 +20 'read' {fd=3} out 1 stack 4 path 3, 100 bytes
 *   thread 70.71/1: 12 open 'wait'                 on the lane after the first
 *   counter 'read' of process 70: 0 = 100
 *   thread 70.71: 5 on cpu 3; 9 off cpu 3, state 2
 *   thread 70.71: 5 sample cpu 3 ['leaf' in 'app' at 0x10] ['main' in 'app']
 *
 * A report is SQL in which $70.71 is the packed id of thread 71 of process 70, $70 that of the process, and
 * "TABLE(columns): (values), ...;" makes a table with these rows. For some tables there is a short name that stands for
 * the table and for the columns that nsys has always had: see short_names.
 *
 * With SHOW_ROWS the table, its row and the category follow, with SHOW_TRACKS a line for each track that is announced.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "exporters/read/db_read.h"
#include "exporters/timeline/tl_internal.h"

#define SHOW_ROWS   1u
#define SHOW_TRACKS 2u
#define RANGES_LAST 4u /* projected ranges come after all else */

#define GLOBAL(pid, tid) ((int64_t)(pid) << 24 | (tid))

struct said {
	char *text;
	size_t len;
	FILE *file;
	unsigned show;
	int64_t last;
	uint32_t tracks;
	bool is_projected;
};

static const char *const kind_names[TL_TRACK_KINDS] = {
	"process", "thread",  "async", "gpu", "stream", "nvtx on stream",
	"machine", "counter", "",      "gil", "made"};

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

static const struct {
	const char *name, *table;
} short_names[] = {
	{"strings", "StringIds(id INTEGER PRIMARY KEY, value)"},
	{"libc", "OSRT_API(start, end, globalTid, nameId)"},
	{"moved", "OSRT_API(start, end, globalTid, nameId, bytesDone)"},
	{"cuda", "CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, nameId, correlationId)"},
	{"kernels", "CUPTI_ACTIVITY_KIND_KERNEL(start, end, globalPid, deviceId, contextId, "
		    "streamId, correlationId, shortName)"},
	{"ranges",
	 "NVTX_EVENTS(start, end, eventType, globalTid, domainId, text, textId, category)"},
};

/* "TABLE(columns): " or a short name and a colon: how long it is, 0 if it is neither. */
static size_t table_head(const char *p, const char **table, size_t *len)
{
	size_t name = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	*table = p;
	*len = name;
	if (p[name] == '(')
		*len = strcspn(p, ")") + 1;
	for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++)
		if (strlen(short_names[i].name) == name &&
		    memcmp(short_names[i].name, p, name) == 0 && p[name] == ':') {
			*table = short_names[i].table;
			*len = strlen(*table);
			return name + 1;
		}
	return name > 0 && p[name] == '(' && p[*len] == ':' ? *len + 1 : 0;
}

/* To be freed. */
static char *sql_of(const char *p)
{
	char *sql = NULL;
	size_t len = 0, head;
	FILE *f = open_memstream(&sql, &len);
	bool is_start = true, is_text = false;

	assert_non_null(f);
	for (; *p; p++) {
		const char *table;
		size_t table_len;

		if (is_start && (head = table_head(p, &table, &table_len)) > 0) {
			fprintf(f, "CREATE TABLE %.*s; INSERT INTO %.*s VALUES", (int)table_len,
				table, (int)strcspn(table, "("), table);
			p += head - 1;
		} else if (*p == '$') {
			char *end;
			long pid = strtol(p + 1, &end, 10),
			     tid = *end == '.' ? strtol(end + 1, &end, 10) : 0;

			fprintf(f, "%lld", (long long)GLOBAL(pid, tid));
			p = end - 1;
		} else {
			fputc(*p, f);
		}
		is_text ^= *p == '\'';
		is_start = !is_text && (*p == ';' || (is_start && *p == ' '));
	}
	fclose(f);
	return sql;
}

/* The report in a file, opened for reading. */
static sqlite3 *report_of(const char *report)
{
	char path[] = "/tmp/sightline-timeline-XXXXXX", why[512] = "", *error = NULL;
	char *sql = sql_of(report);
	int fd = mkstemp(path);
	sqlite3 *db;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s in: %s", error, sql);
	free(sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	db = db_read_open(path, why, sizeof(why));
	unlink(path);
	if (!db)
		fail_msg("%s", why);
	return db;
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
