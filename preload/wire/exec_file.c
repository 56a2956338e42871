/*
 * exec_file.c - reads headers of a program that is about to be executed: its class and processor, and the sanitizer's runtime in
 * its DT_NEEDED.
 *
 * A loader of another class or processor complains of this library on the program's standard error. AddressSanitizer ends a
 * program in which another library is loaded before its runtime, and all of them show the frames of wrappers in their reports.
 * The file may be anything: each read is bounded, and what does not fit is nothing.
 */
#include "preload/wire/exec_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "preload/wire/session.h"
#include "preload/wire/sys.h"

enum {
	HEADERS_MAX = 64,
	DYN_MAX = 128,
	SCRIPTS_MAX = 3,
};
#define WINDOW (sizeof(((struct sl_exec_room *)0)->window.of) / sizeof(Elf64_Dyn))

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static bool is_runtime(const char *name)
{
	static const char *const names[] = {SL_RUNTIMES};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return name[strcspn(name, ": ")] == 0;
	return false;
}

/* Reads the program header @i to room->part. */
static bool header_at(long fd, struct sl_exec_room *room, unsigned i)
{
	Elf64_Phdr *p = &room->part;
	uint64_t at = room->header.e_phoff + i * sizeof(*p);

	if (i >= room->header.e_phnum || i >= HEADERS_MAX)
		return false;
	if (at <= sizeof(room->start.bytes) && at + sizeof(*p) <= (uint64_t)room->start.cnt) {
		memcpy(p, room->start.bytes + at, sizeof(*p));
		return true;
	}
	return sl_sys4(SYS_pread64, fd, p, sizeof(*p), at) == (long)sizeof(*p);
}

/* The dynamic entry @i, counted up from 0, of @bytes at @offset; NULL: no more. */
static const Elf64_Dyn *dyn_at(long fd, struct sl_exec_room *room, uint64_t offset, uint64_t bytes,
			       unsigned i)
{
	Elf64_Dyn *d = room->window.of;
	unsigned first = i - i % WINDOW;
	long got;

	if (i >= DYN_MAX || i >= bytes / sizeof(*d))
		return NULL;
	if (!room->window.cnt || room->window.first != first) {
		memset(d, 0, sizeof(room->window.of));
		got = sl_sys4(SYS_pread64, fd, d, sizeof(room->window.of),
			      offset + first * sizeof(*d));
		room->window.first = first;
		room->window.cnt = got > 0 ? (unsigned)got / sizeof(*d) : 0;
	}
	/* What is read in part is no entry. */
	if (i - first >= room->window.cnt)
		return NULL;
	d += i - first;
	return d->d_tag == DT_NULL ? NULL : d;
}

/* The first runtime in the order of loading. room->part: the dynamic entries. */
static bool find_needed(long fd, struct sl_exec_room *room, char *name)
{
	uint64_t offset = room->part.p_offset, bytes = room->part.p_filesz, address = 0,
		 strings = 0;
	const Elf64_Dyn *d;

	room->window.cnt = 0;
	for (unsigned i = 0; (d = dyn_at(fd, room, offset, bytes, i)); i++)
		if (d->d_tag == DT_STRTAB)
			address = d->d_un.d_ptr;
	for (unsigned i = 0; !strings && header_at(fd, room, i); i++)
		if (room->part.p_type == PT_LOAD &&
		    address - room->part.p_vaddr < room->part.p_filesz)
			strings = room->part.p_offset + (address - room->part.p_vaddr);
	for (unsigned i = 0; strings && (d = dyn_at(fd, room, offset, bytes, i)); i++) {
		long got;

		if (d->d_tag != DT_NEEDED)
			continue;
		got = sl_sys4(SYS_pread64, fd, name, SL_RUNTIME_BYTES, strings + d->d_un.d_val);
		if (got > 0 && strnlen(name, (size_t)got) < (size_t)got && is_runtime(name))
			return true;
	}
	return false;
}

