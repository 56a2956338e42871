/* open_waits.h - the system calls that threads stay in: what a program that hangs waits for. */
#pragma once

struct collector;

/* A row of SL_OPEN_WAITS for each thread that waits in a system call now. */
void open_waits_write(struct collector *c);
/*
 * Once a second: a row for each thread that has been in the same call for a second, in case that it is killed there. At most 128
 * threads are looked at.
 */
void open_waits_look(struct collector *c);
/* Before the event sources are closed. */
void open_waits_close(struct collector *c);
