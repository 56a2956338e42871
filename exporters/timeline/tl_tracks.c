/*
 * tl_tracks.c - tracks: made when first needed, announced once, with names and numbers of their own.
 *
 * Lanes: each track remembers the ends of the slices that are open at the current time. A slice that none of
 * them encloses, though one is open, goes to the next lane of the track.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/read/sql_rows.h"
#include "exporters/timeline/tl_internal.h"

/* Pids and tids have 24 bits, so numbers from here on are free. */
#define MADE_UP     (1 << 24)
#define RECENT_BITS 6
#define RECENT      (1 << RECENT_BITS)

struct track {
	struct tl_track pub; /* first: sinks have pointers to it */
	struct track *next_lane, *next_all;
	int64_t *end; /* of open slices, the outermost first */
	size_t open, room;
	char *name, *unit;
};

struct tl_tracks {
	sqlite3 *db;
	struct tl_names *names;
	const struct tl_sink *sink;
	void *self;
	/* Threads, streams and CPUs found last: few are busy at a time. */
	struct track *recent[3][RECENT];
	struct map by_key;       /* hash of the key -> struct track *; see find() */
	struct map thread_names; /* globalTid -> nameId + 1 */
	struct map given_names;  /* globalTid -> char *: by the program */
	struct map pids, tids;   /* numbers taken; tids by (pid, tid) */
	struct track *first, *last;
	uint32_t cnt;
	int64_t made_up;
	struct { /* the GPU that was asked for last */
		sqlite3_stmt *ask;
		int64_t process, device, number;
	} gpu;
};

/* ---- keys of tracks ---- */

struct key {
	int64_t part[6];
};

static uint64_t key_hash(const struct key *k)
{
	uint64_t h = 0;

	for (size_t i = 0; i < 6; i++)
		h = hash_join(h, (uint64_t)k->part[i]) + i;
	return h;
}

static bool key_of(const struct track *t, const struct key *k)
{
	const struct tl_track *p = &t->pub;

	switch (p->kind) {
	case TL_COUNTER:
		return k->part[0] == TL_COUNTER && k->part[1] == (int64_t)p->parent->id &&
		       k->part[2] == p->global;
	case TL_CPU:
		return k->part[0] == TL_CPU && k->part[1] == p->cpu;
	case TL_NVTX_GPU:
		return k->part[0] == TL_NVTX_GPU && k->part[1] == p->global &&
		       k->part[2] == p->parent->global && k->part[3] == p->device &&
		       k->part[4] == p->context && k->part[5] == p->stream;
	default:
		return k->part[0] == (int64_t)p->kind && k->part[1] == p->global &&
		       k->part[2] == p->device && k->part[3] == p->context &&
		       k->part[4] == p->stream;
	}
}

/* Among the recent ones. Of main threads pid and tid are the same, so that all bits count. */
static size_t place(uint64_t id)
{
	return hash_u64(id) >> (64 - RECENT_BITS);
}

/* Keys whose hashes agree stand one after the other. */
static struct track *find(struct tl_tracks *t, const struct key *k, uint64_t *hash)
{
	uint64_t *slot;

	for (*hash = key_hash(k); (slot = map_at(&t->by_key, *hash, false)) != NULL; ++*hash)
		if (key_of((struct track *)(uintptr_t)*slot, k))
			return (struct track *)(uintptr_t)*slot;
	return NULL;
}

/* ---- making ---- */

static int64_t number(struct tl_tracks *t, struct map *taken, int64_t space, int64_t wanted)
{
	uint64_t *slot =
		wanted < 0 ? NULL : map_at(taken, (uint64_t)space << 32 ^ (uint64_t)wanted, true);

	if (!slot || *slot)
		return t->made_up++;
	*slot = 1;
	return wanted;
}

