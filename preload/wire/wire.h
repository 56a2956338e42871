/*
 * wire.h - layout of records, which traced processes write and the collector reads.
 *
 * Rule for changes: any change of meaning, size or order raises SL_WIRE_VERSION. Both sides are
 * built together; the collector rejects an arena of another version with a message (hello.c), so
 * there is no compatibility code.
 *
 * A record is a run of 8-byte words in one chunk (arena.h), written by one thread, in the order
 * in which the calls *returned*. All integers are in the machine's (little-endian) byte order.
 *
 *   word 0   start       ticks (clock.h) when the call was entered
 *   word 1   duration    low 32 bits: ticks from entry to return; 0 with SL_REC_LONG
 *            head        high 32 bits: struct below, see sl_head()
 *  [word 2   duration    64-bit ticks, only with SL_REC_LONG; the payload then starts at word 3]
 *   payload              by shape, see enum sl_shape
 *
 * A duration of SL_NEVER_RETURNED in a LONG record means that the call had not returned.
 */
#pragma once

#include <stdint.h>

#define SL_WIRE_VERSION   19u
#define SL_NEVER_RETURNED UINT64_MAX
#define SL_NO_OFFSET      INT64_MIN /* this call has no file offset */
#define SL_REC_MAX_WORDS  1023u     /* limit of the length field; 4,095-byte paths fit */

/* Flags of a record. */
enum {
	SL_REC_ERR = 1,  /* the call failed; the field named ret holds errno, not the value */
	SL_REC_LONG = 2, /* the duration takes 64 bits, see above */
	SL_REC_CUT = 4,  /* the string at the end was cut to fit */
};

/*
 * Payload by shape. "fd|serial": low 32 bits the descriptor (int32_t; -1 = none), high 32 bits the
 * file serial (0 = unknown), which fdtable.c assigns to each descriptor, unique in the arena.
 * "bytes": raw bytes to the end of the record, zero padded; the true length is in the low 16 bits
 * of the word before them.
 */
enum sl_shape {
	SL_SHAPE_CALL = 0, /* [0] ret */
	SL_SHAPE_ARG, /* [0] ret, [1] one integer argument (syscall number, ioctl request, pid) */
	SL_SHAPE_FD,  /* [0] ret, [1] fd|serial */
	SL_SHAPE_IO,  /* [0] ret (low 32 bits, int32_t), bytes requested (high 32), [1] fd|serial */
	SL_SHAPE_IO_AT, /* SL_SHAPE_IO, [2] file offset */
	SL_SHAPE_IO_WIDE, /* [0] ret, [1] bytes requested, [2] fd|serial, [3] offset or SL_NO_OFFSET */
	SL_SHAPE_PATH,    /* [0] ret, [1] fd|serial, [2] length, [3..] path bytes */
	SL_SHAPE_SOCK, /* [0] ret, [1] fd|serial, [2] length, [3..] struct sockaddr of the peer */
	SL_SHAPE_DUP,  /* [0] ret, [1] old fd|serial, [2] new serial (low 32 bits) */
	SL_SHAPE_STREAM, /* [0] ret, [1] bytes requested (low 32), moved (high 32; both capped), [2] fd|serial */
	/* A call on a lock or the like. [0] ret (low 32 bits, int32_t), thread that owned it before (high 32 bits; as the
	 * process sees it, 0 unknown), [1] address of the object */
	SL_SHAPE_LOCK,
	SL_SHAPE_META, /* hook field holds enum sl_meta; payload there */
	/* A call into a GPU library. hook field: enum sl_gpu_function (gpu.h). [0] result (low 32 bits, int32_t),
	 * number of argument words (bits 32..39), [1..] those, in the order of the roles of the function's line; a call on a
	 * communicator of NCCL may have its number there as a word more (gpu_comms.c) */
	SL_SHAPE_API,
	SL_SHAPE_NVTX, /* hook field holds enum sl_nvtx (nvtx_wire.h); payload there */
	SL_SHAPE_GPU,  /* hook field holds enum sl_gpu_record (gpu_wire.h); payload there */
	SL_SHAPE_CNT
};

