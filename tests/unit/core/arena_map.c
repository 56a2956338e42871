/* arena_map.c - an arena mapped in extents shows the chunks of its file, whatever order, number and thread. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/core/arena_map.c" /* NOLINT(bugprone-suspicious-include) */

#include <cmocka.h>

struct sl_global sl_global;
static struct sl_arena *whole; /* the file as the collector maps it */

static void begin(uint32_t chunk_cnt)
{
	int fd = memfd_create("arena", MFD_CLOEXEC);

	memset(extents, 0, sizeof(extents));
	refusals = 0;
	sl_global.seccomp = 0;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)sl_arena_bytes(chunk_cnt)), 0);
	whole = mmap(NULL, sl_arena_bytes(chunk_cnt), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_NORESERVE, fd, 0);
	assert_ptr_not_equal(whole, MAP_FAILED);
	sl_global.arena = sl_arena_map(fd, chunk_cnt);
	assert_non_null(sl_global.arena);
	close(fd);
	assert_int_equal(whole->magic, SL_ARENA_MAGIC);
	assert_int_equal(whole->chunk_cnt, chunk_cnt);
}

static void end(void)
{
	uint32_t cnt = whole->chunk_cnt;

	for (unsigned i = 1; i < EXTENTS; i++)
		if (load(i))
			munmap(mapping_of(i, load(i)), end_of(i, cnt) - begin_of(i));
	munmap(sl_global.arena, end_of(0, cnt));
	munmap(whole, sl_arena_bytes(cnt));
	sl_global.arena = NULL;
}

