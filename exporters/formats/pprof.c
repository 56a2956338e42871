/*
 * pprof.c - a profile as github.com/google/pprof reads it (proto/profile.proto): the costs of stacks, several kinds side by
 * side, with lines, inlined functions, and mappings with build ids. Packed, as such files are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/hash.h"
#include "exporters/read/db_read.h"
#include "exporters/formats/fold.h"
#include "exporters/read/intern.h"
#include "exporters/read/sql_rows.h"
#include "exporters/formats/proto.h"

enum { /* Profile */
	PR_SAMPLE_TYPE = 1,
	PR_SAMPLE = 2,
	PR_MAPPING = 3,
	PR_LOCATION = 4,
	PR_FUNCTION = 5,
	PR_STRING = 6,
	PR_TIME = 9,
	PR_DURATION = 10,
	PR_PERIOD_TYPE = 11,
	PR_PERIOD = 12,
	PR_DEFAULT_TYPE = 14,
};

enum { /* ValueType, Sample, Label, Mapping, Location, Line, Function */
	VT_TYPE = 1,
	VT_UNIT = 2,

	SA_LOCATIONS = 1,
	SA_VALUES = 2,
	SA_LABEL = 3,

	LA_KEY = 1,
	LA_TEXT = 2,
	LA_NUMBER = 3,

	MA_ID = 1,
	MA_START = 2,
	MA_LIMIT = 3,
	MA_FILE = 5,
	MA_BUILD_ID = 6,
	MA_HAS_FUNCTIONS = 7,
	MA_HAS_FILES = 8,
	MA_HAS_LINES = 9,
	MA_HAS_INLINES = 10,

	LO_ID = 1,
	LO_MAPPING = 2,
	LO_ADDRESS = 3,
	LO_LINE = 4,

	LI_FUNCTION = 1,
	LI_LINE = 2,

	FU_ID = 1,
	FU_NAME = 2,
	FU_SYSTEM_NAME = 3,
	FU_FILE = 4,
};

struct module {
	uint64_t start, end, id; /* id 0: not written yet */
	char *path, *build_id;
};

struct column {
	enum stack_cost what;
	const char *type, *unit;
	int64_t factor;
};

struct pprof {
	struct stack_costs w;
	struct out *out;
	struct proto m;
	struct map strings, functions, locations,
		loose; /* by hash; loose: modules of which only the path is known */
	uint64_t string_cnt;
	struct module *module;
	size_t module_cnt;
	uint64_t mapping_cnt;
	struct column column[COST_CNT + 1];
	unsigned column_cnt;
	bool failed;
};

static void send(struct pprof *p)
{
	out_write(p->out, p->m.buf, proto_len(&p->m));
	proto_reset(&p->m);
}

/* ---- tables: each entry is written once ---- */

/* A number for a text, which is written at once. Tables may stand anywhere among samples, strings in their order. */
static uint64_t string_of(struct pprof *p, const char *text)
{
	size_t len = strlen(text);
	uint64_t *at = map_at(&p->strings, hash_bytes(1, text, len), true);

	if (!at) {
		p->failed = true;
		return 0;
	}
	if (len == 0 && p->string_cnt > 0)
		return 0;
	if (*at == 0) {
		struct proto m;

		if (!proto_init(&m)) {
			p->failed = true;
			return 0;
		}
		proto_text(&m, PR_STRING, text, len);
		out_write(p->out, m.buf, proto_len(&m));
		p->failed |= m.failed;
		proto_free(&m);
		*at = ++p->string_cnt;
	}
	return *at - 1;
}

static uint64_t function_of(struct pprof *p, const struct stack_frame *f)
{
	uint64_t name = string_of(p, f->text), file = string_of(p, f->file);
	uint64_t system = *f->function && *f->function != '0' ? string_of(p, f->function) : name;
	uint64_t key[3] = {name, file, system};
	uint64_t *at = map_at(&p->functions, hash_bytes(2, key, sizeof(key)), true);
	size_t message;

	if (!at) {
		p->failed = true;
		return 0;
	}
	if (*at)
		return *at;
	*at = p->functions.cnt;
	message = proto_open(&p->m, PR_FUNCTION);
	proto_uint(&p->m, FU_ID, *at);
	proto_uint(&p->m, FU_NAME, name);
	proto_uint(&p->m, FU_SYSTEM_NAME, system);
	proto_uint(&p->m, FU_FILE, file);
	proto_close(&p->m, message);
	send(p);
	return *at;
}

