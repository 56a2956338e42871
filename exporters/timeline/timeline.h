/*
 * timeline.h - a report as one stream of things on tracks, in the order of their start.
 *
 * Tables are read side by side, each once (timeline.def has a line for each), so memory does not grow
 * with the report. Guarantees to a sink:
 *
 *   - A track is announced (sink.track) after its parent and before its first event.
 *   - Events come by ascending ts; at the same ts the longer first, and the outer before the inner
 *     (NVTX, then library calls, then CUDA's, then libc's).
 *   - Slices of a track nest properly. A slice that overlaps another one of its track only partly goes to another lane:
 *     a track of the same kind, process and thread with lane > 0. On streams nothing nests:
 *     whatever overlaps goes to another lane.
 *   - Tracks, events, names and arguments are valid during the call only, tracks until the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/read/db_read.h"

/* ---- text ---- */

/*
 * Bytes as the report has them: not always UTF-8, may hold control characters. @id > 0: the same id is
 * always the same text (StringIds.id + 1, or an id above all of them for texts that the timeline makes up),
 * so a sink may intern by it. 0: look at the text.
 */
struct tl_text {
	int64_t id;
	const char *text;
	size_t len;
};

/* ---- tracks ---- */

enum tl_track_kind {
	TL_PROCESS,  /* parent of threads, devices, async tracks and its counters */
	TL_THREAD,   /* calls and ranges of a thread; its context switches name it too */
	TL_ASYNC,    /* NVTX start/end ranges of a process */
	TL_DEVICE,   /* a GPU as a process sees it: parent of streams */
	TL_STREAM,   /* work of a GPU */
	TL_NVTX_GPU, /* NVTX ranges of a thread, projected onto a stream; parent: the device */
	TL_MACHINE,  /* parent of CPUs and counters of the whole machine */
	TL_CPU,      /* which thread ran; only named by events of kind TL_SCHED */
	TL_COUNTER,  /* parent: process, device or machine */
	TL_GIL,      /* when a thread held Python's lock, or waited for it; parent: the thread */
	TL_MADE,     /* of slices that no table has; parent: thread or device */
	TL_TRACK_KINDS
};

struct tl_track {
	enum tl_track_kind kind;
	uint32_t id;                   /* 1, 2, ... in the order of announcement */
	const struct tl_track *parent; /* NULL: process, machine */
	uint32_t lane;                 /* > 0: slices that did not fit the track before it */
	/*
	 * For formats that know processes and threads only: every track has numbers of its own. Processes and
	 * threads have the kernel's (a second process with the same pid, of another machine, a made-up one),
	 * devices and the machine are processes from 1 << 24 on, streams are threads of their device.
	 */
	int64_t pid, tid;
	int64_t global;      /* packed globalPid or globalTid as in the report; process, thread */
	int64_t process_pid; /* plain pid of the process it belongs to; -1: machine */
	int64_t device, context, stream; /* as the process counts them; -1: none */
	int64_t gpu;      /* number of the GPU that the device is (read/gpu_numbers.h); -1: none */
	int64_t cpu;      /* TL_CPU */
	const char *name; /* UTF-8 or not, never NULL; "" when there is none */
	const char *unit; /* TL_COUNTER: "bytes", "bytes/s", "%", "" */
	int sort;         /* place among its siblings, ascending */
	int rank; /* TL_PROCESS: of the job, where the report has ranks (SL_RANK_PROCESSES); -1: none */
	void *of_sink; /* the sink's own; NULL at first */
};

/* ---- events ---- */

enum tl_kind {
	TL_SLICE,
	TL_INSTANT,
	TL_VALUE,  /* of a counter track, from now on; NaN: nothing is known from now on */
	TL_SCHED,  /* a thread gets a CPU or leaves it */
	TL_SAMPLE, /* where a thread was; has frames */
};

