/*
 * pyfind.c - finds CPython by symbols that the executable (for its extension modules, even if stripped) or libpython
 * exports, and the thread states of the calling thread. Other implementations of Python lack these symbols.
 */
#include "preload/unwind/pyfind.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "preload/base/resolve.h"
#include "preload/base/state.h"
#include "preload/base/object.h"
#include "preload/unwind/pystack.h"
#include "preload/wire/sys.h"

#define PYTHON_MAX      4u /* in sequence, if they are unloaded */
#define INTERPRETER_MAX 1000u
#define THREAD_MAX      20000u
#define LOOKS_MAX       128u /* thread states read, by one system call each */

static struct sl_python pythons[PYTHON_MAX];
static uint32_t python_cnt;
static const struct sl_python *python; /* stored with release, read with acquire */
static uint32_t is_stale = 1, is_searching, may_be_loading;
static unsigned long long adds, subs; /* the loader's counts at the last search */
static const char *note;              /* for the user, not recorded yet */

/* ---- the interpreter ---- */

/* PY_VERSION_HEX from "3.9.18 (main, ...": of the part after the numbers only alpha or beta matters. */
static uint32_t read_version(const char *text)
{
	uint32_t number[3] = {0, 0, 0};

	for (unsigned i = 0; i < 3; i++) {
		for (; *text >= '0' && *text <= '9'; text++)
			number[i] = number[i] * 10 + (uint32_t)(*text - '0');
		if (*text == '.')
			text++;
	}
	return (number[0] & 0xff) << 24 | (number[1] & 0xff) << 16 | (number[2] & 0xff) << 8 |
	       (*text == 'a' || *text == 'b' ? 0xa0 : 0xf0);
}

struct search {
	struct sl_python python;
	uint32_t hex; /* 0: none */
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	const unsigned long *version;
	const char *(*text)(void);
	struct sl_object o;

	(void)size;
	adds = info->dlpi_adds;
	subs = info->dlpi_subs;
	if (!sl_object_open(&o, info))
		return 0;
	search->python.of_thread =
		(void *(*)(void))sl_object_find(&o, "PyGILState_GetThisThreadState");
	text = (const char *(*)(void))sl_object_find(&o, "Py_GetVersion");
	if (!search->python.of_thread || !text)
		return 0;
	search->python.runtime = sl_object_find(&o, "_PyRuntime");
	search->python.code_type = sl_object_find(&o, "PyCode_Type");
	search->python.current = (void *(*)(void))sl_object_find(&o, "_PyThreadState_UncheckedGet");
	version = sl_object_find(&o, "Py_Version");
	search->hex = version ? (uint32_t)*version : read_version(text());
	return 1;
}

static void note_unknown(uint32_t hex)
{
	static const char rest[] = ": where its stacks lie is not known, so they are missing";
	static char text[sizeof("say Python 3.99") + sizeof(rest)];
	uint32_t minor = hex >> 16 & 0xff;
	char *at = stpcpy(text, "say Python 3.");

	if (hex >> 24 != 3 || minor > 99)
		return;
	memcpy(sl_put_number(at, minor), rest, sizeof(rest));
	/* Release: the reader of the pointer reads the text. */
	__atomic_store_n(&note, text, __ATOMIC_RELEASE);
}

const char *sl_pystack_take_note(void)
{
	if (sl_likely(!__atomic_load_n(&note, __ATOMIC_RELAXED)))
		return NULL;
	return __atomic_exchange_n(&note, NULL, __ATOMIC_ACQUIRE);
}

static bool is_same(const struct sl_python *a, const struct sl_python *b)
{
	return a && a->runtime == b->runtime && a->code_type == b->code_type &&
	       a->of_thread == b->of_thread && a->at.version == b->at.version;
}

static void search(void)
{
	static uint32_t noted;
	struct search found = {.hex = 0};
	const struct sl_python *now = NULL;

	dl_iterate_phdr(visit_object, &found);
	if (found.hex) {
		struct sl_python *p = &found.python;

		if (!p->runtime || !p->code_type ||
		    !sl_pylayout_get(&p->at, found.hex, p->runtime) ||
		    (p->at.lock && !p->current)) {
			if (noted != found.hex && sl_global.session)
				note_unknown(found.hex);
			noted = found.hex;
		} else if (is_same(python, p)) {
			now = python;
		} else if (python_cnt < PYTHON_MAX) {
			pythons[python_cnt] = *p;
			now = &pythons[python_cnt++];
		}
	}
	__atomic_store_n(&python, now, __ATOMIC_RELEASE);
}

