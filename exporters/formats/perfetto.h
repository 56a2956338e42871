/*
 * perfetto.h - the shared header of the perfetto exporter.
 *
 * Field numbers are those of Perfetto's protos/perfetto/trace (its documentation calls them stable);
 * tests/golden/export/perfetto.proto lists the used ones.
 */
#pragma once

#include "collector/base/map.h"
#include "exporters/formats/export.h"
#include "exporters/read/intern.h"
#include "exporters/formats/proto.h"

/* All packets are of one sequence: names are defined once for all of them. */
#define PF_SEQUENCE 1

enum { /* Trace, TracePacket */
	PF_PACKET = 1,
	PF_FTRACE_EVENTS = 1,
	PF_PROCESS_TREE = 2,
	PF_CLOCK_SNAPSHOT = 6,
	PF_TIMESTAMP = 8,
	PF_SEQUENCE_ID = 10,
	PF_TRACK_EVENT = 11,
	PF_INTERNED = 12,
	PF_SEQUENCE_FLAGS = 13,
	PF_FIRST_PACKET = 87,
	PF_TRACK_DESCRIPTOR = 60,
	PF_PERF_SAMPLE = 66,
};

enum { /* InternedData */
	PF_CATEGORIES = 1,
	PF_NAMES = 2,
	PF_ARG_NAMES = 3,
	PF_FUNCTION_NAMES = 5,
	PF_FRAMES = 6,
	PF_CALLSTACKS = 7,
	PF_MAPPING_PATHS = 17,
	PF_MAPPINGS = 19,
	PF_ARG_STRINGS = 29,
};

/* Constants of the exporter's side: distinguished by their address, numbered in order of use. */
struct pf_constants {
	struct map iid_of;
	uint64_t cnt;
};

struct pf_end {
	int64_t ts;
	uint32_t track;
};

struct pf_sched;

struct perfetto {
	struct export_job *job;
	struct out *out;
	struct proto packet;   /* being made */
	struct proto interned; /* definitions for the packet */
	int64_t base;          /* added to times: session to boot time */
	bool begun;            /* the clocks are written */
	struct pf_end
		*ends; /* a heap of the ends that are still to be written; the earliest first */
	size_t end_cnt, end_max;
	struct pf_constants categories, arg_names;
	struct intern names, strings, functions, modules, frames, stacks;
	struct tl_track **threads; /* their first lanes */
	size_t thread_cnt, thread_max;
	struct stack_costs calls; /* their stacks */
	uint64_t *stack_iid;      /* by node of these; 0: not defined yet; NULL: there are none */
	struct map sample_iid;    /* by number of a sample's stack */
	struct pf_sched *sched;
	sqlite3_stmt *tree; /* command line and parent of a process */
	bool failed;        /* no memory */
};

/* ---- packets ---- */

/* Begins a packet; fields written into pf->packet until pf_send() belong to it. */
static inline void pf_begin(struct perfetto *pf)
{
	proto_reset(&pf->packet);
	proto_reset(&pf->interned);
}

/*
 * Time, sequence, and the mark that the packet needs earlier definitions of the sequence; at most 2 * PROTO_SCALAR_MAX bytes.
 */
static inline char *pf_put_head(char *p, int64_t ts)
{
	p = proto_put(proto_put(p, PROTO_TAG(PF_TIMESTAMP, PROTO_VARINT)), (uint64_t)ts);
	p = proto_put(proto_put(p, PROTO_TAG(PF_SEQUENCE_ID, PROTO_VARINT)), PF_SEQUENCE);
	return proto_put(proto_put(p, PROTO_TAG(PF_SEQUENCE_FLAGS, PROTO_VARINT)), 2);
}

/* Begins a packet with a time, on the exporter's sequence. */
static inline void pf_begin_at(struct perfetto *pf, int64_t ts)
{
	struct proto *m = &pf->packet;

	pf_begin(pf);
	proto_room(m, 2 * PROTO_SCALAR_MAX);
	m->p = pf_put_head(m->p, ts + pf->base);
}

void pf_send(struct perfetto *pf);

/* Before the first packet with a time @ts (not shifted by base): ties our times to the clocks of the machine. */
void pf_clocks(struct perfetto *pf, int64_t ts);

/* ---- its parts ---- */

void pf_track(struct perfetto *pf, struct tl_track *t);

/* NULL: no memory. */
struct pf_sched *pf_sched_new(struct perfetto *pf);
void pf_sched_event(struct perfetto *pf, const struct tl_event *e);
/* Writes the remaining rows; -1: details of switches could not be read. */
int pf_sched_end(struct perfetto *pf);
void pf_sched_free(struct pf_sched *s);

void pf_sample(struct perfetto *pf, const struct tl_event *e);
/* The number of the callstack of a slice; defined in the packet that is being made. 0: it has none. */
uint64_t pf_callstack(struct perfetto *pf, const struct tl_event *e);
