/*
 * subject.c - reads /proc and the memory of a process: whether it can be entered, and where functions of its C library are.
 *
 * Symbols are taken from memory: the file may have been replaced since the process was started. All of it may be forged by the
 * process, which harms itself alone: what is found here is called by the process, with its rights.
 */
#include "collector/inject/subject.h"

#include <elf.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/proc.h"
#include "collector/inject/scope.h"
#include "collector/inject/seccomp.h"
#include "collector/inject/symbol.h"

#define TEXT_MAX (16u << 20) /* of a C library */

/* ---- /proc and memory ---- */

bool subject_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool subject_write(pid_t pid, uint64_t address, const void *from, size_t bytes)
{
	struct iovec here = {(void *)(uintptr_t)from, bytes},
		     there = {(void *)(uintptr_t)address, bytes};

	return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

int64_t subject_status(pid_t pid, pid_t tid, const char *key, int base)
{
	char path[64], line[512];
	size_t len = strlen(key);
	int64_t value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/task/%d/status", proc_root(), (int)pid, (int)tid);
	f = fopen(path, "re");
	while (f && value < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, key, len) == 0 && line[len] == ':')
			value = (int64_t)strtoull(line + len + 1, NULL, base);
	if (f)
		fclose(f);
	return value;
}

static bool has_line(pid_t pid, const char *key, const char *word)
{
	char path[64], line[512];
	bool has = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/status", proc_root(), (int)pid);
	f = fopen(path, "re");
	while (f && !has && fgets(line, sizeof(line), f))
		has = strncmp(line, key, strlen(key)) == 0 && strstr(line, word);
	if (f)
		fclose(f);
	return has;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static enum subject_kind kind_of(const char *path, const char *rights)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (starts(path, "[stack]"))
		return SUBJECT_STACK;
	if (starts(path, "[vdso]"))
		return SUBJECT_VDSO;
	/* Its loader and library are one file, with the one name or the other. */
	if (starts(name, "ld-musl") || starts(name, "libc.musl") || strcmp(name, "libc.so") == 0)
		return SUBJECT_MUSL;
	if (starts(name, "libc.so.6") || starts(name, "libc-2.") ||
	    starts(name, "libpthread.so.0") || starts(name, "libpthread-2.") ||
	    starts(name, "libdl.so.2") || starts(name, "libdl-2."))
		return SUBJECT_LIBC;
	if (starts(name, "ld-linux") || starts(name, "ld-2."))
		return SUBJECT_LOADER;
	if (strcmp(rights, "r--s") == 0 && strcmp(name, "control") == 0 &&
	    strstr(path, "/sightline-"))
		return SUBJECT_IN_SESSION;
	return SUBJECT_OTHER;
}

static int read_mappings(struct subject *t)
{
	char path[64], line[4608], rights[8];
	unsigned long long from, to, offset, inode;
	size_t room = 0;
	FILE *f;
	int at;

	snprintf(path, sizeof(path), "%s/%d/maps", proc_root(), (int)t->pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		struct subject_mapping *m;

		at = 0;
		if (sscanf(line, "%llx-%llx %4s %llx %*x:%*x %llu %n", &from, &to, rights, &offset,
			   &inode, &at) != 5 ||
		    !at)
			continue;
		line[strcspn(line, "\n")] = 0;
		if (!grow(&t->mappings, t->mapping_cnt, &room, sizeof(*t->mappings))) {
			fclose(f);
			return -ENOMEM;
		}
		m = &t->mappings[t->mapping_cnt++];
		*m = (struct subject_mapping){.from = from,
					      .to = to,
					      .offset = offset,
					      .inode = inode,
					      .kind = (uint8_t)kind_of(line + at, rights)};
		memcpy(m->rights, rights, sizeof(m->rights));
	}
	fclose(f);
	return t->mapping_cnt ? 0 : -ESRCH;
}

const struct subject_mapping *subject_mapping_of(const struct subject *t, uint64_t address)
{
	size_t low = 0, high = t->mapping_cnt;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (address < t->mappings[mid].from)
			high = mid;
		else if (address >= t->mappings[mid].to)
			low = mid + 1;
		else
			return &t->mappings[mid];
	}
	return NULL;
}

static const struct subject_mapping *first_of(const struct subject *t, enum subject_kind kind)
{
	for (size_t i = 0; i < t->mapping_cnt; i++)
		if (t->mappings[i].kind == kind)
			return &t->mappings[i];
	return NULL;
}

