/* inject.c - enters a process: chooses a thread, puts the calls onto it, waits for the library's answer. */
#include "collector/inject/inject.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "collector/base/now.h"
#include "collector/base/proc.h"
#include "collector/inject/call.h"
#include "collector/inject/scope.h"
#include "collector/inject/seccomp.h"
#include "collector/inject/stub.h"
#include "collector/inject/subject.h"
#include "collector/inject/thread.h"
#include "collector/session/session.h"

#define CHOOSE_NS \
	2000000000ll /* for which a thread that waits is looked for, before one that runs is taken */
#define LOOK_NS   5000000000ll  /* and for any at all */
#define ANSWER_NS 10000000000ll /* the thread may have to wait for the loader's lock */
/* For which a thread may be stopped; it is let go somewhat later, where this process has to wait for a CPU. */
#define LIMIT_NS      25000000ll
#define TRIED_MAX     64u
#define LOOKS         3u
#define LOOK_AGAIN_NS 20000000l
#define STACK_SIZE    (256u << 10)

static void doze(long ns)
{
	const struct timespec step = {0, ns};

	nanosleep(&step, NULL);
}

/* A process that begins a program, or ends, may lack anything at that moment: it is looked at again. subject_free() in any case. */
static int look(struct subject *t, pid_t pid, const char *library, const char *folder, char *why,
		size_t why_len)
{
	int err = subject_look(t, pid, library, folder, why, why_len);
	char state;

	for (unsigned i = 0; err && i < LOOKS; i++) {
		subject_free(t);
		doze(LOOK_AGAIN_NS);
		err = subject_look(t, pid, library, folder, why, why_len);
	}
	state = proc_state((uint32_t)pid);
	if (err && (!state || state == 'Z' || state == 'X')) {
		snprintf(why, why_len, "process %d has ended", (int)pid);
		err = -ESRCH;
	}
	return err;
}

int inject_check(pid_t pid, const char *library, char *why, size_t why_len)
{
	struct subject t;
	int err = look(&t, pid, library, NULL, why, why_len);

	subject_free(&t);
	return err;
}

uint32_t inject_first_gate(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	/* A capture takes two numbers; there are fewer than a hundred each second. */
	return (uint32_t)((uint64_t)t.tv_sec * 200 + (uint64_t)t.tv_nsec / 5000000) & SL_GATE_MASK &
	       ~1u;
}

#ifdef __x86_64__

/* ---- the calls ---- */

static void fill_data(struct stub_data *d, const struct subject *t, const char *library,
		      const char *variable)
{
	const uint64_t *f = t->function;

	memset(d, 0, sizeof(*d));
	d->create = f[SUBJECT_CREATE];
	d->attr_init = f[SUBJECT_ATTR_INIT];
	d->attr_detach = f[SUBJECT_ATTR_DETACH];
	d->attr_stack = f[SUBJECT_ATTR_STACK];
	d->dlopen = f[SUBJECT_DLOPEN];
	d->dlsym = f[SUBJECT_DLSYM];
	d->munmap = f[SUBJECT_MUNMAP];
	d->stack_bytes = STACK_SIZE;
	d->data_bytes = (sizeof(*d) + STUB_PAGE - 1) & ~(uint64_t)(STUB_PAGE - 1);
	memcpy(d->entry, "sightline_enter", sizeof("sightline_enter"));
	memcpy(d->path, library, strlen(library) + 1);
	memcpy(d->late.variable, variable, strlen(variable) + 1);
}

static enum call_result map_pages(struct call *c, size_t bytes, int rights, uint64_t *address)
{
	const uint64_t args[6] = {0,          bytes, (uint64_t)rights, MAP_PRIVATE | MAP_ANONYMOUS,
				  UINT64_MAX, 0};
	int64_t at = 0;
	enum call_result rc = call_run(c, c->subject->function[SUBJECT_MMAP], args, &at);

	*address = at > 0 ? (uint64_t)at : 0;
	return rc;
}