enum tl_arg_kind {
	TL_INT,
	TL_REAL, /* may be NaN or infinite */
	TL_TEXT,
	TL_HEX, /* address, colour: 64 bits without a sign */
	TL_BOOL,
	TL_VECTOR, /* three integers: grid, block */
	TL_JSON,   /* text that claims to be JSON */
};

struct tl_arg {
	const char *
		key; /* lower case words, separated by spaces; a constant: may be interned by its address */
	enum tl_arg_kind kind;
	union {
		int64_t num; /* INT, HEX, BOOL */
		double real;
		struct tl_text text; /* TEXT, JSON */
		int64_t vector[3];
	};
};

struct tl_frame {
	struct tl_text symbol, module;
	uint64_t ip; /* 0: not known */
	bool kernel;
};

/* Kinds of activity; bits for --activities. The words are in tl_activities[]. */
enum tl_activity {
	TL_ACT_KERNEL = 1u << 0,  /* kernels and graphs on a GPU */
	TL_ACT_GPU_MEM = 1u << 1, /* copies and fills on a GPU */
	TL_ACT_GPU_SYNC = 1u << 2,
	TL_ACT_NVTX = 1u << 3,
	TL_ACT_NVTX_KERNEL =
		1u << 4, /* NVTX ranges, projected onto the GPU work that was started in them */
	TL_ACT_CUDA_API = 1u << 5,
	TL_ACT_LIBRARY = 1u << 6, /* cuBLAS, cuDNN, NCCL, ..., MPI, OpenACC */
	TL_ACT_OSRT = 1u << 7,
	TL_ACT_SYSCALL = 1u << 8,
	TL_ACT_SCHED = 1u << 9,
	TL_ACT_SAMPLE = 1u << 10,
	TL_ACT_MEMORY = 1u << 11,     /* GPU memory in use */
	TL_ACT_IO = 1u << 12,         /* bytes per second, from OSRT */
	TL_ACT_METRIC = 1u << 13,     /* GPU metrics, event counters */
	TL_ACT_OVERHEAD = 1u << 14,   /* the profiler's and CUDA's own */
	TL_ACT_DIAGNOSTIC = 1u << 15, /* messages of the tracer, losses */
	TL_ACT_ALL = (1u << 16) - 1,
	/*
	 * The default of viewers: all but the projection of ranges, which shows them twice, and waits for the GPU, which
	 * readers of such files take for its work.
	 */
	TL_ACT_DEFAULT = TL_ACT_ALL & ~(TL_ACT_NVTX_KERNEL | TL_ACT_GPU_SYNC),
};

struct tl_activity_name {
	const char *name; /* as in --activities */
	uint32_t bits;
	const char *about;
};
extern const struct tl_activity_name
	tl_activities[]; /* ends with a NULL name; "all", "default" are in it */

/* A comma list to bits; 0 after one sentence in @why, which names the nearest word. */
uint32_t tl_activities_parse(const char *list, char *why, size_t why_len);

#define TL_ARGS_MAX 32
/* Times, and times plus durations, lie between -TL_TIME_MAX and TL_TIME_MAX: times beyond it are damage, and cut to it. */
#define TL_TIME_MAX (INT64_MAX / 2)
/* Ranks of a job, and GPUs that stand between one rank's and the next one's. */
#define TL_RANK_MAX  9999999
#define TL_RANK_GPUS 64
#define TL_OPEN      (-1) /* duration of an event that had not ended when the recording did */

