/*
 * cupti_log.c - the stand-in for libcupti: what it did with each activity of the GPU (STANDIN_CUPTI_LOG=FOLDER), as the
 * truth for checks. Each process appends records to FOLDER/PID, by system calls that no tracer of libraries sees; they are
 * there however it ends.
 */
#include "tests/standin/cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/prog/raw.h"

__thread enum standin_fate standin_fate;

/* Read by tests/e2e/gpu/gpu_random.py. */
struct entry {
	/*
	 * kind: enum standin_kind; 100, 101: cudaProfilerStart, Stop; by CUPTI's kinds, a record that is handed over without
	 * usable times: from 200 on; dropped: from 300 on. Times are the true ones.
	 */
	uint32_t kind, fate;
	uint64_t at, start, end;
	uint32_t correlation, reserved;
};

static int file_of_process(void)
{
	static int owner, file;
	static char lock;
	const char *folder = getenv("STANDIN_CUPTI_LOG");
	int pid = (int)raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	char path[4096];

	if (!folder || !*folder)
		return -1;
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		;
	if (owner != pid) {
		snprintf(path, sizeof(path), "%s/%d", folder, pid);
		file = (int)raw_call(SYS_openat, AT_FDCWD, (long)path,
				     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644, 0, 0);
		owner = pid;
	}
	__atomic_clear(&lock, __ATOMIC_RELEASE);
	return file;
}

static void append(const struct entry *e)
{
	int file = file_of_process();

	if (file >= 0)
		raw_call(SYS_write, file, (long)e, sizeof(*e), 0, 0, 0);
}

void standin_log_activity(const struct standin_activity *a, uint64_t at)
{
	append(&(struct entry){.kind = a->kind,
			       .fate = standin_fate,
			       .at = at,
			       .start = a->start,
			       .end = a->end,
			       .correlation = a->correlation});
}

void standin_log_call(int is_exit, const char *name)
{
	bool begins = is_exit && !strcmp(name, "cudaProfilerStart");

	if (begins || (!is_exit && !strcmp(name, "cudaProfilerStop")))
		append(&(struct entry){.kind = begins ? 100 : 101, .at = standin_now()});
}

static bool is_near(uint64_t a, uint64_t b)
{
	return a - b + 1000000000 < 2000000000;
}

/* As its client can know it: on CLOCK_MONOTONIC or CUPTI's default clock. */
static bool is_sound(const uint64_t times[4])
{
	uint64_t apart = standin_default_clock() - standin_now();

	return times[3] >= times[2] &&
	       (is_near(times[2], times[0]) || is_near(times[2], times[0] + apart)) &&
	       (is_near(times[3], times[1]) || is_near(times[3], times[1] + apart));
}

void standin_log_times(int kind, enum standin_fate fate, const uint64_t times[4])
{
	if (!is_sound(times))
		append(&(struct entry){.kind = 200 + (uint32_t)kind,
				       .fate = fate,
				       .at = standin_now(),
				       .start = times[0],
				       .end = times[1]});
}

void standin_log_dropped(int kind, enum standin_fate fate)
{
	uint64_t now = standin_now();

	append(&(struct entry){
		.kind = 300 + (uint32_t)kind, .fate = fate, .at = now, .start = now});
}

bool standin_is_shim(const void *callback)
{
	static __thread const void *last;
	static __thread bool is_shim;
	Dl_info info;

	if (callback != last) {
		is_shim = dladdr(callback, &info) && info.dli_fname &&
			  strstr(info.dli_fname, "libtrace-cuda");
		last = callback;
	}
	return is_shim;
}
