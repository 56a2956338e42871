/*
 * gate_host.h - a session without a collector, for tests of the gate: runs a program (tests/prog/gate.c) with the real
 * library, answers its capture ranges' requests, opens and closes when the program writes so, and reads the rings at the
 * end. Include after cmocka.
 */
#pragma once

#include <errno.h>
#include <libgen.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock_map.h"
#include "collector/session/session.h"
#include "preload/wire/arena.h"
#include "preload/wire/hooks.h"

#define ARENAS 16
#define ASKED  256
#define OPENS  4096

struct host {
	struct session session;
	struct sl_session *control;
	char base[4096]; /* the build folder */
	pid_t pid;
	int ask, answer;
	struct sl_arena *arena[ARENAS];
	int arenas;
	/* The requests: '+' or '-', by which process, for which range; the ranges that are open now. */
	struct {
		char what;
		uint32_t pid, range;
	} asked[ASKED], open[64];
	int asked_cnt, open_cnt;
	/* When the gate was open: ticks just before it opened and just after it closed. */
	struct {
		uint64_t from, to;
	} window[OPENS];
	int windows;
	bool mute; /* questions are not answered */
	void (*on_letter)(struct host *h, char letter);
	void (*on_threads)(struct host *h); /* 't': what to do while the threads run */
};

static inline bool host_is_open(const struct host *h)
{
	return h->control->gate & 1;
}