void subject_free(struct subject *t)
{
	free(t->mappings);
	t->mappings = NULL;
	t->mapping_cnt = 0;
}

/* Memory is read by the rule that tracing has. */
static bool may_read(const struct subject *t)
{
	char byte;

	for (size_t i = 0; i < t->mapping_cnt; i++)
		if (t->mappings[i].rights[0] == 'r' && t->mappings[i].kind != SUBJECT_OTHER)
			return subject_read(t->pid, t->mappings[i].from, &byte, 1) ||
			       errno != EPERM;
	return true;
}

/* ---- what cannot be entered ---- */

/* Set by the kernel where an exec gave other rights than the caller had. */
static bool is_setuid(pid_t pid)
{
	uint64_t pair[2];
	char path[64];
	bool is = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/auxv", proc_root(), (int)pid);
	f = fopen(path, "re");
	while (f && fread(pair, sizeof(pair), 1, f) == 1 && pair[0] != 0)
		is |= pair[0] == 23 /* AT_SECURE */ && pair[1];
	if (f)
		fclose(f);
	return is;
}

/* A child of vfork() has its parent's memory until it executes another program. */
static bool shares_memory(pid_t pid)
{
	uint32_t parent = proc_parent((uint32_t)pid);

	return parent && syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

/* -1: no ELF file that can be read. */
static int machine_of(pid_t pid)
{
	char path[64];
	Elf64_Ehdr e = {0};
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%d/exe", proc_root(), (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(&e, 1, sizeof(e), f);
	fclose(f);
	if (n < sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0)
		return -1;
	return e.e_ident[EI_CLASS] == ELFCLASS64 ? e.e_machine : 0;
}

/* Whether the process finds the same file under the path. */
static bool sees(pid_t pid, const char *path)
{
	char there[4200];
	struct stat ours, theirs;

	snprintf(there, sizeof(there), "%s/%d/root%s", proc_root(), (int)pid, path);
	return stat(path, &ours) == 0 && stat(there, &theirs) == 0 &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

#define NO(...)                                      \
	do {                                         \
		snprintf(why, why_len, __VA_ARGS__); \
		return -ENOTSUP;                     \
	} while (0)

static int check_state(pid_t pid, char *why, size_t why_len)
{
	int64_t tracer = subject_status(pid, pid, "TracerPid", 10),
		seccomp = subject_status(pid, pid, "Seccomp", 10);

	if (tracer > 0)
		NO("process %d is traced by process %lld (a debugger?), which has to let it go "
		   "first",
		   (int)pid, (long long)tracer);
	if (proc_state((uint32_t)pid) == 'T')
		NO("process %d is stopped: kill -CONT %d first", (int)pid, (int)pid);
	if (is_setuid(pid))
		NO("process %d runs a program with other rights than its caller's (setuid, setgid "
		   "or "
		   "capabilities), which takes no libraries: start it under 'sightline profile' as "
		   "that user",
		   (int)pid);
	if (seccomp == 1)
		NO("process %d is under seccomp's strict mode, which forbids all that the library "
		   "does: attach without --inject",
		   (int)pid);
	if (seccomp > 0 && !seccomp_can_be_read())
		NO("process %d has a seccomp filter, which may forbid what the library does, and "
		   "which root alone can read: use sudo, or attach without --inject",
		   (int)pid);
	if (seccomp > 0 && !seccomp_is_the_same(pid))
		NO("process %d has threads with different seccomp filters: attach without "
		   "--inject, or start it under 'sightline profile'",
		   (int)pid);
	if (has_line(pid, "x86_Thread_features:", "shstk"))
		NO("process %d has a shadow stack, on which no call can be put: attach without "
		   "--inject",
		   (int)pid);
	if (shares_memory(pid))
		NO("process %d shares its parent's memory (vfork): attach to it when it has "
		   "executed "
		   "its program",
		   (int)pid);
	return 0;
}

static int check_kind(const struct subject *t, char *why, size_t why_len)
{
	int machine = machine_of(t->pid);

#ifdef __x86_64__
	if (machine >= 0 && machine != EM_X86_64)
		NO("process %d is a program of another kind of processor or of 32 bits: attach "
		   "without --inject",
		   (int)t->pid);
#else
	(void)machine;
	NO("--inject is for x86-64 so far: attach without --inject, or start process %d under "
	   "'sightline profile'",
	   (int)t->pid);
#endif
	if (first_of(t, SUBJECT_IN_SESSION))
		NO("process %d belongs to a session already", (int)t->pid);
	if (first_of(t, SUBJECT_MUSL))
		NO("process %d has another C library than glibc (musl): attach without --inject, "
		   "or "
		   "start it under 'sightline profile'",
		   (int)t->pid);
	if (!first_of(t, SUBJECT_LIBC) || !first_of(t, SUBJECT_LOADER))
		NO("process %d is linked statically, or has another C library than glibc: nothing "
		   "can "
		   "be loaded into it; attach without --inject",
		   (int)t->pid);
	return 0;
}

/* ---- functions of its C library ---- */

/* By names that versions of glibc have had, in its parts: one library since 2.34. */
static int find_functions(struct subject *t, char *why, size_t why_len)
{
	static const struct {
		enum subject_function which;
		const char *name;
	} names[] = {
		{SUBJECT_MMAP, "mmap"},
		{SUBJECT_MUNMAP, "munmap"},
		{SUBJECT_DLOPEN, "dlopen"},
		{SUBJECT_DLOPEN, "__libc_dlopen_mode"},
		{SUBJECT_DLSYM, "dlsym"},
		{SUBJECT_DLSYM, "__libc_dlsym"},
		{SUBJECT_CREATE, "pthread_create"},
		{SUBJECT_ATTR_INIT, "pthread_attr_init"},
		{SUBJECT_ATTR_DETACH, "pthread_attr_setdetachstate"},
		{SUBJECT_ATTR_STACK, "pthread_attr_setstacksize"},
	};
	struct symbol_list list = {0};

	if (!symbol_objects(t, &list))
		NO("process %d: its loader's list of libraries cannot be read", (int)t->pid);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!t->function[names[i].which])
			t->function[names[i].which] =
				symbol_find(t, &list, names[i].name, SYMBOL_LIBC);
	symbol_allocator(t, &list, &t->allocator_from, &t->allocator_to);
	symbol_list_free(&list);
	for (unsigned i = 0; i < SUBJECT_FUNCTION_CNT; i++)
		if (!t->function[i])
			NO("process %d has an old C library without threads, in which no thread "
			   "can "
			   "be started: start it under 'sightline profile'",
			   (int)t->pid);
	return 0;
}

/* mov $15, %rax; syscall: the function that handlers return to, which has no public name. */
static uint64_t find_restorer(const struct subject *t)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
	uint64_t found = 0;

	for (size_t i = 0; i < t->mapping_cnt && !found; i++) {
		const struct subject_mapping *m = &t->mappings[i];
		size_t bytes = m->to - m->from;
		uint8_t *text, *at;

		if (m->kind != SUBJECT_LIBC || m->rights[2] != 'x' || bytes > TEXT_MAX)
			continue;
		text = malloc(bytes);
		if (text && subject_read(t->pid, m->from, text, bytes)) {
			at = memmem(text, bytes, code, sizeof(code));
			found = at ? m->from + (uint64_t)(at - text) : 0;
		}
		free(text);
	}
	return found;
}

