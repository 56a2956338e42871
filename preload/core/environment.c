/* environment.c - adds and removes the shim's variables in environments. Memory is the caller's, or static. */
#include "preload/core/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/base/readable.h"
#include "preload/base/state.h"
#include "preload/core/seccomp.h"
#include "preload/wire/sys.h"

#define ENV_MAX      32768 /* environments with more entries are passed on unchanged */
#define LOADER_WORDS 32    /* arguments of a loader that are looked at */
#define PRELOAD      "LD_PRELOAD="

static bool starts(const char *s, const char *prefix)
{
	return s[0] == prefix[0] && strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The loader's: where argc, argv and the environment are. */
extern void *__libc_stack_end __attribute__((weak));
extern struct r_debug _r_debug __attribute__((weak));

char **sl_environ(void)
{
	char **at;

	if (environ)
		return environ;
	/* Only when all objects are relocated does the loader call its list consistent. */
	if (!&__libc_stack_end || !&_r_debug || !_r_debug.r_version ||
	    _r_debug.r_state != RT_CONSISTENT)
		return NULL;
	/* Not by argc, which is that of the loader where this was run as a program. */
	for (at = (char **)__libc_stack_end + 1; *at; at++)
		;
	return at + 1;
}

int sl_env_find(const char *name)
{
	size_t len = strlen(name);
	char **env = sl_environ();

	/* Most differ in the first character. */
	for (int i = 0; env && env[i]; i++)
		if (env[i][0] == name[0] && strncmp(env[i], name, len) == 0 && env[i][len] == '=')
			return i;
	return -1;
}

/* ---- of a new program ---- */

/*
 * Reads memory of the caller that the kernel may refuse. Where a filter may kill for the system call, addresses are checked
 * for the usual mistakes only.
 */
struct reader {
	struct sl_readable array, text;
	bool is_blind;
};

static bool can_read(struct reader *r, char *const *entry)
{
	return r->is_blind ? (uintptr_t)entry >= 65536
			   : sl_readable_bytes(&r->array, entry, sizeof(*entry));
}

static bool can_read_text(struct reader *r, const char *text)
{
	/* The kernel's limit for one string. */
	return r->is_blind ? (uintptr_t)text >= 65536
			   : sl_readable_len(&r->text, text, 32 * 4096) != SIZE_MAX;
}

/* An entry of LD_PRELOAD that is this library, which may be there by another path. Not "libtrace.so.4", another's. */
static bool is_shim(const char *entry, size_t len)
{
	static const char name[] = "/libtrace.so";
	size_t end = sizeof(name) - 1;

	return (len == strlen(sl_global.path) && memcmp(entry, sl_global.path, len) == 0) ||
	       (len == end - 1 && memcmp(entry, name + 1, len) == 0) ||
	       (len >= end && memcmp(entry + len - end, name, end) == 0);
}

static bool has_shim(const char *list)
{
	for (size_t len; *(list += strspn(list, ": ")); list += len) {
		len = strcspn(list, ": ");
		if (is_shim(list, len))
			return true;
	}
	return false;
}

static bool look_at(char *const envp[], struct reader *r, struct sl_env_plan *p)
{
	for (; envp; p->cnt++) {
		const char *e;

		if (p->cnt >= ENV_MAX || !can_read(r, &envp[p->cnt]))
			return false;
		e = envp[p->cnt];
		if (!e)
			break;
		if (!can_read_text(r, e))
			return false;
		if (starts(e, SL_SESSION_ENV "="))
			p->has_session = true;
		if (starts(e, "LD_TRACE_LOADED_OBJECTS="))
			p->is_listed = true;
		if (starts(e, PRELOAD)) {
			p->preload = p->cnt;
			p->has_shim = has_shim(e + strlen(PRELOAD));
		}
	}
	return true;
}

/* Whether the program's loader will find this library: not behind a chroot() or pivot_root(). */
static bool is_in_root(void)
{
	char c;

	return sl_sys4(SYS_readlinkat, AT_FDCWD, sl_global.path, &c, 1) != -ENOENT;
}

/* PATH of this process, whose `environ` may point anywhere; NULL: none, or it cannot be read. */
static const char *own_path(struct reader *r)
{
	for (char **at = environ; at && can_read(r, at) && *at && can_read_text(r, *at); at++)
		if (starts(*at, "PATH="))
			return *at + sizeof("PATH=") - 1;
	return NULL;
}

/* What the file of the program asks for, if it can be looked at. */
static void look_at_file(const struct sl_exec_file *file, const char *preload, struct reader *r,
			 struct sl_env_plan *p)
{
	enum sl_exec_needs needs = sl_exec_look(file, own_path(r), p->room, p->runtime);

	p->is_unloaded = needs == SL_EXEC_OTHER || !is_in_root();
	if (needs != SL_EXEC_RUNTIME ||
	    (preload && sl_exec_runtime_is_first(preload + strlen(PRELOAD), p->runtime)))
		p->runtime[0] = 0;
}

/* ld.so --list PROGRAM, which is what the variable of ldd does, too. */
static bool lists_libraries(const struct sl_exec_file *file, struct reader *r)
{
	char *const *at = file->path && sl_exec_is_loader(file->path) ? file->argv : NULL;
	enum sl_loader_word word = SL_LOADER_OPTION;

	for (int i = 0; at && i < LOADER_WORDS; i++, at++) {
		if (!can_read(r, at) || !*at || !can_read_text(r, *at))
			return false;
		if (i == 0)
			continue;
		word = word == SL_LOADER_VALUE ? SL_LOADER_OPTION : sl_exec_loader_word(*at);
		if (word == SL_LOADER_LISTS || word == SL_LOADER_END)
			return word == SL_LOADER_LISTS;
	}
	return false;
}

bool sl_env_plan(char *const envp[], struct sl_exec_file *file, struct sl_env_plan *p)
{
	struct reader r = {.is_blind = sl_seccomp_kills_start()};

	p->cnt = 0;
	p->preload = -1;
	p->has_session = p->has_shim = p->is_listed = p->is_unloaded = false;
	p->is_untraced = r.is_blind;
	p->runtime[0] = 0;
	if (file->path && !can_read_text(&r, file->path))
		file->path = NULL;
	if (!sl_global.path || !look_at(envp, &r, p))
		return false;
	if (!sl_global.session || sl_global.session->state != SL_SESSION_ON) {
		/* The link in the session's folder has gone with it. */
		p->is_unloaded = p->has_shim && !r.is_blind && !sl_seccomp_is_on() && !is_in_root();
		return p->is_unloaded;
	}
	if (p->is_untraced)
		return p->has_session || p->has_shim;
	if (p->room && !sl_seccomp_is_on())
		look_at_file(file, p->has_shim ? envp[p->preload] : NULL, &r, p);
	p->is_unloaded |= p->is_listed || lists_libraries(file, &r);
	if (p->is_unloaded)
		return p->has_shim;
	return !(p->has_session && p->has_shim) || p->runtime[0];
}

static size_t array_bytes(const struct sl_env_plan *p)
{
	return ((size_t)p->cnt + 5) * sizeof(char *);
}

size_t sl_env_bytes(char *const envp[], const struct sl_env_plan *p)
{
	return array_bytes(p) + sizeof(PRELOAD "::") + strlen(p->runtime) + strlen(sl_global.path) +
	       (p->preload >= 0 ? strlen(envp[p->preload]) : 0);
}

/* Copies LD_PRELOAD's @list without this library. False: the copy is empty. */
static bool put_others(const char *list, char *to)
{
	char *begin = stpcpy(to, PRELOAD), *at = begin;

	for (size_t len; *(list += strspn(list, ": ")); list += len) {
		char *one = at;

		len = strcspn(list, ": ");
		if (at > begin)
			*at++ = ':';
		memcpy(at, list, len);
		at[len] = 0;
		at = is_shim(list, len) ? one : at + len;
	}
	*at = 0;
	return at > begin;
}

static void fill_untraced(char *const envp[], const struct sl_env_plan *p, char **out,
			  char *preload)
{
	int n = 0;

	for (int i = 0; i < p->cnt; i++) {
		if ((starts(envp[i], SL_SESSION_ENV "=") && !p->is_unloaded) ||
		    starts(envp[i], SL_CLEAN_ENV "="))
			continue;
		if (i != p->preload)
			out[n++] = envp[i];
		else if (put_others(envp[i] + strlen(PRELOAD), preload))
			out[n++] = preload;
	}
	out[n] = NULL;
}

char *const *sl_env_fill(char *const envp[], const struct sl_env_plan *p, void *memory)
{
	static char clean[] = SL_CLEAN_ENV "=1", first[] = SL_RUNTIME_ENV "=1";
	const char *others = p->preload >= 0 ? envp[p->preload] + strlen(PRELOAD) : "";
	char **out = memory, *preload = (char *)memory + array_bytes(p), *at;
	int n = 0;

	if (p->is_untraced || p->is_unloaded) {
		fill_untraced(envp, p, out, preload);
		return out;
	}
	at = stpcpy(preload, PRELOAD);
	for (int i = 0; i < p->cnt; i++)
		if (i != p->preload)
			out[n++] = envp[i];
	if (p->runtime[0])
		at = stpcpy(stpcpy(at, p->runtime), ":");
	if (!p->has_shim)
		at = stpcpy(stpcpy(at, sl_global.path), *others ? ":" : "");
	stpcpy(at, others);
	out[n++] = preload;
	if (!p->has_shim)
		out[n++] = clean;
	if (p->runtime[0])
		out[n++] = first;
	if (!p->has_session)
		out[n++] = sl_global.session_env;
	out[n] = NULL;
	return out;
}

/* ---- of this process ---- */

void sl_env_untrace(void)
{
	static SL_APART char preload[8192];
	struct sl_exec_file none = {0};
	struct sl_env_plan p = {0};
	char **env = sl_environ();

	if (env && sl_env_plan(env, &none, &p) &&
	    sl_env_bytes(env, &p) - array_bytes(&p) <= sizeof(preload))
		fill_untraced(env, &p, env, preload);
}

/* In place: what follows the first library is behind it, and its name and colon have room for the variable's name. */
void sl_env_drop_runtime(void)
{
	int mark = sl_env_find(SL_RUNTIME_ENV), at = sl_env_find("LD_PRELOAD");
	char **env = sl_environ(), *rest = at >= 0 ? strchr(env[at], ':') : NULL;

	if (mark < 0)
		return;
	if (rest) {
		env[at] = rest + 1 - strlen(PRELOAD);
		memmove(env[at], PRELOAD, strlen(PRELOAD));
	}
	while ((env[mark] = env[mark + 1]))
		mark++;
}

void sl_env_clean(void)
{
	static SL_APART char rest[4096 + sizeof(PRELOAD)];
	char **to = sl_environ();

	if (!to)
		return;
	for (char **from = to; *from; from++) {
		/* What the exec wrapper added: others are the program's, as SIGHTLINE_CUPTI. */
		if (starts(*from, SL_SESSION_ENV "=") || starts(*from, SL_CLEAN_ENV "="))
			continue;
		if (starts(*from, PRELOAD)) {
			/* The exec wrapper put this library first; a colon separates the program's own list. */
			const char *others = strchr(*from, ':');

			if (!others || strlen(others) > 4096)
				continue;
			stpcpy(stpcpy(rest, PRELOAD), others + 1);
			*to++ = rest;
			continue;
		}
		*to++ = *from;
	}
	*to = NULL;
}

void sl_env_absolute_preload(const char *own, const char *path)
{
	static SL_APART char entry[sizeof(PRELOAD) + 8192];
	int i = sl_env_find("LD_PRELOAD");
	const char *list;
	size_t len;
	char *at;

	if (i < 0)
		return;
	/* Only if this library is the first entry, spelled as a relative path. */
	list = sl_environ()[i] + strlen(PRELOAD);
	len = strcspn(list, ": ");
	if (strlen(list) + strlen(path) + sizeof(PRELOAD) > sizeof(entry) || len < 4 ||
	    strlen(own) < len || !strchr(list, '/') ||
	    strncmp(own + strlen(own) - len, list, len) != 0)
		return;
	at = stpcpy(stpcpy(entry, PRELOAD), path);
	stpcpy(at, list + len);
	sl_environ()[i] = entry;
}

/*
 * Not putenv(), which may be a sanitizer's, and allocates. The C library, too, replaces an array that it did not make. The
 * memory is not freed: the program may keep the array. The entry is copied, as shells write into their environment.
 */
void sl_env_publish_session(const char *entry)
{
	size_t cnt = 0, len = strlen(entry) + 1;
	char **all;
	long m;

	/* What is set before the C library is initialized, this overwrites. */
	if (!environ || sl_env_find(SL_SESSION_ENV) >= 0)
		return;
	while (environ && environ[cnt])
		cnt++;
	m = sl_sys6(SYS_mmap, 0, (long)((cnt + 2) * sizeof(*all) + len), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m < 0 && m > -4096)
		return;
	all = (char **)m;
	if (cnt)
		memcpy(all, environ, cnt * sizeof(*all));
	all[cnt] = memcpy(all + cnt + 2, entry, len);
	environ = all;
}
