/*
 * fake_session [-r] [-g] [-c] [-t ns] [-q chunks] LIBTRACE PROGRAM [ARGUMENTS...] - runs a program with our
 * library and rings, but without a collector: what the program itself pays.
 *
 *   -r  gives full chunks back at once, unread: rings as warm as with an infinitely fast collector.
 *       Without it nothing is ever drained: the rings fill and then calls are dropped and counted.
 *   -g  calls of the CUDA runtime and driver (without CUPTI), not those of libc
 *   -c  the gate is closed: nothing is recorded
 *   -t  threshold in ns (0: every call gets a record), -q  chunks per arena (default 2048: 64 MiB)
 *
 * Figures: records, bytes of them, lost records. Exit status: the program's.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/session/session.h"
#include "preload/wire/arena.h"
#include "preload/wire/clock.h"

#include "figure.h"

enum {
	MAX_ARENAS = 64
};

static struct sl_arena *arena[MAX_ARENAS];
static int arena_cnt;
static uint64_t records, bytes, lost;

static uint64_t ticks_per_ms(void)
{
	uint64_t from = sl_mono_ns(), begun = sl_counter();

	while (sl_mono_ns() - from < 20000000)
		;
	return (sl_counter() - begun) / 20;
}

static void take_arena(int listen_fd)
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
	int fd, peer = accept(listen_fd, NULL, NULL);

	if (peer < 0)
		return;
	if (recvmsg(peer, &msg, 0) == sizeof(hello) && hello.kind == SL_HELLO_ARENA &&
	    CMSG_FIRSTHDR(&msg) && arena_cnt < MAX_ARENAS) {
		void *p;

		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
		p = mmap(NULL, SL_ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		if (p != MAP_FAILED)
			arena[arena_cnt++] = p;
	}
	close(peer);
}

static void count_chunk(const struct sl_chunk *c)
{
	uint32_t end = __atomic_load_n(&c->committed, __ATOMIC_ACQUIRE) / 8;

	for (uint32_t at = 0; at < end;) {
		uint32_t words = sl_head_words((uint32_t)(c->data[at + 1] >> 32));

		if (!words)
			break;
		records++;
		bytes += words * 8;
		at += words;
	}
}

static void give_back(struct sl_arena *a)
{
	uint32_t slots = __atomic_load_n(&a->fresh_slot, __ATOMIC_ACQUIRE);
	unsigned freed = 0;

	for (uint32_t i = 0; i < slots; i++) {
		struct sl_slot *s = &a->slot[i];

		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == SL_SLOT_FREE)
			continue;
		for (;;) {
			sl_ref ref = s->first_chunk;
			sl_ref next = __atomic_load_n(&sl_chunk_at(a, ref)->next, __ATOMIC_ACQUIRE);

			if (!next)
				break;
			s->first_chunk = next;
			sl_stack_push(&a->free_chunks, a->chunk_link, ref);
			__atomic_sub_fetch(&a->used_chunks, 1, __ATOMIC_RELAXED);
			freed++;
		}
	}
	if (freed) {
		__atomic_add_fetch(&a->freed_seq, 1, __ATOMIC_SEQ_CST);
	}
}

static void count_arena(struct sl_arena *a)
{
	for (uint32_t i = 0; i < a->fresh_slot; i++) {
		struct sl_slot *s = &a->slot[i];
		const struct sl_agg *agg = (const struct sl_agg *)sl_chunk_at(a, s->agg_chunk);

		if (s->state == SL_SLOT_FREE)
			continue;
		for (sl_ref ref = s->first_chunk; ref; ref = sl_chunk_at(a, ref)->next)
			count_chunk(sl_chunk_at(a, ref));
		for (unsigned h = 0; h < SL_HOOK_MAX; h++)
			lost += agg[h].lost_count;
	}
}

static int run(struct session *s, bool recycle, char **argv)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		char session[SESSION_VARIABLE_MAX];

		if (session_variable(s->dir, session, sizeof(session)) < 0)
			_exit(127);
		setenv(SL_SESSION_ENV, session, 1);
		setenv("LD_PRELOAD", s->control->preload_path, 1);
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		struct pollfd p = {s->listen_fd, POLLIN, 0};

		if (poll(&p, 1, recycle ? 1 : 20) > 0)
			take_arena(s->listen_fd);
		s->control->heartbeat++;
		for (int i = 0; recycle && i < arena_cnt; i++)
			give_back(arena[i]);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct sl_session settings = {.magic = SL_SESSION_MAGIC,
				      .wire_version = SL_WIRE_VERSION,
				      .bytes = sizeof(settings),
				      .clock_mode = SL_CLOCK_TSC,
				      .trace = SL_TRACE_OSRT,
				      .cuda_flags = SL_CUDA_NO_CUPTI,
				      .on_full = SL_FULL_DROP,
				      .gate = 1,
				      .epoch = 1,
				      .quota_chunks = 2048,
				      .collector_pid = (uint32_t)getpid(),
				      .state = SL_SESSION_ON};
	struct session s;
	bool recycle = false;
	double threshold = 0;
	char why[512], *lib;
	int c, rc;

	while ((c = getopt(argc, argv, "+rgct:q:")) != -1) {
		if (c == 'r')
			recycle = true;
		else if (c == 'c')
			settings.gate = 2;
		else if (c == 'g')
			settings.trace = SL_TRACE_CUDA;
		else if (c == 't')
			threshold = atof(optarg);
		else if (c == 'q')
			settings.quota_chunks = (uint32_t)atoi(optarg);
		else
			return 2;
	}
	if (argc - optind < 2)
		return 2;
	lib = realpath(argv[optind], NULL);
	if (!lib || strlen(lib) >= sizeof(settings.preload_path)) {
		fprintf(stderr, "fake_session: %s: %s\n", argv[optind], strerror(errno));
		return 2;
	}
	strcpy(settings.preload_path, lib);
	settings.threshold_ticks = settings.trace & SL_TRACE_OSRT
					   ? (uint64_t)(threshold * (double)ticks_per_ms() / 1e6)
					   : UINT64_MAX;
	if (session_create(&s, &settings, "/tmp/none", why, sizeof(why))) {
		fprintf(stderr, "fake_session: %s\n", why);
		return 1;
	}
	rc = run(&s, recycle, argv + optind + 1);
	for (int i = 0; i < arena_cnt; i++)
		count_arena(arena[i]);
	session_remove(&s);
	figure((double)records, (double)bytes, (double)lost);
	return rc;
}
