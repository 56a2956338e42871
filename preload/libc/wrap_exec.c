/*
 * wrap_exec.c - programs started by this one are traced too, whatever environment they are given.
 *
 * Our variables are put back into environments from which they are missing; the new program's
 * constructor takes them out again before main, so that it sees what its parent gave it
 * (SIGHTLINE_CLEAN, session_join.c). Everything is built on the stack: this may run in a vfork child, where
 * allocating would be done to the parent.
 */
#include "preload/libc/wrap.h"

#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#define ENV_MAX 32768 /* more entries than this are passed on untouched */

struct env_plan {
	int cnt;     /* entries */
	int preload; /* index of LD_PRELOAD, or -1 */
	bool has_session, has_us;
	bool leaves_us; /* it is not to be traced */
};

static bool starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* True when @envp lacks something of ours and this process is being traced. */
static bool plan_env(char *const envp[], struct env_plan *p)
{
	const char *us = sl_global.path;

	memset(p, 0, sizeof(*p));
	p->preload = -1;
	if (!sl_global.session || sl_global.session->state != SL_SESSION_ON || !us)
		return false;
	/* Wild pointers are the kernel's to refuse (EFAULT). */
	if (envp && (uintptr_t)envp < 65536)
		return false;
	for (; envp && envp[p->cnt]; p->cnt++) {
		const char *e = envp[p->cnt];

		if ((uintptr_t)e < 65536)
			return false;

		if (starts(e, SL_SESSION_ENV "="))
			p->has_session = true;
		if (starts(e, "LD_PRELOAD=")) {
			p->preload = p->cnt;
			p->has_us = strstr(e, us) != NULL || strstr(e, "libtrace.so") != NULL;
		}
	}
	p->leaves_us = sl_is_deadly();
	if (p->leaves_us)
		return p->cnt < ENV_MAX && (p->has_session || p->has_us);
	return p->cnt < ENV_MAX && !(p->has_session && p->has_us);
}

static size_t preload_len(char *const envp[], const struct env_plan *p)
{
	return sizeof("LD_PRELOAD=:") + strlen(sl_global.path) +
	       (p->preload >= 0 ? strlen(envp[p->preload]) : 0);
}

