/*
 * session.h - how a traced process finds its session; the session's settings (control page) and messages (hello).
 *
 * A session is a directory (mode 0700) named by SIGHTLINE_SESSION, with
 *   control   one struct sl_session, mapped read-only by every traced process, written by the
 *             collector alone: settings, on/off, liveness;
 *   socket    SOCK_SEQPACKET, to which a process sends one struct sl_hello with its arena's memfd
 *             (SCM_RIGHTS) and closes. There is no reply: start-up never waits for the collector;
 *   command   SOCK_SEQPACKET, for the commands that control a session (collector/session/command.h);
 *   name      the session's name;
 *   python    with --python-step, --pytorch and the like: the prefix for PYTHONPATH (python.h).
 *
 * Environment of traced processes:
 *   SIGHTLINE_SESSION    that directory, with its device and inode: programs outlive the session, and others may take
 *                        its name; absent: the session of the nearest traced ancestor, else the constructor starts a
 *                        collector (bare preload), which hands over the session whose tree has the process, if one has
 *   SIGHTLINE_CLEAN=1    an exec wrapper added the shim's variables to an environment without them:
 *                        the constructor removes all of them
 * and, read only where a bare preload starts a collector: SIGHTLINE_COLLECTOR (path of the sightline
 * binary), SIGHTLINE_OUTPUT (report), SIGHTLINE_OPTIONS (options of `profile`).
 */
#pragma once

#include <inttypes.h>
#include <stdint.h>

#define SL_SESSION_MAGIC 0x73736573746c6773ull
#define SL_SESSION_ENV   "SIGHTLINE_SESSION"
/* LD_PRELOAD cannot have a path with one of these: two end it, and the third begins what the loader replaces. */
#define SL_PRELOAD_REFUSED " :$"
/* Its value: directory, device, inode. */
#define SL_SESSION_FORMAT "%s:%" PRIx64 ":%" PRIx64
#define SL_CLEAN_ENV      "SIGHTLINE_CLEAN"
/* The first library of LD_PRELOAD was added for this program, which needs it: the shim removes it for its children. */
#define SL_RUNTIME_ENV "SIGHTLINE_RUNTIME"
/* Beginnings of the names of sanitizers' runtimes, which must be loaded before the shim. */
#define SL_RUNTIMES \
	"libasan.so", "libclang_rt.", "libtsan.so", "libhwasan.so", "liblsan.so", "libubsan.so"

enum sl_on_full {
	SL_FULL_WAIT = 0, /* wait up to wait_ms for room, then drop and count until there is room */
	SL_FULL_DROP = 1, /* drop and count at once */
	SL_FULL_BLOCK = 2, /* wait until there is room or the collector has exited */
};

enum {
	SL_TRACE_OSRT = 1,        /* record OS-runtime calls */
	SL_TRACE_FILE_ACCESS = 2, /* no threshold for calls on files (--osrt-file-access) */
	SL_TRACE_CUDA = 4,        /* runtime and driver API, and GPU activity */
	SL_TRACE_NVTX = 8,
	SL_TRACE_CUBLAS = 16, /* and cuBLASLt */
	SL_TRACE_CUDNN = 32,
	SL_TRACE_NCCL = 64,
	SL_TRACE_CUFFT = 128,
	SL_TRACE_CUSPARSE = 256,
	SL_TRACE_CUSOLVER = 512,
	SL_TRACE_GDS = 1024, /* cuFile */
	/* Python's interpreter. */
	SL_TRACE_PYTHON_GIL = 2048, /* threads that hold the global lock or wait for it */
	SL_TRACE_PYTHON_GC = 4096,  /* garbage collections */
	SL_TRACE_MPI = 8192,
};

/* Configuration of CUPTI (struct sl_session.cuda_flags). */
enum {
	SL_CUDA_GRAPH_NODES = 1,  /* --cuda-graph-trace=node: every node; else whole graphs */
	SL_CUDA_GRAPH_WHOLE = 32, /* --cuda-graph-trace=graph: also where CUPTI has bugs there */
	SL_CUDA_MEMORY_USAGE = 2, /* --cuda-memory-usage */
	SL_CUDA_UM = 4,           /* unified memory transfers and page faults */
	SL_CUDA_EVENTS = 8,       /* --cuda-event-trace */
	SL_CUDA_NO_CUPTI = 16,    /* API calls only */
};

/* Calls that request the start and the end of a capture (struct sl_session.capture_by). */
enum {
	SL_CAPTURE_BY_CUDA = 1,    /* cudaProfilerStart, cuProfilerStart; ...Stop */
	SL_CAPTURE_BY_NVTX = 2,    /* a range with the message nvtx_range in nvtx_domain */
	SL_CAPTURE_NVTX_PLAIN = 4, /* its message need not be a registered string */
};
#define SL_CAPTURE_NAME_BYTES 120u