static enum sl_exec_needs needs_of_elf(long fd, struct sl_exec_room *room, char *name)
{
	Elf64_Ehdr *e = &room->header;
	long got = room->start.cnt;

	if (got < (long)sizeof(Elf32_Ehdr))
		return SL_EXEC_NOTHING;
	memcpy(e, room->start.bytes, sizeof(*e));
	/* Both classes have the processor at the same place. */
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != MACHINE)
		return SL_EXEC_OTHER;
	if (got < (long)sizeof(*e) || e->e_phentsize != sizeof(room->part))
		return SL_EXEC_NOTHING;
	for (unsigned i = 0; header_at(fd, room, i); i++)
		if (room->part.p_type == PT_DYNAMIC)
			return find_needed(fd, room, name) ? SL_EXEC_RUNTIME : SL_EXEC_NOTHING;
	return SL_EXEC_NOTHING;
}

/* A FIFO is not waited for, and a terminal does not become the controlling one. */
static long open_file(int dir, const char *path)
{
	return sl_sys4(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static long open_in_path(const char *name, const char *list, struct sl_exec_room *room)
{
	size_t len = strlen(name);

	for (size_t n;; list += n + 1) {
		char *path = room->path;
		long fd;

		n = strcspn(list, ":");
		if (n + len + 2 <= sizeof(room->path)) {
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

static long open_exec(const struct sl_exec_file *file, const char *list, struct sl_exec_room *room)
{
	if (file->by_fd && !(file->path && file->path[0])) {
		memcpy(room->path, "/proc/self/fd/", sizeof("/proc/self/fd/"));
		sl_put_number(room->path + strlen(room->path), (unsigned)file->dir);
		return open_file(AT_FDCWD, room->path);
	}
	if (!file->path)
		return -1;
	if (file->in_path && !strchr(file->path, '/'))
		return open_in_path(file->path, list ? list : "/bin:/usr/bin", room);
	if (file->is_moved && file->path[0] != '/')
		return -1;
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

enum sl_exec_needs sl_exec_look(const struct sl_exec_file *file, const char *list,
				struct sl_exec_room *room, char name[SL_RUNTIME_BYTES])
{
	long fd = open_exec(file, list, room);

	for (unsigned i = 0; fd >= 0; i++) {
		char *start = room->start.bytes;
		long got = sl_sys4(SYS_pread64, fd, start, sizeof(room->start.bytes), 0);
		bool is_elf = got > SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0;
		enum sl_exec_needs needs;
		char *next = got > 2 && !is_elf ? interpreter(start, got) : NULL;

		room->start.cnt = got;
		needs = is_elf ? needs_of_elf(fd, room, name) : SL_EXEC_NOTHING;

		sl_sys1(SYS_close, fd);
		if (!next || i == SCRIPTS_MAX)
			return needs;
		fd = open_file(AT_FDCWD, next);
	}
	return SL_EXEC_NOTHING;
}

bool sl_exec_is_loader(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strncmp(name, "ld-", 3) == 0 || strcmp(name, "ld.so") == 0;
}

enum sl_loader_word sl_exec_loader_word(const char *word)
{
	static const char with_value[][24] = {
		"--library-path",         "--inhibit-rpath",    "--audit", "--preload", "--argv0",
		"--glibc-hwcaps-prepend", "--glibc-hwcaps-mask"};

	if (strncmp(word, "--", 2) != 0)
		return SL_LOADER_END;
	if (strcmp(word, "--list") == 0)
		return SL_LOADER_LISTS;
	for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++)
		if (strcmp(word, with_value[i]) == 0)
			return SL_LOADER_VALUE;
	return SL_LOADER_OPTION;
}

bool sl_exec_runtime_is_first(const char *list, const char *name)
{
	size_t len = strlen(name);

	return strncmp(list, name, len) == 0 &&
	       (!list[len] || list[len] == ':' || list[len] == ' ');
}