/* All that the stopped thread does. After anything but CALL_DONE it runs again. */
static enum call_result start_thread(struct call *c, const struct stub_data *d, uint64_t *data,
				     const char **failed)
{
	uint64_t code = 0;
	int64_t none;
	enum call_result rc = map_pages(c, STUB_PAGE, PROT_READ | PROT_EXEC, &code);

	if (rc == CALL_DONE)
		rc = map_pages(c, d->data_bytes, PROT_READ | PROT_WRITE, data);
	if (rc != CALL_DONE)
		return rc;
	if (!code || !*data ||
	    !call_write_code(c, code, stub_code, (size_t)(stub_code_end - stub_code)) ||
	    !subject_write(c->subject->pid, *data, d, sizeof(*d))) {
		*failed = "no memory can be mapped in it";
		return call_end(c);
	}
	rc = call_run(c, code, (const uint64_t[6]){*data}, &none);
	/* Let go before its end, for want of a CPU or because of a lock, it ends it by itself. */
	return rc == CALL_DONE ? call_end(c) : rc == CALL_LATE ? CALL_DONE : rc;
}

/* ---- a thread for them ---- */

struct attempt {
	struct inject *in;
	struct subject subject;
	struct stub_data data;
	pid_t tried[TRIED_MAX];
	size_t tried_cnt;
	const char *why; /* the last thread was not taken */
};

/* 0: a thread is started; -EAGAIN: another thread, or another moment. */
static int try_thread(struct attempt *a, pid_t tid, char *why, size_t why_len)
{
	const char *failed = NULL;
	int err;
	struct call c;
	enum call_result rc = call_begin(&c, &a->subject, tid, LIMIT_NS, &a->why);

	a->in->tries++;
	if (rc == CALL_DONE && a->subject.has_filter) {
		err = seccomp_look(a->subject.pid, tid, why, why_len);
		if (err) {
			call_cancel(&c);
			return err;
		}
	}
	if (rc == CALL_DONE)
		rc = start_thread(&c, &a->data, &a->in->data, &failed);
	if (c.stopped_ns > a->in->stopped_ns)
		a->in->stopped_ns = c.stopped_ns;
	switch (rc) {
	case CALL_DONE:
		if (!failed)
			return 0;
		snprintf(why, why_len, "process %d: %s", (int)a->subject.pid, failed);
		return -ENOMEM;
	case CALL_NOT_PERMITTED:
		scope_explain(SCOPE_FILE, a->subject.pid, why, why_len);
		return -EPERM;
	case CALL_LATE:
		/* While it mapped pages, which needs no lock: it had no CPU. */
		return -EAGAIN;
	case CALL_FAULT:
		snprintf(why, why_len,
			 "process %d: no thread can be started in it; it goes on as before",
			 (int)a->subject.pid);
		return -EFAULT;
	default:
		if (a->tried_cnt < TRIED_MAX)
			a->tried[a->tried_cnt++] = tid;
		return -EAGAIN;
	}
}

/* A thread that waits for its next step is stopped: where it is permitted, this process goes before others. */
static bool hurry(void)
{
	struct sched_param first = {.sched_priority = 1};

	return sched_getscheduler(0) == SCHED_OTHER &&
	       sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first) == 0;
}

static void stop_hurrying(void)
{
	const struct sched_param usual = {0};

	sched_setscheduler(0, SCHED_OTHER, &usual);
}

static int find_thread(struct attempt *a, char *why, size_t why_len)
{
	int64_t begun = mono_ns();

	for (;;) {
		int64_t past = mono_ns() - begun;
		pid_t tid = thread_choose(a->subject.pid,
					  past < CHOOSE_NS ? THREAD_REPEATS : THREAD_RUNS, a->tried,
					  a->tried_cnt);
		bool hurries = tid && hurry();
		int err = tid ? try_thread(a, tid, why, why_len) : -EAGAIN;

		if (hurries)
			stop_hurrying();

		if (err != -EAGAIN)
			return err;
		if (!proc_state((uint32_t)a->subject.pid) ||
		    proc_state((uint32_t)a->subject.pid) == 'Z') {
			snprintf(why, why_len, "process %d has ended", (int)a->subject.pid);
			return -ESRCH;
		}
		if (past > LOOK_NS) {
			snprintf(why, why_len,
				 "process %d has no thread at a place where it can be entered "
				 "(%s): try "
				 "again",
				 (int)a->subject.pid,
				 a->why ? a->why
					: "all are in the allocator, the loader or the kernel");
			return -EBUSY;
		}
		if (!tid) {
			a->tried_cnt = 0;
			doze(1000000);
		}
	}
}

/* ---- the answer ---- */

