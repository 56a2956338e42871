/* sample_python_outside.c - from _PyRuntime to the frames of a thread, by process_vm_readv(). */
#include "collector/kernel/sample/sample_python_outside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/now.h"
#include "collector/kernel/sample/sample_python_frames.h"

#define IN_TIME_NS  500000
#define WAITED_MOST 20000u /* ns */
#define STATES_MOST 8192u
#define OBJECT_MOST 512u /* bytes of a code object, of a frame */
#define FRAME_MOST  256u
#define OTHER_NS    INT64_C(1000000)
#define NONE_NS     INT64_C(50000000)
#define TRIES       3   /* while a thread changes its frames */
#define KNOWN       64u /* processes; the one asked for longest ago gives way */
#define SECOND      (1u << 30)
#define AGAIN_NS    INT64_C(20000000) /* a Python may be loaded later; doubled each time */
/* Where glibc keeps the number of a thread, behind the id that Python knows it by. */
#if defined(__x86_64__)
#define TID_AT 720u
#else
#define TID_AT 208u
#endif

struct walk {
	const struct sl_pylayout *at;
	uint32_t pid, tid;
	uint64_t *words;
	uint32_t cnt;                 /* frames */
	uint64_t marks, state, first; /* the innermost frame of the first state of the thread */
	uint64_t previous;            /* of the frame that was read last */
};

static uint64_t load(const struct walk *w, uint64_t address)
{
	uint64_t value = 0;

	return pycode_read(w->pid, address, &value, sizeof(value)) ? value : 0;
}

uint32_t pyoutside_tid(uint32_t pid, uint64_t id)
{
	uint32_t tid = 0;

	return id && pycode_read(pid, id + TID_AT, &tid, sizeof(tid)) ? tid : 0;
}

static bool is_thread(const struct walk *w, uint64_t id)
{
	return id && pyoutside_tid(w->pid, id) == w->tid;
}

static uint64_t frame_of(const struct walk *w, uint64_t state)
{
	uint64_t frame = load(w, state + w->at->current);

	if (w->at->base && frame == load(w, state + w->at->base))
		return 0;
	return w->at->has_cframe && frame ? load(w, frame + w->at->cframe_current) : frame;
}

static void put(struct walk *w, uint64_t code, uint64_t instruction, uint64_t check)
{
	uint64_t *to = &w->words[PYSAMPLE_HEAD_WORDS + PYSAMPLE_FRAME_WORDS * w->cnt++];

	to[0] = code;
	to[1] = instruction;
	to[2] = check;
}

