/*
 * capture_request.c - a capture range of the program begins or ends: the collector is asked, and the call that did it goes on when
 * the answer is there (session.h: SL_HELLO_OPEN, SL_HELLO_CLOSE).
 *
 * The one place where a traced call waits for the collector: in the threads of capture ranges alone, and bounded.
 * Signal handlers run meanwhile as in any call that blocks; a handler that jumps out of it leaves a descriptor open.
 */
#include "preload/core/capture_request.h"
#include "preload/core/hook.h"
#include "preload/core/part.h"
#include "preload/core/session_join.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "preload/wire/sys.h"

#define MS         1000000u
#define OPEN_MS    2000u
#define CLOSE_MS   60000u /* where the end waits for the report to be finished (session.h) */
#define SILENCE_MS 2000u  /* of the collector's heartbeat */
#define RESTRICTED                                                                                 \
	"capture ranges cannot be asked for after a seccomp filter was installed: start and stop " \
	"with a key or a command"
#define UNANSWERED "a capture range could not be asked for: the collector does not answer"

/* Once per process: what is asked for in a loop would say it for ever. */
static void note_once(const char *text)
{
	static uint32_t told;
	uint64_t what = SL_NOTE_OTHER;

	/* In a signal handler in the middle of a record there is no place for another one. */
	if (sl_tls.busy || __atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		return;
	sl_meta(SL_META_NOTE, sl_ticks(), &what, 1, text, strlen(text));
}

/* Until the collector hangs up. False: it did not in time. */
static bool wait_for_answer(long sock, enum sl_hello_kind kind)
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

/* The descriptor of a connection on which the question has been sent, or a negative errno. */
static long send_question(enum sl_hello_kind kind, uint32_t range)
{
	uint64_t begun = sl_mono_ns();
	long sock, sent;

	do
		sock = sl_session_connect(OPEN_MS);
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

	/* Not in a vfork child, which has its parent's thread, nor on the tracer's own. */
	if (!sl_ready())
		return false;
	if (sl_global.restricted) {
		note_once(RESTRICTED);
		return false;
	}
	/* What the GPU did until now belongs to the report that this may end. */
	if (kind == SL_HELLO_CLOSE)
		SL_PARTS_CALL(flush);
	sock = send_question(kind, range);
	answered = sock >= 0 && wait_for_answer(sock, kind);
	if (sock >= 0)
		sl_sys1(SYS_close, sock);
	if (!answered &&
	    __atomic_load_n(&sl_global.session->state, __ATOMIC_RELAXED) == SL_SESSION_ON)
		note_once(UNANSWERED);
	/* So that the very next launch is recorded, or not. */
	SL_PARTS_CALL(follow);
	return sock >= 0;
}
