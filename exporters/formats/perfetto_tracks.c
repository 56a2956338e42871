/* perfetto_tracks.c - tracks, processes and clocks for Perfetto. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "exporters/read/sql_rows.h"
#include "exporters/formats/perfetto.h"

enum { /* TrackDescriptor */
	TD_UUID = 1,
	TD_NAME = 2,
	TD_PROCESS = 3,
	TD_THREAD = 4,
	TD_PARENT = 5,
	TD_COUNTER = 8,
	TD_ORDER = 11,
	TD_RANK = 12,
	ORDER_EXPLICIT = 3,

	PD_PID = 1, /* ProcessDescriptor */
	PD_SORT = 3,
	PD_NAME = 6,

	HD_PID = 1, /* ThreadDescriptor */
	HD_TID = 2,
	HD_NAME = 5,

	CD_UNIT = 3, /* CounterDescriptor */
	CD_UNIT_NAME = 6,
	UNIT_BYTES = 3,
};

enum { /* ProcessTree */
	PT_PROCESS = 1,
	PT_THREAD = 2,

	PP_PID = 1,
	PP_PARENT = 2,
	PP_COMMAND = 3,

	PH_TID = 1,
	PH_NAME = 2,
	PH_PROCESS = 3,
};

enum { /* ClockSnapshot */
	CS_CLOCK = 1,
	CS_PRIMARY = 2,
	CK_ID = 1,
	CK_TIME = 2,

	CLOCK_OF_WALL = 1, /* BuiltinClock */
	CLOCK_OF_MONOTONIC = 3,
	CLOCK_OF_BOOT = 6,
};

static void put_text(struct proto *m, unsigned field, const char *text)
{
	proto_text(m, field, text, strlen(text));
}

/* ---- clocks ---- */

/* One number; false when there is none. */
static bool ask(struct perfetto *pf, const char *sql, int64_t *value)
{
	sqlite3_stmt *stmt = NULL;
	bool got = (stmt = sql_first(pf->job->db, sql)) != NULL &&
		   sqlite3_column_type(stmt, 0) == SQLITE_INTEGER;

	if (got)
		*value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return got;
}

static void put_clock(struct perfetto *pf, unsigned id, int64_t ts)
{
	size_t at = proto_open(&pf->packet, CS_CLOCK);

	proto_uint(&pf->packet, CK_ID, id);
	proto_uint(&pf->packet, CK_TIME, (uint64_t)ts);
	proto_close(&pf->packet, at);
}

void pf_clocks(struct perfetto *pf, int64_t ts)
{
	int64_t shift = pf->job->opt.shift, monotonic = 0, boot, wall = 0;
	bool has_monotonic, has_wall;
	size_t at;

	/* The clocks at session time 0. In reports of nsys, the axis of startTime runs since boot too. */
	has_monotonic =
		ask(pf, "SELECT systemClockNs FROM TARGET_INFO_SESSION_START_TIME", &monotonic) ||
		ask(pf, "SELECT startTime FROM ANALYSIS_DETAILS", &monotonic);
	has_wall = ask(pf, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", &wall);
	boot = monotonic;
	if (ask(pf, "SELECT boottime - monotonic FROM SL_CLOCK_SNAPSHOTS ORDER BY monotonic",
		&boot))
		boot += monotonic;

	/*
	 * Times are those since boot, so that other recordings of the machine fit; when UTC was asked for (--ts-normalize),
	 * they are that. Perfetto knows no times before 0.
	 */
	pf->base = pf->job->opt.normalize ? 0 : boot;
	if (ts + pf->base < 0)
		pf->base = -ts;

	pf_begin(pf);
	proto_uint(&pf->packet, PF_SEQUENCE_ID, PF_SEQUENCE);
	at = proto_open(&pf->packet, PF_CLOCK_SNAPSHOT);
	proto_uint(&pf->packet, CS_PRIMARY, CLOCK_OF_BOOT);
	/* Session time 0, or the first event where that would have no time: only the differences count. */
	if (shift + pf->base < 0) {
		wall += ts - shift;
		monotonic += ts - shift;
		shift = ts;
	}
	put_clock(pf, CLOCK_OF_BOOT, shift + pf->base);
	if (has_monotonic && monotonic >= 0)
		put_clock(pf, CLOCK_OF_MONOTONIC, monotonic);
	if (has_wall && wall >= 0)
		put_clock(pf, CLOCK_OF_WALL, wall);
	proto_close(&pf->packet, at);
	pf_send(pf);
	pf->begun = true;
}

/* ---- processes and threads, for the tables of the same names ---- */

/* The words of a command line; Perfetto takes the first for the process's name. */
static void put_words(struct proto *m, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (len > 0)
			proto_text(m, PP_COMMAND, text, len);
		text += len + (text[len] == ' ');
	}
}

static void put_process(struct perfetto *pf, const struct tl_track *t)
{
	static const char sql[] =
		"SELECT parentGlobalPid, commandLine FROM SL_PROCESS_TREE WHERE globalPid = ? "
		"ORDER BY commandLine IS NULL, start DESC";
	struct proto *m = &pf->packet;
	size_t tree, process;
	bool has_words = false;

	if (!pf->tree && sqlite3_prepare_v2(pf->job->db, sql, -1, &pf->tree, NULL) != SQLITE_OK)
		pf->tree = NULL;
	pf_begin(pf);
	proto_uint(m, PF_SEQUENCE_ID, PF_SEQUENCE);
	tree = proto_open(m, PF_PROCESS_TREE);
	process = proto_open(m, PT_PROCESS);
	proto_uint(m, PP_PID, (uint64_t)t->pid);
	if (pf->tree && sqlite3_bind_int64(pf->tree, 1, t->global) == SQLITE_OK &&
	    sqlite3_step(pf->tree) == SQLITE_ROW) {
		const char *words = (const char *)sqlite3_column_text(pf->tree, 1);

		if (sqlite3_column_type(pf->tree, 0) == SQLITE_INTEGER)
			proto_uint(m, PP_PARENT,
				   (uint64_t)sqlite3_column_int64(pf->tree, 0) >> 24 & 0xFFFFFF);
		has_words = words && *words;
		if (has_words && t->rank >= 0)
			put_text(m, PP_COMMAND, t->name);
		if (has_words)
			put_words(m, words);
	}
	sqlite3_reset(pf->tree);
	if (!has_words && *t->name)
		put_text(m, PP_COMMAND, t->name);
	proto_close(m, process);
	proto_close(m, tree);
	pf_send(pf);
}