static struct track *make(enum tl_track_kind kind, const struct tl_track *parent, const char *name,
			  size_t len)
{
	struct track *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->name = calloc(1, len + 1);
	if (!made->name) {
		free(made);
		return NULL;
	}
	memcpy(made->name, name, len);
	made->pub = (struct tl_track){
		.kind = kind,
		.parent = parent,
		.process_pid = parent ? parent->process_pid : -1,
		.global = parent ? parent->global : -1,
		.pid = parent ? parent->pid : 0,
		.device = -1,
		.gpu = parent ? parent->gpu : -1,
		.context = -1,
		.stream = -1,
		.cpu = -1,
		.name = made->name,
		.rank = -1,
	};
	return made;
}

/* Numbers it, puts it into the list and passes it to the sink. */
static struct tl_track *announce(struct tl_tracks *t, struct track *made, uint64_t hash)
{
	uint64_t *slot = hash ? map_at(&t->by_key, hash, true) : NULL;

	made->pub.id = ++t->cnt;
	if (t->last)
		t->last->next_all = made;
	else
		t->first = made;
	t->last = made;
	if (hash && !slot)
		return NULL;
	if (slot)
		*slot = (uintptr_t)made;
	return t->sink->track(t->self, &made->pub) == 0 ? &made->pub : NULL;
}

/* Ranks, not pids, are the order of processes of several machines. */
static void place_process(struct tl_tracks *t, struct tl_track *p)
{
	sqlite3_stmt *stmt = NULL;

	p->sort = (int)p->process_pid;
	stmt = sql_first_of(t->db, "SELECT rank FROM SL_RANK_PROCESSES WHERE globalPid = ?1",
			    p->global);
	if (stmt) {
		int64_t rank = sqlite3_column_int64(stmt, 0);

		if (rank >= 0 && rank <= TL_RANK_MAX)
			p->sort = p->rank = (int)rank;
	}
	sqlite3_finalize(stmt);
}

struct tl_track *tl_track_process(struct tl_tracks *t, int64_t global)
{
	struct key key = {{TL_PROCESS, TL_PROCESS_OF(global), -1, -1, -1, 0}};
	sqlite3_stmt *stmt = NULL;
	struct track *made;
	uint64_t hash;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	global = TL_PROCESS_OF(global);
	stmt = sql_first_of(t->db,
			    "SELECT name FROM PROCESSES WHERE globalPid = ?1 AND name IS NOT NULL",
			    global);
	if (stmt && sqlite3_column_bytes(stmt, 0) > 0) {
		const char *text = (const char *)sqlite3_column_blob(stmt, 0);

		made = make(TL_PROCESS, NULL, text, (size_t)sqlite3_column_bytes(stmt, 0));
	} else {
		made = make(TL_PROCESS, NULL, "", 0);
	}
	sqlite3_finalize(stmt);
	if (!made)
		return NULL;
	made->pub.global = global;
	made->pub.process_pid = TL_PID(global);
	made->pub.pid = number(t, &t->pids, 0, TL_PID(global));
	place_process(t, &made->pub);
	return announce(t, made, hash);
}

static struct tl_track *thread(struct tl_tracks *t, int64_t global)
{
	struct key key = {{TL_THREAD, global, -1, -1, -1, 0}};
	struct tl_text name = {0, "", 0};
	struct tl_track *process;
	struct track *made;
	uint64_t hash, *name_id;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	process = tl_track_process(t, global);
	if (!process)
		return NULL;
	/* The program's name of a thread is preferred to the kernel's. */
	name_id = map_at(&t->given_names, (uint64_t)global, false);
	if (name_id) {
		name.text = (const char *)(uintptr_t)*name_id;
		name.len = strlen(name.text);
	} else if ((name_id = map_at(&t->thread_names, (uint64_t)global, false)) != NULL) {
		name = tl_name(t->names, (int64_t)(*name_id - 1), false);
	}
	made = make(TL_THREAD, process, name.text, name.len);
	if (!made)
		return NULL;
	made->pub.global = global;
	made->pub.tid = number(t, &t->tids, process->id, TL_TID(global));
	/* The main thread first. */
	made->pub.sort = TL_TID(global) == TL_PID(global) ? 0 : (int)TL_TID(global);
	return announce(t, made, hash);
}