int subject_look(struct subject *t, pid_t pid, const char *library, const char *folder, char *why,
		 size_t why_len)
{
	int err;

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	err = check_state(pid, why, why_len);
	if (err)
		return err;
	t->has_filter = subject_status(pid, pid, "Seccomp", 10) > 0;
	err = read_mappings(t);
	if (err == -EACCES || (!err && !may_read(t))) {
		scope_explain(SCOPE_FILE, pid, why, why_len);
		return -EPERM;
	}
	if (err) {
		snprintf(why, why_len, "process %d cannot be looked at: %s", (int)pid,
			 strerror(-err));
		return err;
	}
	err = check_kind(t, why, why_len);
	if (err)
		return err;
	if (!sees(pid, library))
		NO("process %d does not see %s (it runs in a container or chroot): attach without "
		   "--inject, or from inside of it",
		   (int)pid, library);
	if (folder && !sees(pid, folder))
		NO("process %d does not see the session's folder %s: set SIGHTLINE_SESSIONS to a "
		   "folder that both see",
		   (int)pid, folder);
	err = find_functions(t, why, why_len);
	if (err)
		return err;
	t->restorer = find_restorer(t);
	if (!t->restorer)
		NO("process %d has a C library in which no return from a signal handler is found: "
		   "attach without --inject",
		   (int)pid);
	return 0;
}
