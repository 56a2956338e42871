/*
 * ncu.h - from a launch in a report to the command with which Nsight Compute profiles the same launch.
 *
 * ncu counts the launches that its filters let through; --launch-skip is how many to pass over. That number is counted here:
 * launches of the same mangled name in the same process whose call began earlier (not which ran earlier on the GPU: streams may
 * overtake each other). With an NVTX range, only launches by a thread that was in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporters/read/db_filter.h"
#include "exporters/read/db_read.h"

struct ncu_ask {
	const char *kernel;   /* a name, or part of one; NULL: the kernels that took most time */
	int64_t top;          /* so many of these */
	const char *instance; /* median, longest, shortest, first, last, or a number from 0 */
	struct db_filter_nvtx nvtx; /* range NULL: anywhere */
	int64_t pid;                /* 0: every process that launches it */
	const char *set, *replay;   /* of ncu; replay "auto": chosen here */
	bool list;                  /* all launches, in their order */
};

struct ncu_kernel {
	char *mangled, *demangled, *name; /* mangled NULL: the report has none */
	int64_t id;                       /* of the mangled (else demangled) name in StringIds */
	int64_t launches, ns;             /* in the whole report */
};

struct ncu_launch {
	int64_t skip; /* launches before it that ncu counts, as far as the report has them */
	int64_t start, end, call; /* on the GPU; of the call, INT64_MIN: not recorded */
	int64_t device, stream;
	int64_t correlation, node; /* 0: none */
	int64_t type;              /* ENUM_CUDA_KERNEL_LAUNCH_TYPE */
	int64_t grid[3], block[3];
	int64_t registers, shared[2]; /* static, dynamic */
};

/* Why the number may differ when the program runs under ncu, or a warning about the launch. */
struct ncu_note {
	const char *kind; /* a word for machines */
	char *text;       /* one sentence */
};

struct ncu_target {
	const struct ncu_kernel *kernel;
	int64_t pid, rank; /* rank -1: only one process launches it */
	bool is_rank_known,
		is_of_job; /* the job has other processes, perhaps with reports of their own */
	int64_t launches, ns, median; /* of the kernel in this process, and in the range */
	int64_t peers;                /* processes that launch it */
	struct ncu_launch launch;
	const char *replay; /* NULL: no command; the last note has the reason */
	bool is_sure;       /* nothing is known of that would make another number of it */
	struct ncu_note *notes;
	size_t note_cnt;
	char **argv; /* of ncu, up to the program; NULL without a command */
};

struct ncu_copy {
	char *name;
	int64_t pid, device, count, bytes, ns;
	double best; /* bytes per second of the fastest copy of at least 1 MB; 0: none is that large */
	int64_t memory; /* bytes per second of the GPU's memory, 0: not known */
	bool is_inside; /* within the GPU's memory: each byte is read and written */
};

struct ncu {
	const char *path;
	sqlite3 *db;
	const struct ncu_ask *ask;
	char **argv, *folder; /* of the program; argv NULL: not in the report */
	int64_t pid;          /* of the program; 0: not known */
	bool is_masked;       /* an argument was hidden when it was recorded */
	bool is_push_pop;     /* the range: of a thread's stack, else one that any thread may end */
	const char *late;     /* the recording does not have the beginning: why; NULL: it has */
	bool by_profiler;     /* it has the part between cudaProfilerStart() and Stop() */
	struct ncu_kernel *kernels;
	size_t kernel_cnt, matching; /* so many kernels have such a name */
	struct {
		struct ncu_target *list;
		size_t cnt;
	} targets;
	struct {
		struct ncu_copy *list;
		size_t cnt;
	} copies;
};

/* 0, or -1 after one sentence in @why. */
int ncu_run(struct ncu *n, sqlite3 *db, const char *path, const struct ncu_ask *ask, char *why,
	    size_t why_len);
void ncu_free(struct ncu *n);

/* Parts of ncu_run(): the launches (ncu_find.c), notes on each (ncu_notes.c), its command (ncu_argv.c). */
int ncu_find(struct ncu *n, char *why, size_t why_len);
int ncu_notes(struct ncu *n);
int ncu_argv(struct ncu *n);

/* Room for one more at the end of a list, zeroed; NULL without memory. */
void *ncu_more(void *list, size_t *cnt, size_t size);
/* Adds a note, the text made as printf() does. 0 or -1. */
int ncu_note(struct ncu_target *t, const char *kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The command for sh, words quoted where they must be; NULL without a command. malloc'd. */
char *ncu_command(const struct ncu *n, const struct ncu_target *t);

void ncu_text(FILE *out, const struct ncu *n);
struct bounds;
/* 0, or -1: no memory. */
int ncu_json(FILE *out, const struct ncu *n, const struct bounds *b);
/* Each launch: SL_NCU_LAUNCH as a table or as an array. 0 or -1. */
int ncu_list_text(FILE *out, const struct ncu *n);
int ncu_list_json(FILE *out, const struct ncu *n);

/* Neither the report nor a folder on the way to it can be written by another user. @why: one sentence why that is not so. */
bool ncu_is_own(const char *report, char *why, size_t why_len);
/* Runs the commands one after the other, in the program's folder. An exit status, the first that is not 0. */
int ncu_execute(const struct ncu *n);