/* Kilobytes of address space. */
static long mapped(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_int_equal(fscanf(f, "%ld", &pages), 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void every_chunk_is_that_of_the_file(void **state)
{
	static const uint32_t cnts[] = {16, 17, 31, 32, 33, 100, 1000, SL_CHUNK_CNT};

	(void)state;
	for (size_t k = 0; k < sizeof(cnts) / sizeof(cnts[0]); k++) {
		uint32_t cnt = cnts[k];

		begin(cnt);
		/* From both ends: extents are mapped with a gap before them. */
		for (uint32_t i = 0; i < cnt; i++) {
			sl_ref ref = i % 2 ? cnt - i / 2 : 1 + i / 2;

			assert_true(sl_arena_reach(ref));
			sl_arena_chunk(ref)->seq = ref;
			sl_arena_chunk(ref)->data[SL_CHUNK_BYTES / 8 - 9] = ~(uint64_t)ref;
		}
		for (sl_ref ref = 1; ref <= cnt; ref++) {
			struct sl_chunk *c = sl_chunk_at(whole, ref);

			assert_int_equal(c->seq, ref);
			assert_true(c->data[SL_CHUNK_BYTES / 8 - 9] == ~(uint64_t)ref);
		}
		end();
	}
}

static void what_is_not_used_is_not_mapped(void **state)
{
	long before, kb = SL_CHUNK_BYTES / 1024;

	(void)state;
	begin(SL_CHUNK_CNT);
	before = mapped();
	for (sl_ref ref = 1; ref <= FIRST; ref++)
		assert_true(sl_arena_reach(ref));
	assert_int_equal(mapped(), before);
	assert_true(sl_arena_reach(4 * FIRST + 1));
	assert_int_equal(mapped(), before + 4 * FIRST * kb);
	/* A filter: only what is there. */
	sl_global.seccomp = 1;
	assert_true(sl_arena_reach(8 * FIRST));
	assert_false(sl_arena_reach(4 * FIRST));
	assert_false(sl_arena_reach(SL_CHUNK_CNT));
	sl_global.seccomp = 0;
	sl_arena_map_rest();
	sl_global.seccomp = 1;
	for (sl_ref ref = 1; ref <= SL_CHUNK_CNT; ref++)
		assert_true(sl_arena_reach(ref));
	assert_int_equal(mapped(), before + (SL_CHUNK_CNT - FIRST) * kb);
	end();
}

static void without_memory_it_is_refused_and_asked_again(void **state)
{
	struct rlimit was, none;
	unsigned tries = 0;

	(void)state;
	begin(SL_CHUNK_CNT);
	assert_false(sl_arena_is_short());
	getrlimit(RLIMIT_AS, &was);
	none = was;
	none.rlim_cur = 1 << 20;
	setrlimit(RLIMIT_AS, &none);
	for (int i = 0; i < 1000; i++)
		assert_false(sl_arena_reach(SL_CHUNK_CNT));
	assert_true(sl_arena_is_short());
	assert_true(sl_arena_reach(1));
	setrlimit(RLIMIT_AS, &was);
	while (!sl_arena_reach(SL_CHUNK_CNT))
		tries++;
	assert_in_range(tries, 0, RETRY_EVERY);
	assert_false(sl_arena_is_short());
	end();
}

static pthread_barrier_t barrier;

static void *touch_all(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (sl_ref ref = 1; ref <= SL_CHUNK_CNT; ref += FIRST) {
		if (!sl_arena_reach(ref))
			return whole;
		__atomic_add_fetch(&sl_arena_chunk(ref)->seq, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

static void threads_map_each_extent_once(void **state)
{
	enum {
		THREADS = 8,
		TURNS = 20
	};
	pthread_t t[THREADS];
	long before = 0;

	(void)state;
	for (int turn = 0; turn < TURNS; turn++) {
		begin(SL_CHUNK_CNT);
		pthread_barrier_init(&barrier, NULL, THREADS);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&t[i], NULL, touch_all, NULL), 0);
		for (int i = 0; i < THREADS; i++) {
			void *failed;

			pthread_join(t[i], &failed);
			assert_null(failed);
		}
		for (sl_ref ref = 1; ref <= SL_CHUNK_CNT; ref += FIRST)
			assert_int_equal(sl_chunk_at(whole, ref)->seq, THREADS);
		end();
		if (!turn)
			before = mapped();
	}
	/* The mappings of the threads that were late are gone: one is at least an extent. */
	assert_true(mapped() - before < FIRST * (long)SL_CHUNK_BYTES / 1024);
}

static void a_child_has_what_its_parent_mapped(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	begin(SL_CHUNK_CNT);
	assert_true(sl_arena_reach(SL_CHUNK_CNT));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		sl_global.seccomp = 1;
		if (!sl_arena_reach(SL_CHUNK_CNT))
			_exit(1);
		sl_arena_chunk(SL_CHUNK_CNT)->seq = 7;
		sl_global.seccomp = 0;
		if (!sl_arena_reach(FIRST + 1))
			_exit(2);
		sl_arena_chunk(FIRST + 1)->seq = 8;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sl_chunk_at(whole, SL_CHUNK_CNT)->seq, 7);
	assert_true(sl_arena_reach(FIRST + 1));
	assert_int_equal(sl_arena_chunk(FIRST + 1)->seq, 8);
	end();
}

static void forget_arena(void)
{
	sl_arena_forget();
	munmap(whole, sl_arena_bytes(SL_CHUNK_CNT));
	sl_global.arena = NULL;
}

static void calls_that_end_after_a_session_harm_nothing(void **state)
{
	struct sl_chunk *first, *far;
	uint32_t first_seq;

	(void)state;
	forgotten_cnt = 0;
	begin(SL_CHUNK_CNT);
	assert_true(sl_arena_reach(SL_CHUNK_CNT));
	first = sl_arena_chunk(1);
	far = sl_arena_chunk(SL_CHUNK_CNT);
	first->seq = far->seq = 5;
	sl_arena_forget();
	assert_int_equal(first->seq, 0);
	assert_int_equal(far->seq, 0);
	/* As a wrapper does whose call was made before. */
	first->seq = far->seq = 7;
	munmap(whole, sl_arena_bytes(SL_CHUNK_CNT));
	begin(SL_CHUNK_CNT);
	first_seq = sl_arena_chunk(1)->seq;
	assert_int_equal(first_seq, 0);
	assert_int_equal(first->seq, 7);
	forget_arena();
	/* The pages are given back with the next session. */
	assert_int_equal(first->seq, 0);
	assert_int_equal(far->seq, 0);
}

static void ranges_of_earlier_sessions_are_joined(void **state)
{
	(void)state;
	forgotten_cnt = 0;
	keep_range(0x2000, 0x3000);
	keep_range(0x1000, 0x2000);
	keep_range(0x3000, 0x5000);
	assert_int_equal(forgotten_cnt, 1);
	assert_int_equal(forgotten[0].from, 0x1000);
	assert_int_equal(forgotten[0].to, 0x5000);
	keep_range(0x6000, 0x7000);
	assert_int_equal(forgotten_cnt, 2);
	for (uintptr_t i = 10; i < 200; i++)
		keep_range(i * 0x10000, i * 0x10000 + 0x1000);
	assert_int_equal(forgotten_cnt, 64);
	forgotten_cnt = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_end_after_a_session_harm_nothing),
		cmocka_unit_test(ranges_of_earlier_sessions_are_joined),
		cmocka_unit_test(every_chunk_is_that_of_the_file),
		cmocka_unit_test(what_is_not_used_is_not_mapped),
		cmocka_unit_test(without_memory_it_is_refused_and_asked_again),
		cmocka_unit_test(threads_map_each_extent_once),
		cmocka_unit_test(a_child_has_what_its_parent_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
