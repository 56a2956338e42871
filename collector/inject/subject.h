/*
 * subject.h - what a running process is made of, as far as that decides whether a library can be brought into it: its mappings, its C
 * library and functions of that. Nothing here changes the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Functions of the process's C library. */
enum subject_function {
	SUBJECT_MMAP,
	SUBJECT_MUNMAP,
	SUBJECT_DLOPEN,
	SUBJECT_DLSYM,
	SUBJECT_CREATE,      /* pthread_create */
	SUBJECT_ATTR_INIT,   /* pthread_attr_init */
	SUBJECT_ATTR_DETACH, /* pthread_attr_setdetachstate */
	SUBJECT_ATTR_STACK,  /* pthread_attr_setstacksize */
	SUBJECT_FUNCTION_CNT
};

struct subject_mapping {
	uint64_t from, to;
	uint64_t offset, inode; /* of the file; inode 0: none */
	char rights[5];         /* as /proc/PID/maps has them: "r-xp" */
	uint8_t kind;           /* enum subject_kind */
};
enum subject_kind {
	SUBJECT_OTHER,
	SUBJECT_LIBC, /* and its parts before 2.34: libpthread, libdl */
	SUBJECT_LOADER,
	SUBJECT_STACK, /* of the first thread */
	SUBJECT_VDSO,
	SUBJECT_MUSL,
	SUBJECT_IN_SESSION, /* a control page: it belongs to a session */
};

struct subject {
	pid_t pid;
	bool has_filter;                  /* of seccomp(2): a stopped thread's can be read */
	struct subject_mapping *mappings; /* by address */
	size_t mapping_cnt;
	uint64_t function[SUBJECT_FUNCTION_CNT];
	uint64_t restorer; /* libc's return from a signal handler */
	/* Where malloc() is defined by something else than libc: no code there may be interrupted; both 0: nowhere. */
	uint64_t allocator_from, allocator_to;
};

/*
 * Looks at process @pid, into which the library of path @library is to be brought, for a session in the folder @folder. 0, or -errno
 * and a sentence in @why with the reason why it cannot be entered, and the remedy. subject_free() in any case.
 */
int subject_look(struct subject *t, pid_t pid, const char *library, const char *folder, char *why,
		 size_t why_len);
void subject_free(struct subject *t);

/* The mapping that has @address, or NULL. */
const struct subject_mapping *subject_mapping_of(const struct subject *t, uint64_t address);
/* Reads memory of the process; false: not all of it can be read. */
bool subject_read(pid_t pid, uint64_t address, void *to, size_t bytes);
bool subject_write(pid_t pid, uint64_t address, const void *from, size_t bytes);
/* The number of a line of /proc/PID/status, or of its thread's; -1: there is none. @base: 10 or 16. */
int64_t subject_status(pid_t pid, pid_t tid, const char *key, int base);
