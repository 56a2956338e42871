/* tl_place.c - from the keys of a row to the track it lies on and the event it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/timeline/tl_internal.h"
#include "collector/base/hash.h"

/* enum values of the schema */
#define NVTX_MARK     34
#define NVTX_CATEGORY 33
#define NVTX_RANGE    60 /* start/end */
#define NVTX_THREAD   39
#define NVTX_DOMAIN   75
#define CLASS_DRIVER  1
#define MEMORY_FREE   1
#define GIL_DOMAIN    "GIL Trace"
#define FIRST_ROWS    50000 /* that names of domains are looked for in when one event is wanted */

/* ---- names of NVTX domains, categories and threads: some rows among those of ranges ---- */

static int keep_text(struct tl_run *r, uint64_t *slot, const char *text)
{
	char **more = slot ? reallocarray(r->texts, r->text_cnt + 1, sizeof(*more)) : NULL;

	if (!more)
		return -1;
	r->texts = more;
	more[r->text_cnt] = strdup(text);
	if (!more[r->text_cnt])
		return -1;
	*slot = ++r->text_cnt;
	return 0;
}

static const char *column_or_null(const struct tl_run *r, const char *column)
{
	return tl_has_column(r->db, "NVTX_EVENTS", column) ? column : "NULL";
}

/*
 * Reads the names in rows within @bound: the file's own table has row numbers, a view that hides rows or adds columns has
 * none.
 */
