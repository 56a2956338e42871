/*
 * frame.h - the contract between sl-gpu and the collector.
 *
 * sl-gpu is a process of its own: libraries of drivers may crash, hang, or be too new for the
 * libraries that the collector is linked with. It knows nothing of reports; the collector knows
 * nothing of vendors. Two ways from the one to the other:
 *
 *   a ring in a memfd    samples, as frames of doubles, and when each of sl-gpu's threads was last alive
 *   a socket             messages (SOCK_SEQPACKET): GPUs, the meaning of a stream's values, events, notes, the end
 *
 * A stream is described by a message before its first frame; so the collector looks at the ring's head first, then reads
 * the messages, then the frames up to that head. It ends sl-gpu by closing the socket, or by killing it: nothing that
 * sl-gpu must do at its end concerns the report. Whatever arrives is checked (health_intake.c): sl-gpu runs libraries
 * that are not part of the project.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PROBE_VERSION   2u
#define PROBE_MAGIC     0x6c737067u
#define PROBE_SOCKET_FD 3 /* descriptors of sl-gpu at its start */
#define PROBE_RING_FD   4

/* ---- the ring ---- */

#define PROBE_THREADS    64u
#define PROBE_RING_DATA  4096u /* where frames begin in the memfd */
#define PROBE_VALUES_MAX 64u   /* of a frame */
#define PROBE_STREAMS    4096u

/* One thread of sl-gpu; written by it, read by the collector. */
struct probe_beat {
	uint32_t limit_ms; /* it is stuck when count stands still for so long; 0: no such thread */
	uint32_t count;
};

struct probe_ring {
	uint32_t magic, version;
	uint64_t bytes; /* of frames: a power of two; made by the collector, as all up to here */
	_Alignas(64) uint64_t
		head; /* bytes ever written; store-release in sl-gpu pairs with the collector's load-acquire */
	uint64_t dropped;           /* frames without room */
	_Alignas(64) uint64_t tail; /* bytes ever read; the other way round */
	_Alignas(64) struct probe_beat beat[PROBE_THREADS];
};
_Static_assert(sizeof(struct probe_ring) <= PROBE_RING_DATA, "frames begin behind it");

enum probe_frame_kind {
	PROBE_PAD,    /* up to the end of the ring: nothing */
	PROBE_VALUES, /* a sample: values of the stream in the order of its names; NaN: not known */
	PROBE_GAP,    /* [t0, t1): not sampled; t1 0: up to the next sample */
	PROBE_CLOCK, /* t0 of the stream's clock is t1 of CLOCK_MONOTONIC: one at the start, one behind every batch of samples */
};

enum probe_why {
	PROBE_WHY_NONE,
	PROBE_OVERFLOW, /* samples came faster than they were read */
	PROBE_RESTART,  /* of the source */
	PROBE_PAUSED,
	PROBE_LOST, /* the GPU, or its source */
	PROBE_LATE, /* the source gave none */
	PROBE_WHY_CNT
};

/* At a multiple of 8. A frame never wraps around the ring's end: a PROBE_PAD fills it. */
struct probe_frame {
	uint32_t bytes; /* with this head, a multiple of 8 */
	uint16_t stream;
	uint8_t kind, why;
	int64_t t0,
		t1; /* ns of the stream's clock: the span the values are about; equal: the moment they were read */
	double value[];
};

/* ---- messages ---- */

enum probe_message_kind {
	PROBE_HELLO = 1, /* struct probe_hello: first of all */
	PROBE_GPU,       /* struct probe_gpu_info */
	PROBE_STREAM,    /* struct probe_stream */
	PROBE_EVENT,     /* struct probe_event */
	PROBE_NOTE,      /* struct probe_note */
	PROBE_READY,     /* all sources have begun, or have failed; the head alone */
};
#define PROBE_MESSAGE_MAX 16384u

struct probe_hello {
	uint32_t kind, version;
};

/* Texts end with a NUL; "" is not known. */
struct probe_gpu_info {
	uint32_t kind;
	uint32_t gpu;    /* number in later messages: 0, 1, ... */
	uint32_t number; /* in reports: NVML's index; of a part of a GPU: above all of those */
	uint32_t pad;
	char uuid[64], name[96], bus[32], chip[16];
	uint64_t memory; /* bytes */
	int32_t instance,
		sub_instance; /* of a part of a GPU (MIG): GPU instance, compute instance; -1: a whole GPU */
	int32_t major, minor; /* generation of its instructions; -1: not known */
};

enum probe_stream_kind {
	PROBE_METRICS,  /* hardware metrics: GPU_METRICS */
	PROBE_COUNTERS, /* SL_COUNTERS */
};
enum probe_clock {
	PROBE_MONOTONIC, /* CLOCK_MONOTONIC: no PROBE_CLOCK is needed */
	PROBE_OTHER,     /* mapped by PROBE_CLOCK frames */
};

struct probe_name {
	char name[80];   /* a metric: with its unit in brackets */
	char unit[16];   /* a counter's */
	uint32_t is_sum; /* true: increments since the sample before; false: a level */
};

/* A stream is described once. A source that goes on otherwise (rate, set) begins a new one. */
struct probe_stream {
	uint32_t kind;
	uint16_t stream; /* 0 .. PROBE_STREAMS - 1, never used twice */
	uint8_t what, clock;
	uint32_t gpu;
	uint32_t names; /* how many follow, at most PROBE_VALUES_MAX */
	char source[8], set[32], chip[16];
	char reason[384];            /* why no better source or rate; "": there is none */
	int64_t asked_mhz, real_mhz; /* samples per 1000 s */
	int32_t clocks_locked;       /* 1, 0; -1: not known */
	int32_t pid;                 /* the process of a counter, with its GPU; 0: the GPU */
	struct probe_name name[];
};

struct probe_event {
	uint32_t kind, gpu;
	int64_t mono;                   /* CLOCK_MONOTONIC, ns */
	char what[16];                  /* SL_GPU_EVENTS.kind */
	int64_t code;                   /* INT64_MIN: none */
	int32_t instance, sub_instance; /* -1: none */
};

/* A line for the user. */
struct probe_note {
	uint32_t kind;
	uint32_t severity; /* 1 information, 2 warning */
	char text[1024];
};
