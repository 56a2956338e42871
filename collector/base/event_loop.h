/* event_loop.h - calls a function for each descriptor that is readable (epoll). One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void loop_fn(void *ctx, int fd);

struct loop {
	int epoll; /* -1: closed */
	int ready; /* events of the last loop_wait() */
	struct loop_event *event;
	struct loop_watch *watch; /* by descriptor */
	size_t cap;
	uint32_t watches; /* so far */
};

/* 0 or -errno. */
int loop_open(struct loop *l);
void loop_close(struct loop *l);

/* @fn is called while @fd is readable, until loop_remove(), or until all duplicates of @fd are closed. */
void loop_add(struct loop *l, int fd, loop_fn *fn, void *ctx);
/* Edge-triggered, for a descriptor that may stay readable for ever. */
void loop_add_edge(struct loop *l, int fd, loop_fn *fn, void *ctx);
/* A timer: loop_dispatch() does not count it. */
void loop_add_timer(struct loop *l, int fd, loop_fn *fn, void *ctx);
/* Makes a timer and adds it. It is the caller's; -1: no descriptor is free. @fn reads it. */
int loop_timer(struct loop *l, loop_fn *fn, void *ctx);
/* @timer fires every @ns; 0: no more. */
void loop_timer_every(int timer, int64_t ns);
void loop_remove(struct loop *l, int fd);

/* Waits for events, at most @ms. */
void loop_wait(struct loop *l, int ms);
/* Calls the functions for them. How many events were no timer's. */
int loop_dispatch(struct loop *l);