static int names_in(struct tl_run *r, const char *bound)
{
	static const char form[] = "SELECT eventType, %s, ifnull(%s, 0), %s, coalesce(%s, s.value) "
				   "FROM %sNVTX_EVENTS AS n LEFT JOIN StringIds AS s ON s.id = %s "
				   "WHERE %s eventType <> 59 AND eventType IN (33, 39, 75)";
	sqlite3_stmt *stmt = NULL;
	char *sql;
	int rc;

	if (!tl_has_column(r->db, "NVTX_EVENTS", "eventType"))
		return 0;
	sql = sqlite3_mprintf(form, column_or_null(r, "globalTid"), column_or_null(r, "domainId"),
			      column_or_null(r, "category"), column_or_null(r, "text"),
			      r->opt->filtered ? "" : "main.", column_or_null(r, "textId"),
			      r->opt->filtered ? "" : bound);
	rc = sql ? sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint64_t process = hash_u64((uint64_t)TL_PROCESS_OF(sqlite3_column_int64(stmt, 1)));
		uint64_t key = process ^ (uint64_t)sqlite3_column_int64(stmt, 2);
		const char *text = (const char *)sqlite3_column_text(stmt, 4);
		struct map *m = &r->domains;

		rc = SQLITE_OK;
		if (!text || !*text)
			continue;
		if (sqlite3_column_int(stmt, 0) == NVTX_THREAD) {
			if (tl_tracks_name_thread(r->tracks, sqlite3_column_int64(stmt, 1), text) <
			    0)
				rc = SQLITE_NOMEM;
			continue;
		}
		if (sqlite3_column_int(stmt, 0) == NVTX_CATEGORY) {
			m = &r->categories;
			key = hash_u64(key) ^ (uint64_t)sqlite3_column_int64(stmt, 3);
		}
		r->has_gil |= m == &r->domains && strcmp(text, GIL_DOMAIN) == 0;
		if (keep_text(r, map_at(m, key, true), text) < 0)
			rc = SQLITE_NOMEM;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

int tl_names_of_domains(struct tl_run *r)
{
	int64_t after = 0, upto;
	char bound[TL_BOUND] = "";

	if (r->opt->part > 0 && !r->opt->only_table)
		snprintf(bound, sizeof(bound), "n.rowid <= %lld AND ",
			 (long long)((double)tl_rows_cnt(r->db, "NVTX_EVENTS") * r->opt->part));
	if (!r->opt->only_table && !r->opt->goes_on)
		return names_in(r, bound);
	snprintf(bound, sizeof(bound), "n.rowid <= %d AND ", FIRST_ROWS);
	if (names_in(r, bound) < 0)
		return -1;
	if (r->opt->only_table || !r->opt->rows(r->opt->of_rows, "NVTX_EVENTS", &after, &upto))
		return 0;
	snprintf(bound, sizeof(bound), "n.rowid > %lld AND ", (long long)after);
	return names_in(r, bound);
}

/* ---- the kinds of places ---- */

static int slice(struct tl_run *r, struct tl_source *s, struct tl_event *e, struct tl_track *track)
{
	if (!track)
		return -1;
	e->kind = TL_SLICE;
	e->dur = s->dur;
	e->track = tl_track_lane(r->tracks, track, s->ts, s->end);
	return e->track ? tl_emit(r, e) : -1;
}

static int instant(struct tl_run *r, struct tl_event *e, struct tl_track *track)
{
	e->kind = TL_INSTANT;
	e->track = track;
	return track ? tl_emit(r, e) : -1;
}

/* A key of the current row; where it is NULL, @otherwise. */
static int64_t key_or(const struct tl_source *s, int i, int64_t otherwise)
{
	int64_t key = tl_key(s, i);

	return key == TL_NONE ? otherwise : key;
}

/* The number of a stack, as the view SL_CHAIN_FRAMES has it. */
static int64_t stack_of(const struct tl_run *r, const struct tl_source *s, int64_t chain)
{
	int kind = s->def->activity == TL_ACT_OSRT ? 1 : s->def->activity == TL_ACT_SYSCALL ? 3 : 2;

	if (chain == TL_NONE || chain <= 0 || chain > INT64_MAX / 8)
		return 0;
	return r->own_stacks ? chain : chain * 4 + kind;
}

static int at_call(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t thread = key_or(s, 0, 0);

	if (s->def->place != TL_AT_THREAD)
		e->stack = stack_of(r, s, tl_key(s, 1));
	if (s->def->activity == TL_ACT_OSRT && tl_key(s, 2) != TL_NONE) {
		e->path = tl_key(s, 2);
		e->bytes = key_or(s, 3, 0);
	}
	if (s->def->place == TL_AT_CUDA_CALL) {
		if (tl_key(s, 2) == CLASS_DRIVER)
			e->category = "cuda_driver";
		e->flow_out = tl_flow_out(r->flows, thread, tl_key(s, 3));
	}
	return slice(r, s, e, tl_track_thread(r->tracks, thread));
}

/* Is the current range one of Python's lock? */
static bool is_gil(struct tl_run *r, struct tl_source *s, int64_t thread)
{
	int64_t domain = tl_key(s, 2);
	uint64_t *at;

	if (!r->has_gil || domain == TL_NONE)
		return false;
	at = map_at(&r->domains, hash_u64((uint64_t)TL_PROCESS_OF(thread)) ^ (uint64_t)domain,
		    false);
	return at && *at && strcmp(r->texts[*at - 1], GIL_DOMAIN) == 0;
}

static int at_nvtx(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t type = tl_key(s, 0), thread = key_or(s, 1, 0);

	/* The lock is held across calls and ranges of any kind, so its span would nest with none of them. */
	if (type != NVTX_MARK && is_gil(r, s, thread))
		return slice(r, s, e, tl_track_gil(r->tracks, thread));
	if (type == NVTX_MARK)
		return instant(r, e, tl_track_thread(r->tracks, thread));
	if (type == NVTX_RANGE)
		return slice(r, s, e, tl_track_async(r->tracks, thread));
	return slice(r, s, e, tl_track_thread(r->tracks, thread));
}

static int at_gpu(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t process = tl_key(s, 0), stream = key_or(s, 3, 0);

	if (process == TL_NONE)
		process = tl_flows_process(r->flows);
	if (s->def->place == TL_AT_SYNC)
		stream = TL_SYNC_STREAM;
	else
		e->flow_in = tl_flow_in(r->flows, process, tl_key(s, 4));
	return slice(r, s, e,
		     tl_track_stream(r->tracks, process, key_or(s, 1, 0), key_or(s, 2, 0), stream));
}

static int at_sched(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t thread = tl_key(s, 0), state = tl_key(s, 3);

	if (thread == TL_NONE)
		return 0;
	e->kind = TL_SCHED;
	e->cpu = key_or(s, 1, -1);
	e->sched_in = tl_key(s, 2) == 1;
	e->state = e->sched_in || state == TL_NONE ? -1 : (int)state;
	e->track = tl_track_thread(r->tracks, thread);
	e->cpu_track = tl_track_cpu(r->tracks, e->cpu);
	return e->track && e->cpu_track ? tl_emit(r, e) : -1;
}

static int at_sample(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t thread = tl_key(s, 0);

	/* A sample that ends an off-CPU interval is none of a CPU. */
	if (thread == TL_NONE || tl_key(s, 4) != TL_NONE || !tl_stacks_any(r))
		return 0;
	e->kind = TL_SAMPLE;
	e->cpu = key_or(s, 1, -1);
	e->track = tl_track_thread(r->tracks, thread);
	if (!e->track || tl_stacks_frames(r, tl_key(s, 2), tl_key(s, 3), e) < 0)
		return -1;
	return tl_emit(r, e);
}

/* Memory in use, as the sum of the memory in use at the start, and of all allocations and frees so far. */
static int at_memory(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	static const char *const name[] = {
		"GPU memory: pageable",       "GPU memory: pinned",  "GPU memory: device",
		"GPU memory: array",          "GPU memory: managed", "GPU memory: device static",
		"GPU memory: managed static", "GPU memory: unknown"};
	int64_t kind = tl_key(s, 2), bytes = key_or(s, 3, 0);
	struct tl_track *device = tl_track_device(r->tracks, tl_key(s, 0), key_or(s, 1, 0));
	int64_t before = 0;
	uint64_t *sum;

	if (!device)
		return -1;
	if (kind < 0 || kind > 7)
		kind = 7;
	e->track = tl_track_counter(r->tracks, device, kind, name[kind], "bytes");
	if (e->track && !map_at(&r->sums, e->track->id, false))
		before = tl_memory_before(r, tl_key(s, 0), tl_key(s, 1), tl_key(s, 2));
	sum = e->track ? map_at(&r->sums, e->track->id, true) : NULL;
	if (!sum)
		return -1;
	*sum += (uint64_t)before;
	*sum += tl_key(s, 4) == MEMORY_FREE ? -(uint64_t)bytes : (uint64_t)bytes;
	e->kind = TL_VALUE;
	e->value = (int64_t)*sum;
	return tl_emit(r, e);
}

static const char *metric_name(struct tl_run *r, int64_t type, int64_t metric, char *buf,
			       size_t len)
{
	sqlite3_stmt *stmt = NULL;

	snprintf(buf, len, "GPU %lld: metric %lld", (long long)(type & 0xFF), (long long)metric);
	if (sqlite3_prepare_v2(r->db,
			       "SELECT metricName FROM TARGET_INFO_GPU_METRICS WHERE typeId = ?1 "
			       "AND metricId = ?2",
			       -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 1, type);
		sqlite3_bind_int64(stmt, 2, metric);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 0) > 0)
			snprintf(buf, len, "GPU %lld: %s", (long long)(type & 0xFF),
				 (const char *)sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	return buf;
}

/* Clocks are in Hz, even where their name has another unit. */
static const char *metric_unit(const char *name)
{
	return strstr(name, "%]")        ? "%"
	       : strstr(name, "[MHz]")   ? "Hz"
	       : strstr(name, "[Bytes]") ? "bytes"
					 : "";
}

struct tl_track *tl_metric_track(struct tl_run *r, int64_t type, int64_t metric)
{
	struct tl_track *machine = tl_track_machine(r->tracks);
	uint64_t *at = map_at(&r->metrics, hash_u64((uint64_t)type) ^ (uint64_t)metric, true);
	char name[160];

	if (!machine || !at)
		return NULL;
	if (*at == 0) {
		metric_name(r, type, metric, name, sizeof(name));
		*at = (uintptr_t)tl_track_counter(
			r->tracks, machine, (int64_t)(hash_u64((uint64_t)type) ^ (uint64_t)metric),
			name, metric_unit(name));
	}
	return (struct tl_track *)(uintptr_t)*at;
}

static int at_metric(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	if (tl_key(s, 2) == TL_NONE)
		return 0;
	e->track = tl_metric_track(r, tl_key(s, 0), tl_key(s, 1));
	e->kind = TL_VALUE;
	e->value = tl_key(s, 2);
	return e->track ? tl_emit(r, e) : -1;
}

static void event_name(struct tl_run *r, int64_t event, int64_t cpu, char *buf, size_t len)
{
	sqlite3_stmt *stmt = NULL;

	snprintf(buf, len, "CPU %lld: event %lld per second", (long long)cpu, (long long)event);
	if (sqlite3_prepare_v2(r->db, "SELECT event_name FROM PMU_EVENT_REQUESTS WHERE id = ?1", -1,
			       &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 1, event);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 0) > 0)
			snprintf(buf, len, "CPU %lld: %s per second", (long long)cpu,
				 (const char *)sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
}

/* Among GPU metrics' names are none with these numbers. */
#define EVENT_TYPE (INT64_C(1) << 62)

static int at_counted(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t event = tl_key(s, 0), cpu = tl_key(s, 1);
	struct tl_track *machine = tl_track_machine(r->tracks);
	uint64_t key = hash_u64((uint64_t)(EVENT_TYPE | event)) ^ (uint64_t)cpu;
	uint64_t *at = map_at(&r->metrics, key, true);
	char name[160];

	if (!machine || !at)
		return -1;
	if (*at == 0) {
		event_name(r, event, cpu, name, sizeof(name));
		*at = (uintptr_t)tl_track_counter(r->tracks, machine, (int64_t)key, name, "");
	}
	e->track = (struct tl_track *)(uintptr_t)*at;
	e->kind = TL_VALUE;
	e->value = tl_key(s, 2);
	if (e->value == TL_NONE)
		return 0;
	return e->track ? tl_emit(r, e) : -1;
}

/* Ids with nothing in the place of the pid stand for the machine and for the analysis. */
static int at_process(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t process = tl_key(s, 0);

	if (process == TL_NONE || TL_PID(process) == 0)
		return instant(r, e, tl_track_machine(r->tracks));
	return instant(r, e, tl_track_process(r->tracks, process));
}

static int at_lost(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	int64_t thread = tl_key(s, 0);

	if (thread == TL_NONE)
		return instant(r, e, tl_track_machine(r->tracks));
	return instant(r, e, tl_track_thread(r->tracks, thread));
}

/*
 * In pieces of a few stores each: the code that compilers make for the whole struct at once takes as long as the rest of a
 * row.
 */
static void clear(struct tl_event *e)
{
	enum {
		PIECE = 64
	};
	char *p = (char *)e;

	for (size_t i = 0; i < sizeof(*e) / PIECE; i++, p += PIECE)
		memset(p, 0, PIECE);
	memset(p, 0, sizeof(*e) % PIECE);
}

int tl_place_row(struct tl_run *r, struct tl_source *s)
{
	struct tl_event e;

	clear(&e);
	e.activity = s->def->activity;
	e.category = s->def->category;
	e.table = s->def->table;
	e.ts = s->ts;
	e.cpu = e.state = -1;
	e.path = -1;
	if (s->def->place == TL_AT_IO)
		return tl_io_row(r, s, &e);
	if (s->def->place == TL_AT_MADE)
		return tl_made_row(r, s, &e);
	if (s->def->place == TL_AT_PROJECTED)
		return tl_spans_row(r, s, &e);
	e.row = s->row[0] == TL_NONE ? 0 : s->row[0];
	e.name = tl_source_name(r, s);
	if (s->arg_cnt > 0)
		tl_source_args(r, s, &e);
	switch (s->def->place) {
	case TL_AT_THREAD:
	case TL_AT_CALL:
	case TL_AT_CUDA_CALL:
		return at_call(r, s, &e);
	case TL_AT_NVTX:
		return at_nvtx(r, s, &e);
	case TL_AT_STREAM:
	case TL_AT_SYNC:
		return at_gpu(r, s, &e);
	case TL_AT_SCHED:
		return at_sched(r, s, &e);
	case TL_AT_SAMPLE:
		return at_sample(r, s, &e);
	case TL_AT_MEMORY:
		return at_memory(r, s, &e);
	case TL_AT_METRIC:
		return at_metric(r, s, &e);
	case TL_AT_COUNTED:
		return at_counted(r, s, &e);
	case TL_AT_COUNTER:
		return tl_sample_row(r, s, &e);
	case TL_AT_PROCESS:
		return at_process(r, s, &e);
	default:
		return at_lost(r, s, &e);
	}
}