static uint64_t put_mapping(struct pprof *p, const struct module *mod)
{
	uint64_t file = string_of(p, mod->path);
	uint64_t build_id = string_of(p, mod->build_id ? mod->build_id : "");
	size_t message = proto_open(&p->m, PR_MAPPING);

	proto_uint(&p->m, MA_ID, ++p->mapping_cnt);
	proto_uint(&p->m, MA_START, mod->start);
	proto_uint(&p->m, MA_LIMIT, mod->end);
	proto_uint(&p->m, MA_FILE, file);
	proto_uint(&p->m, MA_BUILD_ID, build_id);
	/* Or the reader would look for names itself. */
	for (unsigned field = MA_HAS_FUNCTIONS; field <= MA_HAS_INLINES; field++)
		proto_uint(&p->m, field, 1);
	proto_close(&p->m, message);
	send(p);
	return p->mapping_cnt;
}

/* A file of which it is not known where it was mapped. */
static uint64_t loose_mapping(struct pprof *p, const char *module)
{
	uint64_t *at = map_at(&p->loose, hash_bytes(3, module, strlen(module)), true);

	if (at && !*at) {
		char *path = strdup(module);

		*at = path ? put_mapping(p, &(struct module){.path = path}) : 0;
		free(path);
	}
	p->failed |= !at || !*at;
	return at ? *at : 0;
}

/* 0: code that is in no file. */
static uint64_t mapping_of(struct pprof *p, const struct stack_frame *f)
{
	if (!*f->module || (f->kind != FRAME_NATIVE && f->kind != FRAME_KERNEL))
		return 0;
	for (size_t i = 0; i < p->module_cnt; i++) {
		struct module *mod = &p->module[i];

		if (strcmp(mod->path, f->module) != 0 || (uint64_t)f->ip < mod->start ||
		    (uint64_t)f->ip >= mod->end)
			continue;
		if (!mod->id)
			mod->id = put_mapping(p, mod);
		return mod->id;
	}
	return loose_mapping(p, f->module);
}

/* @cnt frames at one address: all but the last are inlined. */
static uint64_t location_of(struct pprof *p, const uint32_t *frame, unsigned cnt)
{
	uint64_t *at = map_at(&p->locations, hash_bytes(4, frame, cnt * sizeof(*frame)), true);
	const struct stack_frame *outer = &p->w.frame[frame[cnt - 1]];
	uint64_t mapping, function[64], id;
	size_t message, line;

	if (!at) {
		p->failed = true;
		return 0;
	}
	if (*at)
		return *at;
	*at = id = p->locations.cnt;
	mapping = mapping_of(p, outer);
	cnt = cnt < 64 ? cnt : 64;
	for (unsigned i = 0; i < cnt; i++)
		function[i] = function_of(p, &p->w.frame[frame[i]]);
	message = proto_open(&p->m, PR_LOCATION);
	proto_uint(&p->m, LO_ID, id);
	proto_uint(&p->m, LO_MAPPING, mapping);
	proto_uint(&p->m, LO_ADDRESS, (uint64_t)outer->ip);
	for (unsigned i = 0; i < cnt; i++) {
		line = proto_open(&p->m, LO_LINE);
		proto_uint(&p->m, LI_FUNCTION, function[i]);
		proto_uint(&p->m, LI_LINE, (uint64_t)p->w.frame[frame[i]].line);
		proto_close(&p->m, line);
	}
	proto_close(&p->m, message);
	send(p);
	return id;
}

/* ---- samples ---- */

static void put_label(struct pprof *p, uint64_t key, unsigned field, uint64_t value)
{
	size_t label = proto_open(&p->m, SA_LABEL);

	proto_uint(&p->m, LA_KEY, key);
	proto_uint(&p->m, field, value);
	proto_close(&p->m, label);
}

