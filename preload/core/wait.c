/* wait.c - waits for what the collector gives back. Runs inside the program's calls: rules as in hook.c. */
#include "preload/core/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>

#include "preload/base/state.h"
#include "preload/core/arena_map.h"
#include "preload/wire/clock.h"
#include "preload/wire/sys.h"

/* kill() succeeds for a collector that has exited and is not reaped yet. */
static bool is_zombie(uint32_t pid)
{
	char path[32] = "/proc/", text[256];
	long fd, got;

	memcpy(sl_put_number(path + 6, pid), "/stat", 6);
	fd = sl_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	got = sl_sys3(SYS_read, fd, text, sizeof(text) - 1);
	sl_sys1(SYS_close, fd);
	/* "pid (name) S ...": the state follows the last parenthesis. */
	while (got > 0 && text[--got] != ')')
		;
	return got > 0 && (text[got + 2] == 'Z' || text[got + 2] == 'X');
}

static bool collector_has_exited(uint32_t *seen, unsigned *still)
{
	uint32_t beat = __atomic_load_n(&sl_global.session->heartbeat, __ATOMIC_RELAXED);

	if (__atomic_load_n(&sl_global.session->state, __ATOMIC_RELAXED) != SL_SESSION_ON)
		return true;
	if (beat != *seen) {
		*seen = beat;
		*still = 0;
	}
	/* The heartbeat comes every second. A missing one proves nothing: the collector may be stopped. */
	if (++*still < 30)
		return false;
	*still = 0;
	return sl_sys2(SYS_kill, sl_global.session->collector_pid, 0) == -ESRCH ||
	       is_zombie(sl_global.session->collector_pid);
}

bool sl_wait_for(struct sl_arena *a, bool (*take)(struct sl_arena *, void *), void *what)
{
	const struct sl_session *s = sl_global.session;
	uint32_t beat = s->heartbeat;
	unsigned still = 0;
	uint64_t begun;

	if (sl_global.seccomp || s->on_full == SL_FULL_DROP)
		return false;
	begun = sl_mono_ns();
	for (;;) {
		uint32_t seq = __atomic_load_n(&a->freed_seq, __ATOMIC_ACQUIRE);
		struct timespec step = {0, 50 * 1000 * 1000};

		if (take(a, what))
			return true;
		/* The collector gives back nothing any more. */
		if (__atomic_load_n(&s->state, __ATOMIC_RELAXED) != SL_SESSION_ON)
			return false;
		__atomic_add_fetch(&a->waiter_cnt, 1, __ATOMIC_SEQ_CST);
		/* Not FUTEX_PRIVATE: the collector wakes from its own mapping. */
		sl_sys4(SYS_futex, &a->freed_seq, FUTEX_WAIT, seq, &step);
		__atomic_sub_fetch(&a->waiter_cnt, 1, __ATOMIC_SEQ_CST);
		/* Where this process cannot map what others return, waiting may have no end. */
		if ((s->on_full == SL_FULL_WAIT || sl_arena_is_short()) &&
		    sl_mono_ns() - begun > (uint64_t)s->wait_ms * 1000000u)
			return take(a, what);
		if (s->on_full == SL_FULL_BLOCK && collector_has_exited(&beat, &still))
			return false;
	}
}
