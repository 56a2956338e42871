/* replay_internal.h - between the files of the replay. */
#pragma once

#include "collector/base/slots.h"
#include "exporters/why/answer/replay.h"

enum track_kind {
	TRACK_OWN,  /* on a CPU, or without one after it was taken away */
	TRACK_WAIT, /* until it is runnable */
	TRACK_BACK, /* runnable after a wait */
	TRACK_GPU,  /* in a call that waits for the GPU */
};

/* Where a thread is. */
struct track {
	int64_t at, end; /* recorded times: how far it has come; the end of its span */
	size_t i, gpu;   /* the switch that the span begins with; the next call of the GPU's */
	size_t wait;     /* the switch that the last wait began with */
	struct why_wake wake;
	struct why_cause cause; /* of TRACK_BACK */
	uint32_t waited;        /* a bit for each edit: the last wait did happen */
	enum track_kind kind;
	bool is_birth, is_inner; /* is_inner: replay_is_inner() of the last wait */
	bool is_looking;    /* looks of a series are behind it, the waker's end of them is not */
	bool is_asking;     /* the last wait is part of the job */
	uint32_t jobs;      /* threads that work for this one */
	uint32_t works_for; /* the thread that its job is for; WHY_NONE: not known */
	int64_t done_at;    /* recorded: the last job of its own was done */
};

/* A stream of a GPU. */
struct stream {
	uint32_t process, device, stream;
	int64_t end;      /* recorded, of the operations launched so far */
	bool brings_back; /* the stream had a copy to the host since the process last waited */
	int64_t now[REPLAY_EDITS];
	/* The kernel of another rank that the last operation, a kernel of NCCL, waits for; NULL: none. */
	const struct why_op *waits_for;
	int64_t begin[REPLAY_EDITS],
		rest; /* of that kernel; its remaining time once all ranks have begun */
};

struct run {
	struct why *y;
	struct replay *out;
	const struct replay_edit *edits;
	size_t cnt;
	int64_t *now,
		*begun, /* by thread and edit; begun: where the waker was when a wait for a lock began */
		*done,              /* when the jobs that the thread gave were done, likewise */
		*ran, *interpreted, /* ns on a CPU; of these with the GIL */
		*looked, /* where the thread was when the first look of a series began: walk_series() */
		*owed, /* when jobs of other threads for the thread were done, in a wait for another job; INT64_MIN: none */
		*polled; /* ns of waits that ended by a time limit, in a row: fewer if the awaited event comes earlier */
	struct track *tracks;
	uint32_t *heap; /* threads, by the ends of their spans */
	size_t heap_cnt;
	struct {
		int64_t at;
		bool is_cost; /* a message may cost it */
	} span;               /* of kept() */
	bool is_joined; /* the line last looked up by replay_culprit() was joined with the culprit's */
	uint32_t own; /* of own_span() */
	int64_t own_at;
	struct owner *owners; /* culprits of spans without a line of their own */
	size_t owners_cnt, owners_room;
	struct slots owner_of;
	uint32_t *of_call; /* operations in the order of the calls that started them */
	WHY_LIST(stream, streams);
	bool is_short; /* of memory */
	struct {
		size_t passed; /* begins and ends of spans that the focus thread has passed */
		int64_t now[REPLAY_EDITS],
			sum[REPLAY_EDITS]; /* where it is; the length of the spans */
	} focus;
};

/* replay_culprit.c: the index of a culprit that has sums, or REPLAY_ANY. */
bool replay_prepare(struct run *r);
void replay_release(struct run *r);
uint32_t replay_culprit(struct run *r, uint32_t process, const struct why_cause *cause);
/* The culprit of the line alone. */
uint32_t replay_of_line(struct run *r, const struct why_cause *cause);

/* replay_wake.c: did a wait in a call of a GPU's library end when another thread of the process gave a lock back there? */
bool replay_is_inner(struct run *r, uint32_t thread, const struct track *k);
/* Did a wait end because the waker ended the process? */
bool replay_is_end(const struct run *r, uint32_t thread, const struct track *k);
/* Did a poll end by an event from outside of the recording: input, a signal? Or did it never end? */
bool replay_is_event(const struct run *r, uint32_t thread, const struct track *k);

/* replay_jobs.c: @by has started or woken @thread. */
void replay_job_begins(struct run *r, uint32_t thread, uint32_t by);
/* @thread begins to wait, for ever if @is_last. */
void replay_job_pauses(struct run *r, uint32_t thread, bool is_last);
/* Did another thread work for @thread during its wait? */
bool replay_has_jobs(const struct run *r, uint32_t thread);
/* When, by edit @v, the jobs of other threads for @thread during its wait were done; INT64_MIN: no jobs. */
int64_t replay_jobs_done(const struct run *r, uint32_t thread, size_t v);

/* replay_gpu.c */
bool replay_prepare_gpu(struct run *r);
/* Does a call wait for the GPU, or give it work? */
bool replay_is_gpu_call(struct run *r, uint32_t thread, const struct why_call *c);
/* The GPU call that ends now launches its work. */
void replay_launch(struct run *r, uint32_t thread);
void replay_end_gpu_wait(struct run *r, uint32_t thread);
/* When all GPU work of the focus thread's process is done. */
int64_t replay_gpu_end(const struct run *r, size_t v);
