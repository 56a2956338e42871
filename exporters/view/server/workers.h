/* workers.h - threads that answer requests, so that a slow one delays no other. */
#pragma once

#include "exporters/view/answers/answer.h"

struct view_job {
	struct view_request q; /* its texts and bytes belong to the job */
	struct view_reply a;
	char *path, *query;
	uint8_t *body;
	void *connection; /* the server's own */
	struct view_job *next;
};

struct view_workers;

/* Jobs that are done are taken from @ready, a file descriptor that then can be read. */
struct view_workers *view_workers_new(int *ready);
void view_workers_do(struct view_workers *w, struct view_job *job);
/* NULL: no more jobs are done. */
struct view_job *view_workers_done(struct view_workers *w);
void view_job_free(struct view_job *job);
/* Waits for the threads a short time; all jobs are dropped. False: a thread still runs, and nothing is freed. */
bool view_workers_free(struct view_workers *w);
