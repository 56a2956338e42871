/* job_watch.h - the process beside a session that looks into the job's folder. */
#pragma once

#include "collector/job/job_late.h"

struct job_watch_ask {
	const char *dataset, *run;
	const char *session; /* its folder */
	uint32_t pid;        /* of its collector */
	int input;           /* steps, a line each: NAME\tSTEP\tNS; its end: that of the session */
	const char *trigger; /* its text; NULL: no rank is compared */
	struct job_limit limit; /* calm_ns: between two dumps for late ranks, too */
};

/* Serves the session until it ends. An exit status. */
int job_watch(const struct job_watch_ask *ask);
