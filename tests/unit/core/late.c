/*
 * late.c - a library that came late: this program opens libtrace.so itself, as a thread that another process has started in it does,
 * and is the collector, too. Its calls are led to the wrappers, counted, and led back.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/report/db_test.h"

#include "collector/base/clock_map.h"
#include "collector/session/hello.h"
#include "collector/session/session.h"
#include "preload/wire/arena.h"
#include "preload/wire/hooks.h"
#include "preload/wire/late.h"

static void *library;
static int (*enter)(struct sl_late *);
static uint32_t next_gate = 2;

struct visit {
	struct session session;
	struct sl_arena *arena;
	struct sl_late late;
	pthread_t thread;
	int attendant;
};

static void *attend(void *late)
{
	enter(late);
	return NULL;
}

/* A session whose gate is closed. */
static void make_session(struct visit *v, uint32_t gate)
{
	struct sl_session settings = {.magic = SL_SESSION_MAGIC,
				      .wire_version = SL_WIRE_VERSION,
				      .bytes = sizeof(settings),
				      .clock_mode = clock_mode_detect(),
				      .trace = SL_TRACE_OSRT,
				      .threshold_ticks = UINT64_MAX,
				      .signal_threshold_ticks = UINT64_MAX,
				      .stack_ticks = UINT64_MAX,
				      .on_full = SL_FULL_DROP,
				      .quota_chunks = 4096,
				      .collector_pid = (uint32_t)getpid(),
				      .state = SL_SESSION_ON,
				      .gate = gate,
				      .epoch = 1};
	char why[512];

	memset(v, 0, sizeof(*v));
	v->attendant = -1;
	if (session_create(&v->session, &settings, "/tmp/none", why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(
		session_variable(v->session.dir, v->late.variable, sizeof(v->late.variable)), 0);
}

static void accept_one(struct visit *v, unsigned kind)
{
	struct pollfd p = {v->session.listen_fd, POLLIN, 0};
	struct hello h = {.fd = -1};
	int sock, got;

	assert_int_equal(poll(&p, 1, 20000), 1);
	sock = hello_accept(v->session.listen_fd);
	assert_true(sock >= 0);
	p.fd = sock;
	assert_int_equal(poll(&p, 1, 20000), 1);
	got = hello_receive(sock, &h);
	assert_int_equal(got, 1);
	assert_int_equal(h.kind, kind);
	if (h.fd >= 0) {
		v->arena = mmap(NULL, SL_ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, h.fd, 0);
		assert_ptr_not_equal(v->arena, MAP_FAILED);
		close(h.fd);
	}
	if (kind == SL_HELLO_ATTENDS)
		v->attendant = sock;
	else
		close(sock);
}

static uint32_t wait_state(const struct sl_late *late, uint32_t not_this)
{
	uint32_t state = not_this;

	for (int i = 0; i < 20000 && state == not_this; i++) {
		state = __atomic_load_n(&late->state, __ATOMIC_ACQUIRE);
		if (state == not_this)
			usleep(1000);
	}
	return state;
}

static void come_in(struct visit *v)
{
	make_session(v, next_gate);
	next_gate += 10;
	assert_int_equal(pthread_create(&v->thread, NULL, attend, &v->late), 0);
	accept_one(v, SL_HELLO_ARENA);
	accept_one(v, SL_HELLO_ATTENDS);
	assert_int_equal(wait_state(&v->late, SL_LATE_NOT_YET), SL_LATE_IN);
}

static void turn(struct visit *v)
{
	__atomic_add_fetch(&v->session.control->gate, 1, __ATOMIC_RELEASE);
}

static void leave(struct visit *v)
{
	close(v->attendant);
	assert_int_equal(pthread_join(v->thread, NULL), 0);
	assert_int_equal(v->late.state, SL_LATE_LEFT);
	munmap(v->arena, SL_ARENA_BYTES);
	session_remove(&v->session);
}

/* Of all threads. */
static uint64_t counted(const struct visit *v, enum sl_hook hook)
{
	const struct sl_arena *a = v->arena;
	uint64_t sum = 0;

	for (unsigned i = 0; i < SL_SLOT_CNT; i++) {
		const struct sl_slot *s = &a->slot[i];
		const struct sl_agg *agg;

		if (s->state != SL_SLOT_LIVE)
			continue;
		agg = (const struct sl_agg *)((const char *)a + SL_ARENA_HEADER_BYTES +
					      (uint64_t)(s->agg_chunk - 1) * SL_CHUNK_BYTES);
		sum += agg[hook].count;
	}
	return sum;
}

/* The value of this program's slot for @name; 0: it has none. */
static uintptr_t slot_of(const char *name)
{
	const ElfW(Rela) * list[2] = {NULL, NULL};
	size_t bytes[2] = {0, 0};
	const ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;
	ElfW(Addr) base = _r_debug.r_map->l_addr;

	for (const ElfW(Dyn) *d = _r_debug.r_map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_JMPREL)
			list[0] = (const ElfW(Rela) *)d->d_un.d_ptr;
		if (d->d_tag == DT_PLTRELSZ)
			bytes[0] = d->d_un.d_val;
		if (d->d_tag == DT_RELA)
			list[1] = (const ElfW(Rela) *)d->d_un.d_ptr;
		if (d->d_tag == DT_RELASZ)
			bytes[1] = d->d_un.d_val;
		if (d->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	}
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < bytes[k] / sizeof(ElfW(Rela)); i++) {
			uint32_t symbol = (uint32_t)ELF64_R_SYM(list[k][i].r_info);

			if (symbol && strcmp(strings + symbols[symbol].st_name, name) == 0)
				return *(const uintptr_t *)(base + list[k][i].r_offset);
		}
	return 0;
}

static void read_zeros(unsigned cnt)
{
	int fd = open("/dev/zero", O_RDONLY);
	char byte;

	assert_true(fd >= 0);
	for (unsigned i = 0; i < cnt; i++)
		assert_int_equal(pread(fd, &byte, 1, 0), 1);
	close(fd);
}

/* ---- tests ---- */

static void a_library_that_is_only_opened_does_nothing(void **state)
{
	uintptr_t before = slot_of("pread");

	(void)state;
	assert_true(before != 0);
	read_zeros(1);
	assert_null(getenv(SL_SESSION_ENV));
	assert_int_equal(dlsym(library, "pread") != NULL, 1);
}

static void calls_are_counted_between_entering_and_leaving(void **state)
{
	uintptr_t before, wrapper = (uintptr_t)dlsym(library, "pread");
	struct visit v;

	(void)state;
	read_zeros(1);
	before = slot_of("pread");
	come_in(&v);
	assert_true(slot_of("pread") == wrapper);
	read_zeros(100); /* the gate is closed */
	turn(&v);
	read_zeros(1234);
	turn(&v);
	read_zeros(100);
	assert_int_equal(counted(&v, SL_H_pread), 1234);
	assert_int_equal(counted(&v, SL_H_open), 1);
	leave(&v);
	assert_true(slot_of("pread") == before);
	assert_true(v.late.restored > 0);
	read_zeros(10);
}

static void *read_many(void *arg)
{
	(void)arg;
	read_zeros(500);
	return NULL;
}

static void threads_are_taken_in_at_their_first_call_each_time(void **state)
{
	uintptr_t before;
	struct visit v;
	pthread_t t[8];

	(void)state;
	read_zeros(1);
	before = slot_of("pread");
	for (int round = 0; round < 20; round++) {
		come_in(&v);
		turn(&v);
		for (int i = 0; i < 8; i++)
			assert_int_equal(pthread_create(&t[i], NULL, read_many, NULL), 0);
		for (int i = 0; i < 8; i++)
			assert_int_equal(pthread_join(t[i], NULL), 0);
		read_zeros(7);
		turn(&v);
		/* Slots of threads that have ended stay until the collector frees them. */
		assert_int_equal(counted(&v, SL_H_pthread_create), 8);
		assert_true(counted(&v, SL_H_pread) >= 7);
		leave(&v);
		assert_true(slot_of("pread") == before);
	}
}

static int pipe_of_reader[2];

static void *read_pipe(void *arg)
{
	char byte;

	/* Through a pointer from the slot: the wrapper, if the process is entered. */
	*(ssize_t *)arg = read(pipe_of_reader[0], &byte, 1);
	return NULL;
}

static void a_thread_inside_of_a_call_returns_after_the_process_has_been_left(void **state)
{
	struct visit v;
	pthread_t t;
	ssize_t rc = -2;

	(void)state;
	assert_int_equal(pipe(pipe_of_reader), 0);
	come_in(&v);
	turn(&v);
	assert_int_equal(pthread_create(&t, NULL, read_pipe, &rc), 0);
	/* Its slot is there once it is inside. */
	for (int i = 0; i < 20000 && v.arena->slot[1].state != SL_SLOT_LIVE; i++)
		usleep(1000);
	usleep(50000);
	leave(&v);
	come_in(&v);
	turn(&v);
	assert_int_equal(write(pipe_of_reader[1], "x", 1), 1);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(rc, 1);
	read_zeros(3);
	assert_int_equal(counted(&v, SL_H_pread), 3);
	leave(&v);
}

static void what_cannot_be_entered_is_answered_and_changes_nothing(void **state)
{
	uintptr_t before = slot_of("pread");
	struct visit v, w;

	(void)state;
	/* An older gate: threads may have followed it. */
	make_session(&v, 2);
	assert_int_not_equal(enter(&v.late), 0);
	assert_int_equal(v.late.state, SL_LATE_FAILED);
	assert_true(slot_of("pread") == before);
	session_remove(&v.session);
	/* A folder that has gone. */
	assert_int_not_equal(enter(&v.late), 0);
	assert_int_equal(v.late.error, SL_LATE_NO_SESSION);
	/* Two at a time. */
	come_in(&v);
	make_session(&w, next_gate + 100);
	assert_int_not_equal(enter(&w.late), 0);
	assert_int_equal(w.late.error, SL_LATE_IN_SESSION);
	session_remove(&w.session);
	leave(&v);
	assert_true(slot_of("pread") == before);
}

static void a_forked_child_is_recorded_and_goes_on_after_the_session(void **state)
{
	struct visit v;
	int go[2], status;
	pid_t child;
	char byte;

	(void)state;
	assert_int_equal(pipe(go), 0);
	come_in(&v);
	turn(&v);
	child = fork();
	if (!child) {
		close(v.attendant);
		read_zeros(50);
		close(go[1]);
		(void)!read(go[0], &byte, 1);
		read_zeros(50);
		_exit(3);
	}
	for (int i = 0; i < 20000 && counted(&v, SL_H_pread) < 50; i++)
		usleep(1000);
	assert_int_equal(counted(&v, SL_H_pread), 50);
	turn(&v);
	leave(&v);
	close(go[0]);
	close(go[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_that_is_only_opened_does_nothing),
		cmocka_unit_test(calls_are_counted_between_entering_and_leaving),
		cmocka_unit_test(threads_are_taken_in_at_their_first_call_each_time),
		cmocka_unit_test(a_thread_inside_of_a_call_returns_after_the_process_has_been_left),
		cmocka_unit_test(what_cannot_be_entered_is_answered_and_changes_nothing),
		cmocka_unit_test(a_forked_child_is_recorded_and_goes_on_after_the_session),
	};
	char path[4096];

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	for (int i = 0; i < 3; i++)
		*strrchr(path, '/') = 0;
	strcat(path, "/libtrace.so");
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	enter = (int (*)(struct sl_late *))dlsym(library, "sightline_enter");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