/* LD_PRELOAD without this library. False: nothing is left. */
static bool put_others(const char *list, char *to)
{
	char *begin = stpcpy(to, "LD_PRELOAD="), *at = begin;

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

static void leave_us(char *const envp[], const struct env_plan *p, char **out, char *preload)
{
	int n = 0;

	for (int i = 0; i < p->cnt; i++) {
		if (starts(envp[i], SL_SESSION_ENV "=") || starts(envp[i], SL_CLEAN_ENV "="))
			continue;
		if (i != p->preload)
			out[n++] = envp[i];
		else if (put_others(envp[i] + strlen("LD_PRELOAD="), preload))
			out[n++] = preload;
	}
	out[n] = NULL;
}

void sl_leave_environment(void)
{
	static char preload[8192];
	struct env_plan p;

	if (plan_env(environ, &p) && preload_len(environ, &p) <= sizeof(preload))
		leave_us(environ, &p, environ, preload);
}

static void fill_env(char *const envp[], const struct env_plan *p, char **out, char *preload)
{
	static char clean[] = SL_CLEAN_ENV "=1";
	const char *theirs = p->preload >= 0 ? envp[p->preload] + strlen("LD_PRELOAD=") : "";
	int n = 0;

	for (int i = 0; i < p->cnt; i++)
		if (p->has_us || i != p->preload)
			out[n++] = envp[i];
	if (!p->has_us) {
		char *at = stpcpy(stpcpy(preload, "LD_PRELOAD="), sl_global.path);

		if (*theirs)
			stpcpy(stpcpy(at, ":"), theirs);
		out[n++] = preload;
		out[n++] = clean;
	}
	if (!p->has_session)
		out[n++] = sl_global.session_env;
	out[n] = NULL;
}

/* Makes `env` the environment to pass on: the caller's frame holds it, hence a macro. */
#define TRACED_ENV(envp)                                                                 \
	struct env_plan plan;                                                            \
	char *const *env = (char *const *)(envp);                                        \
	if (plan_env(env, &plan)) {                                                      \
		char **full = alloca(((size_t)plan.cnt + 4) * sizeof(*full));            \
		(plan.leaves_us ? leave_us : fill_env)(env, &plan, full,                 \
						       alloca(preload_len(env, &plan))); \
		env = full;                                                              \
	}

/* exec does not come back: what is known is told before, however the gate stands. */
static bool announce_exec(struct sl_call *call, const char *path)
{
	bool traced = sl_enter(call);
	uint64_t zero = 0;

	if ((uintptr_t)path < 65536)
		path = NULL;
	if (sl_ready())
		sl_meta(SL_META_EXEC, traced ? call->start : sl_ticks(), &zero, 1, path ? path : "",
			path ? strlen(path) : 0);
	return traced;
}

#define WRAP_EXEC(name, real_name, params, real_params, real_args, path, envp) \
	SL_WRAPPER(int, name, params)                                          \
	{                                                                      \
		SL_REAL(NEG, int, real_name, real_params);                     \
		struct sl_call call;                                           \
		bool traced;                                                   \
		int rc;                                                        \
		TRACED_ENV(envp)                                               \
		traced = announce_exec(&call, path);                           \
		rc = real real_args;                                           \
		if (traced) {                                                  \
			sl_stop(&call);                                        \
			sl_leave_path(&call, SL_H_##name, rc, true, -1, 0,     \
				      sl_safe_path(true, path));               \
		}                                                              \
		return rc;                                                     \
	}
typedef char *const *vec;
WRAP_EXEC(execve, execve, (const char *path, vec argv, vec envp), (const char *, vec, vec),
	  (path, argv, env), path, envp)
WRAP_EXEC(execv, execve, (const char *path, vec argv), (const char *, vec, vec), (path, argv, env),
	  path, environ)
WRAP_EXEC(execvpe, execvpe, (const char *path, vec argv, vec envp), (const char *, vec, vec),
	  (path, argv, env), path, envp)
WRAP_EXEC(execvp, execvpe, (const char *path, vec argv), (const char *, vec, vec),
	  (path, argv, env), path, environ)
WRAP_EXEC(fexecve, fexecve, (int fd, vec argv, vec envp), (int, vec, vec), (fd, argv, env),
	  "fexecve", envp)
WRAP_EXEC(execveat, execveat, (int dir, const char *path, vec argv, vec envp, int flags),
	  (int, const char *, vec, vec, int), (dir, path, argv, env, flags), path, envp)

/* The list forms: the arguments are counted, then put into an array on the stack. */
#define COLLECT_ARGS(first)                                          \
	va_list ap;                                                  \
	size_t argc = 0;                                             \
	char **argv;                                                 \
	va_start(ap, first);                                         \
	for (const char *a = first; a; a = va_arg(ap, const char *)) \
		argc++;                                              \
	va_end(ap);                                                  \
	argv = alloca((argc + 1) * sizeof(*argv));                   \
	va_start(ap, first);                                         \
	argv[0] = (char *)first;                                     \
	for (size_t i = 1; i <= argc; i++)                           \
	argv[i] = argc ? va_arg(ap, char *) : NULL

SL_WRAPPER(int, execl, (const char *path, const char *arg, ...))
{
	COLLECT_ARGS(arg);
	va_end(ap);
	return sl_w_execv(path, argv);
}

SL_WRAPPER(int, execlp, (const char *file, const char *arg, ...))
{
	COLLECT_ARGS(arg);
	va_end(ap);
	return sl_w_execvp(file, argv);
}

SL_WRAPPER(int, execle, (const char *path, const char *arg, ...))
{
	vec envp;

	COLLECT_ARGS(arg);
	envp = va_arg(ap, vec);
	va_end(ap);
	return sl_w_execve(path, argv, envp);
}

#define WRAP_SPAWN(name)                                                                 \
	SL_WRAPPER(int, name,                                                            \
		   (pid_t * pid, const char *path, const posix_spawn_file_actions_t *fa, \
		    const posix_spawnattr_t *attr, vec argv, vec envp))                  \
	{                                                                                \
		SL_REAL(NUM, int, name,                                                  \
			(pid_t *, const char *, const posix_spawn_file_actions_t *,      \
			 const posix_spawnattr_t *, vec, vec));                          \
		struct sl_call call;                                                     \
		bool traced;                                                             \
		int rc;                                                                  \
		TRACED_ENV(envp)                                                         \
		traced = sl_enter(&call);                                                \
		rc = real(pid, path, fa, attr, argv, env);                               \
		if (traced) {                                                            \
			sl_stop(&call);                                                  \
			sl_leave_path(&call, SL_H_##name, rc, false, -1, 0, path);       \
		}                                                                        \
		return rc;                                                               \
	}
WRAP_SPAWN(posix_spawn)
WRAP_SPAWN(posix_spawnp)
