/*
 * wrap_lock.c - locks, semaphores, condition variables. The try function is called first: an uncontended lock is
 * counted without reading the clock; a contended one is timed and recorded, however short the wait.
 *
 * The program cannot observe the try call: for every kind of mutex and rwlock the try function either takes the lock
 * as the blocking one would (also with EOWNERDEAD), or fails; on EBUSY the blocking function decides (EDEADLK for an
 * owner, for instance).
 */
#include "preload/python/python_gil.h"
#include "preload/libc/wrap.h"

#include <pthread.h>
#include <time.h>

/*
 * A normal mutex in a process in which no other thread has made a traced call is uncontended. The real lock function is
 * called then: for a single thread, glibc avoids the atomic operation.
 */
static inline bool is_alone(const void *mutex)
{
	return sl_proc.thread_cnt == 1 && sl_tls.cookie == sl_proc.cookie &&
	       ((const pthread_mutex_t *)mutex)->__data.__kind == PTHREAD_MUTEX_TIMED_NP;
}

#define MUTEX_IS_SHARED 128 /* PTHREAD_MUTEX_PSHARED_BIT of glibc */

/* The thread that has a lock, 0: it has been released meanwhile, or processes share it. */
static inline uint32_t mutex_owner(const void *lock)
{
	const pthread_mutex_t *m = lock;

	if (sl_global.is_opaque || m->__data.__kind & MUTEX_IS_SHARED)
		return 0;
	return (uint32_t)__atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED);
}

/* Readers are not known. */
static inline uint32_t rwlock_owner(const void *lock)
{
	const pthread_rwlock_t *l = lock;

	if (sl_global.is_opaque || l->__data.__shared)
		return 0;
	return (uint32_t)__atomic_load_n(&l->__data.__cur_writer, __ATOMIC_RELAXED);
}

static inline uint32_t no_owner(const void *lock)
{
	(void)lock;
	return 0;
}

#define WRAP_LOCK(name, try_name, params, args, obj, is_mine, owner_of)   \
	static __attribute__((noinline)) int contended_##name params      \
	{                                                                 \
		SL_REAL(NUM, int, name, params);                          \
		uint32_t owner = owner_of(obj);                           \
		struct sl_call call;                                      \
		int rc;                                                   \
		if (!sl_enter(&call))                                     \
			return real args;                                 \
		rc = real args;                                           \
		sl_stop(&call);                                           \
		sl_leave_lock(&call, SL_H_##name, rc, false, obj, owner); \
		return rc;                                                \
	}                                                                 \
	SL_THIN_WRAPPER(int, name, params, args)                          \
	{                                                                 \
		int (*try)(void *);                                       \
		int rc;                                                   \
		if (is_mine) {                                            \
			SL_REAL(NUM, int, name, params);                  \
			sl_count_only(SL_H_##name, 0);                    \
			return real args;                                 \
		}                                                         \
		try = sl_get_real(SL_H_##try_name);                       \
		rc = try ? try(obj) : EBUSY;                              \
		if (sl_unlikely(rc == EBUSY || rc == EAGAIN))             \
			return contended_##name args;                     \
		sl_count_only(SL_H_##name, 0);                            \
		return rc;                                                \
	}
#define T  const struct timespec *t
#define ID clockid_t id
WRAP_LOCK(pthread_mutex_lock, pthread_mutex_trylock, (void *l), (l), l, is_alone(l), mutex_owner)
WRAP_LOCK(pthread_mutex_timedlock, pthread_mutex_trylock, (void *l, T), (l, t), l, false,
	  mutex_owner)
WRAP_LOCK(pthread_mutex_clocklock, pthread_mutex_trylock, (void *l, ID, T), (l, id, t), l, false,
	  mutex_owner)
WRAP_LOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, (void *l), (l), l, false, rwlock_owner)
WRAP_LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, (void *l, T), (l, t), l, false,
	  rwlock_owner)
WRAP_LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, (void *l, ID, T), (l, id, t), l,
	  false, rwlock_owner)
WRAP_LOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, (void *l), (l), l, false, rwlock_owner)
WRAP_LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, (void *l, T), (l, t), l, false,
	  rwlock_owner)
