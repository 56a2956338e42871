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

/* The first runtime in the order of loading. */
static bool find_needed(long fd, const Elf64_Phdr *p, unsigned cnt, char *name)
{
	const Elf64_Phdr *dynamic = NULL;
	uint64_t strings = 0, address = 0;
	Elf64_Dyn dyn[DYN_MAX];
	unsigned dyns;

	for (unsigned i = 0; i < cnt; i++)
		if (p[i].p_type == PT_DYNAMIC)
			dynamic = &p[i];
	if (!dynamic)
		return false;
	dyns = (unsigned)(dynamic->p_filesz / sizeof(*dyn) < DYN_MAX
				  ? dynamic->p_filesz / sizeof(*dyn)
				  : DYN_MAX);
	if (!read_at(fd, dynamic->p_offset, dyn, dyns * sizeof(*dyn)))
		return false;
	for (unsigned i = 0; i < dyns; i++)
		if (dyn[i].d_tag == DT_STRTAB)
			address = dyn[i].d_un.d_ptr;
	for (unsigned i = 0; i < cnt; i++)
		if (p[i].p_type == PT_LOAD && address - p[i].p_vaddr < p[i].p_filesz)
			strings = p[i].p_offset + (address - p[i].p_vaddr);
	for (unsigned i = 0; strings && i < dyns && dyn[i].d_tag != DT_NULL; i++) {
		long got;

		if (dyn[i].d_tag != DT_NEEDED)
			continue;
		got = sl_sys4(SYS_pread64, fd, name, SL_RUNTIME_BYTES, strings + dyn[i].d_un.d_val);
		if (got > 0 && strnlen(name, (size_t)got) < (size_t)got && is_runtime(name))
			return true;
	}
	return false;
}

static bool needs_runtime(long fd, const char *start, long got, char *name)
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr e;

	if (got < (long)sizeof(e))
		return false;
	memcpy(&e, start, sizeof(e));
	return memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 && e.e_ident[EI_CLASS] == ELFCLASS64 &&
	       e.e_phentsize == sizeof(headers[0]) && e.e_phnum <= HEADERS_MAX &&
	       read_at(fd, e.e_phoff, headers, e.e_phnum * sizeof(headers[0])) &&
	       find_needed(fd, headers, e.e_phnum, name);
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
	char start[128];

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
