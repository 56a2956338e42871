/*
 * exec_runtime.c - finds the sanitizer's runtime in the DT_NEEDED of a program that is about to be executed.
 *
 * AddressSanitizer ends a program in which another library is loaded before its runtime, and all of them show the frames
 * of wrappers in their reports. The file may be anything: each read is bounded, and what does not fit is no runtime.
 */
#include "preload/core/exec_runtime.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/compiler.h"
#include "preload/core/environment.h"
#include "preload/wire/session.h"
#include "preload/wire/sys.h"

enum {
	HEADERS_MAX = 64,
	DYN_MAX = 128,
	WINDOW = 8, /* dynamic entries that are read at a time */
	SCRIPTS_MAX = 3,
	PATH_ROOM = 4096,
};

static bool read_at(long fd, uint64_t at, void *to, size_t bytes)
{
	return sl_sys4(SYS_pread64, fd, to, bytes, at) == (long)bytes;
}

static bool is_runtime(const char *name)
{
	static const char *const names[] = {SL_RUNTIMES};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return name[strcspn(name, ": ")] == 0;
	return false;
}

/*
 * Headers and entries are read one by one, or a few at a time: the stack may be a small one, of a handler or a child made by
 * clone.
 */
static bool header_at(long fd, const Elf64_Ehdr *e, unsigned i, Elf64_Phdr *p)
{
	return i < e->e_phnum && i < HEADERS_MAX &&
	       read_at(fd, e->e_phoff + i * sizeof(*p), p, sizeof(*p));
}

/* The dynamic entry @i, counted up from 0; NULL: no more. @window holds the last ones read. */
static const Elf64_Dyn *dyn_at(long fd, const Elf64_Phdr *dynamic, unsigned i, Elf64_Dyn *window)
{
	if (i >= DYN_MAX || i >= dynamic->p_filesz / sizeof(*window))
		return NULL;
	if (i % WINDOW == 0) {
		memset(window, 0, WINDOW * sizeof(*window));
		if (sl_sys4(SYS_pread64, fd, window, WINDOW * sizeof(*window),
			    dynamic->p_offset + i * sizeof(*window)) < (long)sizeof(*window))
			return NULL;
	}
	window += i % WINDOW;
	return window->d_tag == DT_NULL ? NULL : window;
}

/* The offset of the string table in the file; 0: none. */
static uint64_t strings_at(long fd, const Elf64_Ehdr *e, const Elf64_Phdr *dynamic,
			   Elf64_Dyn *window)
{
	const Elf64_Dyn *d;
	uint64_t address = 0;
	Elf64_Phdr p = {0};

	for (unsigned i = 0; (d = dyn_at(fd, dynamic, i, window)); i++)
		if (d->d_tag == DT_STRTAB)
			address = d->d_un.d_ptr;
	for (unsigned i = 0; header_at(fd, e, i, &p); i++)
		if (p.p_type == PT_LOAD && address - p.p_vaddr < p.p_filesz)
			return p.p_offset + (address - p.p_vaddr);
	return 0;
}

/* The first runtime in the order of loading. */
static bool find_needed(long fd, const Elf64_Ehdr *e, const Elf64_Phdr *dynamic, char *name)
{
	Elf64_Dyn window[WINDOW];
	const Elf64_Dyn *d;
	uint64_t strings = strings_at(fd, e, dynamic, window);

	for (unsigned i = 0; strings && (d = dyn_at(fd, dynamic, i, window)); i++) {
		long got;

		if (d->d_tag != DT_NEEDED)
			continue;
		got = sl_sys4(SYS_pread64, fd, name, SL_RUNTIME_BYTES, strings + d->d_un.d_val);
		if (got > 0 && strnlen(name, (size_t)got) < (size_t)got && is_runtime(name))
			return true;
	}
	return false;
}

static bool needs_runtime(long fd, const char *start, long got, char *name)
{
	Elf64_Ehdr e;
	Elf64_Phdr p = {0};

	if (got < (long)sizeof(e))
		return false;
	memcpy(&e, start, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_phentsize != sizeof(p))
		return false;
	for (unsigned i = 0; header_at(fd, &e, i, &p); i++)
		if (p.p_type == PT_DYNAMIC)
			return find_needed(fd, &e, &p, name);
	return false;
}

/* A FIFO is not waited for, and a terminal does not become the controlling one. */
static long open_file(int dir, const char *path)
{
	return sl_sys4(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static long open_in_path(const char *name)
{
	int at = sl_env_find("PATH");
	const char *list = at >= 0 ? environ[at] + sizeof("PATH=") - 1 : "/bin:/usr/bin";
	size_t len = strlen(name);
	char path[PATH_ROOM];

	for (size_t n;; list += n + 1) {
		long fd;

		n = strcspn(list, ":");
		if (n + len + 2 <= sizeof(path)) {
			memcpy(path, list, n);
			path[n] = '/';
			memcpy(path + n + !!n, name, len + 1);
			if (sl_sys3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0 &&
			    (fd = open_file(AT_FDCWD, path)) >= 0)
				return fd;
		}
		if (!list[n])
			return -1;
	}
}

static long open_exec(const struct sl_exec_file *file)
{
	char link[40] = "/proc/self/fd/";

	if (file->by_fd && !(file->path && file->path[0])) {
		sl_put_number(link + strlen(link), (unsigned)file->dir);
		return open_file(AT_FDCWD, link);
	}
	if (!file->path)
		return -1;
	if (file->in_path && !strchr(file->path, '/'))
		return open_in_path(file->path);
	return open_file(file->dir, file->path);
}

/* The interpreter of the script that begins with @line, in its place. */
static char *interpreter(char *line, long got)
{
	char *end;

	line[got < 128 ? got : 127] = 0;
	if (line[0] != '#' || line[1] != '!')
		return NULL;
	line += 2 + strspn(line + 2, " \t");
	end = line + strcspn(line, " \t\n");
	*end = 0;
	return *line ? line : NULL;
}

bool sl_exec_runtime(const struct sl_exec_file *file, char *name)
{
	long fd = open_exec(file);
	char start[128] = "";

	for (unsigned i = 0; fd >= 0; i++) {
		long got = sl_sys4(SYS_pread64, fd, start, sizeof(start), 0);
		bool found = got > 0 && needs_runtime(fd, start, got, name);
		char *next = got > 2 && !found ? interpreter(start, got) : NULL;

		sl_sys1(SYS_close, fd);
		if (found || !next || i == SCRIPTS_MAX)
			return found;
		fd = open_file(AT_FDCWD, next);
	}
	return false;
}

bool sl_exec_runtime_is_first(const char *list, const char *name)
{
	size_t len = strlen(name);

	return strncmp(list, name, len) == 0 &&
	       (!list[len] || list[len] == ':' || list[len] == ' ');
}

/*
 * For programs that no wrapper has started (a bare preload, a parent without libc): AddressSanitizer asks for its defaults
 * by this function, unless the program has one. The wrappers then come before the runtime's, which works as well.
 */
SL_EXPORT const char *__asan_default_options(void);
SL_EXPORT const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
