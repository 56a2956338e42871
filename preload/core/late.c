/*
 * late.c - the entry of a library that came late: a thread of its own joins the session, attends to it, and leaves.
 *
 * The thread sleeps in poll() on a connection that the collector keeps open. The kernel closes it with the collector, however that
 * ends, so the process is left in any case. The library itself stays mapped: threads may be inside of wrappers, or have taken a
 * wrapper's address.
 *
 * Runs on a thread that the C library made, with all signals blocked. Its own calls do not pass wrappers.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "preload/base/compiler.h"
#include "preload/base/state.h"
#include "preload/core/hook.h"
#include "preload/core/session_join.h"
#include "preload/core/session_socket.h"
#include "preload/core/slots.h"
#include "preload/wire/clock.h"
#include "preload/wire/late.h"
#include "preload/wire/sys.h"

#define CHECK_S 1

static SL_APART char text[4096]; /* of the one thread that attends */

/*
 * setuid() and the like interrupt every thread by a signal of the C library (SIGSETXID), and wait until all have taken it: that one
 * is let through.
 */
static void let_setuid_through(void)
{
	uint64_t set = UINT64_C(1) << (33 - 1);

	sl_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set));
}

/* Whether the first thread has ended: then the process ends with the last one, which must not be this one. */
static bool first_has_ended(void)
{
	char path[32] = "/proc/self/task/";
	long fd, n;

	memcpy(sl_put_number(path + strlen(path), sl_proc.pid), "/stat", 6);
	fd = sl_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	n = sl_sys3(SYS_read, fd, text, sizeof(text) - 1);
	sl_sys1(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	/* "PID (NAME) STATE ...": the name may hold anything. */
	return n > 0 && strrchr(text, ')') && strncmp(strrchr(text, ')'), ") Z", 3) == 0;
}

/* "Threads:" of /proc/self/status: the first one, which has ended, and this one. */
static bool others_have_ended(void)
{
	long fd = sl_sys4(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0), n;
	const char *at;

	if (fd < 0)
		return false;
	n = sl_sys3(SYS_read, fd, text, sizeof(text) - 1);
	sl_sys1(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "\nThreads:\t");
	return at && (at[10] == '1' || at[10] == '2') && at[11] == '\n';
}

/*
 * Until the collector closes the connection, or all other threads have ended. Nothing is sent on it, and nothing read: a program may
 * close descriptors that it does not know, and another file may have the number.
 */
static void attend(long sock)
{
	struct pollfd p = {.fd = (int)sock, .events = POLLIN};

	for (;;) {
		struct timespec step = {CHECK_S, 0};
		long n = sl_sys5(SYS_ppoll, &p, 1, &step, NULL, 0);

		/* Interrupted by setuid() of another thread. */
		if (n == -EINTR)
			continue;
		if (n != 0 || (first_has_ended() && others_have_ended()))
			return;
	}
}

/* Out of the way of the numbers that the program expects to get. */
static long move_high(long fd)
{
	long high = sl_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 512);

	if (high < 0)
		return fd;
	sl_sys1(SYS_close, fd);
	return high;
}

static void answer(struct sl_late *late, enum sl_late_state state, int error)
{
	late->error = (uint32_t)error;
	__atomic_store_n(&late->state, state, __ATOMIC_RELEASE);
}

static int fail(struct sl_late *late, int error)
{
	answer(late, SL_LATE_FAILED, error);
	return error;
}

SL_EXPORT int sightline_enter(struct sl_late *late)
{
	uint64_t begun;
	int error;
	long sock;

	let_setuid_through();
	sl_sys2(SYS_prctl, 15 /* PR_SET_NAME */, "sightline");
	late->variable[sizeof(late->variable) - 1] = 0;
	error = sl_process_enter(late->variable);
	if (error)
		return fail(late, error);
	sock = sl_session_connect(0, false);
	if (sock < 0 || sl_send_hello(sock, SL_HELLO_ATTENDS, 0, -1) < 0) {
		if (sock >= 0)
			sl_sys1(SYS_close, sock);
		sl_process_leave();
		return fail(late, SL_LATE_NO_COLLECTOR);
	}
	sock = move_high(sock);
	begun = sl_mono_ns();
	if (!sl_slots_patch()) {
		sl_sys1(SYS_close, sock);
		sl_process_leave();
		return fail(late, SL_LATE_NO_SLOTS);
	}
	late->patched_ns = (uint32_t)(sl_mono_ns() - begun);
	answer(late, SL_LATE_IN, 0);
	attend(sock);
	late->restored = sl_slots_restore();
	sl_process_leave();
	sl_sys1(SYS_close, sock);
	answer(late, SL_LATE_LEFT, 0);
	return 0;
}
