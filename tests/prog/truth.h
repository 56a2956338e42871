/*
 * truth.h - a program notes the calls that its report must hold, in the order in which they return.
 *
 * note() keeps one line per call and thread in memory; truth_write() writes the thread's notes to
 * $TRUTH.<pid>.<tid> by raw system calls. So the notes leave no rows, and a thread's rows must be
 * its notes, no more and no less. Whatever a program needs without noting it, it does through raw.h.
 *
 * Line: name, return value, errno, descriptor, bytes asked, offset, path; tab separated; "-" = no
 * value in the report (NULL), "?" = not compared. A name that begins with "+" is a call that may be
 * only counted (single characters, locks): rows + totals of that name are compared.
 */
#pragma once

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/prog/raw.h"

#define NIL     LONG_MIN       /* NULL in the report */
#define ANY     (LONG_MIN + 1) /* not compared */
#define RET     (LONG_MIN + 2) /* descriptor: the one that the call returned, NULL when it failed */
#define NOPATH  ((const char *)0)
#define ANYPATH ((const char *)-1)

struct notes {
	char *text;
	size_t len, size;
};
static __thread struct notes notes;

static void notes_room(size_t need)
{
	if (notes.len + need <= notes.size)
		return;
	/* Raw, for mmap and malloc's mmap are calls that a report may hold. */
	size_t size = notes.size ? notes.size * 2 : 1 << 20;
	char *text = (char *)raw_call(SYS_mmap, 0, (long)size, 3, 0x22, -1, 0);

	if (notes.len)
		memcpy(text, notes.text, notes.len);
	notes.text = text;
	notes.size = size;
}

static void notes_number(long value)
{
	char *at = notes.text + notes.len;

	if (value == NIL)
		notes.len += (size_t)sprintf(at, "-\t");
	else if (value == ANY)
		notes.len += (size_t)sprintf(at, "?\t");
	else
		notes.len += (size_t)sprintf(at, "%ld\t", value);
}

/* Returns @ret; errno is as before. @err: errno of a failed call, else 0. */
static long note_err(const char *name, long ret, long err, long fd, long asked, long off,
		     const char *path)
{
	int saved = errno;

	notes_room(8192);
	notes.len += (size_t)sprintf(notes.text + notes.len, "%s\t", name);
	notes_number(ret);
	notes_number(err ? err : NIL);
	notes_number(fd == RET ? (ret >= 0 ? ret : NIL) : fd);
	notes_number(asked);
	notes_number(off);
	notes.len += (size_t)sprintf(notes.text + notes.len, "%s\n",
				     path == NOPATH    ? "-"
				     : path == ANYPATH ? "?"
						       : path);
	errno = saved;
	return ret;
}

/* A call of the kind that returns -1 and sets errno. */
__attribute__((unused)) static long note(const char *name, long ret, long fd, long asked, long off,
					 const char *path)
{
	return note_err(name, ret, ret == -1 ? errno : 0, fd, asked, off, path);
}

/* A call that has neither descriptor nor bytes. */
__attribute__((unused)) static long note_call(const char *name, long ret)
{
	return note(name, ret, NIL, NIL, NIL, NOPATH);
}

static long truth_id(long nr)
{
	return raw3(nr, 0, 0, 0);
}

/* Writes the calling thread's notes; call it last in each thread. */
__attribute__((unused)) static void truth_write(void)
{
	const char *base = getenv("TRUTH");
	char path[4200];
	int fd;

	if (!base || !notes.len)
		return;
	sprintf(path, "%s.%ld.%ld", base, truth_id(SYS_getpid), truth_id(SYS_gettid));
	fd = raw_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	raw_write(fd, notes.text, notes.len);
	raw_close(fd);
	notes.len = 0;
}

/* In a forked child: the parent's notes are not the child's. */
__attribute__((unused)) static void truth_child(void)
{
	notes.len = 0;
}

/* "<working directory>/<name>", in one of a few static buffers. */
__attribute__((unused)) static const char *in_cwd(const char *name)
{
	static char buf[16][PATH_MAX];
	static int next;
	char *path = buf[next++ % 16];

	raw3(SYS_getcwd, path, PATH_MAX, 0);
	strcat(path, "/");
	return strcat(path, name);
}
