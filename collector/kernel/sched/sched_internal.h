/*
 * sched_internal.h - between sched.c and the backends; private to kernel/sched.
 *
 * A backend decodes its kernel interface and delivers, in order of time, through the
 * track_*() functions. Those own the rules of the rows: per thread strictly in, out, in, out; a last
 * out of state TERMINATED; ids of the collector's PID namespace. A backend names a thread by a @key
 * below SCHED_KEY_LIMIT that it chooses (the kernel's global id, where it knows that); the @pid it
 * passes is the key of the main thread.
 */
#pragma once

#include "collector/kernel/sched/sched.h"

#define SCHED_KEY_LIMIT (4u << 20) /* the kernel's PID_MAX_LIMIT */
#define SCHED_CHUNK     1024u
#define SCHED_DRAINED   UINT64_MAX

/* Sizes, for tests to make small; 0: the backend's own choice. */
struct sched_tuning {
	unsigned records_per_cpu; /* a power of two */
	unsigned pages_per_cpu;   /* perf: a power of two */
	unsigned bpf_way;         /* how many of the ways of loading to leave out */
	unsigned call_slots;      /* for threads in a system call; a power of two */
	uint64_t detach_ns;       /* after a pause of this length nothing is attached */
};
extern struct sched_tuning sched_tuning;

/* Recording begins or ends; in order of time, until the records up to it have been taken. */
struct sched_edge {
	struct sched_edge *next;
	uint64_t ns;
	bool is_on;
	struct sched_holder {
		uint64_t head; /* records that its CPU had written */
		uint32_t tid, pid;
	} holders[]; /* current thread of each CPU, for the driver */
};

struct sched_driver {
	enum sched_backend id;
	/* 0, or -errno, a sentence in @why and a command in @fix. Sets s->data. */
	int (*open)(struct sched *s, char *why, size_t why_len, char *fix, size_t fix_len);
	int (*follow)(struct sched *s, pid_t pid);
	int (*poll)(struct sched *s, uint64_t horizon_ns);
	unsigned (*fill)(const struct sched *s); /* per cent of the fullest buffer */
	uint64_t (*lost)(const struct sched *s); /* records that the kernel dropped */
	/* System calls; NULL: none. */
	uint64_t (*calls_lost)(const struct sched *s);
	/*
	 * NULL: switches arrive, and are tracked without rows, while recording is off. Else none arrive then: @record
	 * enables records and notes, when recording begins, the current thread of each CPU; @enter passes those to
	 * track_running() when all records before the edge have been read.
	 */
	void (*record)(struct sched *s, bool on, struct sched_edge *edge);
	void (*enter)(struct sched *s, const struct sched_edge *edge);
	/* NULL: see sched_maps(). */
	void (*maps)(const struct sched *s, struct sched_maps *maps);
	/* NULL or: the window being delivered is over. */
	void (*leave)(struct sched *s);
	void (*stop)(struct sched *s);
	void (*close)(struct sched *s); /* also after a failed open */
};
extern const struct sched_driver sched_driver_bpf, sched_driver_perf;

struct sched_thread {
	uint64_t since_ns; /* of its last row, or of the first word of it */
	uint32_t pid, tid; /* 0: outside the collector's PID namespace */
	uint16_t cpu;      /* of its last row */
	uint16_t flags;
	/* Since sched_sums() was called last. */
	uint32_t switches;
	bool is_counted, is_on, is_over;
	uint64_t cpu_ns, off_ns;
	struct sched_thread *next_counted;
};

