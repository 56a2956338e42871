/*
 * tl_late.c - rows that lie after their place in time.
 *
 * Tables lie in about the order of time, but not quite: a call that took long is written when it returns, work on
 * a GPU is recorded by launch. To sort whole tables for that takes longer than all the rest. So one look at the
 * times finds the rows that are late, that is, after one that starts after them. The other rows are in order; the late ones
 * are fetched by their numbers when their time has come. Where they are too many, SQLite sorts, through temporary files.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/timeline/tl_internal.h"

#define ROWS_MAX ((int64_t)1 << 32)

uint32_t tl_late_max = 1u << 18; /* 4 MiB */

struct tl_late {
	int64_t start;
	uint32_t row;
	uint32_t dur; /* of dur_of(): only compared where starts are the same */
};

static int by_time(const void *a, const void *b)
{
	const struct tl_late *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->dur != y->dur)
		return x->dur > y->dur ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/*
 * A longer one has a larger number, which is below that of one without an end: exact up to 2^31 ns, beyond that up to a part in
 * 2^25.
 */
static uint32_t dur_of(int64_t start, int64_t end)
{
	uint64_t dur = end > start ? (uint64_t)end - (uint64_t)start : 0;
	unsigned most;

	if (dur < UINT32_C(1) << 31)
		return (uint32_t)dur;
	most = 63 - (unsigned)__builtin_clzll(dur);
	return UINT32_C(1) << 31 | (most - 31) << 25 |
	       (uint32_t)(dur >> (most - 25) & ((UINT32_C(1) << 25) - 1));
}

int tl_in_order(sqlite3 *db, const char *table, const char *start, const char *end)
{
	/* As the rows lie: an index that has all columns would be read in its order. */
	char *sql = end ? sqlite3_mprintf("SELECT \"%w\", \"%w\" FROM \"%w\" NOT INDEXED", start,
					  end, table)
			: sqlite3_mprintf("SELECT \"%w\", 0 FROM \"%w\" NOT INDEXED", start, table);
	sqlite3_stmt *stmt = NULL;
	int64_t last = INT64_MIN, last_end = INT64_MAX;
	int rc = sql ? sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) : SQLITE_NOMEM;
	bool good = true;

	sqlite3_free(sql);
	while (rc == SQLITE_OK && good && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t ts = sqlite3_column_int64(stmt, 0), to = INT64_MAX;

		if (sqlite3_column_type(stmt, 1) != SQLITE_NULL)
			to = sqlite3_column_int64(stmt, 1);
		good = ts > last || (ts == last && to <= last_end);
		last = ts;
		last_end = to;
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_OK || rc == SQLITE_DONE ? good : -1;
}

static int mark(struct tl_source *s, size_t *room, size_t *words, const struct tl_late *l)
{
	if (!grow(&s->late, s->late_cnt, room, sizeof(*s->late)))
		return -1;
	if (l->row / 64 >= *words) {
		size_t more = (l->row / 64 + 1) * 2;
		uint64_t *bits = reallocarray(s->is_late, more, sizeof(*bits));

		if (!bits)
			return -1;
		memset(bits + *words, 0, (more - *words) * sizeof(*bits));
		s->is_late = bits;
		*words = more;
	}
	s->late[s->late_cnt++] = *l;
	s->is_late[l->row / 64] |= (uint64_t)1 << l->row % 64;
	s->late_row = l->row > s->late_row ? l->row : s->late_row;
	return 0;
}

/*
 * One pass over the times: rows that begin before, or with, an earlier row of the table. The pass also reads the ids of GPU
 * work for the flows, and goes on for them when late rows are too many.
 */
struct finder {
	struct tl_each each; /* first */
	int64_t last;
	uint32_t last_dur;
	bool has_end, are_many;
	struct tl_flows *flows; /* NULL: it is known */
};

static bool is_before(struct tl_each *e, int cnt, sqlite3_value **v)
{
	struct finder *f = (struct finder *)e;
	uint32_t dur = UINT32_MAX;
	int64_t ts;

	if (f->flows && cnt == 3)
		tl_flows_work(f->flows, v[1], v[2]);
	ts = sqlite3_value_int64(v[0]);
	if (f->are_many || (ts == 0 && sqlite3_value_type(v[0]) == SQLITE_NULL))
		return false;
	if (ts < f->last)
		return true;
	/* Without ends, all rows that begin together are late but for the first: then only the fetched rows are compared. */
	if (ts == f->last && !f->has_end)
		return true;
	if (f->has_end && sqlite3_value_type(v[1]) != SQLITE_NULL)
		dur = dur_of(ts, sqlite3_value_int64(v[1]));
	if (ts == f->last && dur > f->last_dur)
		return true;
	f->last = ts;
	f->last_dur = dur;
	return false;
}

