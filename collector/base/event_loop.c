/* event_loop.c - epoll with a table of functions by descriptor. */
#include "collector/base/event_loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS 64
/* epoll's user data of a watch: the descriptor and the number of the watch. */
#define KEY(fd, number) ((uint64_t)(number) << 32 | (uint32_t)(fd))
#define KEY_FD(key)     ((int)(uint32_t)(key))
#define KEY_NUMBER(key) ((uint32_t)((key) >> 32))

struct loop_event {
	struct epoll_event at[EVENTS];
};

struct loop_watch {
	loop_fn *fn; /* NULL: not watched */
	void *ctx;
	bool is_timer;
	/*
	 * A descriptor that is closed leaves the set by itself, and its number may be used again while
	 * an event of the old one is still among those of the last wait: the number of the watch, which
	 * travels with the event, distinguishes them.
	 */
	uint32_t number;
};

int loop_open(struct loop *l)
{
	memset(l, 0, sizeof(*l));
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return -errno;
	l->event = calloc(1, sizeof(*l->event));
	if (l->event)
		return 0;
	loop_close(l);
	return -ENOMEM;
}

void loop_close(struct loop *l)
{
	if (l->epoll >= 0)
		close(l->epoll);
	free(l->event);
	free(l->watch);
	memset(l, 0, sizeof(*l));
	l->epoll = -1;
}

static void add(struct loop *l, int fd, uint32_t events, struct loop_watch watch)
{
	struct epoll_event ev = {.events = events};

	if (fd < 0)
		return;
	watch.number = ++l->watches;
	ev.data.u64 = KEY(fd, watch.number);
	if ((size_t)fd >= l->cap) {
		size_t cap = (size_t)fd + 64;
		struct loop_watch *more = realloc(l->watch, cap * sizeof(*more));

		if (!more)
			return;
		memset(more + l->cap, 0, (cap - l->cap) * sizeof(*more));
		l->watch = more;
		l->cap = cap;
	}
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev) == 0)
		l->watch[fd] = watch;
}

void loop_add(struct loop *l, int fd, loop_fn *fn, void *ctx)
{
	add(l, fd, EPOLLIN, (struct loop_watch){.fn = fn, .ctx = ctx});
}

void loop_add_edge(struct loop *l, int fd, loop_fn *fn, void *ctx)
{
	add(l, fd, EPOLLIN | EPOLLET, (struct loop_watch){.fn = fn, .ctx = ctx});
}

void loop_add_timer(struct loop *l, int fd, loop_fn *fn, void *ctx)
{
	add(l, fd, EPOLLIN, (struct loop_watch){.fn = fn, .ctx = ctx, .is_timer = true});
}

int loop_timer(struct loop *l, loop_fn *fn, void *ctx)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		loop_add_timer(l, fd, fn, ctx);
	return fd;
}

void loop_timer_every(int timer, int64_t ns)
{
	const struct timespec ts = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	const struct itimerspec each = {.it_interval = ts, .it_value = ts};

	if (timer >= 0)
		timerfd_settime(timer, 0, &each, NULL);
}

void loop_remove(struct loop *l, int fd)
{
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd, NULL);
	if (fd >= 0 && (size_t)fd < l->cap)
		l->watch[fd].fn = NULL;
}

void loop_wait(struct loop *l, int ms)
{
	l->ready = epoll_wait(l->epoll, l->event->at, EVENTS, ms);
}

int loop_dispatch(struct loop *l)
{
	int cnt = 0;

	for (int i = 0; i < l->ready; i++) {
		uint64_t key = l->event->at[i].data.u64;
		int fd = KEY_FD(key);
		struct loop_watch w = l->watch[fd];

		/* Removed, or closed and watched anew, by a function that was called before. */
		if (!w.fn || w.number != KEY_NUMBER(key))
			continue;
		w.fn(w.ctx, fd);
		cnt += !w.is_timer;
	}
	l->ready = 0;
	return cnt;
}
