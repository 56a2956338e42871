/* sums.c - sum() and abs() of integers, saturating. */
#include "exporters/read/sums.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* SQLite's memory is aligned to 8 bytes. */
typedef __int128 wide __attribute__((aligned(8)));

struct sum {
	wide integers;
	double reals;
	int64_t cnt;
	bool has_reals; /* also after they have left the window, as with SQLite's own */
};

static void add(sqlite3_context *ctx, sqlite3_value *value, int sign)
{
	struct sum *s = sqlite3_aggregate_context(ctx, sizeof(*s));
	int type = sqlite3_value_numeric_type(value);

	if (!s || type == SQLITE_NULL)
		return;
	s->cnt += sign;
	if (type == SQLITE_INTEGER) {
		s->integers += (wide)sign * sqlite3_value_int64(value);
	} else {
		s->reals += sign * sqlite3_value_double(value);
		s->has_reals = true;
	}
}

static void step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	add(ctx, argv[0], 1);
}

static void inverse(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	add(ctx, argv[0], -1);
}

static void value(sqlite3_context *ctx)
{
	const struct sum *s = sqlite3_aggregate_context(ctx, 0);

	if (!s || !s->cnt)
		return; /* NULL */
	if (s->has_reals)
		sqlite3_result_double(ctx, s->reals + (double)s->integers);
	else
		sqlite3_result_int64(ctx, s->integers > INT64_MAX   ? INT64_MAX
					  : s->integers < INT64_MIN ? INT64_MIN
								    : (int64_t)s->integers);
}

static void absolute(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	switch (sqlite3_value_type(argv[0])) {
	case SQLITE_NULL:
		return;
	case SQLITE_INTEGER: {
		int64_t n = sqlite3_value_int64(argv[0]);

		sqlite3_result_int64(ctx, n == INT64_MIN ? INT64_MAX : n < 0 ? -n : n);
		return;
	}
	default: {
		double r = sqlite3_value_double(argv[0]);

		sqlite3_result_double(ctx, r < 0 ? -r : r);
	}
	}
}

int sums_register(sqlite3 *db)
{
	const int how = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int rc = sqlite3_create_window_function(db, "sum", 1, how, NULL, step, value, value,
						inverse, NULL);

	return rc == SQLITE_OK
		       ? sqlite3_create_function(db, "abs", 1, how, NULL, absolute, NULL, NULL)
		       : rc;
}