/* Records that are no calls (shape META). start is when it happened, duration 0. */
enum sl_meta {
	/* A process image began (start-up, exec, or first event after fork). [0] pid | ppid << 32 (as
	 * the process sees them), [1] enum sl_image, [2] length, [3..] executable '\0' arg0 '\0' ... */
	SL_META_IMAGE = 0,
	/* A descriptor became known: opened by a call that has no record of its own, or without an open (inherited,
	 * received, created elsewhere). [0] fd|serial, [1] sl_opened_by(), 0 without an open, [2] length, [3..] path, or
	 * what /proc/self/fd has ("socket:[123]", ...) */
	SL_META_FILE,
	/* As FILE for a connected socket. [0] fd|serial, [1] as FILE, [2] length, [3..] struct sockaddr */
	SL_META_SOCKET,
	/* Calls that got no record. start: the first since the last LOST record, [0] ticks of the last, [1] how many
	 * since the thread began (sl_slot.lost_cnt), [2] enum sl_loss */
	SL_META_LOST,
	/* About to exec. [0] 0, [1] length, [2..] path. The process's next IMAGE record confirms it. */
	SL_META_EXEC,
	/* A note for the user, once per process. [0] enum sl_note, [1] length, [2..] text */
	SL_META_NOTE,
	/* The shim delayed the thread. [0] ticks of the end, [1] enum sl_overhead */
	SL_META_OVERHEAD,
	/* Descriptors changed by a dup or close too short for a record of its own.
	 * DUP: [0] old fd|serial, [1] new fd|serial. CLOSE: [0] fd|serial */
	SL_META_DUP,
	SL_META_CLOSE,
	/* A text that later records refer to by its id, unique in the arena. [0] id, [1] length, [2..] text */
	SL_META_STRING,
	/* The own address of a connected socket. [0] fd|serial, [1] length, [2..] struct sockaddr */
	SL_META_LOCAL,
	/* Totals of the calls of this thread on a descriptor that have no record (struct sl_file_total), whose place
	 * another descriptor takes. [0] fd|serial with SL_FILE_STREAM, [1..6] count, bytes, ticks of those that read, the same of those that write */
	SL_META_FILE_TOTAL,
	/* The call record that follows in this ring has this stack; start and duration are that call's, so both are
	 * read together. [0] stack id */
	SL_META_CHAIN,
	/* A stack that later records refer to by its id, unique in the arena. [0] id | frames << 32, [1..] frames, the
	 * innermost first, native ones before those of Python: frame.h */
	SL_META_STACK,
	/* A loaded object that frames are in. [0] first address, [1] end, [2] address - address in the file,
	 * [3] length of the build id, [4] length, [5..] build id, path as the loader has it ("": the executable) */
	SL_META_MODULE,
	/* A code object of Python that frames refer to by its id, unique in the arena. [0] id, [1] first line | version
	 * of the line table << 32 (0x030b: that of 3.11), [2] bytes of the line table, [3] length, [4..] file '\0'
	 * name '\0' line table, as much of it as fits */
	SL_META_CODE,
	/* More of a line table. [0] id of the code, [1] position, [2] length, [3..] bytes */
	SL_META_CODE_LINES,
	/* Variables of the environment that name the rank of this process: rank_variables.c. [0] 0, [1] length,
	 * [2..] NAME=value '\0' ... */
	SL_META_RANK,
};

enum sl_image {
	SL_IMAGE_START = 0,
	SL_IMAGE_FORK = 1
};
enum sl_loss {
	SL_LOSS_FULL = 0,
	SL_LOSS_NESTED = 1,
	SL_LOSS_NO_SLOT = 2
};
/* What is lost otherwise than as a call whose record finds no room: counted in sl_slot.lost_of, by kind. */
enum sl_lost {
	SL_LOST_NVTX = 0, /* ranges and marks: the record that has the event */
	SL_LOST_NVTX_END, /* the end of a range */
	SL_LOST_GPU,      /* calls of GPU libraries, activity */
	SL_LOST_FILE,     /* what a descriptor is, or that it was closed or duplicated */
	SL_LOST_TOTAL,    /* totals of a file */
	SL_LOST_OTHER,
	SL_LOST_LEFT, /* calls that did not return: left by longjmp(), an exception, exit() in a signal handler */
	SL_LOST_NVTX_COUNTER, /* samples */
	SL_LOST_KINDS
};
enum sl_note {
	SL_NOTE_DEEPBIND = 0,
	SL_NOTE_OTHER = 1,
	SL_NOTE_PYTHON = 2, /* of the tracer's Python modules: python.h */
};
enum sl_overhead {
	SL_OVERHEAD_START = 0,
	SL_OVERHEAD_FULL = 1
}; /* start-up; ring full: waited */

