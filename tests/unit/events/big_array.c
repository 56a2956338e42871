/* big_array.c - arrays keep their content while they grow, lose their pages and meet a full disk; sorting is stable. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "collector/base/budget.h"
#include "collector/base/now.h"
#include "exporters/events/big_array.h"

#define BUDGET (16u << 20)
#define MANY   (1u << 20)

struct row { /* of a size that divides no page */
	int64_t key;
	uint32_t place;
};

struct rows {
	struct row *list;
	size_t cnt, room;
};

static struct row row_of(size_t i)
{
	return (struct row){(int64_t)(i * 2654435761u % 1000003), (uint32_t)i};
}

static void add(struct rows *r, size_t cnt)
{
	for (; r->cnt < cnt; r->cnt++) {
		assert_true(big_grow(&r->list, r->cnt, &r->room, sizeof(*r->list)));
		r->list[r->cnt] = row_of(r->cnt);
	}
}

static void assert_rows(const struct rows *r)
{
	for (size_t i = 0; i < r->cnt; i++) {
		const struct row want = row_of(i);

		if (r->list[i].key != want.key || r->list[i].place != want.place)
			fail_msg("row %zu is %lld, %u", i, (long long)r->list[i].key,
				 r->list[i].place);
	}
}

static void begin(void)
{
	assert_true(big_arrays_begin(BUDGET));
}

static void outside_of_begin_and_end_arrays_are_of_malloc(void **state)
{
	struct rows r = {0};

	(void)state;
	add(&r, MANY / 4);
	assert_int_equal(big_arrays_drop(), 0);
	assert_rows(&r);
	r.list = realloc(r.list, 1); /* is of malloc() */
	free(r.list);
	big_free(NULL);
}

static void small_arrays_are_of_malloc(void **state)
{
	struct rows r = {0};

	(void)state;
	begin();
	add(&r, BIG_ARRAY_FROM / sizeof(struct row) / 2);
	assert_int_equal(big_arrays_drop(), 0);
	assert_rows(&r);
	big_free(r.list);
	big_arrays_end();
}

static void pages_that_were_dropped_keep_their_content(void **state)
{
	struct rows r[2] = {0};

	(void)state;
	begin();
	for (size_t n = 1; n <= 16; n++) {
		/* The one grows from the file, the other into it. */
		add(&r[0], MANY / 16 * n);
		add(&r[1], MANY / 64 * n);
		assert_true(big_arrays_drop() >= r[0].cnt * sizeof(struct row));
		assert_rows(&r[0]);
		assert_rows(&r[1]);
	}
	big_free(r[0].list);
	assert_rows(&r[1]);
	big_free(r[1].list);
	assert_int_equal(big_arrays_drop(), 0);
	big_arrays_end();
}

static void dropping_takes_pages_from_the_process(void **state)
{
	size_t bytes = 32u << 20;
	uint64_t before, full, after;
	char *list;

	(void)state;
	assert_true(big_arrays_begin(SIZE_MAX));
	before = budget_files();
	list = big_calloc(bytes, 1);
	memset(list, 1, bytes);
	full = budget_files();
	assert_true(full >= before + bytes / 10 * 9);
	assert_int_equal(big_arrays_drop(), bytes);
	after = budget_files();
	assert_true(after <= before + bytes / 10);
	assert_int_equal(list[bytes - 1], 1);
	big_free(list);
	big_arrays_end();
}

static void the_timer_drops_pages_above_the_budget(void **state)
{
	size_t bytes = 64u << 20;
	clock_t from = clock();
	volatile char *list;

	(void)state;
	assert_true(big_arrays_begin(bytes / 2));
	list = big_calloc(bytes, 1);
	for (size_t i = 0; i < bytes; i++)
		list[i] = (char)(i / 4096);
	while (budget_files() > bytes / 2 && clock() - from < 20 * CLOCKS_PER_SEC)
		continue;
	assert_true(budget_files() <= bytes / 2);
	for (size_t i = 0; i < bytes; i += 4096)
		assert_int_equal(list[i], (char)(i / 4096));
	big_free((void *)(uintptr_t)list);
	big_arrays_end();
}

static void end_gives_back_the_signal(void **state)
{
	struct sigaction act = {.sa_handler = SIG_IGN}, now;

	(void)state;
	sigaction(SIGALRM, &act, NULL);
	begin();
	sigaction(SIGALRM, NULL, &now);
	assert_ptr_not_equal(now.sa_handler, SIG_IGN);
	big_arrays_end();
	sigaction(SIGALRM, NULL, &now);
	assert_ptr_equal(now.sa_handler, SIG_IGN);
	big_arrays_end(); /* no matter */
}

static void sqlite_sleeps_through_signals_of_the_timer(void **state)
{
	int64_t from;

	(void)state;
	for (int n = 0; n < 2; n++) {
		begin();
		from = mono_ns();
		sqlite3_sleep(40);
		assert_true(mono_ns() - from >= 40000000);
		assert_non_null(sqlite3_vfs_find("big_array"));
		big_arrays_end();
		assert_null(sqlite3_vfs_find("big_array"));
	}
}

static void arrays_of_calloc_are_zero_also_where_the_file_was_used_before(void **state)
{
	(void)state;
	begin();
	for (int n = 0; n < 3; n++) {
		char *list = big_calloc(3, BIG_ARRAY_FROM);

		assert_true(big_arrays_drop() >= 3 * BIG_ARRAY_FROM);
		for (size_t i = 0; i < 3 * BIG_ARRAY_FROM; i++)
			assert_int_equal(list[i], 0);
		memset(list, 1, 3 * BIG_ARRAY_FROM);
		big_free(list);
	}
	assert_null(big_calloc(SIZE_MAX / 2, 3));
	big_arrays_end();
}