/* Which calls get which stacks (struct sl_session.stack_kinds). */
enum {
	SL_STACK_OSRT_NATIVE = 1, /* calls that lasted at least stack_ticks */
	SL_STACK_OSRT_PYTHON = 2,
	SL_STACK_GPU_NATIVE = 4, /* calls into GPU libraries, by the class of the function */
	SL_STACK_GPU_PYTHON = 8,
};
/* Classes of functions of GPU libraries, as --cudabacktrace names them. */
enum sl_stack_class {
	SL_STACK_CLASS_KERNEL = 0,
	SL_STACK_CLASS_MEMORY,
	SL_STACK_CLASS_SYNC,
	SL_STACK_CLASS_OTHER,
	SL_STACK_CLASS_CNT
};
struct sl_session {
	uint64_t magic;
	uint32_t wire_version;
	uint32_t bytes;           /* size of this struct */
	uint32_t clock_mode;      /* enum sl_clock_mode */
	uint32_t trace;           /* SL_TRACE_* */
	uint64_t threshold_ticks; /* shorter calls are aggregated */
	uint64_t
		signal_threshold_ticks; /* the same for calls that wake other threads (wrap_lock.c) */
	uint32_t on_full;               /* enum sl_on_full */
	uint32_t wait_ms;               /* bound of SL_FULL_WAIT, per stall */
	uint32_t quota_chunks;  /* chunks an arena may have in use before it counts as full */
	uint32_t collector_pid; /* in the collector's PID namespace */
	uint32_t state;         /* enum sl_session_state; the collector may change it at any time */
	uint32_t heartbeat;  /* raised by the collector at least once per second while it lives */
	uint32_t root_pid;   /* first traced process */
	uint32_t root_waits; /* 1: at exit the root process waits until its records are committed */
	uint32_t cuda_flags; /* SL_CUDA_* */
	uint32_t
		cuda_flush_ms; /* longest time that CUPTI may keep records (--cuda-flush-interval) */
	/*
	 * Odd while calls are recorded. The collector increments it with each change and wakes waiters (a futex word,
	 * not private). Records that identify things are written regardless: process images, execs, names and all of
	 * NVTX, of which the collector keeps what concerns the captures. The shim's side: preload/core/gate.c.
	 */
	uint32_t gate;
	/*
	 * Number of the report that calls go to. A thread with the totals of an earlier report resets them when it first
	 * finds the gate open. Changes only while the gate is closed, after the collector has read the totals.
	 */
	uint32_t epoch;
	uint32_t capture_by; /* SL_CAPTURE_* */
	uint32_t python;     /* 1: there is a file "python" */
	char nvtx_range[SL_CAPTURE_NAME_BYTES];
	char nvtx_domain[SL_CAPTURE_NAME_BYTES]; /* "": the default one; "*": any */
	uint64_t stack_ticks; /* calls of the OS runtime as long as this get a stack */
	uint64_t stack_gpu_ticks[SL_STACK_CLASS_CNT]; /* likewise, by class; UINT64_MAX: none do */
	uint32_t stack_kinds;                         /* SL_STACK_* */
	uint32_t stack_depth;   /* frames of a stack at most, of each language */
	char preload_path[256]; /* absolute path of libtrace.so, for LD_PRELOAD */
};
_Static_assert(sizeof(struct sl_session) == 640, "sl_session");

enum sl_session_state {
	SL_SESSION_ON = 1,
	SL_SESSION_ENDED = 2
};

#define SL_HELLO_MAGIC 0x6f6c6c6568746c73ull

enum sl_hello_kind {
	SL_HELLO_ARENA = 1,   /* announces an arena (one descriptor attached) */
	SL_HELLO_LEAVING = 2, /* the root process runs its exit handlers: commit, then hang up */
	/*
	 * A capture range opened or closed: the collector closes the connection once it has switched the gate. The
	 * program's thread waits for that: two seconds for OPEN; for CLOSE while the heartbeat goes on, a minute at most.
	 */
	SL_HELLO_OPEN = 3,
	SL_HELLO_CLOSE = 4,
	/*
	 * A forked process that shares its parent's arena, and may be in another PID namespace: the kernel's credentials
	 * have its pid. Sent before it takes a slot.
	 */
	SL_HELLO_FORKED = 5,
	/*
	 * Of a process that libtrace.so was brought into while it ran: the collector keeps the connection open. When it closes, by
	 * the end of the recording or the collector's, the process leaves the session (late.h).
	 */
	SL_HELLO_ATTENDS = 6,
};

struct sl_hello {
	uint64_t magic;
	uint32_t wire_version;
	uint32_t kind; /* enum sl_hello_kind */
	uint32_t
		pid; /* in the process's own PID namespace; the kernel's credentials have the collector's view */
	uint32_t
		range; /* OPEN, CLOSE: 0 cudaProfilerStart/Stop; else the NVTX range's number in this process;
		        * FORKED: its process number in the arena */
	uint64_t arena; /* FORKED: sl_arena.born */
	uint64_t
		pid_ns; /* ARENA, FORKED in a PID namespace other than the collector's: its inode; 0 unknown */
};
_Static_assert(sizeof(struct sl_hello) == 40, "sl_hello");