static uint64_t word_in(const uint8_t *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* 0: it cannot be read. */
static uint64_t check_of(const struct walk *w, uint64_t code)
{
	const struct sl_pylayout *at = w->at;
	uint8_t object[OBJECT_MOST];
	size_t size = pycode_size(at);
	uint32_t first_line;

	if (size > sizeof(object) || !pycode_read(w->pid, code, object, size))
		return 0;
	memcpy(&first_line, object + at->first_line, sizeof(first_line));
	return pysample_check(word_in(object, at->name), word_in(object, at->line_table),
			      word_in(object, at->file), first_line);
}

/* In the original bytecode, as instruction_of() of pywalk.h has it. */
static uint64_t instruction_of(const struct walk *w, uint64_t frame, uint64_t code,
			       uint64_t instruction)
{
	const struct sl_pylayout *at = w->at;
	uint64_t copies = at->copies ? load(w, code + at->copies) : 0;
	int32_t number;

	if (!copies)
		return instruction;
	number = (int32_t)load(w, frame + at->copy_number);
	if (number < 0 || number >= (int64_t)load(w, copies))
		return 0;
	return instruction - load(w, copies + 8 + 8 * (uint64_t)number) + code + at->bytecode;
}

/* Bytes of a frame that are read. */
static size_t frame_bytes(const struct sl_pylayout *at)
{
	size_t most = at->instruction;

	most = at->previous > most ? at->previous : most;
	most = at->code > most ? at->code : most;
	most = at->is_entry > most ? at->is_entry : most;
	most = at->owner > most ? at->owner : most;
	return most + sizeof(uint64_t);
}

/* False: it cannot be read. */
static bool put_frame(struct walk *w, uint64_t frame)
{
	const struct sl_pylayout *at = w->at;
	uint32_t flag_at = at->is_entry ? at->is_entry : at->owner;
	size_t bytes = frame_bytes(at);
	uint8_t object[FRAME_MOST], flag;
	uint64_t code, check, instruction;

	if (bytes > sizeof(object) || !pycode_read(w->pid, frame, object, bytes))
		return false;
	flag = flag_at ? object[flag_at] : 0;
	code = word_in(object, at->code) & ~UINT64_C(7);
	check = check_of(w, code);
	instruction = instruction_of(w, frame, code, word_in(object, at->instruction));
	if (at->owner && flag >= SL_PYLAYOUT_OWNED_BY_C)
		instruction = frame;
	put(w, (code & UINT64_MAX >> 8) | (uint64_t)flag << 56, instruction, check);
	w->previous = word_in(object, at->previous);
	return true;
}

/* All frames from the innermost one of an interpreter. */
static void read_frames(struct walk *w, uint64_t frame)
{
	for (; frame && w->cnt < PYSAMPLE_DEPTH; frame = w->previous)
		if (!put_frame(w, frame)) {
			w->marks |= PYSAMPLE_BROKEN;
			return;
		}
	if (frame)
		w->marks |= PYSAMPLE_DEEPER;
}

/* ---- states of threads ---- */

/* Those of all threads of a process, interpreter by interpreter. */
struct states {
	struct state {
		uint32_t tid;
		uint64_t address;
	} * list;
	size_t cnt, room;
	int64_t read; /* CLOCK_MONOTONIC */
};

static void list_states(const struct walk *w, struct states *s, uint64_t runtime)
{
	uint64_t interpreter = load(w, runtime + w->at->interpreters), state;
	uint32_t left = STATES_MOST;

	s->cnt = 0;
	s->read = mono_ns();
	for (; interpreter && left; interpreter = load(w, interpreter + w->at->next_interpreter)) {
		left--;
		state = load(w, interpreter + w->at->threads);
		for (; state && left; state = load(w, state + w->at->next_thread)) {
			left--;
			if (!grow(&s->list, s->cnt, &s->room, sizeof(*s->list)))
				return;
			s->list[s->cnt++] = (struct state){
				pyoutside_tid(w->pid, load(w, state + w->at->thread_id)), state};
		}
	}
}

enum found {
	FOUND_NONE,
	FOUND_OTHER, /* a state that was the thread's is no longer */
	FOUND_ALL,
};

static enum found read_thread(struct walk *w, const struct states *s)
{
	enum found found = FOUND_NONE;

	w->cnt = 0;
	w->marks = w->state = w->first = 0;
	for (size_t i = 0; i < s->cnt; i++) {
		uint64_t state = s->list[i].address, frame;

		if (s->list[i].tid != w->tid)
			continue;
		if (!is_thread(w, load(w, state + w->at->thread_id)))
			return FOUND_OTHER;
		found = FOUND_ALL;
		frame = frame_of(w, state);
		if (!frame)
			continue;
		if (!w->state) {
			w->state = state;
			w->first = frame;
		} else if (w->cnt < PYSAMPLE_DEPTH) {
			put(w, 0, PYSAMPLE_NEXT, 0);
		}
		read_frames(w, frame);
	}
	return found;
}

/* A thread that has no state may have got one since they were listed, some time ago. */
static bool is_old(const struct states *s, enum found found)
{
	int64_t age = mono_ns() - s->read;

	return (found == FOUND_OTHER && age > OTHER_NS) || (found == FOUND_NONE && age > NONE_NS);
}

static uint32_t read_all(const struct pyfind *of, uint32_t tid, uint64_t words[PYOUTSIDE_WORDS],
			 struct states *s)
{
	struct walk w = {.at = &of->from.at, .pid = of->from.pid, .tid = tid, .words = words};

	/* A thread that ends Python frees the data of the other threads. */
	if (!of->runtime || load(&w, of->runtime + w.at->finalizing))
		return 0;
	for (unsigned i = 0; i < TRIES; i++) {
		if (is_old(s, read_thread(&w, s))) {
			list_states(&w, s, of->runtime);
			read_thread(&w, s);
		}
		if (!w.state || frame_of(&w, w.state) == w.first)
			break;
	}
	memset(words, 0, PYSAMPLE_HEAD_WORDS * sizeof(*words));
	words[PYSAMPLE_HEAD_THREAD] = (uint64_t)w.pid << 32 | tid;
	words[PYSAMPLE_HEAD_CNT] = w.cnt | w.marks;
	return w.cnt;
}

uint32_t pyoutside_read(const struct pyfind *of, uint32_t tid, uint64_t words[PYOUTSIDE_WORDS])
{
	struct states s = {.cnt = 0};
	uint32_t cnt = read_all(of, tid, words, &s);

	free(s.list);
	return cnt;
}

bool pyoutside_put(const struct pyfind *of, uint64_t frame, uint64_t words[PYOUTSIDE_WORDS])
{
	struct walk w = {.at = &of->from.at,
			 .pid = of->from.pid,
			 .words = words,
			 .cnt = (uint32_t)words[PYSAMPLE_HEAD_CNT]};

	if (w.cnt >= PYSAMPLE_DEPTH) {
		words[PYSAMPLE_HEAD_CNT] |= PYSAMPLE_DEEPER;
		return false;
	}
	if (!put_frame(&w, frame))
		w.marks = PYSAMPLE_BROKEN;
	words[PYSAMPLE_HEAD_CNT] = w.cnt | w.marks;
	return !w.marks;
}

/* ---- processes ---- */

struct known {
	struct pyfind found;
	struct pycodes codes;
	int64_t used, again, wait; /* CLOCK_MONOTONIC: asked for last; a Python is sought again */
	struct states states;
};

struct pyoutside {
	struct sample_files *files;
	struct {
		int schedstat;   /* of this thread; -1: none */
		uint64_t waited; /* for a CPU, ns */
		int64_t until;   /* CLOCK_MONOTONIC: samples before are too old */
	} late;
	struct known known[KNOWN];
	bool remembers;  /* where the states of threads are */
	uint32_t serial; /* of all code objects */
	uint64_t nameless;
	uint64_t words[PYOUTSIDE_WORDS];
};

struct pyoutside *pyoutside_new(struct sample_files *files, bool is_second)
{
	struct pyoutside *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->files = files;
	o->late.schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	o->serial = is_second ? SECOND : 0;
	return o;
}

static void forget(struct known *k)
{
	pycodes_release(&k->codes);
	free(k->states.list);
	memset(k, 0, sizeof(*k));
}

void pyoutside_free(struct pyoutside *o)
{
	for (size_t i = 0; o && i < KNOWN; i++)
		forget(&o->known[i]);
	if (o && o->late.schedstat >= 0)
		close(o->late.schedstat);
	free(o);
}

void pyoutside_look(struct pyoutside *o)
{
	unsigned long long ran, waited = o->late.waited;
	char line[128];
	ssize_t len =
		o->late.schedstat < 0 ? 0 : pread(o->late.schedstat, line, sizeof(line) - 1, 0);

	line[len > 0 ? len : 0] = '\0';
	/* What is not known is late. */
	if (sscanf(line, "%llu %llu", &ran, &waited) != 2 || waited - o->late.waited > WAITED_MOST)
		o->late.until = mono_ns();
	o->late.waited = waited;
}

bool pyoutside_is_in_time(const struct pyoutside *o, int64_t ns)
{
	return ns >= o->late.until && mono_ns() - ns <= IN_TIME_NS;
}

void pyoutside_ended(struct pyoutside *o, uint32_t pid)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (o->known[i].found.from.pid == pid)
			forget(&o->known[i]);
}

