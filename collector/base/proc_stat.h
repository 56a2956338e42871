/* proc_stat.h - /proc/PID/stat, of a process or a thread: the one reader of that line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct proc_stat {
	char state; /* the kernel's letter: 'R', 'S', 'D', 'T', 'Z', ... */
	uint32_t parent;
	int terminal;          /* number of the controlling one, 0: none */
	uint32_t flags;        /* PF_... of the kernel */
	uint64_t user, system; /* CPU time, clock ticks (sysconf(_SC_CLK_TCK)) */
	uint64_t
		start; /* clock ticks since the machine's start: a pid that is used again has another */
	int exit_code; /* wait status, of a zombie; -1: the line has none */
};

/* Of a line, whose name may hold anything, also parentheses and spaces. False: it is none, or cut before @start. */
bool proc_stat_parse(const char *line, struct proc_stat *s);
/* Of thread @tid of the process; 0: of the process, with the CPU time of all of its threads, ended ones too. False: errno. */
bool proc_stat_read(uint32_t pid, uint32_t tid, struct proc_stat *s);
