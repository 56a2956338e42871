/*
 * exit_watch.c - see exit_watch.h.
 *
 * The program may do no more at its end than wake a futex: it may have shut itself in by then, and has no descriptor of
 * ours. Here a thread waits for that, because no poll can.
 */
#include "collector/session/exit_watch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static void watch(void *of)
{
	struct leaving *l = of;
	uint64_t one = 1;

	while (!__atomic_load_n(&l->control->leaving, __ATOMIC_ACQUIRE)) {
		if (syscall(SYS_futex, &l->control->leaving, FUTEX_WAIT, 0, NULL, NULL, 0) &&
		    errno != EINTR && errno != EAGAIN)
			return;
		if (write(l->event, &one, sizeof(one)) != sizeof(one))
			return;
	}
}

int leaving_begin(struct leaving *l, struct sl_session *control)
{
	l->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->event < 0)
		return -errno;
	l->control = control;
	aside_begin(&l->aside, watch, l);
	return 0;
}

void leaving_seen(struct leaving *l)
{
	uint64_t times;

	(void)!read(l->event, &times, sizeof(times));
}

void leaving_end(struct leaving *l)
{
	if (!l->control)
		return;
	__atomic_store_n(&l->control->leaving, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &l->control->leaving, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	aside_end(&l->aside);
	close(l->event);
	l->control = NULL;
}