static struct known *known_of(struct pyoutside *o, uint32_t pid, int64_t now)
{
	struct known *k = &o->known[0];

	for (size_t i = 0; i < KNOWN && k->found.from.pid != pid; i++)
		if (o->known[i].found.from.pid == pid || o->known[i].used < k->used)
			k = &o->known[i];
	if (k->found.from.pid != pid) {
		forget(k);
		k->found.from.pid = pid;
		k->wait = AGAIN_NS;
	}
	k->used = now;
	if (!k->found.runtime && now >= k->again) {
		pyfind_process(&k->found, o->files, pid);
		k->again = now + k->wait;
		k->wait *= 2;
	}
	return k;
}

unsigned pyoutside_frames(struct pyoutside *o, const struct sample_sink *sink, uint32_t pid,
			  uint32_t tid, uint64_t *frames)
{
	struct known *k = known_of(o, pid, mono_ns());

	return read_all(&k->found, tid, o->words, &k->states)
		       ? pyoutside_told(o, sink, pid, o->words, frames)
		       : 0;
}

bool pyoutside_place(struct pyoutside *o, uint32_t pid, uint32_t tid, uint64_t place[2])
{
	struct known *k = known_of(o, pid, mono_ns());
	const struct sl_pylayout *at = &k->found.from.at;
	struct walk w = {.at = at, .pid = pid, .tid = tid};
	uint64_t state = 0;

	for (size_t i = 0; i < k->states.cnt && !state; i++)
		if (k->states.list[i].tid == tid)
			state = k->states.list[i].address;
	if (!k->found.runtime || !state || !is_thread(&w, load(&w, state + at->thread_id)))
		return false;
	place[0] = frame_of(&w, state);
	place[1] = place[0] ? load(&w, place[0] + at->instruction) : 0;
	return true;
}