WRAP_LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, (void *l, ID, T), (l, id, t), l,
	  false, rwlock_owner)
WRAP_LOCK(pthread_spin_lock, pthread_spin_trylock, (void *l), (l), l, false, no_owner)

/* The try functions never wait: counted. */
#define WRAP_TRY(name)                             \
	SL_THIN_WRAPPER(int, name, (void *l), (l)) \
	{                                          \
		SL_REAL(NUM, int, name, (void *)); \
		sl_count_only(SL_H_##name, 0);     \
		return real(l);                    \
	}
WRAP_TRY(pthread_mutex_trylock)
WRAP_TRY(pthread_rwlock_tryrdlock)
WRAP_TRY(pthread_rwlock_trywrlock)
WRAP_TRY(pthread_spin_trylock)

SL_THIN_WRAPPER(int, sem_trywait, (void *s), (s))
{
	SL_REAL(NEG, int, sem_trywait, (void *));
	sl_count_only(SL_H_sem_trywait, 0);
	return real(s);
}

/* Semaphores fail through errno: the EAGAIN of a failed try is undone. */
#define WRAP_SEM(name, params, args)                                   \
	SL_THIN_WRAPPER(int, name, params, args)                       \
	{                                                              \
		SL_REAL(NEG, int, name, params);                       \
		int (*try)(void *) = sl_get_real(SL_H_sem_trywait);    \
		struct sl_call call;                                   \
		int rc, kept = errno;                                  \
		if (try && try(s) == 0) {                              \
			sl_count_only(SL_H_##name, 0);                 \
			return 0;                                      \
		}                                                      \
		errno = kept;                                          \
		if (!sl_enter(&call))                                  \
			return real args;                              \
		rc = real args;                                        \
		sl_stop(&call);                                        \
		sl_leave_lock(&call, SL_H_##name, rc, rc == -1, s, 0); \
		return rc;                                             \
	}
WRAP_SEM(sem_wait, (void *s), (s))
WRAP_SEM(sem_timedwait, (void *s, T), (s, t))
WRAP_SEM(sem_clockwait, (void *s, clockid_t id, T), (s, id, t))

/*
 * Condition variables: the exports have the version of today's ABI (libtrace.map); a program bound to the
 * older one bypasses the wrappers.
 */
#define WRAP_COND(name, params, args, is_gil, note)                         \
	SL_THIN_WRAPPER_UNLESS(is_gil, int, name, params, args)             \
	{                                                                   \
		SL_REAL(NUM, int, name, params);                            \
		struct sl_call call;                                        \
		int rc;                                                     \
		if (is_gil)                                                 \
			note;                                               \
		if (!sl_enter(&call))                                       \
			return real args;                                   \
		rc = real args;                                             \
		sl_stop(&call);                                             \
		if (!sl_short(&call, SL_H_##name, false, 0, false))         \
			sl_leave_lock(&call, SL_H_##name, rc, false, c, 0); \
		return rc;                                                  \
	}
WRAP_COND(pthread_cond_wait, (void *c, void *m), (c, m), false, (void)0)
WRAP_COND(pthread_cond_timedwait, (void *c, void *m, T), (c, m, t), sl_gil_is_known(),
	  sl_gil_waits(c))
WRAP_COND(pthread_cond_clockwait, (void *c, void *m, ID, T), (c, m, id, t), false, (void)0)
WRAP_COND(pthread_barrier_wait, (void *c), (c), false, (void)0)

/*
 * Calls that wake other threads never wait, and most have no waiter (each hand-over of Python's global lock is
 * one): these are only counted, like an uncontended lock. The others enter the kernel and are timed; they get a record
 * from one microsecond on, which --osrt-threshold can raise, not lower.
 */
static inline bool has_no_waiter(const void *cond)
{
	uint32_t at = sl_global.cond_wrefs_at;

	/* The three lowest bits are flags. */
	return at &&
	       __atomic_load_n((const uint32_t *)((const char *)cond + at), __ATOMIC_RELAXED) >>
			       3 ==
		       0;
}

/* The high half of a semaphore's first word counts waiters (glibc 2.21 and later, 64 bits). */
static inline bool sem_has_no_waiter(const void *sem)
{
	return !sl_global.is_opaque &&
	       __atomic_load_n((const uint64_t *)sem, __ATOMIC_RELAXED) >> 32 == 0;
}

#define WRAP_SIGNAL(fail, name, is_idle, is_gil)                                         \
	SL_THIN_WRAPPER_UNLESS(is_gil, int, name, (void *c), (c))                        \
	{                                                                                \
		SL_REAL(fail, int, name, (void *));                                      \
		struct sl_call call;                                                     \
		bool failed;                                                             \
		int rc;                                                                  \
		if (is_gil)                                                              \
			sl_gil_signals(c);                                               \
		if (sl_likely(is_idle(c))) {                                             \
			sl_count_only(SL_H_##name, 0);                                   \
			return real(c);                                                  \
		}                                                                        \
		if (!sl_enter(&call))                                                    \
			return real(c);                                                  \
		rc = real(c);                                                            \
		sl_stop(&call);                                                          \
		failed = SL_FAILED_##fail(rc);                                           \
		if (!sl_shorter(&call, SL_H_##name, sl_tls.signal_threshold, 0, failed)) \
			sl_leave_lock(&call, SL_H_##name, rc, failed, c, 0);             \
		return rc;                                                               \
	}
WRAP_SIGNAL(NUM, pthread_cond_signal, has_no_waiter, sl_gil_is_known())
WRAP_SIGNAL(NUM, pthread_cond_broadcast, has_no_waiter, false)
WRAP_SIGNAL(NEG, sem_post, sem_has_no_waiter, false)

/* Where glibc keeps the number of a thread, behind its pthread_t: 0 once the thread has ended. */
#if defined(__x86_64__)
#define TID_AT 720
#else
#define TID_AT 208
#endif

static inline uint32_t tid_of(pthread_t t)
{
	return __atomic_load_n((const uint32_t *)((uintptr_t)t + TID_AT), __ATOMIC_RELAXED);
}

/* The thread that a call waits for, which looks at this number, too; 0: it has ended, or its number lies elsewhere. */
static inline uint32_t joined(pthread_t t)
{
	if (sl_global.is_opaque || !t || tid_of(pthread_self()) != sl_tls.slot->tid)
		return 0;
	return tid_of(t);
}

#define WRAP_JOIN(name, params, args)                                                       \
	SL_WRAPPER(int, name, params)                                                       \
	{                                                                                   \
		SL_REAL(NUM, int, name, params);                                            \
		struct sl_call call;                                                        \
		uint32_t tid;                                                               \
		int rc;                                                                     \
		if (!sl_enter(&call))                                                       \
			return real args;                                                   \
		tid = joined(t);                                                            \
		rc = real args;                                                             \
		sl_stop(&call);                                                             \
		if (!sl_short(&call, SL_H_##name, false, 0, false))                         \
			sl_leave_lock(&call, SL_H_##name, rc, false, (const void *)t, tid); \
		return rc;                                                                  \
	}
WRAP_JOIN(pthread_join, (pthread_t t, void **ret), (t, ret))
WRAP_JOIN(pthread_timedjoin_np, (pthread_t t, void **ret, const void *ts), (t, ret, ts))
WRAP_JOIN(pthread_clockjoin_np, (pthread_t t, void **ret, clockid_t id, const void *ts),
	  (t, ret, id, ts))

SL_WRAPPER(int, pthread_setname_np, (pthread_t t, const char *name))
{
	SL_REAL(NUM, int, pthread_setname_np, (pthread_t, const char *));
	struct sl_call call;
	bool traced;
	int rc;

	traced = sl_enter(&call);
	rc = real(t, name);
	if (traced)
		sl_stop(&call);
	/* Also while the gate is closed. The collector reads another thread's name from the kernel. */
	if (rc == 0 && pthread_self() == t && sl_ready())
		strncpy(sl_tls.slot->comm, name, SL_COMM_BYTES - 1);
	if (traced)
		sl_leave_call(&call, SL_H_pthread_setname_np, rc, false);
	return rc;
}
