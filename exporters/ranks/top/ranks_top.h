/*
 * ranks_top.h - sightline ranks top: the pace of the ranks of a running job.
 *
 *   ranks_top_read.c    sessions of the job's folder: ranks, sessions that are silent
 *   ranks_top_judge.c   the slowest rank, and the part of its time that the other ranks do not have
 *   ranks_top_text.c    lines of text, and JSON
 *
 * Names come out of a shared folder: job_session_read() has made them printable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collector/base/json.h"
#include "collector/job/job.h"

#define RANKS_TOP_SILENT_S 15 /* a session whose file has been the same for longer is silent */

struct top_session {
	char *file; /* its name */
	char host[JOB_NAME];
	uint32_t pid;
	int64_t silent_s; /* since its file was written; below 0: as 0 */
	size_t ranks;
};

struct top_rank {
	char name[JOB_NAME];
	int64_t number; /* -1: its launcher gave it none */
	size_t session;
	bool is_silent; /* its session is */
	struct job_pace pace;
	/* Of a step, ms; NAN: no steps. */
	double step_ms, own_ms;
	double excess_ms; /* own_ms above the median of all ranks */
	int reason;       /* enum job_part; JOB_PARTS: none of them */
	double reason_ms; /* of that part, above the median */
};

struct ranks_top {
	const char *run;
	struct top_session *session;
	size_t sessions, session_room;
	struct top_rank *rank; /* the latest first, after ranks_top_judge() */
	size_t ranks, rank_room;
	/* Of ranks_top_judge(): */
	size_t live;          /* ranks of sessions that are not silent, each number once */
	size_t stepping;      /* of these, those with steps */
	size_t hosts, silent; /* silent: sessions */
	int64_t size;         /* ranks of the job, by its launcher; 0: not known */
	double steps_per_s, median_ms;
};

/* Reads all files. @now: CLOCK_REALTIME, s. 0; -ENOENT: the job has no session now; else -errno. */
int ranks_top_read(struct ranks_top *t, const char *dataset, int64_t now);
void ranks_top_judge(struct ranks_top *t);
/* Is the first rank late, by more than noise? */
bool ranks_top_is_late(const struct ranks_top *t);
void ranks_top_free(struct ranks_top *t);

/* Up to @rows ranks, and as many silent sessions; lines of at most @width columns (0: whole). */
void ranks_top_print(FILE *out, const struct ranks_top *t, size_t rows, size_t width);
/* One object and a newline. */
void ranks_top_json(FILE *out, const struct ranks_top *t, size_t rows);

/* Adds a rank of session number @session; false: no memory. */
bool ranks_top_add(struct ranks_top *t, size_t session, const struct job_series *k);
/* How long a file has been silent: @written, s, of which @newest is the largest of all files. */
int64_t ranks_top_silent(int64_t now, int64_t newest, int64_t written);
/* "files", "sleeping": the reason as a text. */
const char *ranks_top_reason(const struct top_rank *r);
