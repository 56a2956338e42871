/* proc.h - ids of other PID namespaces, in ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/map.h"

/*
 * Where /proc of this process's PID namespace is: "/proc", or another place where that shows other pids (a new namespace
 * without a mount of its own); a name that leads nowhere where there is none.
 */
const char *proc_root(void);
bool proc_is_here(void);

/* Does process @pid (our view) number processes as we do? */
bool pidns_is_ours(uint32_t pid);
/* Our number of the process that sees itself as @ns_pid in the namespace of @peer; 0: not found. */
uint32_t pidns_process(uint32_t peer, uint32_t ns_pid);
/* The lowest pid above @after of a process that sees itself as @ns_pid, in any namespace; 0: none. */
uint32_t pidns_next(uint32_t after, uint32_t ns_pid);
/* Our number of thread @ns_tid of our process @pid; 0: not found. */
uint32_t pidns_thread(uint32_t pid, uint32_t ns_tid);

/* The number that process @pid (our view) has in its own namespace; 0: it is gone. */
uint32_t proc_innermost(uint32_t pid);

/* Fields of /proc: the process's executable and command line (mask.h). malloc'd, NULL when it is gone. */
char *proc_exe(uint32_t pid);
char *proc_command_line(uint32_t pid);
/* A memfd, and whether a process other than this one has it mapped. */
struct mapped_file {
	uint64_t device, inode;
	bool is_used;
	uint32_t
		maker; /* a process that may have it mapped though it is older than the file; 0: none */
};
/*
 * Processes that began before files were made: only the makers, and what they forked later, can have those mapped. A zeroed
 * struct knows none, and learns none while @since is 0.
 */
struct elders {
	uint64_t since; /* as struct proc_origin's start */
	struct map
		inode; /* of each one's folder in /proc, by its pid: a pid that is used again has another */
};
/* The machine's age, as struct proc_origin's start. */
uint64_t proc_age(void);
/*
 * Sets is_used of the @cnt files that are mapped. Looks through all of /proc, once: milliseconds; with @elders, which may be
 * NULL, from the second time on through younger processes only.
 */
void users_find_mapped(struct mapped_file *files, size_t cnt, struct elders *elders);
/* The same for one file. */
bool users_have_mapped(uint64_t device, uint64_t inode);
/* The kernel's letter for its state ('R', 'T', 'Z', ...), 0 when there is no such process. */
#define PROC_STATE_UNKNOWN '?' /* there is one, but no descriptor to read its state by */
char proc_state(uint32_t pid);
/*
 * ns for which the threads of process @pid, in sum, were ready to run and had no CPU (proc(5), schedstat); 0: no such process, or
 * a kernel that does not count. A thread that has ended takes its part along.
 */
uint64_t proc_waited_ns(uint32_t pid);
/* The same of one thread, and ns for which it ran. False: no such thread. */
bool proc_thread_time(uint32_t pid, uint32_t tid, uint64_t *ran, uint64_t *waited);
/* Whether the process began with this variable in its environment. */
bool proc_has_variable(uint32_t pid, const char *name);
/* Returns the process's parent, 0 unknown. */
uint32_t proc_parent(uint32_t pid);
struct proc_origin {
	uint32_t parent;
	int terminal; /* number of the controlling one, 0: none */
	uint64_t
		start; /* clock ticks since the machine's start: a pid that is used again has another */
};
bool proc_origin(uint32_t pid, struct proc_origin *o);
/* Does it have the file mapped? -errno: cannot be seen. */
int proc_has_mapped(uint32_t pid, uint64_t device, uint64_t inode);
/* Is there such a thread that is not a zombie's remainder? */
bool proc_thread_lives(uint32_t pid, uint32_t tid);

/*
 * Wait status of process @pid, which has ended, and is waited for or (Linux 6.15, by @pidfd) was; -1: not known. Neither
 * takes it from its parent.
 */
int proc_exit_status(uint32_t pid, int pidfd);
