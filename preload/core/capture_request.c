/*
 * capture_request.c - requests the start or the end of a capture for a capture range of the program, and waits until the
 * collector has switched the gate (session.h: SL_HELLO_OPEN, SL_HELLO_CLOSE).
 *
 * The only place where a traced call waits for the collector: in the threads of capture ranges alone, and bounded.
 * Signal handlers run meanwhile as in any blocking call; a handler that leaves it by longjmp leaks a descriptor.
 */
#include "preload/core/capture_request.h"
#include "preload/core/hook.h"
#include "preload/core/part.h"
#include "preload/core/session_socket.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "preload/wire/sys.h"

#define MS         1000000u
#define OPEN_MS    2000u
#define CLOSE_MS   60000u /* the end waits for the report to be finalized (session.h) */
#define SILENCE_MS 2000u  /* of the collector's heartbeat */
#define FILTERED                                                                                  \
	"capture ranges cannot be requested for after a seccomp filter was installed: start and " \
	"stop "                                                                                   \
	"with a key or a command"
#define UNANSWERED "a capture range could not be requested for: the collector does not answer"

/* Once per process: requests may be made in a loop. */
static void note_once(const char *text)
{
	static uint32_t noted;

	/* A signal handler may have interrupted the writing of a record. */
	if (sl_tls.busy || __atomic_exchange_n(&noted, 1, __ATOMIC_RELAXED))
		return;
	sl_note(SL_NOTE_OTHER, text, strlen(text));
}

/* Waits until the collector closes the connection. False: not in time. */
static bool wait_for_close(long sock, enum sl_hello_kind kind)
{
	uint64_t begun = sl_mono_ns(), heard = begun, now = begun;
	uint32_t beat = sl_global.session->heartbeat;
	uint64_t limit = (kind == SL_HELLO_OPEN ? OPEN_MS : CLOSE_MS) * (uint64_t)MS;

	while (now - begun < limit && now - heard < SILENCE_MS * (uint64_t)MS) {
		struct pollfd p = {.fd = (int)sock, .events = POLLIN};
		struct timespec step = {0, 100 * MS};
		uint32_t next = __atomic_load_n(&sl_global.session->heartbeat, __ATOMIC_RELAXED);
		long n = sl_sys5(SYS_ppoll, &p, 1, &step, NULL, 0);

		if (n > 0 || (n < 0 && n != -EINTR))
			return n > 0;
		now = sl_mono_ns();
		if (next != beat) {
			beat = next;
			heard = now;
		}
	}
	return false;
}

/* Sends the request. Returns the descriptor of the connection, or a negative errno. */
static long send_request(enum sl_hello_kind kind, uint32_t range)
{
	uint64_t begun = sl_mono_ns();
	long sock, sent;

	do
		sock = sl_session_connect(OPEN_MS, false);
	while (sock == -EINTR && sl_mono_ns() - begun < OPEN_MS * (uint64_t)MS);
	if (sock < 0)
		return sock;
	sent = sl_send_hello(sock, kind, range, -1);
	if (sent < 0) {
		sl_sys1(SYS_close, sock);
		return sent;
	}
	return sock;
}

bool sl_capture_request(enum sl_hello_kind kind, uint32_t range)
{
	bool answered;
	long sock;

	/* Not in a vfork child, which shares its parent's state, nor in the tracer's own thread. */
	if (!sl_ready())
		return false;
	if (sl_global.seccomp) {
		note_once(FILTERED);
		return false;
	}
	/* Buffered GPU records belong to the capture that may end now. */
	if (kind == SL_HELLO_CLOSE)
		SL_PARTS_CALL(flush);
	sock = send_request(kind, range);
	answered = sock >= 0 && wait_for_close(sock, kind);
	if (sock >= 0)
		sl_sys1(SYS_close, sock);
	if (!answered &&
	    __atomic_load_n(&sl_global.session->state, __ATOMIC_RELAXED) == SL_SESSION_ON)
		note_once(UNANSWERED);
	/* So that the gate already applies to the next launch. */
	SL_PARTS_CALL(follow);
	return sock >= 0;
}
