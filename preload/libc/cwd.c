/*
 * cwd.c - cache of the working directory: makes relative paths absolute without a readlink of each descriptor.
 *
 * Filled by getcwd, invalidated by each call that can change the directory. Disabled where changes cannot be
 * observed (libc's own tree walkers) or threads have directories of their own. A rename of the directory itself is
 * not noticed: records then have the old name, as a shell's $PWD would.
 */
#include "preload/libc/wrap.h"

#include <sched.h>

#include "preload/wire/sys.h"

#define CWD_MAX 1024u /* longer ones are not cached */

/*
 * `now` is incremented by each possible change of the directory; the text is valid while `valid` equals it.
 * valid 0: being written (for ever in the child of a fork during that). Readers copy, then check `valid` again.
 */
static uint64_t now = 2, valid = 1;
static uint32_t text_len;
static SL_APART char text[CWD_MAX];

void sl_cwd_invalidate(void)
{
	__atomic_add_fetch(&now, 1, __ATOMIC_SEQ_CST);
}

void sl_cwd_disable(void)
{
	__atomic_store_n(&valid, 0, __ATOMIC_SEQ_CST);
	/* A concurrent writer may be about to set `valid`. */
	sl_cwd_invalidate();
}

static uint32_t copy_cached(char *to, size_t room)
{
	uint64_t v = __atomic_load_n(&valid, __ATOMIC_ACQUIRE);
	uint32_t len = text_len;

	if (v != __atomic_load_n(&now, __ATOMIC_RELAXED) || len >= room || len > CWD_MAX)
		return 0;
	memcpy(to, text, len);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&valid, __ATOMIC_RELAXED) == v &&
			       __atomic_load_n(&now, __ATOMIC_RELAXED) == v
		       ? len
		       : 0;
}

/* @seen: `now` before getcwd. */
static void keep(const char *from, uint32_t len, uint64_t seen)
{
	uint64_t v = __atomic_load_n(&valid, __ATOMIC_RELAXED);

	if (len > CWD_MAX || !v ||
	    !__atomic_compare_exchange_n(&valid, &v, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(text, from, len);
	text_len = len;
	__atomic_store_n(&valid, seen, __ATOMIC_RELEASE);
}

static uint32_t read_cwd(char *to, size_t room)
{
	uint64_t seen = __atomic_load_n(&now, __ATOMIC_SEQ_CST);
	long len = sl_sys2(SYS_getcwd, to, room);

	/* "(unreachable)/..." is no path. */
	if (len < 2 || to[0] != '/')
		return 0;
	keep(to, (uint32_t)len - 1, seen);
	return (uint32_t)len - 1;
}

/* After a symbolic link, ".." cannot be resolved from the text. */
static bool goes_up(const char *path)
{
	for (const char *p = path; *p; p++)
		if (p[0] == '.' && p[1] == '.' && (p == path || p[-1] == '/') &&
		    (!p[2] || p[2] == '/'))
			return true;
	return false;
}

const char *sl_cwd_join(const char *path, char *to, size_t room)
{
	size_t tail;
	uint32_t len;

	if (goes_up(path))
		return NULL;
	len = copy_cached(to, room);
	if (!len)
		len = read_cwd(to, room);
	if (!len)
		return NULL;
	while (path[0] == '.' && path[1] == '/')
		for (path++; *path == '/';)
			path++;
	if (path[0] == '.' && !path[1])
		path++;
	if (*path && to[len - 1] != '/')
		to[len++] = '/';
	tail = strlen(path) + 1;
	if (tail > room - len)
		return NULL;
	memcpy(to + len, path, tail);
	return to;
}

/* ---- calls that change it: the cache is invalidated whether or not they are recorded ---- */

#define WRAP_CWD(name, params, args, leave)      \
	SL_WRAPPER(int, name, params)            \
	{                                        \
		SL_REAL(NEG, int, name, params); \
		struct sl_call call;             \
		int rc;                          \
		if (!sl_enter(&call)) {          \
			rc = real args;          \
			sl_cwd_invalidate();     \
			return rc;               \
		}                                \
		rc = real args;                  \
		sl_stop(&call);                  \
		sl_cwd_invalidate();             \
		leave;                           \
		return rc;                       \
	}
#define LEAVE_PATH(name) \
	sl_leave_path(&call, SL_H_##name, rc, rc == -1, -1, 0, sl_safe_path(rc == -1, path))
WRAP_CWD(chdir, (const char *path), (path), LEAVE_PATH(chdir))
WRAP_CWD(chroot, (const char *path), (path), LEAVE_PATH(chroot))
WRAP_CWD(pivot_root, (const char *path, const char *old), (path, old), LEAVE_PATH(pivot_root))
WRAP_CWD(fchdir, (int fd), (fd), sl_leave_fd(&call, SL_H_fchdir, rc, rc == -1, fd))

/* libc's tree walkers change it by calls that are not intercepted: the cache is disabled. */
#define WRAP_NFTW(name)                                                                    \
	SL_WRAPPER(int, name, (const char *path, void *fn, int cnt, int flags))            \
	{                                                                                  \
		SL_REAL(NEV, int, name, (const char *, void *, int, int));                 \
		struct sl_call call;                                                       \
		int rc;                                                                    \
		if (flags & 4 /* FTW_CHDIR */)                                             \
			sl_cwd_disable();                                                  \
		if (!sl_enter(&call))                                                      \
			return real(path, fn, cnt, flags);                                 \
		rc = real(path, fn, cnt, flags);                                           \
		sl_stop(&call);                                                            \
		sl_leave_path(&call, SL_H_##name, rc, false, -1, 0, sl_probed_path(path)); \
		return rc;                                                                 \
	}
WRAP_NFTW(nftw)
WRAP_NFTW(nftw64)

#define WRAP_FTS(name)                                                           \
	SL_WRAPPER(void *, name, (char *const *paths, int flags, void *compare)) \
	{                                                                        \
		SL_REAL(NUL, void *, name, (char *const *, int, void *));        \
		struct sl_call call;                                             \
		void *rc;                                                        \
		if (!(flags & 4 /* FTS_NOCHDIR */))                              \
			sl_cwd_disable();                                        \
		if (!sl_enter(&call))                                            \
			return real(paths, flags, compare);                      \
		rc = real(paths, flags, compare);                                \
		sl_stop(&call);                                                  \
		sl_leave_call(&call, SL_H_##name, SL_INT(rc), !rc);              \
		return rc;                                                       \
	}
WRAP_FTS(fts_open)
WRAP_FTS(fts64_open)