static void without_a_folder_arrays_are_of_malloc(void **state)
{
	struct rows r = {0};

	(void)state;
	setenv("SQLITE_TMPDIR", "/nowhere/at/all", 1);
	assert_false(big_arrays_begin(BUDGET));
	unsetenv("SQLITE_TMPDIR");
	add(&r, MANY / 4);
	assert_int_equal(big_arrays_drop(), 0);
	assert_rows(&r);
	big_free(r.list);
	big_arrays_end();
}

/* In a process of its own: a limit cannot be raised again, and SIGXFSZ or SIGBUS would end it. */
static int status_with_limit(rlim_t bytes)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		const struct rlimit most = {bytes, bytes};
		struct rows r = {0}, later = {0};
		bool ok;

		signal(SIGXFSZ, SIG_DFL);
		setrlimit(RLIMIT_FSIZE, &most);
		if (!big_arrays_begin(BUDGET))
			_exit(2);
		add(&r, MANY);
		add(&later, MANY / 4);
		ok = big_arrays_drop() <= bytes;
		for (size_t i = 0; i < r.cnt; i++)
			ok &= r.list[i].place == i && (i >= later.cnt || later.list[i].place == i);
		big_free(r.list);
		big_free(later.list);
		big_arrays_end();
		_exit(ok ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void where_the_file_has_no_room_arrays_are_memory(void **state)
{
	(void)state;
	assert_int_equal(status_with_limit(0), 0);
	assert_int_equal(status_with_limit(BIG_ARRAY_FROM), 0);
	/* In the middle of an array: its next pieces are memory. */
	assert_int_equal(status_with_limit(1 << 20), 0);
	assert_int_equal(status_with_limit(5 << 20), 0);
	assert_int_equal(status_with_limit(RLIM_INFINITY), 0);
}

/* ---- sorting ---- */

static int by_key(const void *a, const void *b, void *calls)
{
	const struct row *x = a, *y = b;

	++*(size_t *)calls;
	return (x->key > y->key) - (x->key < y->key);
}

enum shape {
	SHUFFLED,
	SORTED,
	REVERSED,
	FEW_KEYS,
	NEARLY,
	SHAPES
};

static int64_t key_of(enum shape shape, size_t i, size_t cnt)
{
	switch (shape) {
	case SORTED:
		return (int64_t)i;
	case REVERSED:
		return (int64_t)(cnt - i);
	case FEW_KEYS:
		return (int64_t)(i * 2654435761u >> 7) % 3;
	case NEARLY:
		return (int64_t)(i % 1000 ? i : i / 2);
	default:
		return row_of(i).key;
	}
}

static void check_sort(enum shape shape, size_t cnt)
{
	struct row *list = big_calloc(cnt + 1, sizeof(*list));
	size_t calls = 0, sum = 0;

	for (size_t i = 0; i < cnt; i++)
		list[i] = (struct row){key_of(shape, i, cnt), (uint32_t)i};
	list[cnt] = (struct row){-7, 77};
	big_sort(list, cnt, sizeof(*list), by_key, &calls);
	for (size_t i = 0; i < cnt; i++) {
		sum += list[i].place;
		assert_int_equal(list[i].key, key_of(shape, list[i].place, cnt));
		if (i)
			assert_true(list[i - 1].key < list[i].key ||
				    (list[i - 1].key == list[i].key &&
				     list[i - 1].place < list[i].place));
	}
	assert_int_equal(sum, cnt * (cnt - (cnt > 0)) / 2);
	assert_int_equal(list[cnt].place, 77); /* behind the array */
	big_free(list);
}

static void check_sorts(void)
{
	/* One part has 1 MiB and a bit of rows. */
	const size_t part = (1u << 20) / sizeof(struct row) + 1;
	const size_t cnts[] = {0,
			       1,
			       2,
			       part - 1,
			       part,
			       part + 1,
			       2 * part,
			       2 * part + 1,
			       3 * part,
			       4 * part,
			       4 * part + 1,
			       5 * part - 1};

	for (enum shape shape = 0; shape < SHAPES; shape++)
		for (size_t i = 0; i < sizeof(cnts) / sizeof(*cnts); i++)
			check_sort(shape, cnts[i]);
}

static void sorting_keeps_the_order_of_equal_rows(void **state)
{
	(void)state;
	check_sorts();
	begin();
	check_sorts();
	big_arrays_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outside_of_begin_and_end_arrays_are_of_malloc),
		cmocka_unit_test(small_arrays_are_of_malloc),
		cmocka_unit_test(pages_that_were_dropped_keep_their_content),
		cmocka_unit_test(dropping_takes_pages_from_the_process),
		cmocka_unit_test(the_timer_drops_pages_above_the_budget),
		cmocka_unit_test(end_gives_back_the_signal),
		cmocka_unit_test(sqlite_sleeps_through_signals_of_the_timer),
		cmocka_unit_test(arrays_of_calloc_are_zero_also_where_the_file_was_used_before),
		cmocka_unit_test(without_a_folder_arrays_are_of_malloc),
		cmocka_unit_test(where_the_file_has_no_room_arrays_are_memory),
		cmocka_unit_test(sorting_keeps_the_order_of_equal_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