struct tl_track *tl_track_thread(struct tl_tracks *t, int64_t global)
{
	struct track **recent = &t->recent[0][place((uint64_t)global)];

	if (!*recent || (*recent)->pub.global != global)
		*recent = (struct track *)thread(t, global);
	return *recent ? &(*recent)->pub : NULL;
}

struct tl_track *tl_track_gil(struct tl_tracks *t, int64_t global)
{
	struct key key = {{TL_GIL, global, -1, -1, -1, 0}};
	struct tl_track *parent;
	struct track *made;
	uint64_t hash;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	parent = tl_track_thread(t, global);
	made = parent ? make(TL_GIL, parent, "GIL", 3) : NULL;
	if (!made)
		return NULL;
	made->pub.tid = number(t, &t->tids, parent->id, -1);
	made->pub.sort = parent->sort;
	return announce(t, made, hash);
}

struct tl_track *tl_track_made(struct tl_tracks *t, int64_t thread, int64_t device,
			       const char *name)
{
	struct tl_track *parent =
		device < 0 ? tl_track_thread(t, thread) : tl_track_device(t, thread, device);
	struct track *made = parent ? make(TL_MADE, parent, name, strlen(name)) : NULL;

	if (!made)
		return NULL;
	made->pub.device = device;
	made->pub.tid = number(t, &t->tids, parent->id, -1);
	made->pub.sort = device < 0 ? parent->sort : -1;
	return announce(t, made, 0);
}

struct tl_track *tl_track_async(struct tl_tracks *t, int64_t global)
{
	struct key key = {{TL_ASYNC, TL_PROCESS_OF(global), -1, -1, -1, 0}};
	struct tl_track *process;
	struct track *made;
	uint64_t hash;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	process = tl_track_process(t, global);
	made = process ? make(TL_ASYNC, process, "NVTX start/end", 14) : NULL;
	if (!made)
		return NULL;
	made->pub.tid = number(t, &t->tids, process->id, -1);
	made->pub.sort = MADE_UP;
	return announce(t, made, hash);
}

/* The number of the GPU; the device, as its process counts them, where the report does not say. */
int64_t tl_tracks_gpu(struct tl_tracks *t, int64_t global, int64_t device)
{
	int64_t gpu = device;

	if (t->gpu.process == global && t->gpu.device == device)
		return t->gpu.number;
	if (!t->gpu.ask)
		sqlite3_prepare_v2(t->db, "SELECT sl_gpu(?1, ?2)", -1, &t->gpu.ask, NULL);
	if (t->gpu.ask) {
		sqlite3_bind_int64(t->gpu.ask, 1, global);
		sqlite3_bind_int64(t->gpu.ask, 2, device);
		if (sqlite3_step(t->gpu.ask) == SQLITE_ROW)
			gpu = sqlite3_column_int64(t->gpu.ask, 0);
		sqlite3_reset(t->gpu.ask);
	}
	t->gpu.process = global;
	t->gpu.device = device;
	t->gpu.number = gpu;
	return gpu;
}