static void put_labels(struct pprof *p, const struct stack_owner *o)
{
	uint64_t key[4] = {string_of(p, "process"), string_of(p, "pid"), string_of(p, "thread"),
			   string_of(p, "tid")};

	put_label(p, key[0], LA_TEXT, string_of(p, o->process));
	put_label(p, key[1], LA_NUMBER, (uint64_t)TL_PID(o->global));
	if (TL_TID(o->global) == 0) /* not known */
		return;
	put_label(p, key[2], LA_TEXT, string_of(p, o->thread));
	put_label(p, key[3], LA_NUMBER, (uint64_t)TL_TID(o->global));
}

static void put_sample(struct pprof *p, const struct stack_entry *e)
{
	uint32_t frame[FOLD_DEPTH_MAX + 8];
	uint64_t location[FOLD_DEPTH_MAX + 8];
	unsigned cnt = 0, locations = 0, used = 0;
	bool any = false;
	size_t message;

	for (unsigned i = 0; i < p->column_cnt; i++)
		any |= e->value[p->column[i].what] != 0;
	if (!any)
		return;
	for (uint32_t n = e->node; n && cnt < sizeof(frame) / sizeof(frame[0]);
	     n = p->w.node[n].parent)
		frame[cnt++] = p->w.node[n].frame;
	for (unsigned from = 0; from < cnt; from = used) {
		for (used = from + 1; used < cnt && p->w.frame[frame[used - 1]].inlined; used++)
			;
		location[locations++] = location_of(p, frame + from, used - from);
	}
	message = proto_open(&p->m, PR_SAMPLE);
	for (unsigned i = 0; i < locations; i++)
		proto_uint(&p->m, SA_LOCATIONS, location[i]);
	for (unsigned i = 0; i < p->column_cnt; i++) {
		int64_t value;

		if (__builtin_mul_overflow(e->value[p->column[i].what], p->column[i].factor,
					   &value))
			value = INT64_MAX;
		proto_uint(&p->m, SA_VALUES, (uint64_t)value);
	}
	put_labels(p, &p->w.owner[e->owner]);
	proto_close(&p->m, message);
	send(p);
}

/* ---- the rest ---- */

