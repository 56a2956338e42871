/*
 * scan_io.c - bytes that went in and out, and in pieces of which size.
 *
 * OSRT_FILE_ACCESS_EVENTS has every call on a file where it was recorded; else OSRT_API has those at or
 * above the threshold. The totals also count the shorter ones, which have no row (SL_OSRT_TOTALS).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/html/scan.h"
#include "exporters/read/io_direction.h"

struct function {
	enum io_direction way;
	bool stdio; /* works on the buffer of a stream */
};

struct pass {
	struct scan *scan;
	struct id_map names;
	struct function *of; /* by the number of the name */
};

static int read_names(struct pass *p)
{
	/* Names of functions are short; there may be millions of others. */
	sqlite3_stmt *stmt = scan_prepare(
		p->scan, "SELECT id, value, library, io, isStdio FROM StringIds "
			 "LEFT JOIN SL_FUNCTIONS ON nameId = id WHERE length(value) < 60");
	int rc;

	if (!stmt)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		enum io_direction way = io_direction_of(stmt, 1, 2);
		struct function *more;
		long i;

		if (way == IO_NONE)
			continue;
		i = id_map_add(&p->names, sqlite3_column_int64(stmt, 0));
		more = i < 0 ? NULL : reallocarray(p->of, p->names.cnt, sizeof(*p->of));
		if (!more) {
			sqlite3_finalize(stmt);
			return scan_fail(p->scan, 0);
		}
		p->of = more;
		p->of[i] = (struct function){way, sqlite3_column_int(stmt, 4) == 1};
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : scan_fail(p->scan, rc);
}

static struct function function_of(const struct pass *p, int64_t name_id)
{
	long i = id_map_find(&p->names, name_id);

	return i < 0 || !p->of ? (struct function){IO_NONE, false} : p->of[i];
}

static int draw(struct scan *s, enum io_direction way, int64_t start, int64_t end, int64_t bytes)
{
	s->has_io |= bytes > 0;
	histogram_add_pow4(way == IO_IN ? &s->read_size : &s->write_size, bytes);
	return curve_spread(way == IO_IN ? &s->read_curve : &s->write_curve, &s->axis, start, end,
			    (double)bytes) < 0
		       ? scan_fail(s, 0)
		       : 0;
}

/* Rows of start, end, name, bytes. */
static int draw_rows(struct pass *p, const char *sql)
{
	sqlite3_stmt *stmt = scan_prepare(p->scan, sql);
	int rc, err = 0;

	if (!stmt)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && err == 0) {
		enum io_direction way = function_of(p, sqlite3_column_int64(stmt, 2)).way;

		if (way != IO_NONE)
			err = draw(p->scan, way, scan_time(stmt, 0), scan_time(stmt, 1),
				   sqlite3_column_int64(stmt, 3));
	}
	sqlite3_finalize(stmt);
	return err == 0 && rc != SQLITE_DONE ? scan_fail(p->scan, rc) : err;
}

/* Rows of name, calls, bytes. */
static int add_totals(struct pass *p, const char *sql)
{
	sqlite3_stmt *stmt = scan_prepare(p->scan, sql);
	struct scan *s = p->scan;
	int rc;

	if (!stmt)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct function f = function_of(p, sqlite3_column_int64(stmt, 0));
		double calls = sqlite3_column_double(stmt, 1);

		if (f.way == IO_NONE)
			continue;
		*(f.way == IO_IN ? &s->read_calls : &s->write_calls) += calls;
		*(f.way == IO_IN ? &s->read_stdio : &s->write_stdio) += f.stdio ? calls : 0;
		*(f.way == IO_IN ? &s->read_bytes : &s->write_bytes) +=
			sqlite3_column_double(stmt, 2);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : scan_fail(s, rc);
}

static int draw_all(struct pass *p, bool files)
{
	/* Only types 3 and 4 move bytes, and not all of their calls do (fflush). */
	return draw_rows(p, files ? "SELECT startedAt, endedAt, apiCallId, bytesProcessed "
				    "FROM OSRT_FILE_ACCESS_EVENTS WHERE eventType IN (3, 4)"
				  : "SELECT start, end, nameId, bytesDone FROM OSRT_API "
				    "WHERE bytesDone IS NOT NULL");
}

static int add_calls(struct pass *p)
{
	p->scan->io_known = true;
	if (add_totals(p, "SELECT nameId, count(*), total(bytesDone) FROM OSRT_API "
			  "WHERE bytesDone IS NOT NULL GROUP BY 1") < 0)
		return -1;
	return add_totals(p, "SELECT nameId, sum(count + lostCount), sum(bytes) FROM "
			     "SL_OSRT_TOTALS GROUP BY 1");
}

int scan_io(struct scan *s)
{
	struct pass p = {.scan = s};
	bool files = db_read_has(s->db, "OSRT_FILE_ACCESS_EVENTS");
	bool calls =
		db_read_has(s->db, "OSRT_API.bytesDone") || db_read_has(s->db, "SL_OSRT_TOTALS");
	int rc = 0;

	if (files || calls)
		rc = read_names(&p) < 0 ? -1 : draw_all(&p, files);
	if (rc == 0 && calls) {
		rc = add_calls(&p);
	} else if (rc == 0 && files) {
		s->io_known = true;
		s->read_calls = (double)s->read_size.all;
		s->read_bytes = s->read_size.total;
		s->write_calls = (double)s->write_size.all;
		s->write_bytes = s->write_size.total;
	}
	id_map_free(&p.names);
	free(p.of);
	return rc;
}
