/*
 * job_late.h - which rank is late: steps of the same number are compared, each by the time that the rank took by itself. No
 * clocks are compared.
 *
 * Files of sessions come at different moments and hold few steps each, so the steps of all ranks are kept here until all ranks
 * have come that far. A rank is late when it took longer than the limit in so many steps in a row; that is an event, which lasts
 * until the rank has been like the others for a while, and is found once.
 */
#pragma once

#include "collector/job/job.h"

/* When a rank is late: so many medians of all ranks in a step, or so much more than the median. */
struct job_limit {
	double medians;   /* 0: by ns */
	int64_t ns;       /* above the median */
	int64_t floor_ns; /* by medians: at least so much above the median, too */
	uint32_t steps;   /* in a row; 0 as 1 */
	int64_t calm_ns;  /* an event is over when the rank was not late for so long */
};

/* A late rank. */
struct job_event {
	char why[JOB_TEXT]; /* a sentence without the trigger */
	char to[JOB_TEXT]; /* the rank and the sessions whose reports matter (struct job_request) */
};

struct job_late;

/* NULL: no memory. */
struct job_late *job_late_new(void);
void job_late_free(struct job_late *l);

/* Adds the steps of a session, by the name of its file. @now: CLOCK_MONOTONIC, ns, as below. */
void job_late_take(struct job_late *l, const char *name, const struct job_session *s, int64_t now);

/* The event of this request (struct job_request, to) has been found already. */
void job_late_known(struct job_late *l, const char *to, int64_t now);

/*
 * Compares the steps that all ranks have made since. True: a rank is late, which was not before. @is_held: sessions are writing
 * reports, which takes time of their ranks; a rank that is late in these steps is found if it is so in later ones.
 */
bool job_late_find(struct job_late *l, const struct job_limit *limit, int64_t now, bool is_held,
		   struct job_event *event);