/* The high half of word 1. */
static inline uint32_t sl_head(unsigned hook, unsigned words, unsigned level, unsigned shape,
			       unsigned flags)
{
	return (uint32_t)hook | (uint32_t)words << 12 | (uint32_t)level << 22 |
	       (uint32_t)shape << 25 | (uint32_t)flags << 29;
}
static inline unsigned sl_head_hook(uint32_t h)
{
	return h & 0xfff;
} /* 0..4095 */
static inline unsigned sl_head_words(uint32_t h)
{
	return h >> 12 & 0x3ff;
} /* whole record */
static inline unsigned sl_head_level(uint32_t h)
{
	return h >> 22 & 7;
} /* 0 = outermost; 7 = 7 or more */
static inline unsigned sl_head_shape(uint32_t h)
{
	return h >> 25 & 15;
}
static inline unsigned sl_head_flags(uint32_t h)
{
	return h >> 29;
}

static inline uint64_t sl_fd_serial(int fd, uint32_t serial)
{
	return (uint32_t)fd | (uint64_t)serial << 32;
}

/* Of a call without a record that opened a descriptor: its hook and ticks. */
static inline uint64_t sl_opened_by(unsigned hook, uint64_t ticks)
{
	return (hook + 1) | ticks << 16;
}

/*
 * Exact totals of calls without a record, because they were shorter than the threshold or, for
 * locks, not contended. One per hook and thread, updated by the thread alone.
 * count is written last. Times are ticks.
 */
struct sl_agg {
	uint64_t count;
	uint64_t total; /* sum of durations; calls counted without a clock reading add 0 */
	uint64_t min;   /* of them and of the lost; 0 while no call was timed */
	uint64_t max;
	uint64_t bytes;      /* bytes moved by them and by the lost */
	uint64_t err_count;  /* failed ones; with SL_AGG_UNTIMED */
	uint64_t lost_count; /* calls above the threshold without room for a record */
	uint64_t lost_total; /* sum of their durations */
};
/* Flag in err_count: some calls of count were counted without a clock reading. */
#define SL_AGG_UNTIMED (UINT64_C(1) << 63)
_Static_assert(sizeof(struct sl_agg) == 64, "sl_agg is one cache line");

/*
 * Exact totals of one thread's calls that read or write one descriptor and have no record: too short, or no room. Those of
 * stdio, which move bytes of a stream's buffer, are apart from those of the kernel on the same descriptor.
 * A thread that makes such calls has a chunk of them, one for each value of the descriptor's lowest bits (streams: half of
 * them further on). A call on another descriptor with the same bits writes what is there as SL_META_FILE_TOTAL and takes the place; the collector reads what is
 * left when the thread, or the report, ends.
 */
struct sl_file_total {
	uint32_t
		key; /* sl_file_key() of the serial with SL_FILE_STREAM, written last (release); 0: nothing yet */
	int32_t fd;
	uint64_t reserved;
	struct {
		uint64_t count; /* written last */
		uint64_t bytes;
		uint64_t total; /* ticks; calls counted without a clock reading add 0 */
	} way[2];               /* SL_FILE_READ, SL_FILE_WRITE */
};
_Static_assert(sizeof(struct sl_file_total) == 64, "sl_file_total is one cache line");

enum {
	SL_FILE_READ = 0,
	SL_FILE_WRITE = 1
};

/* Flag in the serial of totals: of calls of stdio. A serial itself is less. */
#define SL_FILE_STREAM 0x80000000u

/* Unequal to that of a place without a descriptor, and to that of an unknown one (serial 0). */
static inline uint32_t sl_file_key(uint32_t serial)
{
	return ~serial;
}
