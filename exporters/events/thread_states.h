/*
 * thread_states.h - the states of threads between context switches.
 *
 * A switch onto a CPU begins a run. A switch off it begins a wait, and from the thread's wake-up on, where that was recorded,
 * the thread is runnable without a CPU; a preempted thread is runnable from the switch on. A new thread is runnable from the
 * wake-up before its first run on.
 */
#pragma once

#include "exporters/events/thread_switches.h"

struct thread_state {
	int64_t tid, start;
	int64_t end;           /* THREAD_NONE: a switch is missing, or the thread ended */
	int64_t cpu;           /* running: the thread's CPU; else the one that it gets next */
	int64_t last_cpu;      /* of the thread's switch before */
	int64_t wakeup, waker; /* as of the switch that ends the wait */
	enum thread_state_kind state;
	bool is_preempted; /* runnable since it lost the CPU */
	bool is_open;      /* until the end of the recording */
};

struct thread_states_options {
	bool traced_only; /* of a machine that was recorded as a whole: the traced processes and their children */
	int64_t until; /* the end of open states; THREAD_NONE: of the session, or the last switch if that is later */
};

struct thread_states;

/* Reads all switches. SQLite's result code; *@s is for thread_states_free() in any case. */
int thread_states_open(sqlite3 *db, const struct thread_states_options *opt,
		       struct thread_states **s);
/* The states in the order of threads, then time: SQLITE_ROW and a state, SQLITE_DONE, or an error. */
int thread_states_next(struct thread_states *s, struct thread_state *out);
/* Instead of thread_states_next(): the switches, completed by their details, in the same order. */
int thread_switches_next(struct thread_states *s, struct thread_switch *out);
/* Threads that have switches, in the order of their first rows. */
const int64_t *thread_states_threads(const struct thread_states *s, size_t *cnt);
void thread_states_free(struct thread_states *s);
