/* open_waits.h - the system calls that threads are in when the recording ends before them: what a program that hangs waits for. */
#pragma once

struct collector;

/* A row of SL_OPEN_WAITS for each thread that waits in a system call now. */
void open_waits_write(struct collector *c);
