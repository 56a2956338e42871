/*
 * wrap_exec.c - exec and posix_spawn: programs started by this one are traced, whatever their environment. And the other
 * ends of a program that run no exit handlers.
 *
 * The shim's variables are added to environments that lack them (environment.c); the new program's constructor
 * removes them again before main (SIGHTLINE_CLEAN). The new environment is built in the thread's room, or on the stack:
 * this may run in a vfork child, whose allocations would be the parent's.
 */
#include "preload/core/environment.h"
#include "preload/core/seccomp.h"
#include "preload/core/thread_room.h"
#include "preload/gpu/gpu_engine.h"
#include "preload/libc/wrap.h"

#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "preload/wire/sys.h"

/*
 * The thread's room for an exec. NULL: a call of this thread is using it, which a signal handler interrupted, or there is none.
 * A frame above that of the user has abandoned it by longjmp(). A vfork child leaves no mark: it shares it with its parent,
 * which waits.
 */
static struct sl_thread_room *take_room(const char *frame)
{
	struct sl_thread_room *room =
		sl_global.session && !sl_global.seccomp ? sl_thread_room() : NULL;

	if (!room || (room->exec_frame && frame <= room->exec_frame))
		return NULL;
	if (sl_tls.cookie != SL_COOKIE_VFORK)
		room->exec_frame = frame;
	return room;
}

static void drop_room(struct sl_thread_room *room)
{
	if (room)
		room->exec_frame = NULL;
}

/* NULL: it is too small. */
static void *env_memory(struct sl_thread_room *room, size_t bytes)
{
	return room && bytes <= sizeof(room->exec_env) ? room->exec_env : NULL;
}

/*
 * Makes `env` the environment to pass on for the program @...: a macro, as alloca() takes the memory from the caller's
 * frame where the thread's room is too small. Pointers that the kernel would refuse are passed on unread; file.path is NULL
 * then.
 */
#define TRACED_ENV(envp, ...)                                                       \
	struct sl_exec_file file = {__VA_ARGS__};                                   \
	struct sl_thread_room *room = take_room(__builtin_frame_address(0));        \
	struct sl_env_plan plan = {.room = room ? &room->exec : NULL};              \
	char *const *env = (char *const *)(envp);                                   \
	if (sl_env_plan(env, &file, &plan)) {                                       \
		size_t env_bytes = sl_env_bytes(env, &plan);                        \
		void *memory = env_memory(room, env_bytes);                         \
		env = sl_env_fill(env, &plan, memory ? memory : alloca(env_bytes)); \
	}

/* Its connection may be looked at when it has ended, and only this arena shows then that it is of the traced tree. */
static void note_spawned(pid_t pid)
{
	struct sl_arena *a = sl_global.arena;
	uint32_t at;

	if (!a || pid <= 0)
		return;
	at = __atomic_fetch_add(&a->spawned_cnt, 1, __ATOMIC_RELAXED);
	/* Relaxed: pairs with the keeper's read (arena_names()), which needs nothing else of the child. */
	__atomic_store_n(&a->spawned[at % SL_SPAWNED_CNT], (uint32_t)pid, __ATOMIC_RELAXED);
}

/* exec does not return: the record is written before, whether or not the gate is open. */
static bool announce_exec(struct sl_call *call, const char *path)
{
	uint64_t zero = 0;
	bool traced;

	if (sl_tls.cookie == SL_COOKIE_VFORK && !sl_seccomp_kills_getpid())
		note_spawned((pid_t)sl_getpid());
	sl_gpu_end(SL_GPU_END_EXEC);
	traced = sl_enter(call);
	if (sl_ready())
		sl_meta(SL_META_EXEC, traced ? call->start : sl_ticks(), &zero, 1, path ? path : "",
			path ? strlen(path) : 0);
	return traced;
}