static inline void host_turn(struct host *h, bool open)
{
	if (host_is_open(h) == open)
		return;
	assert_in_range(h->windows, 0, OPENS - 1);
	if (open)
		h->window[h->windows].from = clock_ticks(h->control->clock_mode);
	__atomic_store_n(&h->control->gate, h->control->gate + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &h->control->gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	if (!open)
		h->window[h->windows++].to = clock_ticks(h->control->clock_mode);
}

static inline void host_start(struct host *h, struct sl_session settings)
{
	char why[512];

	memset(h, 0, sizeof(*h));
	settings.magic = SL_SESSION_MAGIC;
	settings.wire_version = SL_WIRE_VERSION;
	settings.bytes = sizeof(settings);
	settings.clock_mode = clock_mode_detect();
	settings.cuda_flags |= SL_CUDA_NO_CUPTI;
	settings.gate = 2;
	settings.epoch = 1;
	settings.quota_chunks = 4096;
	settings.collector_pid = (uint32_t)getpid();
	settings.state = SL_SESSION_ON;
	assert_true(readlink("/proc/self/exe", h->base, sizeof(h->base) - 1) > 0);
	for (int i = 0; i < 3; i++)
		*strrchr(h->base, '/') = 0;
	assert_true(snprintf(settings.preload_path, sizeof(settings.preload_path), "%s/libtrace.so",
			     h->base) < (int)sizeof(settings.preload_path));
	if (session_create(&h->session, &settings, "/tmp/none", why, sizeof(why)))
		fail_msg("%s", why);
	h->control = h->session.control;
}

static inline void host_exec(struct host *h, const char *what, const char *how, int ask, int answer)
{
	char program[4200], libs[4200], session[SESSION_VARIABLE_MAX];

	snprintf(program, sizeof(program), "%s/tests/prog/gate", h->base);
	snprintf(libs, sizeof(libs), "%s/tests/standin", h->base);
	if (session_variable(h->session.dir, session, sizeof(session)) < 0)
		_exit(127);
	setenv(SL_SESSION_ENV, session, 1);
	setenv("LD_PRELOAD", h->control->preload_path, 1);
	setenv("LD_LIBRARY_PATH", libs, 1);
	unsetenv("NVTX_INJECTION64_PATH");
	dup2(ask, 200);
	dup2(answer, 201);
	dup2(200, 100);
	dup2(201, 101);
	for (int fd = 3; fd < 256; fd++)
		if (fd != 100 && fd != 101)
			close(fd);
	execl(program, program, what, how, (char *)NULL);
	_exit(127);
}

/* The first range that opens opens the gate; when all of them have closed, it closes. */
static inline void host_answer(struct host *h, const struct sl_hello *hello)
{
	assert_in_range(h->asked_cnt, 0, ASKED - 1);
	h->asked[h->asked_cnt].what = hello->kind == SL_HELLO_OPEN ? '+' : '-';
	h->asked[h->asked_cnt].pid = hello->pid;
	h->asked[h->asked_cnt++].range = hello->range;
	if (h->mute)
		return;
	if (hello->kind == SL_HELLO_OPEN) {
		h->open[h->open_cnt].pid = hello->pid;
		h->open[h->open_cnt++].range = hello->range;
	} else {
		for (int i = 0; i < h->open_cnt; i++)
			if (h->open[i].pid == hello->pid && h->open[i].range == hello->range)
				h->open[i--] = h->open[--h->open_cnt];
	}
	host_turn(h, h->open_cnt > 0);
}

static inline void host_accept(struct host *h)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct sl_hello hello;
	struct iovec iov = {&hello, sizeof(hello)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	int fd, peer = accept(h->session.listen_fd, NULL, NULL);

	assert_true(peer >= 0);
	/* A command that lists this machine's sessions connects, too, and sends nothing. */
	if (recvmsg(peer, &msg, 0) != sizeof(hello)) {
		close(peer);
		return;
	}
	if (hello.kind == SL_HELLO_ARENA && CMSG_FIRSTHDR(&msg)) {
		void *p;

		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
		p = mmap(NULL, SL_ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_ptr_not_equal(p, MAP_FAILED);
		close(fd);
		assert_in_range(h->arenas, 0, ARENAS - 1);
		h->arena[h->arenas++] = p;
	} else if (hello.kind == SL_HELLO_OPEN || hello.kind == SL_HELLO_CLOSE) {
		host_answer(h, &hello);
		if (h->mute)
			return; /* stays open: no hang-up */
	}
	close(peer);
}

static inline bool host_letter(struct host *h)
{
	char letter;

	if (read(h->ask, &letter, 1) != 1)
		return false;
	if (h->on_letter)
		h->on_letter(h, letter);
	if (letter == 't') {
		h->on_threads(h);
	} else {
		if (letter == 'n')
			h->control->epoch++;
		host_turn(h, letter != 'c');
	}
	assert_int_equal(write(h->answer, &letter, 1), 1);
	return true;
}

/* Runs it to its end; its exit status. */
static inline int host_run(struct host *h, const char *what, const char *how)
{
	int ask[2], answer[2], status;

	assert_int_equal(pipe(ask) | pipe(answer), 0);
	fflush(NULL);
	h->pid = fork();
	assert_true(h->pid >= 0);
	if (!h->pid)
		host_exec(h, what, how, ask[1], answer[0]);
	close(ask[1]);
	close(answer[0]);
	h->ask = ask[0];
	h->answer = answer[1];
	for (bool talks = true; talks || !waitpid(h->pid, &status, WNOHANG);) {
		struct pollfd p[2] = {{h->session.listen_fd, POLLIN, 0},
				      {talks ? h->ask : -1, POLLIN, 0}};

		h->control->heartbeat += !h->mute;
		poll(p, 2, 20);
		if (p[0].revents)
			host_accept(h);
		else if (p[1].revents)
			talks = host_letter(h);
	}
	close(h->ask);
	close(h->answer);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void host_end(struct host *h)
{
	for (int i = 0; i < h->arenas; i++)
		munmap(h->arena[i], SL_ARENA_BYTES);
	session_remove(&h->session);
}

/* ---- records ---- */

struct record {
	uint64_t start;
	unsigned hook, shape, words, flags;
	const uint64_t *payload;
	const struct sl_slot *slot;
	const struct sl_arena *arena;
};
typedef void record_fn(void *to, const struct record *r);

static inline void host_chunk(struct sl_arena *a, const struct sl_slot *slot,
			      const struct sl_chunk *c, record_fn *fn, void *to)
{
	uint32_t end = __atomic_load_n(&c->committed, __ATOMIC_ACQUIRE) / 8;

	for (uint32_t at = 0; at < end;) {
		uint32_t head = (uint32_t)(c->data[at + 1] >> 32);
		unsigned words = sl_head_words(head), shape = sl_head_shape(head);
		struct record r = {.start = c->data[at],
				   .hook = sl_head_hook(head),
				   .shape = shape,
				   .words = words,
				   .flags = sl_head_flags(head),
				   .payload =
					   &c->data[at + 2 + !!(sl_head_flags(head) & SL_REC_LONG)],
				   .slot = slot,
				   .arena = a};

		/* Nothing torn: every record is whole and is of a kind that there is. */
		assert_in_range(words, 2, end - at);
		assert_in_range(shape, 0, SL_SHAPE_CNT - 1);
		if (shape < SL_SHAPE_META)
			assert_in_range(r.hook, 0, SL_HOOK_CNT - 1);
		assert_true(r.start >= a->born);
		fn(to, &r);
		at += words;
	}
}

static inline void host_records(struct host *h, record_fn *fn, void *to)
{
	for (int i = 0; i < h->arenas; i++)
		for (uint32_t k = 0; k < h->arena[i]->fresh_slot; k++) {
			const struct sl_slot *s = &h->arena[i]->slot[k];

			for (sl_ref ref = s->state == SL_SLOT_FREE ? 0 : s->first_chunk; ref;
			     ref = sl_chunk_at(h->arena[i], ref)->next)
				host_chunk(h->arena[i], s, sl_chunk_at(h->arena[i], ref), fn, to);
		}
}
