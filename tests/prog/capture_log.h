/*
 * capture_log.h - what a program did, and when, for tests/e2e/trace/capture_truth.py: one file per thread,
 * $CAPTURE_LOG.<pid>.<tid>, mapped, so that it survives whatever kills the program, and written by raw system calls,
 * so that no report has a row of it. Times are CLOCK_MONOTONIC, read just before and just after what is noted.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/prog/raw.h"

/* Letters of what is noted: also in capture_truth.py. An upper-case C, L is a call that has not returned. */
enum {
	LOG_HEAD = 'H',  /* first of all: pid, tid in number, result the parent */
	LOG_CALL = 'c',  /* pread at offset number */
	LOG_LONG = 'l',  /* usleep(number) */
	LOG_START = 'b', /* cudaProfilerStart */
	LOG_STOP = 'e',
	LOG_PUSH =
		'p', /* NVTX: text is the message, "@" and the domain; "=" in front: registered */
	LOG_POP = 'q',
	LOG_RANGE = 'r', /* start/end range; number pairs it with its end */
	LOG_END = 's',
	LOG_MARK = 'm',
	LOG_LAUNCH = 'k', /* cudaLaunchKernel */
	LOG_CHILD = 'f',  /* number: pid */
	LOG_NAME = 'n',   /* the thread's name from here on */
	LOG_GONE = 'g',   /* the process ends */
};

struct log_note {
	int64_t t0, t1, number;
	int32_t kind, result;
	char text[32];
};

#define LOG_NOTES (1u << 20) /* per thread; the file is sparse */

static __thread struct log_note *log_at, *log_end;
static __thread int64_t log_number; /* of the next call */

static int64_t log_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static long log_pid(void)
{
	return raw3(SYS_getpid, 0, 0, 0);
}

static void log_open(void)
{
	const char *base = getenv("CAPTURE_LOG");
	long bytes = (long)(LOG_NOTES * sizeof(struct log_note));
	long tid = raw3(SYS_gettid, 0, 0, 0);
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s.%ld.%ld", base ? base : "/tmp/capture", log_pid(), tid);
	/* Another image of the same process (exec) goes on where the last one stopped. */
	fd = raw_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || raw3(SYS_ftruncate, fd, bytes, 0) < 0) {
		fprintf(stderr, "capture: no log %s\n", path);
		_exit(3);
	}
	log_at = (struct log_note *)raw_call(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
					     fd, 0);
	raw_close(fd);
	log_end = log_at + LOG_NOTES;
	for (; log_at->kind; log_at++)
		log_number += log_at->kind == LOG_CALL;
	*log_at = (struct log_note){.t0 = log_now(),
				    .t1 = log_now(),
				    .number = log_pid() << 32 | tid,
				    .kind = LOG_HEAD,
				    .result = (int32_t)raw3(SYS_getppid, 0, 0, 0)};
	log_at++;
}

/* In a forked child the parent's log is not its own. */
static void log_forked(void)
{
	log_at = NULL;
}

/* Begins a note; its time is now. A full log takes no more: the test would see too little. */
static struct log_note *log_begin(int kind, int64_t number, const char *text)
{
	struct log_note *n;

	if (!log_at)
		log_open();
	if (log_at + 2 > log_end) {
		fprintf(stderr, "capture: the log is full\n");
		_exit(3);
	}
	n = log_at++;
	n->number = number;
	if (text)
		snprintf(n->text, sizeof(n->text), "%s", text);
	n->t0 = log_now();
	/* The kind makes it valid: what a signal interrupts is there, as begun. */
	__atomic_store_n(&n->kind, kind - 'a' + 'A', __ATOMIC_RELEASE);
	return n;
}

static void log_done(struct log_note *n, int result)
{
	n->t1 = log_now();
	n->result = result;
	__atomic_store_n(&n->kind, n->kind - 'A' + 'a', __ATOMIC_RELEASE);
}
