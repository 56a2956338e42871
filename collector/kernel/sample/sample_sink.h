/*
 * sample_sink.h - destination of samples, their stacks, spaces and codes: the report, or the flight
 * recorder's memory (flight_store.h).
 *
 * Times are CLOCK_MONOTONIC. Stacks, spaces and codes as in db_stacks.h, written before the rows that refer to them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/event_rows.h"
#include "collector/report/db_stacks.h"

struct sample_row {
	uint64_t ns;
	uint32_t cpu, pid, tid;
	int64_t stack; /* DB_NULL: none */
	/* 0: a CPU sample. Else it left the CPU at @ns, and had one again; and SCHED_STATE_*: TERMINATED where it died at @ns. */
	uint64_t end_ns;
	uint8_t state;
	bool still;  /* has none yet: @end_ns is now */
	uint8_t gil; /* SAMPLE_GIL_* */
};
#define SAMPLE_CPU_UNKNOWN UINT32_MAX
enum { /* Python's lock: had the thread it? */
	SAMPLE_GIL_UNKNOWN,
	SAMPLE_GIL_NOT_HELD,
	SAMPLE_GIL_HELD,
};

/* A major page fault: when the page was there. */
struct sample_fault {
	uint64_t ns, address;
	uint32_t pid, tid;
	int64_t stack;    /* DB_NULL: none */
	const char *path; /* of the file that it is a page of; NULL: not known */
	uint64_t offset;  /* in it */
};

struct sample_sink_ops {
	void (*space)(void *to, int64_t space, int64_t parent, int64_t global_pid);
	/* @m->since: CLOCK_MONOTONIC; 0: from the beginning. */
	void (*module)(void *to, const struct db_module *m);
	void (*code)(void *to, const struct db_code *c);
	void (*stack)(void *to, int64_t id, int64_t space, uint64_t ns, const uint64_t *frames,
		      size_t cnt);
	void (*row)(void *to, const struct sample_row *row);
	void (*fault)(void *to, const struct sample_fault *fault); /* NULL: none are kept */
	/* True: the rows written before are still there. */
	bool (*has_space)(void *to, int64_t space);
	bool (*has_stack)(void *to, int64_t id);
};

struct sample_sink {
	const struct sample_sink_ops *ops;
	void *to;
};

/* The report. */
struct sample_report {
	struct db *db;
	int64_t zero; /* CLOCK_MONOTONIC at session time 0 */
	uint64_t cnt; /* rows of samples so far: they are numbered by it */
	struct event_rows wrote[ROWS_KINDS];
};
struct sample_sink sample_report_sink(struct sample_report *r);
/* The number in the report of a stack that the sink got under the id @stack; DB_NULL: none. */
int64_t sample_report_stack(const struct sample_report *r, int64_t stack);

/* For stacks of a second reader into the same report: its numbers are apart from those of the first. */
#define SAMPLE_SECOND (INT64_C(1) << 30)
struct sample_second {
	struct sample_sink first;
};
struct sample_sink sample_second_sink(struct sample_second *s);
