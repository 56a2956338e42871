/*
 * live.h - running sums for `sightline top`: tables SL_LIVE_* (schema.sql).
 *
 * A reader cannot sum up a million new rows each second. So the row writers add them up as well; once a second the sums
 * that changed are written, in the transaction of the rows. They are sums since the report began, and are dropped when
 * it is finished: then its rows hold the same.
 *
 *   live.c        calls, files, GPUs
 *   live_flush.c  threads; writing
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/wire/hooks.h"

#define LIVE_GPUS  64u
#define LIVE_SPANS 64u

struct arenas;
struct db;
struct file;
struct image;
struct model;
struct sched;
struct thread;

enum live_kind {
	LIVE_OSRT = 0,
	LIVE_CUDA = 1, /* runtime and driver */
	LIVE_LIBRARY = 2,
};

/* One function in one process. */
struct live_sum {
	int64_t id, name_id; /* of its row; -> StringIds.id */
	uint64_t calls, ns, bytes, errors;
	uint64_t told; /* calls, as of its row */
	uint8_t kind;
};

/* The functions of one process image, or of its GPU libraries. */
struct live_calls {
	struct live_calls *next, **link; /* all of them */
	struct live_calls **owner;
	int64_t global_pid;
	struct live_sum *sum;
	uint32_t cnt, cap;
	uint32_t short_file; /* + 1 in live.files: bytes moved by calls without a row */
	uint16_t place[];    /* + 1 in sum; by hook, or by a hash of name_id */
};

/* One path in one process. */
struct live_file {
	int64_t id, global_pid;
	const char *
		path; /* of StringIds, not to its end where it is a folder; NULL: calls too short for a row */
	uint32_t len;
	uint64_t operations, ns, read, written;
	uint64_t told;  /* operations, as of its row */
	bool is_folder; /* files in it that have no sums of their own */
};

struct live_files {
	struct live_file *list;
	uint32_t cnt, cap;
	uint32_t *slot; /* open addressing: + 1 in list */
	uint32_t slots; /* a power of two */
};

/* Sums of a thread's calls since it was collected last; in struct thread. */
struct live_thread_calls {
	uint64_t calls;
	int64_t ns;
	struct live_short *seen; /* its totals of short calls as they were */
	uint32_t seen_cnt, seen_cap;
};

struct live_short {
	uint64_t hook, calls, ns, bytes, errors;
};

/* One thread, by globalTid. */
struct live_thread {
	struct live_thread *next_changed;
	int64_t id, global_tid;
	int64_t cpu_ns, off_ns, since;
	uint64_t switches, calls;
	int64_t call_ns;
	int8_t is_on; /* -1: the kernel was not heard */
	bool is_over, is_changed;
};

struct live_threads {
	struct live_thread **slot; /* open addressing, by global_tid */
	uint32_t slots, cnt;       /* slots: a power of two */
	struct live_thread *changed;
};

/*
 * One GPU. Kernels and copies overlap and are not reported in the order of time; so the latest stretches in which it was
 * busy are kept apart until the gaps between them are old.
 */
struct live_gpu {
	int64_t id;
	int64_t number; /* TARGET_INFO_GPU.id, or of the device in its process */
	bool is_known, is_changed;
	int64_t busy_ns;
	int64_t until;   /* CUPTI has reported all work that ended before; DB_NULL: none yet */
	int64_t settled; /* spans that begin before are cut */
	uint64_t kernels, copies, bytes;
	int64_t kernel_ns;
	struct {
		int64_t from, to;
	} span[LIVE_SPANS];
	uint32_t spans;
};

struct live {
	struct db *db;
	uint32_t report;        /* number of it, from 1 */
	int64_t round;          /* of writing */
	int64_t since, resumed; /* session times: the sums began, recording went on last */
	int64_t last_id;        /* of any table */
	struct live_calls *calls;
	struct live_files files;
	struct live_threads threads;
	struct {
		struct live_gpu *list;
		uint32_t cnt;
	} gpus;
	uint64_t switches;
	struct {
		uint64_t events, lost, untold; /* of earlier reports */
	} before;
	struct {
		uint64_t events, lost, processes; /* as they were written last */
		int64_t behind;
		int state; /* 1 recording, 0 not, -1 nothing written yet */
	} written;
};

void live_release(struct live *l);
/* New sums, for another report. @ns: session time of its beginning. */
void live_begin(struct arenas *as, struct sched *sched, int64_t ns);

struct live_now {
	int64_t ns;     /* session time */
	int64_t behind; /* age of the oldest record that is no row yet, ns; 0: there is none */
	bool is_recording;
};

/*
 * Once a second: writes changed sums in the open transaction. True: a sum had changed. @sched may
 * be NULL.
 */
bool live_flush(struct arenas *as, struct sched *sched, const struct live_now *now);

/* ---- the row writers add to the sums here; without memory sums stay incomplete ---- */

/* A sum for one more function, at @place; NULL: no memory. */
struct live_sum *live_sum_new(struct live *l, struct live_calls **calls, int64_t global_pid,
			      enum live_kind kind, uint32_t place, int64_t name_id);
static inline struct live_sum *live_sum_of(struct live *l, struct live_calls **calls,
					   int64_t global_pid, unsigned hook, int64_t name_id)
{
	uint16_t at = *calls ? (*calls)->place[hook] : 0;

	return at ? &(*calls)->sum[at - 1]
		  : live_sum_new(l, calls, global_pid, LIVE_OSRT, hook, name_id);
}
/* Ends @calls: writes the rest of its sums. */
void live_calls_end(struct live *l, struct live_calls **calls);

/* A call into a GPU library. */
void live_named(struct live *l, struct live_calls **calls, int64_t global_pid, enum live_kind kind,
		int64_t name_id, int64_t ns, bool failed);

/* Where the file's sums stand, + 1; 0: no memory. @path_id DB_NULL: calls of which only totals are known. */
uint32_t live_file_of(struct live *l, int64_t global_pid, int64_t path_id);

/* All calls of a thread and hook that have no row, since the report began. */
void live_short(struct arenas *as, struct thread *t, const struct live_short *all, int64_t name_id);
/* Takes over the thread's sums; @over: the thread is gone. */
void live_thread(struct arenas *as, struct thread *t, bool over);
void live_thread_free(struct thread *t);

enum live_work {
	LIVE_KERNEL,
	LIVE_COPY,
	LIVE_OTHER
};
/* Something that GPU @number did. @is_known: it is TARGET_INFO_GPU.id. */
void live_gpu_work(struct live *l, int64_t number, bool is_known, enum live_work what,
		   int64_t start, int64_t end, uint64_t bytes);
/* All work that ended before @until is reported. */
void live_gpu_until(struct live *l, int64_t number, bool is_known, int64_t until);