unsigned pyoutside_told(struct pyoutside *o, const struct sample_sink *sink, uint32_t pid,
			const uint64_t words[PYOUTSIDE_WORDS], uint64_t *frames)
{
	struct known *k = known_of(o, pid, mono_ns());
	const struct pyrecord record = {words, 0, UINT64_MAX};
	const struct pyframes_of of = {&k->found.from, &k->codes, &o->serial, &o->nameless};

	pyframes_meet(&of, &record);
	return pyframes_make(&of, &record, sink, frames);
}

const struct pyfind *pyoutside_python(struct pyoutside *o, uint32_t pid)
{
	const struct known *k = known_of(o, pid, mono_ns());

	return k->found.runtime ? &k->found : NULL;
}

uint64_t pyoutside_asyncio(struct pyoutside *o, uint32_t pid)
{
	return pyfind_asyncio(o->files, pid);
}

/* ---- the global interpreter lock ---- */

static bool is_first(const struct pyoutside_gil *list, unsigned cnt, uint64_t address)
{
	for (unsigned i = 0; i < cnt; i++)
		if (list[i].from == address)
			return false;
	return true;
}

static void read_gil(const struct walk *w, uint64_t address, struct pyoutside_gil *gil)
{
	const struct sl_pylayout *at = w->at;
	uint64_t holder = load(w, address + at->gil_holder);
	uint32_t locked = 0;

	*gil = (struct pyoutside_gil){.from = address, .to = address + SL_PYLAYOUT_GIL_BYTES};
	if (!pycode_read(w->pid, address + at->gil_locked, &locked, sizeof(locked)) ||
	    locked != 1 || !holder)
		return;
	gil->owner = pyoutside_tid(w->pid, load(w, holder + at->thread_id));
}

const struct sl_pylayout *pyoutside_layout(struct pyoutside *o, uint32_t pid)
{
	const struct pyfind *found = pyoutside_python(o, pid);

	return found ? &found->from.at : NULL;
}

unsigned pyoutside_gils(struct pyoutside *o, uint32_t pid,
			struct pyoutside_gil list[PYOUTSIDE_GILS])
{
	const struct known *k = known_of(o, pid, mono_ns());
	const struct sl_pylayout *at = &k->found.from.at;
	struct walk w = {.at = at, .pid = pid};
	uint64_t runtime = k->found.runtime, interpreter;
	unsigned cnt = 0;

	if (!runtime || !at->gil)
		return 0;
	if (at->version < SL_PYLAYOUT_OWN_GIL) {
		read_gil(&w, runtime + at->gil, &list[0]);
		return 1;
	}
	interpreter = load(&w, runtime + at->interpreters);
	for (unsigned i = 0; interpreter && i < STATES_MOST && cnt < PYOUTSIDE_GILS; i++) {
		uint64_t gil = load(&w, interpreter + at->gil);

		if (gil && is_first(list, cnt, gil))
			read_gil(&w, gil, &list[cnt++]);
		interpreter = load(&w, interpreter + at->next_interpreter);
	}
	return cnt;
}