static void put_thread(struct perfetto *pf, const struct tl_track *t)
{
	struct proto *m = &pf->packet;
	size_t tree, thread;

	pf_begin(pf);
	proto_uint(m, PF_SEQUENCE_ID, PF_SEQUENCE);
	tree = proto_open(m, PF_PROCESS_TREE);
	thread = proto_open(m, PT_THREAD);
	proto_uint(m, PH_TID, (uint64_t)t->tid);
	proto_uint(m, PH_PROCESS, (uint64_t)t->pid);
	if (*t->name)
		put_text(m, PH_NAME, t->name);
	proto_close(m, thread);
	proto_close(m, tree);
	pf_send(pf);
}

/* ---- tracks ---- */

/* The first lane of a thread; a later one remembers nothing but is under it. */
static struct tl_track *first_lane(struct perfetto *pf, struct tl_track *t)
{
	for (size_t i = pf->thread_cnt; t->lane > 0 && i-- > 0;)
		if (pf->threads[i]->global == t->global)
			return pf->threads[i];
	if (!grow(&pf->threads, pf->thread_cnt, &pf->thread_max, sizeof(struct tl_track *))) {
		pf->failed = true;
		return t;
	}
	return pf->threads[pf->thread_cnt++] = t;
}

static void describe_thread(struct perfetto *pf, struct tl_track *t)
{
	struct proto *m = &pf->packet;
	const struct tl_track *first = first_lane(pf, t);
	size_t at;

	if (first != t) { /* a thread has one track of its own; others stand below it */
		proto_uint(m, TD_PARENT, first->id);
		put_text(m, TD_NAME, "overlapping");
		return;
	}
	at = proto_open(m, TD_THREAD);
	proto_uint(m, HD_PID, (uint64_t)t->pid);
	proto_uint(m, HD_TID, (uint64_t)t->tid);
	if (*t->name)
		put_text(m, HD_NAME, t->name);
	proto_close(m, at);
}

static void describe_process(struct perfetto *pf, const struct tl_track *t)
{
	struct proto *m = &pf->packet;
	size_t at = proto_open(m, TD_PROCESS);

	proto_uint(m, PD_PID, (uint64_t)t->pid);
	/* Without it the viewer's order is by how much processes ran. */
	if (t->rank >= 0)
		proto_uint(m, PD_SORT, (uint64_t)t->rank);
	if (*t->name)
		put_text(m, PD_NAME, t->name);
	proto_close(m, at);
}

static void describe_counter(struct perfetto *pf, const struct tl_track *t)
{
	struct proto *m = &pf->packet;
	size_t at = proto_open(m, TD_COUNTER);

	if (t->unit && strcmp(t->unit, "bytes") == 0)
		proto_uint(m, CD_UNIT, UNIT_BYTES);
	else if (t->unit && *t->unit)
		put_text(m, CD_UNIT_NAME, t->unit);
	proto_close(m, at);
}

static void describe(struct perfetto *pf, struct tl_track *t)
{
	static const char *const unnamed[TL_TRACK_KINDS] = {
		[TL_ASYNC] = "ranges",    [TL_DEVICE] = "GPU",      [TL_STREAM] = "stream",
		[TL_NVTX_GPU] = "ranges", [TL_COUNTER] = "counter",
	};
	struct proto *m = &pf->packet;

	if (t->kind == TL_THREAD) {
		describe_thread(pf, t);
		return;
	}
	if (t->kind == TL_PROCESS) {
		describe_process(pf, t);
		return;
	}
	if (t->parent)
		proto_uint(m, TD_PARENT, t->parent->id);
	/* Lanes have the same name: the viewer shows siblings with one name as one track. */
	if (t->kind == TL_MACHINE) /* CPUs have their own place here; the rest concerns all CPUs */
		put_text(m, TD_NAME, "Machine");
	else
		put_text(m, TD_NAME, *t->name ? t->name : unnamed[t->kind]);
	if (t->kind == TL_DEVICE || t->kind == TL_MACHINE)
		proto_uint(m, TD_ORDER, ORDER_EXPLICIT);
	proto_uint(m, TD_RANK, (uint64_t)(int64_t)t->sort);
	if (t->kind == TL_COUNTER)
		describe_counter(pf, t);
}

void pf_track(struct perfetto *pf, struct tl_track *t)
{
	struct proto *m = &pf->packet;
	size_t at;

	if (t->kind == TL_CPU)
		return; /* Perfetto makes these itself, from context switches */
	if (t->kind == TL_PROCESS)
		put_process(pf, t);
	if (t->kind == TL_THREAD && t->lane == 0)
		put_thread(pf, t);
	pf_begin(pf);
	proto_uint(m, PF_SEQUENCE_ID, PF_SEQUENCE);
	at = proto_open(m, PF_TRACK_DESCRIPTOR);
	proto_uint(m, TD_UUID, t->id);
	describe(pf, t);
	proto_close(m, at);
	pf_send(pf);
}