#define WRAP_EXEC(name, real_name, params, real_params, real_args, envp, shown, ...) \
	SL_WRAPPER(int, name, params)                                                \
	{                                                                            \
		SL_REAL(NEG, int, real_name, real_params);                           \
		struct sl_call call;                                                 \
		bool traced;                                                         \
		int rc;                                                              \
		TRACED_ENV(envp, __VA_ARGS__)                                        \
		traced = announce_exec(&call, shown);                                \
		rc = real real_args;                                                 \
		drop_room(room);                                                     \
		if (traced) {                                                        \
			sl_stop(&call);                                              \
			sl_leave_path(&call, SL_H_##name, rc, true, -1, 0, shown);   \
		}                                                                    \
		return rc;                                                           \
	}
typedef char *const *vec;
WRAP_EXEC(execve, execve, (const char *path, vec argv, vec envp), (const char *, vec, vec),
	  (path, argv, env), envp, file.path, .path = path, .argv = argv, .dir = AT_FDCWD)
WRAP_EXEC(execv, execve, (const char *path, vec argv), (const char *, vec, vec), (path, argv, env),
	  environ, file.path, .path = path, .argv = argv, .dir = AT_FDCWD)
WRAP_EXEC(execvpe, execvpe, (const char *path, vec argv, vec envp), (const char *, vec, vec),
	  (path, argv, env), envp, file.path, .path = path, .argv = argv, .dir = AT_FDCWD,
	  .in_path = true)
WRAP_EXEC(execvp, execvpe, (const char *path, vec argv), (const char *, vec, vec),
	  (path, argv, env), environ, file.path, .path = path, .argv = argv, .dir = AT_FDCWD,
	  .in_path = true)
/* libc refuses it without an environment. */
WRAP_EXEC(fexecve, fexecve, (int fd, vec argv, vec envp), (int, vec, vec),
	  (fd, argv, envp ? env : NULL), envp, "fexecve", .dir = fd, .by_fd = true)
WRAP_EXEC(execveat, execveat, (int dir, const char *path, vec argv, vec envp, int flags),
	  (int, const char *, vec, vec, int), (dir, path, argv, env, flags), envp, file.path,
	  .path = path, .argv = argv, .dir = dir, .by_fd = flags & AT_EMPTY_PATH)

/* The list forms: collects the arguments in an array on the stack. */
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

#define WRAP_SPAWN(name, by_path)                                                                 \
	SL_WRAPPER(int, name,                                                                     \
		   (pid_t * pid, const char *path, const posix_spawn_file_actions_t *fa,          \
		    const posix_spawnattr_t *attr, vec argv, vec envp))                           \
	{                                                                                         \
		SL_REAL(NUM, int, name,                                                           \
			(pid_t *, const char *, const posix_spawn_file_actions_t *,               \
			 const posix_spawnattr_t *, vec, vec));                                   \
		struct sl_call call;                                                              \
		bool traced;                                                                      \
		int rc;                                                                           \
		TRACED_ENV(envp, .path = path, .argv = argv, .dir = AT_FDCWD, .in_path = by_path, \
			   .is_moved = fa != NULL)                                                \
		traced = sl_enter(&call);                                                         \
		pid_t own;                                                                        \
		rc = real(pid ? pid : &own, path, fa, attr, argv, env);                           \
		drop_room(room);                                                                  \
		if (rc == 0)                                                                      \
			note_spawned(pid ? *pid : own);                                           \
		if (traced) {                                                                     \
			sl_stop(&call);                                                           \
			sl_leave_path(&call, SL_H_##name, rc, false, -1, 0, file.path);           \
		}                                                                                 \
		return rc;                                                                        \
	}
WRAP_SPAWN(posix_spawn, false)
WRAP_SPAWN(posix_spawnp, true)

/* Not recorded: the end of the process is. */
#define WRAP_EXIT(name)                                       \
	SL_WRAPPER(void, name, (int status))                  \
	{                                                     \
		void (*real)(int) = sl_get_real(SL_H_##name); \
		sl_gpu_end(SL_GPU_END_NOW);                   \
		if (real)                                     \
			real(status);                         \
		for (;;)                                      \
			sl_sys1(SYS_exit_group, status);      \
	}
WRAP_EXIT(_exit)
WRAP_EXIT(_Exit)
WRAP_EXIT(quick_exit)

/*
 * For programs that no wrapper has started (a bare preload, a parent without libc): AddressSanitizer asks for its defaults
 * by this function, unless the program has one. The wrappers then come before the runtime's, which works as well.
 */
SL_EXPORT const char *__asan_default_options(void);
SL_EXPORT const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