struct sched {
	enum sched_mode mode;
	bool no_switches; /* the tree, and system calls */
	struct {
		bool wanted, has;
		uint64_t threshold_ns;
		char why[200]; /* there are none */
	} calls;
	const struct sched_driver *driver;
	void *data; /* the driver's */
	bool is_stopped;
	bool must_announce; /* switches of threads that track_task() never named cannot be mapped */
	struct {
		unsigned cnt;       /* highest CPU number + 1 */
		uint32_t *running;  /* key of the thread on each CPU as far as we know, 0 none */
		uint64_t *moved_ns; /* when each CPU changed hands last */
	} cpu;
	struct {
		struct sched_edge
			*list;   /* intervals ahead of the events handed over, the next one first */
		bool is_off;     /* events being handed over are not to be recorded */
		bool is_paused;  /* behind the last edge */
		uint32_t window; /* of recording, counted by track_on() */
		uint64_t on_ns;  /* of the last edge that began recording, 0: the session did */
	} edge;
	struct {
		uint64_t limit_ns; /* nothing later is handed over */
		uint64_t told_ns;  /* all up to here has been */
		int handled;       /* by the current poll */
		const struct sched_ops *ops;
		void *ctx;
	} out;
	struct {
		uint64_t dropped; /* rows of threads without a known id */
		uint64_t mended;  /* rows put in for missing ones */
	} missing;
	struct {
		struct sched_thread *counted; /* threads with rows since the last sched_sums() */
		struct sched_thread *chunks[SCHED_KEY_LIMIT / SCHED_CHUNK];
	} threads;
};

struct track_out {
	uint32_t key, pid, tid;
	uint8_t state; /* SCHED_STATE_* */
	int8_t preempted;
	int priority;
};
struct track_in {
	uint32_t key, pid, tid;
	int priority;
	uint64_t wakeup_ns;
	uint32_t waker_key, waker_pid, waker_tid;
};
struct track_task {
	uint32_t key, pid, tid;
	uint32_t parent_key, parent_pid, parent_tid; /* born threads only */
	bool is_born;                                /* now; else it was there before */
	bool is_hidden;                              /* as in struct sched_exec */
	const char *comm;                            /* NULL unknown */
};

/* sched_sums.c: a row of @t is delivered; its previous one was at @before_ns (0: none). */
void sched_count(struct sched *s, struct sched_thread *t, uint64_t before_ns,
		 const struct sched_switch *row);

void track_out(struct sched *s, uint64_t ns, unsigned cpu, const struct track_out *out);
void track_in(struct sched *s, uint64_t ns, unsigned cpu, const struct track_in *in);
void track_task(struct sched *s, uint64_t ns, const struct track_task *task);
/* @old_key: of the thread that called exec, not @key if it was not the main thread; 0 unknown. */
void track_exec(struct sched *s, uint64_t ns, unsigned cpu, uint32_t key, uint32_t old_key,
		uint32_t pid, uint32_t tid, const char *comm, const struct sched_exec *exec);
void track_rename(struct sched *s, uint64_t ns, uint32_t key, uint32_t pid, uint32_t tid,
		  const char *comm);
/* @leaves_cpu: no switch will report it. @exit_code: see sched_ops. */
void track_exit(struct sched *s, uint64_t ns, uint32_t key, uint32_t pid, uint32_t tid,
		int exit_code, bool leaves_cpu);

/* Ids and, for calls that began before recording did, whether they count, are found out there. */
void track_call(struct sched *s, uint32_t key, uint32_t pid, struct sched_call *call);
void track_call_sum(struct sched *s, uint32_t key, uint32_t pid, struct sched_call_sum *sum);
/* @key has had @cpu since recording began. */
void track_running(struct sched *s, unsigned cpu, uint32_t key, uint32_t pid, uint32_t tid);
/* Recording begins or ends at @ns: rows for the running threads. */
void track_off(struct sched *s, uint64_t ns);
void track_on(struct sched *s, const struct sched_edge *edge);

/* Passes the edges up to @ns (inclusive). */
void sched_pass(struct sched *s, uint64_t ns);
void sched_edges_free(struct sched *s);

/*
 * Hands over the records of @cnt streams in order of time, up to @horizon_ns. next_ns[i] is the time
 * of stream i's first record (SCHED_DRAINED: none); @take handles that record and returns the time of
 * the one after it.
 */
void sched_merge(struct sched *s, uint64_t *next_ns, unsigned cnt, uint64_t horizon_ns,
		 uint64_t (*take)(struct sched *s, unsigned stream));
