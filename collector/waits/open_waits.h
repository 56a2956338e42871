/* open_waits.h - the system calls that threads stay in: what a program that hangs waits for. */
#pragma once

struct collector;

/* A row of SL_OPEN_WAITS for each thread that waits in a system call now. */
void open_waits_write(struct collector *c);
/*
 * The same of all threads, also of those that run, with stacks, other ends of pipes and sockets, and threads with Python's lock.
 * A thread that has gone on while it was looked at has no owner: owners are those of one moment, at which all of these threads
 * waited, so that a cycle of theirs is a deadlock.
 */
void open_waits_dump(struct collector *c);
/*
 * Once a second: a row for each thread that has been in the same call for a second, in case that it is killed there. At most 128
 * threads are looked at.
 */
void open_waits_look(struct collector *c);
/* Before the event sources are closed. */
void open_waits_close(struct collector *c);