static int64_t number(struct pprof *p, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = 0;

	stmt = sql_first(p->w.db, sql);
	if (stmt)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

static int read_modules(struct pprof *p)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(p->w.db,
				    "SELECT start, end, value, buildId FROM SL_MODULES JOIN "
				    "StringIds ON id = path ORDER BY since",
				    -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct module *more = reallocarray(p->module, p->module_cnt + 1, sizeof(*more));
		const char *path = (const char *)sqlite3_column_text(stmt, 2);
		const char *build_id = (const char *)sqlite3_column_text(stmt, 3);

		rc = SQLITE_NOMEM;
		if (!more)
			break;
		p->module = more;
		more[p->module_cnt] = (struct module){
			.start = (uint64_t)sqlite3_column_int64(stmt, 0),
			.end = (uint64_t)sqlite3_column_int64(stmt, 1),
			.path = strdup(path ? path : ""),
			.build_id = strdup(build_id ? build_id : ""),
		};
		p->module_cnt++;
		if (more[p->module_cnt - 1].path && more[p->module_cnt - 1].build_id)
			rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* Readers take the first mapping for the program: the last executable of the root process. */
static void put_program(struct pprof *p)
{
	sqlite3_stmt *stmt = NULL;
	const char *exe = NULL;

	if (sqlite3_prepare_v2(p->w.db,
			       "SELECT exe FROM SL_PROCESS_TREE WHERE exe LIKE '/%' AND traced "
			       "AND globalPid = (SELECT globalPid FROM SL_PROCESS_TREE WHERE "
			       "traced ORDER BY start LIMIT 1) ORDER BY start DESC LIMIT 1",
			       -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		exe = (const char *)sqlite3_column_text(stmt, 0);
	for (size_t i = 0; exe && i < p->module_cnt; i++) {
		if (strcmp(p->module[i].path, exe) == 0) {
			p->module[i].id = put_mapping(p, &p->module[i]);
			exe = NULL;
		}
	}
	if (exe)
		loose_mapping(p, exe);
	sqlite3_finalize(stmt);
}

/* The costs of --flame; else those with events. Samples also as time, where the period of sampling is known. */
static void choose_columns(struct pprof *p, const struct export_job *job, int64_t period)
{
	unsigned what = job->opt.flame ? job->opt.flame : p->w.has;

	for (int i = 0; i < COST_CNT; i++) {
		const char *unit = stack_cost_kinds[i].unit;

		if (!(what & COST_BIT(i)))
			continue;
		p->column[p->column_cnt++] = (struct column){
			(enum stack_cost)i, i == COST_CPU ? "samples" : stack_cost_kinds[i].name,
			i == COST_CPU || i == COST_CALLS ? "count" : unit, 1};
		if (i == COST_CPU && period > 0)
			p->column[p->column_cnt++] =
				(struct column){COST_CPU, "cpu", "nanoseconds", period};
	}
}

static void put_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	uint64_t words[2] = {string_of(p, type), string_of(p, unit)};
	size_t message = proto_open(&p->m, field);

	proto_uint(&p->m, VT_TYPE, words[0]);
	proto_uint(&p->m, VT_UNIT, words[1]);
	proto_close(&p->m, message);
	send(p);
}

static void put_head(struct pprof *p, const struct export_job *job, int64_t period)
{
	string_of(p, ""); /* is number 0 */
	choose_columns(p, job, period);
	for (unsigned i = 0; i < p->column_cnt; i++)
		put_type(p, PR_SAMPLE_TYPE, p->column[i].type, p->column[i].unit);
	if (period > 0) {
		put_type(p, PR_PERIOD_TYPE, "cpu", "nanoseconds");
		proto_uint(&p->m, PR_PERIOD, (uint64_t)period);
	}
	proto_uint(&p->m, PR_TIME,
		   (uint64_t)number(p, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"));
	proto_uint(&p->m, PR_DURATION,
		   (uint64_t)number(p, "SELECT max(duration) FROM ANALYSIS_DETAILS"));
	if (p->column_cnt > 0)
		proto_uint(&p->m, PR_DEFAULT_TYPE,
			   string_of(p, p->column[p->column_cnt > 1 && period > 0 &&
						  p->column[0].what == COST_CPU]
						.type));
	send(p);
}

static int run(struct export_job *job, char *why, size_t why_len)
{
	struct pprof p = {.w = {.frames = FRAMES_BY_EXACT,
				.by = OWNER_BY_THREAD,
				.python_only = job->opt.python_only},
			  .out = job->out};
	int rc = fold_weigh(&p.w, job, why, why_len);
	int64_t rate;

	if (rc == 0 && (read_modules(&p) < 0 || !proto_init(&p.m)))
		p.failed = true;
	if (rc == 0 && !p.failed) {
		rate = number(&p, "SELECT CAST(value AS INTEGER) FROM META_DATA_CAPTURE WHERE "
				  "name = 'LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY'");
		put_head(&p, job, rate > 0 ? 1000000000 / rate : 0);
		put_program(&p);
		for (size_t i = 0; i < p.w.entry_cnt && !p.failed; i++)
			put_sample(&p, &p.w.entry[i]);
	}
	if (p.failed || p.m.failed) {
		snprintf(why, why_len, "out of memory");
		rc = -1;
	}
	for (size_t i = 0; i < p.module_cnt; i++) {
		free(p.module[i].path);
		free(p.module[i].build_id);
	}
	free(p.module);
	map_free(&p.strings);
	map_free(&p.functions);
	map_free(&p.locations);
	map_free(&p.loose);
	proto_free(&p.m);
	stack_costs_free(&p.w);
	return rc;
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.extension = "pb.gz",
	.about = "a profile for pprof: samples, time blocked, GPU time, bytes and calls by stack",
	.shape = EXPORT_STREAM,
	.flames = true,
	.packs = true,
	.run = run,
};