/* 1, 0: they are too many, -1. */
static int collect(struct finder *f, sqlite3_stmt *stmt, struct tl_source *s)
{
	size_t room = 0, words = 0;
	int rc;

	while (!f->are_many && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t row = sqlite3_column_int64(stmt, 0), end,
			ts = sqlite3_column_int64(stmt, 1);
		uint32_t dur = tl_number(stmt, 2, &end) ? dur_of(ts, end) : UINT32_MAX;

		f->are_many = row < 0 || row >= ROWS_MAX || s->late_cnt >= tl_late_max;
		if (!f->are_many &&
		    mark(s, &room, &words, &(struct tl_late){ts, (uint32_t)row, dur}) < 0)
			return -1;
	}
	if (f->are_many && f->flows)
		rc = sqlite3_step(stmt);
	return f->are_many && !f->flows ? 0 : rc != SQLITE_DONE ? -1 : !f->are_many;
}

static int find(struct tl_run *r, struct finder *f, struct tl_source *s, const char *start,
		const char *end)
{
	sqlite3_stmt *stmt = NULL;
	char *more = f->has_end ? sqlite3_mprintf(", \"%w\"", end)
				: sqlite3_mprintf(f->flows ? ", globalPid, correlationId" : "");
	char *sql =
		more ? sqlite3_mprintf("SELECT rowid, \"%w\", \"%w\" FROM main.\"%w\" NOT INDEXED "
				       "WHERE %s "
				       "sl_tl_each(?1, \"%w\"%s)",
				       start, end, s->def->table, s->bound, start, more)
		     : NULL;
	int rc = tl_each_prepare(r->db, &f->each, sql, &stmt);

	sqlite3_free(more);
	if (rc == 0)
		rc = collect(f, stmt, s);
	sqlite3_finalize(stmt);
	if (rc != 1)
		tl_late_free(s);
	return rc;
}

int tl_late_find(struct tl_run *r, struct tl_source *s, const char *start, const char *end)
{
	struct finder first = {{is_before}, INT64_MIN, UINT32_MAX, .has_end = false},
		      both = {{is_before}, INT64_MIN, UINT32_MAX, .has_end = true};
	int rc = 0;

	if (tl_flows_want(r->flows, s->def) && tl_has_column(r->db, s->def->table, "globalPid") &&
	    tl_has_column(r->db, s->def->table, "correlationId"))
		first.flows = r->flows;
	if (end)
		rc = find(r, &first, s, start, end);
	if (end && first.flows && rc >= 0)
		tl_flows_have(r->flows, s->def);
	/* Many that begin together; or instants, which may. */
	if (rc == 0)
		rc = find(r, &both, s, start, end ? end : start);
	if (rc == 1 && s->late_cnt > 1)
		qsort(s->late, s->late_cnt, sizeof(*s->late), by_time);
	return rc;
}

static bool late_first(const struct tl_source *s, const struct tl_late *l)
{
	const int64_t *row = s->ahead;
	struct tl_late here = {.start = row[1]};

	if (here.start != l->start)
		return l->start < here.start;
	if (!s->instant)
		here.dur = row[2] == TL_NONE ? UINT32_MAX : dur_of(here.start, row[2]);
	here.row = (uint32_t)row[0];
	return by_time(l, &here) < 0;
}

int tl_late_step(struct tl_source *s)
{
	int rc = 1;

	if (!s->ahead && !s->scan_done)
		rc = tl_source_ahead(s);
	s->scan_done |= rc == 0;
	if (rc < 0)
		return rc;
	while (s->late_at < s->late_cnt && (!s->ahead || late_first(s, &s->late[s->late_at]))) {
		sqlite3_reset(s->fetch);
		sqlite3_bind_int64(s->fetch, 1, s->late[s->late_at++].row);
		rc = sqlite3_step(s->fetch);
		if (rc == SQLITE_DONE) /* the row is gone, or of a kind that is left out */
			continue;
		if (rc != SQLITE_ROW)
			return -1;
		s->stmt = s->fetch;
		tl_source_decode(s, s->fetch, s->own);
		s->row = s->own;
		return 1;
	}
	s->stmt = s->scan;
	s->row = s->ahead;
	s->ahead = NULL;
	return s->row ? 1 : 0;
}

void tl_late_free(struct tl_source *s)
{
	free(s->late);
	free(s->is_late);
	s->late = NULL;
	s->is_late = NULL;
	s->late_cnt = 0;
}