static int has_changed(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(bool *)arg = info->dlpi_adds != adds || info->dlpi_subs != subs;
	return 1;
}

const struct sl_python *sl_python_get(void)
{
	const struct sl_python *py = __atomic_load_n(&python, __ATOMIC_ACQUIRE);
	bool changed = __atomic_load_n(&is_stale, __ATOMIC_RELAXED);

	if (sl_likely(!changed && (py || !__atomic_load_n(&may_be_loading, __ATOMIC_RELAXED))))
		return py;
	if (!changed)
		dl_iterate_phdr(has_changed, &changed);
	if (!changed)
		return py;
	/* Another thread is searching: this stack gets no Python frames. */
	if (__atomic_exchange_n(&is_searching, 1, __ATOMIC_ACQUIRE))
		return NULL;
	__atomic_store_n(&is_stale, 0, __ATOMIC_SEQ_CST);
	search();
	__atomic_store_n(&is_searching, 0, __ATOMIC_RELEASE);
	return __atomic_load_n(&python, __ATOMIC_ACQUIRE);
}

const struct sl_python *sl_python_known(void)
{
	return __atomic_load_n(&is_stale, __ATOMIC_RELAXED)
		       ? NULL
		       : __atomic_load_n(&python, __ATOMIC_ACQUIRE);
}

static bool is_wanted(void)
{
	const uint32_t kinds = SL_STACK_OSRT_PYTHON | SL_STACK_GPU_PYTHON;

	return sl_global.session && sl_global.session->stack_kinds & kinds;
}

void sl_pystack_rescan(bool is_loading)
{
	/* Release: a thread that searches finds objects loaded before. */
	__atomic_store_n(&is_stale, 1, __ATOMIC_RELEASE);
	if (is_loading)
		__atomic_store_n(&may_be_loading, 1, __ATOMIC_RELAXED);
	else if (is_wanted())
		/* Here rather than inside a later call, as it takes the loader's lock. */
		sl_python_get();
}

void sl_pystack_forked(void)
{
	/* Another thread of the parent may have been searching. */
	if (__atomic_exchange_n(&is_searching, 0, __ATOMIC_RELAXED))
		__atomic_store_n(&is_stale, 1, __ATOMIC_RELAXED);
}

/* ---- the thread ---- */

static const char *frame_of(const struct sl_python *py, const char *thread)
{
	const char *p = sl_python_load(thread + py->at.current);

	if (py->at.base && p == sl_python_load(thread + py->at.base))
		return NULL;
	if (!py->at.has_cframe)
		return p;
	return sl_python_is_pointer(p) ? sl_python_load(p + py->at.cframe_current) : NULL;
}

/* Frames of the thread, which has a state in each interpreter that it has been in. */
struct states {
	const char *first, *present; /* the state in its slot; the state that it runs in */
	const char *frames[SL_PYTHON_NESTED];
	unsigned cnt;
};

static void add_frames(struct states *s, const char *state, const char *frames)
{
	unsigned at = s->cnt;

	if (!frames)
		return;
	if (state == s->present) {
		/* First. */
		at = 0;
		if (s->cnt == SL_PYTHON_NESTED)
			s->cnt--;
		memmove(s->frames + 1, s->frames, s->cnt * sizeof(s->frames[0]));
	} else if (s->cnt == SL_PYTHON_NESTED) {
		return;
	}
	s->frames[at] = frames;
	s->cnt++;
}

/*
 * Reads words of an object that another thread may free, by a system call, which fails then. Words of a freed object are
 * rejected later, or lead to a state of another thread.
 */
static bool read_words(const char *object, const uint32_t *offsets, unsigned cnt,
		       const char **words)
{
	struct iovec here = {words, cnt * sizeof(words[0])}, there[4];

	for (unsigned i = 0; i < cnt; i++)
		there[i] = (struct iovec){(char *)(uintptr_t)object + offsets[i], sizeof(words[0])};
	return sl_sys6(SYS_process_vm_readv, sl_sys0(SYS_getpid), (long)&here, 1, (long)there, cnt,
		       0) == (long)here.iov_len;
}

