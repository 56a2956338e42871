/* sorter.c - records come back in order, equal ones as they came, from memory and from runs in a file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "exporters/events/sorter.h"

enum shape {
	SORTED,
	REVERSED,
	RANDOM,
	FEW_KEYS,
	TWO_STREAMS,
	SHAPES
};

static int64_t key_of(enum shape shape, int64_t i, int64_t cnt, uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	switch (shape) {
	case SORTED:
		return i;
	case REVERSED:
		return cnt - i;
	case RANDOM:
		return (int64_t)*x;
	case FEW_KEYS:
		return (int64_t)(*x % 3) - 1;
	default:
		return i % 2 ? i : i + 1000000;
	}
}

static void check(enum shape shape, int64_t cnt, unsigned keys)
{
	struct sorter *s = sorter_new(3, keys);
	uint64_t x = 88172645463325252u;
	const int64_t *r;
	int64_t sum = 0;

	assert_non_null(s);
	for (int64_t i = 0; i < cnt; i++) {
		int64_t key = key_of(shape, i, cnt, &x);
		int64_t record[3] = {key, keys > 1 ? -(i / 5) : 2 * i, i};

		assert_int_equal(sorter_add(s, record), SQLITE_OK);
		sum += i;
	}
	for (int pass = 0; pass < 2; pass++) {
		int64_t before[3] = {INT64_MIN, INT64_MIN, -1}, left = sum, read = 0;
		int rc = sorter_rewind(s);

		assert_int_equal(rc, SQLITE_OK);
		while ((rc = sorter_next(s, &r)) == SQLITE_ROW) {
			unsigned k = 0;

			while (k < keys && r[k] == before[k])
				k++;
			assert_true(k < keys ? r[k] > before[k] : r[2] > before[2]);
			memcpy(before, r, sizeof(before));
			left -= r[2];
			read++;
		}
		assert_int_equal(rc, SQLITE_DONE);
		assert_int_equal(read, cnt);
		assert_int_equal(left, 0);
	}
	sorter_free(s);
}

static void check_all(void)
{
	static const int64_t counts[] = {0, 1, 2, 3, 255, 256, 257, 1000, 5000};

	for (int shape = 0; shape < SHAPES; shape++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			for (unsigned keys = 0; keys <= 2; keys++)
				check(shape, counts[i], keys);
}

static void rows_are_sorted_in_memory(void **state)
{
	(void)state;
	check_all();
}

static void rows_are_sorted_in_runs_of_a_file(void **state)
{
	size_t was = sorter_bytes_max;

	(void)state;
	sorter_bytes_max = 700;
	check_all();
	sorter_bytes_max = 24 * 256;
	check_all();
	sorter_bytes_max = was;
}

/* Left before the end, or before anything was read. */
static void a_sorter_may_be_left_early(void **state)
{
	size_t was = sorter_bytes_max;

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct sorter *s = sorter_new(1, 1);
		const int64_t *r;

		for (int64_t i = 1000; i > 0; i--)
			assert_int_equal(sorter_add(s, &i), SQLITE_OK);
		if (round > 0) {
			assert_int_equal(sorter_rewind(s), SQLITE_OK);
			assert_int_equal(sorter_next(s, &r), SQLITE_ROW);
			assert_int_equal(*r, 1);
		}
		sorter_free(s);
		sorter_bytes_max = 100;
	}
	sorter_bytes_max = was;
	sorter_free(NULL);
}

static void a_sorter_without_room_fails(void **state)
{
	struct sorter *s = sorter_new(1, 1);
	size_t was = sorter_bytes_max;
	int rc = SQLITE_OK;

	(void)state;
	sorter_bytes_max = 100;
	setenv("SQLITE_TMPDIR", "/nonexistent", 1);
	for (int64_t i = 0; i < 1000 && rc == SQLITE_OK; i++)
		rc = sorter_add(s, &i);
	assert_int_equal(rc, SQLITE_FULL);
	unsetenv("SQLITE_TMPDIR");
	sorter_bytes_max = was;
	sorter_free(s);
}

/* The newest file without a name that this process has open. */
static int spilled_file(void)
{
	char path[64], target[256];

	for (int fd = 255; fd > 2; fd--) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		if (strstr(target, "/sightline.") && strstr(target, " (deleted)"))
			return fd;
	}
	fail_msg("no file was spilled to");
	return -1;
}

/* What a file lost is an error, whatever errno was before, and not an endless read. */
static void a_file_cut_short_is_an_error(void **state)
{
	struct sorter *s = sorter_new(1, 1);
	size_t was = sorter_bytes_max;
	const int64_t *r;
	int rc;

	(void)state;
	sorter_bytes_max = 100;
	for (int64_t i = 1000; i > 0; i--)
		assert_int_equal(sorter_add(s, &i), SQLITE_OK);
	assert_int_equal(sorter_rewind(s), SQLITE_OK);
	assert_int_equal(ftruncate(spilled_file(), 8), 0);
	errno = EINTR;
	rc = sorter_rewind(s);
	while (rc == SQLITE_OK || rc == SQLITE_ROW)
		rc = sorter_next(s, &r);
	assert_int_equal(rc, SQLITE_IOERR);
	sorter_bytes_max = was;
	sorter_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted_in_memory),
		cmocka_unit_test(rows_are_sorted_in_runs_of_a_file),
		cmocka_unit_test(a_sorter_may_be_left_early),
		cmocka_unit_test(a_sorter_without_room_fails),
		cmocka_unit_test(a_file_cut_short_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