static bool read_late(const struct inject *in, struct sl_late *late)
{
	return subject_read(in->pid, in->data + offsetof(struct stub_data, late), late,
			    offsetof(struct sl_late, variable));
}

static const char *text_of(uint32_t error)
{
	static const char *const texts[] = {
		[SL_LATE_NO_LIBRARY] = "its loader refuses libtrace.so (no room for a library with "
				       "thread-local variables, or another version of glibc)",
		[SL_LATE_NO_ENTRY] = "it has another version of libtrace.so from an earlier time",
		[SL_LATE_IN_SESSION] = "it belongs to a session already",
		[SL_LATE_NO_CLOCK] = "reading the clock faults in it",
		[SL_LATE_NO_SESSION] =
			"it cannot enter the session's folder: set SIGHTLINE_SESSIONS "
			"to a folder that both see",
		[SL_LATE_NO_ARENA] = "it has no memory for records (limits on files or memory)",
		[SL_LATE_NO_SLOTS] = "it has no memory",
		[SL_LATE_NO_COLLECTOR] = "it does not reach the collector",
	};

	return error < sizeof(texts) / sizeof(*texts) && texts[error] ? texts[error]
								      : "an error unknown here";
}

static int wait_for_answer(const struct inject *in, char *why, size_t why_len)
{
	int64_t until = mono_ns() + ANSWER_NS;
	const uint32_t seen = 1;
	struct sl_late late;
	uint32_t created = 0;

	for (;;) {
		if (!read_late(in, &late) ||
		    !subject_read(in->pid, in->data + offsetof(struct stub_data, created), &created,
				  sizeof(created))) {
			snprintf(why, why_len, "process %d has ended", (int)in->pid);
			return -ESRCH;
		}
		if (late.state == SL_LATE_IN)
			return 0;
		if (created > 1) {
			snprintf(why, why_len, "process %d: no thread can be started in it: %s",
				 (int)in->pid, strerror((int)created - 1));
			return -EAGAIN;
		}
		if (late.state == SL_LATE_FAILED) {
			subject_write(in->pid, in->data + offsetof(struct stub_data, seen), &seen,
				      sizeof(seen));
			snprintf(why, why_len, "process %d: %s", (int)in->pid, text_of(late.error));
			return -ENOTSUP;
		}
		if (mono_ns() > until) {
			snprintf(why, why_len,
				 "process %d does not answer: another thread holds the loader's "
				 "lock",
				 (int)in->pid);
			return -ETIMEDOUT;
		}
		doze(200000);
	}
}

int inject_enter(struct inject *in, pid_t pid, const char *library, const char *variable, char *why,
		 size_t why_len)
{
	static struct attempt a;
	char folder[SESSION_VARIABLE_MAX];
	int err;

	*in = (struct inject){.pid = pid};
	a = (struct attempt){.in = in};
	snprintf(folder, sizeof(folder), "%s", variable);
	session_variable_cut(folder);
	err = look(&a.subject, pid, library, folder, why, why_len);
	if (!err && (strlen(library) >= sizeof(a.data.path) ||
		     strlen(variable) >= sizeof(a.data.late.variable))) {
		snprintf(why, why_len, "the path of libtrace.so is too long");
		err = -ENAMETOOLONG;
	}
	if (!err) {
		fill_data(&a.data, &a.subject, library, variable);
		err = find_thread(&a, why, why_len);
	}
	subject_free(&a.subject);
	return err ? err : wait_for_answer(in, why, why_len);
}

bool inject_wait_left(const struct inject *in, int limit_ms)
{
	int64_t until = mono_ns() + limit_ms * INT64_C(1000000);
	struct sl_late late;

	if (!in->data)
		return true;
	/* The pages are unmapped in the end. */
	while (read_late(in, &late) && late.state != SL_LATE_LEFT) {
		if (mono_ns() > until)
			return false;
		doze(200000);
	}
	return true;
}

#else

int inject_enter(struct inject *in, pid_t pid, const char *library, const char *variable, char *why,
		 size_t why_len)
{
	(void)variable;
	*in = (struct inject){.pid = pid};
	return inject_check(pid, library, why, why_len);
}

bool inject_wait_left(const struct inject *in, int limit_ms)
{
	(void)in;
	(void)limit_ms;
	return true;
}

#endif