/* "GPU 0: NVIDIA H100"; the name where the GPU is known. */
static void device_name(struct tl_tracks *t, int64_t pid, int64_t device, int64_t gpu, char *buf,
			size_t len)
{
	static const char *const sql[] = {
		"SELECT g.name FROM TARGET_INFO_CUDA_DEVICE AS d JOIN TARGET_INFO_GPU AS g ON g.id "
		"= d.gpuId WHERE d.pid = ?1 AND d.cudaId = ?2",
		"SELECT name FROM TARGET_INFO_GPU WHERE ?1 IS NOT NULL AND cuDevice = ?2",
		"SELECT name FROM TARGET_INFO_GPU WHERE ?1 IS NOT NULL AND id = ?2",
	};

	snprintf(buf, len, "GPU %lld", (long long)gpu);
	for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
		sqlite3_stmt *stmt = NULL;
		bool found = false;

		if (sqlite3_prepare_v2(t->db, sql[i], -1, &stmt, NULL) != SQLITE_OK)
			continue;
		sqlite3_bind_int64(stmt, 1, pid);
		sqlite3_bind_int64(stmt, 2, device);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 0) > 0) {
			snprintf(buf, len, "GPU %lld: %s", (long long)gpu,
				 (const char *)sqlite3_column_text(stmt, 0));
			found = true;
		}
		sqlite3_finalize(stmt);
		if (found)
			return;
	}
}

struct tl_track *tl_track_device(struct tl_tracks *t, int64_t global, int64_t device)
{
	struct key key = {{TL_DEVICE, TL_PROCESS_OF(global), device, -1, -1, 0}};
	struct tl_track *process;
	struct track *made;
	char name[160];
	uint64_t hash;
	int64_t gpu;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	process = tl_track_process(t, global);
	if (!process)
		return NULL;
	gpu = tl_tracks_gpu(t, process->global, device);
	device_name(t, process->process_pid, device, gpu, name, sizeof(name));
	made = make(TL_DEVICE, process, name, strlen(name));
	if (!made)
		return NULL;
	made->pub.device = device;
	made->pub.gpu = gpu;
	made->pub.pid = number(t, &t->pids, 0, -1);
	made->pub.sort = (process->rank >= 0 ? process->rank * TL_RANK_GPUS : 0) + (int)gpu;
	return announce(t, made, hash);
}