struct tl_event {
	enum tl_kind kind;
	enum tl_activity activity;
	const char *
		category; /* Kineto's word where it has one: kernel, gpu_memcpy, cuda_runtime, user_annotation */
	struct tl_track *track; /* SCHED: the thread's; cpu is where */
	const char *table;      /* where it stands in the report; a constant */
	int64_t row;     /* its rowid there; 0: not known, of tables that are made or filtered */
	int64_t ts, dur; /* ns; dur of a slice: >= 0 or TL_OPEN */
	struct tl_text name; /* SLICE, INSTANT */
	int64_t path;        /* of calls of libc: StringIds.id of the file they work on; -1: none */
	int64_t bytes;       /* the bytes that such calls moved */
	/*
	 * An arrow leads from the event with flow_out to those with the same flow_in. Only where GPU work for the call is
	 * exported (flow_out), and the call came by before (flow_in). 0: none; below 2^53. It is the correlation id, unless
	 * another process has work with the same.
	 */
	uint64_t flow_out, flow_in;
	uint32_t arg_cnt;
	const struct tl_arg *args;
	/*
	 * SLICE: where the call came from, as in SL_CHAIN_FRAMES; 0: not known. SAMPLE: equal numbers mean equal frames; 0:
	 * the report has no such numbers.
	 */
	int64_t stack;
	/* VALUE */
	bool is_real;
	int64_t value;
	double real;
	/* SCHED, SAMPLE */
	int64_t cpu; /* -1: not known */
	bool sched_in;
	int state;                  /* SCHED out: ENUM_SAMPLING_THREAD_STATE; -1 not known */
	struct tl_track *cpu_track; /* SCHED */
	uint32_t frame_cnt;         /* SAMPLE: the innermost first */
	const struct tl_frame *frames;
};

/* ---- slices that no table has ---- */

#define TL_MADE_ARGS 7
#define TL_MADE_GAP  UINT32_MAX

/* The common part of made slices. */
struct tl_made_kind {
	struct tl_text name;
	uint32_t arg_cnt;
	struct tl_arg args[TL_MADE_ARGS];
};

struct tl_made_slice { /* lasts until the next one begins */
	int64_t start;
	uint32_t kind; /* number of it; TL_MADE_GAP: nothing is shown */
};

struct tl_made_track {
	const char *name, *category; /* constants */
	int64_t thread;              /* globalTid */
	int64_t device;              /* as its process sees it; -1: the thread's own track */
	/* In order of time, none without duration; the last is a gap. */
	struct tl_made_slice *slices;
	size_t slices_cnt, slices_room;
};

struct tl_made {
	struct tl_made_track *tracks;
	struct tl_made_kind *kinds;
	size_t tracks_cnt, tracks_room, kinds_cnt, kinds_room;
};

/* ---- running ---- */

struct tl_sink {
	/* track() and event() return 0, or -1 to stop (the output has the reason). */
	int (*track)(void *self, struct tl_track *track);
	int (*event)(void *self, const struct tl_event *event);
	/* After the last event, also after a failure, while tracks are still there. May be NULL. */
	int (*end)(void *self);
};

struct tl_options {
	uint32_t activities;
	int64_t shift; /* added to every time */
	bool filtered; /* db_filter_apply() was at work on the database */
	bool no_args;  /* sinks that show none: reads less */
	bool ends;     /* curves of samples end where sampling has: not while it goes on */
	bool ranges_last; /* ranges on the GPU after all else instead of in order: spares a run for them alone */
	/* > 0: no more than this part of the rows of each table, its first; calls that end later are left out. */
	double part;
	/* Limits the rows that are read of a table, by their numbers: above @after, up to @upto. NULL, or false: all. */
	bool (*rows)(void *of_rows, const char *table, int64_t *after, int64_t *upto);
	void *of_rows;
	/*
	 * The rows follow those of earlier runs: events before the first row are left out, and so are names that are far
	 * back.
	 */
	bool goes_on;
	const char *
		only_table; /* the event of one row of this table; names of domains are looked for among the first rows */
	int64_t only_row;
	const struct tl_made *made; /* shown besides; NULL: nothing */
	/* Called every few thousand events; may be NULL. @total: an estimate. Returns -1 to stop. */
	int (*progress)(void *of_progress, uint64_t done, uint64_t total);
	void *of_progress;
};

/* The number of events, or -1 after one sentence in @why ("" when the sink stopped it). */
int64_t timeline_run(sqlite3 *db, const struct tl_options *options, const struct tl_sink *sink,
		     void *self, char *why, size_t why_len);
