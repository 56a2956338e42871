/*
 * task.h - something that takes long and needs nobody, done by a thread while the caller does something else.
 */
#ifndef SL_ASIDE_H
#define SL_ASIDE_H

#include <pthread.h>
#include <stdbool.h>

struct aside {
	void (*run)(void *of);
	void *of;
	pthread_t thread;
	bool has_thread;
};

/* Runs @run(@of), which gets no signals. Where there is no thread to be had, or little room (ulimit), it is done in aside_end(). */
void aside_begin(struct aside *a, void (*run)(void *of), void *of);

/* Waits until it is done. Once for each aside_begin(). */
void aside_end(struct aside *a);

#endif