/* From 3.12 on the thread's slot has the state that it runs in; the others are found without the lock of their list. */
static void find_outer(const struct sl_python *py, struct states *s)
{
	const struct sl_pylayout *at = &py->at;
	const uint32_t of_interpreter[] = {at->next_interpreter, at->threads};
	const uint32_t of_thread[] = {at->next_thread, at->thread_id, at->current,
				      at->base ? at->base : at->current};
	const char *i = sl_python_load(py->runtime + at->interpreters), *interpreter[4] = {NULL},
		   *t[4] = {NULL};
	const char *me = (const char *)pthread_self();
	uint32_t left = LOOKS_MAX;

	for (; sl_python_is_pointer(i) && left && read_words(i, of_interpreter, 2, interpreter);
	     i = interpreter[0])
		for (const char *state = interpreter[1];
		     sl_python_is_pointer(state) && left-- && read_words(state, of_thread, 4, t);
		     state = t[0]) {
			const char *frame = t[2];

			if (t[1] != me || state == s->first || (at->base && frame == t[3]))
				continue;
			if (at->has_cframe && (!sl_python_is_pointer(frame) ||
					       !read_words(frame, &at->cframe_current, 1, &frame)))
				continue;
			add_frames(s, state, frame);
		}
}

/*
 * Up to 3.11 a thread's slot keeps its first state, even while it runs in another interpreter. The state it runs in is the
 * current one if the thread holds the lock; else, of those with frames, that of the newest interpreter.
 */
static void find_all(const struct sl_python *py, struct states *s)
{
	const struct sl_pylayout *at = &py->at;
	const char *i = sl_python_load(py->runtime + at->interpreters);
	uint32_t threads = 0, interpreters = 0;

	s->present = py->current();
	s->cnt = 0;
	for (; i && interpreters++ < INTERPRETER_MAX; i = sl_python_load(i + at->next_interpreter))
		for (const char *t = sl_python_load(i + at->threads); t && threads++ < THREAD_MAX;
		     t = sl_python_load(t + at->next_thread))
			if (*(const unsigned long *)(t + at->thread_id) ==
			    (unsigned long)pthread_self())
				add_frames(s, t, frame_of(py, t));
}

static void find_locked(const struct sl_python *py, struct states *s)
{
	int (*take)(sem_t *), (*give)(sem_t *);
	sem_t *lock;
	int err;

	if (py->current() == s->first)
		return;
	/* Several interpreters, and this thread is not in its first one: only now the lock of their list is needed. */
	lock = (sem_t *)sl_python_load(py->runtime + py->at.lock);
	take = (int (*)(sem_t *))sl_get_real(SL_H_sem_trywait);
	give = (int (*)(sem_t *))sl_get_real(SL_H_sem_post);
	err = errno;
	if (lock && take && give && take(lock) == 0) {
		find_all(py, s);
		give(lock);
	}
	errno = err;
}

unsigned sl_python_frames(const struct sl_python *py, const char *frames[SL_PYTHON_NESTED])
{
	const char *first = py->of_thread(), *head, *ends;
	struct states s = {.first = first, .present = first};

	if (!first)
		return 0;
	/* A thread that finalizes Python frees the states of the others. */
	ends = sl_python_load(py->runtime + py->at.finalizing);
	if (ends && ends != first)
		return 0;
	add_frames(&s, first, frame_of(py, first));
	head = sl_python_load(py->runtime + py->at.interpreters);
	if (sl_unlikely(head && sl_python_load(head + py->at.next_interpreter))) {
		if (py->at.lock)
			find_locked(py, &s);
		else if (!sl_global.seccomp)
			find_outer(py, &s);
	}
	memcpy(frames, s.frames, s.cnt * sizeof(frames[0]));
	return s.cnt;
}

const char *sl_python_frame(const struct sl_python *py)
{
	const char *frames[SL_PYTHON_NESTED];

	return sl_python_frames(py, frames) ? frames[0] : NULL;
}