/* "stream 7", "stream 13: copies": with the name that the program gave it last. */
static void stream_name(struct tl_tracks *t, int64_t pid, int64_t context, int64_t stream,
			char *buf, size_t len)
{
	sqlite3_stmt *stmt = NULL;

	snprintf(buf, len, "stream %lld", (long long)stream);
	if (sqlite3_prepare_v2(t->db,
			       "SELECT name FROM TARGET_INFO_NVTX_CUDA_STREAM WHERE processId = ?"
			       " AND contextId = ? AND streamId = ? ORDER BY rowid DESC LIMIT 1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return;
	sqlite3_bind_int64(stmt, 1, pid);
	sqlite3_bind_int64(stmt, 2, context);
	sqlite3_bind_int64(stmt, 3, stream);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 0) > 0)
		snprintf(buf, len, "stream %lld: %s", (long long)stream,
			 (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

static struct tl_track *make_stream(struct tl_tracks *t, int64_t global, int64_t device,
				    int64_t context, int64_t stream)
{
	struct key key = {{TL_STREAM, TL_PROCESS_OF(global), device, context, stream, 0}};
	struct tl_track *parent;
	struct track *made;
	char name[160];
	uint64_t hash;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	parent = tl_track_device(t, global, device);
	if (!parent)
		return NULL;
	if (stream == TL_SYNC_STREAM)
		snprintf(name, sizeof(name), "Synchronization");
	else
		stream_name(t, parent->parent->process_pid, context, stream, name, sizeof(name));
	made = make(TL_STREAM, parent, name, strlen(name));
	if (!made)
		return NULL;
	made->pub.device = device;
	made->pub.context = context;
	made->pub.stream = stream;
	/* Two contexts of a process may number their streams alike. */
	made->pub.tid = number(t, &t->tids, parent->id, stream);
	made->pub.sort = stream == TL_SYNC_STREAM ? MADE_UP : (int)(stream & 0xFFFFFF) * 2;
	return announce(t, made, hash);
}

struct tl_track *tl_track_stream(struct tl_tracks *t, int64_t global, int64_t device,
				 int64_t context, int64_t stream)
{
	uint64_t at = (uint64_t)global ^ (uint64_t)stream * 5 ^ (uint64_t)device * 11 ^
		      (uint64_t)context * 23;
	struct track **recent = &t->recent[1][place(at)];
	const struct tl_track *p = *recent ? &(*recent)->pub : NULL;

	if (!p || p->global != TL_PROCESS_OF(global) || p->stream != stream ||
	    p->device != device || p->context != context)
		*recent = (struct track *)make_stream(t, global, device, context, stream);
	return *recent ? &(*recent)->pub : NULL;
}

struct tl_track *tl_track_projected(struct tl_tracks *t, int64_t thread, int64_t global,
				    int64_t device, int64_t context, int64_t stream)
{
	struct key key = {{TL_NVTX_GPU, thread, TL_PROCESS_OF(global), device, context, stream}};
	struct tl_track *parent;
	struct track *made;
	char name[96];
	uint64_t hash;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	parent = tl_track_device(t, global, device);
	if (!parent)
		return NULL;
	snprintf(name, sizeof(name), "NVTX of thread %lld on stream %lld",
		 (long long)TL_TID(thread), (long long)stream);
	made = make(TL_NVTX_GPU, parent, name, strlen(name));
	if (!made)
		return NULL;
	made->pub.global = thread;
	made->pub.device = device;
	made->pub.context = context;
	made->pub.stream = stream;
	made->pub.tid = number(t, &t->tids, parent->id, -1);
	made->pub.sort = (int)(stream & 0xFFFFFF) * 2 - 1;
	return announce(t, made, hash);
}

struct tl_track *tl_track_machine(struct tl_tracks *t)
{
	struct key key = {{TL_MACHINE, -1, -1, -1, -1, 0}};
	struct track *made;
	uint64_t hash;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	made = make(TL_MACHINE, NULL, "CPUs", 4);
	if (!made)
		return NULL;
	made->pub.pid = number(t, &t->pids, 0, -1);
	return announce(t, made, hash);
}

/* "CPU 3"; of several machines "CPU 3, g077". */
static void cpu_name(struct tl_tracks *t, int64_t cpu, char *buf, size_t len)
{
	static const char sql[] =
		"SELECT ?1 - firstCpu, coalesce(', ' || host, '') FROM SL_RANK_CPUS WHERE ?1 >= "
		"firstCpu AND ?1 - firstCpu < cpus";
	sqlite3_stmt *stmt = NULL;

	snprintf(buf, len, "CPU %lld", (long long)cpu);
	stmt = sql_first_of(t->db, sql, cpu);
	if (stmt)
		snprintf(buf, len, "CPU %lld%s", (long long)sqlite3_column_int64(stmt, 0),
			 (const char *)sqlite3_column_text(stmt, 1));
	sqlite3_finalize(stmt);
}

static struct tl_track *make_cpu(struct tl_tracks *t, int64_t cpu)
{
	struct key key = {{TL_CPU, cpu, 0, 0, 0, 0}};
	struct tl_track *machine;
	struct track *made;
	char name[160];
	uint64_t hash;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	machine = tl_track_machine(t);
	cpu_name(t, cpu, name, sizeof(name));
	made = machine ? make(TL_CPU, machine, name, strlen(name)) : NULL;
	if (!made)
		return NULL;
	made->pub.cpu = cpu;
	made->pub.tid = number(t, &t->tids, machine->id, cpu);
	made->pub.sort = (int)cpu;
	return announce(t, made, hash);
}

struct tl_track *tl_track_cpu(struct tl_tracks *t, int64_t cpu)
{
	struct track **recent = &t->recent[2][(uint64_t)cpu & (RECENT - 1)];

	if (!*recent || (*recent)->pub.cpu != cpu)
		*recent = (struct track *)make_cpu(t, cpu);
	return *recent ? &(*recent)->pub : NULL;
}

struct tl_track *tl_track_counter(struct tl_tracks *t, struct tl_track *parent, int64_t key_no,
				  const char *name, const char *unit)
{
	struct key key = {{TL_COUNTER, parent->id, key_no, 0, 0, 0}};
	struct track *made;
	uint64_t hash;

	made = find(t, &key, &hash);
	if (made)
		return &made->pub;
	made = make(TL_COUNTER, parent, name, strlen(name));
	if (!made)
		return NULL;
	made->pub.global = key_no;
	made->pub.device = parent->device;
	made->pub.unit = unit;
	return announce(t, made, hash);
}

/* ---- lanes ---- */

static bool fits(struct track *t, int64_t ts, int64_t end)
{
	bool flat = t->pub.kind == TL_STREAM || t->pub.kind == TL_CPU;

	while (t->open > 0 && t->end[t->open - 1] <= ts)
		t->open--;
	return t->open == 0 || (!flat && end <= t->end[t->open - 1]);
}

static struct track *another_lane(struct tl_tracks *t, struct track *before)
{
	const struct tl_track *p = &before->pub;
	struct track *made = make(p->kind, p->parent, p->name, strlen(p->name));

	if (!made)
		return NULL;
	made->pub = *p;
	made->pub.name = made->name;
	made->pub.of_sink = NULL;
	made->pub.lane = p->lane + 1;
	made->pub.tid = number(t, &t->tids, 0, -1);
	before->next_lane = made;
	return announce(t, made, 0) ? made : NULL;
}

struct tl_track *tl_track_lane(struct tl_tracks *t, struct tl_track *track, int64_t ts, int64_t end)
{
	struct track *lane = (struct track *)track;

	while (!fits(lane, ts, end)) {
		struct track *next = lane->next_lane;

		if (!next)
			next = another_lane(t, lane);
		if (!next)
			return NULL;
		lane = next;
	}
	if (!grow(&lane->end, lane->open, &lane->room, sizeof(*lane->end)))
		return NULL;
	lane->end[lane->open++] = end;
	return &lane->pub;
}

/* ---- beginning and end ---- */

static int load_thread_names(struct tl_tracks *t)
{
	static const char sql[] =
		"SELECT globalTid, nameId FROM ThreadNames WHERE globalTid IS NOT NULL";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(t->db, sql, -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint64_t *slot =
			map_at(&t->thread_names, (uint64_t)sqlite3_column_int64(stmt, 0), true);

		if (slot)
			*slot = (uint64_t)sqlite3_column_int64(stmt, 1) + 1;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

int tl_tracks_name_thread(struct tl_tracks *t, int64_t global, const char *name)
{
	uint64_t *slot = map_at(&t->given_names, (uint64_t)global, true);
	char *text = slot ? strdup(name) : NULL;

	if (!text)
		return -1;
	free((void *)(uintptr_t)*slot);
	*slot = (uintptr_t)text;
	return 0;
}

struct tl_tracks *tl_tracks_new(sqlite3 *db, struct tl_names *names, const struct tl_sink *sink,
				void *self)
{
	struct tl_tracks *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->db = db;
	t->names = names;
	t->sink = sink;
	t->self = self;
	t->made_up = MADE_UP;
	if (load_thread_names(t) == 0)
		return t;
	tl_tracks_free(t);
	return NULL;
}

void tl_tracks_free(struct tl_tracks *t)
{
	struct track *next;

	for (struct track *i = t ? t->first : NULL; i; i = next) {
		next = i->next_all;
		free(i->end);
		free(i->name);
		free(i);
	}
	if (t) {
		map_free(&t->by_key);
		map_free(&t->thread_names);
		for (size_t i = 0; i < t->given_names.size; i++)
			if (t->given_names.slot[i].used)
				free((void *)(uintptr_t)t->given_names.slot[i].value);
		map_free(&t->given_names);
		map_free(&t->pids);
		map_free(&t->tids);
		sqlite3_finalize(t->gpu.ask);
	}
	free(t);
}
