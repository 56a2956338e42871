/* environment.c - adds and removes the shim's variables in environments. Memory is the caller's, or static. */
#include "preload/core/environment.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/base/state.h"
#include "preload/core/seccomp.h"
#include "preload/wire/sys.h"

#define ENV_MAX 32768 /* environments with more entries are passed on unchanged */
#define PRELOAD "LD_PRELOAD="

static bool starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

int sl_env_find(const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; environ && environ[i]; i++)
		if (strncmp(environ[i], name, len) == 0 && environ[i][len] == '=')
			return i;
	return -1;
}

/* ---- of a new program ---- */

bool sl_env_plan(char *const envp[], struct sl_env_plan *p)
{
	const char *path = sl_global.path;

	memset(p, 0, sizeof(*p));
	p->preload = -1;
	if (!sl_global.session || sl_global.session->state != SL_SESSION_ON || !path)
		return false;
	/* An invalid pointer must reach the kernel, which answers EFAULT. */
	if (envp && (uintptr_t)envp < 65536)
		return false;
	for (; envp && envp[p->cnt]; p->cnt++) {
		const char *e = envp[p->cnt];

		if ((uintptr_t)e < 65536)
			return false;

		if (starts(e, SL_SESSION_ENV "="))
			p->has_session = true;
		if (starts(e, PRELOAD)) {
			p->preload = p->cnt;
			p->has_shim = strstr(e, path) != NULL || strstr(e, "libtrace.so") != NULL;
		}
	}
	p->is_untraced = sl_seccomp_kills_start();
	if (p->is_untraced)
		return p->cnt < ENV_MAX && (p->has_session || p->has_shim);
	return p->cnt < ENV_MAX && !(p->has_session && p->has_shim);
}

size_t sl_env_preload_len(char *const envp[], const struct sl_env_plan *p)
{
	return sizeof(PRELOAD ":") + strlen(sl_global.path) +
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
		at = strstr(at, "libtrace.so") || !strcmp(at, sl_global.path) ? one : at + len;
	}
	*at = 0;
	return at > begin;
}

static void fill_untraced(char *const envp[], const struct sl_env_plan *p, char **out,
			  char *preload)
{
	int n = 0;

	for (int i = 0; i < p->cnt; i++) {
		if (starts(envp[i], SL_SESSION_ENV "=") || starts(envp[i], SL_CLEAN_ENV "="))
			continue;
		if (i != p->preload)
			out[n++] = envp[i];
		else if (put_others(envp[i] + strlen(PRELOAD), preload))
			out[n++] = preload;
	}
	out[n] = NULL;
}

void sl_env_fill(char *const envp[], const struct sl_env_plan *p, char **out, char *preload)
{
	static char clean[] = SL_CLEAN_ENV "=1";
	const char *others = p->preload >= 0 ? envp[p->preload] + strlen(PRELOAD) : "";
	int n = 0;

	if (p->is_untraced) {
		fill_untraced(envp, p, out, preload);
		return;
	}
	for (int i = 0; i < p->cnt; i++)
		if (p->has_shim || i != p->preload)
			out[n++] = envp[i];
	if (!p->has_shim) {
		char *at = stpcpy(stpcpy(preload, PRELOAD), sl_global.path);

		if (*others)
			stpcpy(stpcpy(at, ":"), others);
		out[n++] = preload;
		out[n++] = clean;
	}
	if (!p->has_session)
		out[n++] = sl_global.session_env;
	out[n] = NULL;
}

/* ---- of this process ---- */

void sl_env_untrace(void)
{
	static char preload[8192];
	struct sl_env_plan p;

	if (sl_env_plan(environ, &p) && sl_env_preload_len(environ, &p) <= sizeof(preload))
		fill_untraced(environ, &p, environ, preload);
}

void sl_env_clean(void)
{
	static char rest[4096 + sizeof(PRELOAD)];
	char **to = environ;

	for (char **from = environ; *from; from++) {
		if (starts(*from, "SIGHTLINE_"))
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

void sl_env_absolute_preload(const char *path)
{
	static char entry[sizeof(PRELOAD) + 8192];
	int i = sl_env_find("LD_PRELOAD");
	const char *list;
	size_t len;
	char *at;

	if (i < 0)
		return;
	/* Only if this library is the first entry, spelled as a relative path. */
	list = environ[i] + strlen(PRELOAD);
	len = strcspn(list, ": ");
	if (strlen(list) + strlen(path) + sizeof(PRELOAD) > sizeof(entry) || len < 4 ||
	    strlen(path) < len || !strchr(list, '/') ||
	    strncmp(path + strlen(path) - len, list, len) != 0)
		return;
	at = stpcpy(stpcpy(entry, PRELOAD), path);
	stpcpy(at, list + len);
	environ[i] = entry;
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

	if (sl_env_find(SL_SESSION_ENV) >= 0)
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
