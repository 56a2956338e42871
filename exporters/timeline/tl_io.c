/*
 * tl_io.c - bytes per second that processes read and wrote, as counters.
 *
 * The bytes of a call are spread evenly over the time it took. Time is cut into bins; calls come in the order of
 * their start, so a bin is complete when a call starts after it. Kept are only the calls that reach into the
 * next bin: as many as threads read or write at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collector/base/grow.h"
#include "exporters/timeline/tl_internal.h"

#define BIN 10000000 /* ns */

static const struct tl_source_def io_def = {
	"OSRT_API", TL_ACT_IO, TL_AT_IO, "io", "start end", "", "", "=I/O", "",
};

enum direction {
	NEITHER,
	READ,
	WRITTEN,
};

struct call {
	int64_t start, end, bytes;
	size_t flow;
};

/* The bytes that one process reads, or writes. */
struct flow {
	int64_t process;
	enum direction direction;
	double now, shown; /* bytes in the current bin; bytes/s emitted last */
	struct tl_track *track;
};

struct io {
	sqlite3_stmt *stmt, *kind; /* kind: the io of a function */
	struct tl_run *run;
	struct map directions; /* nameId -> direction + 1 */
	struct map by_process; /* (process, direction) -> place of the flow + 1 */
	struct flow *flow;
	size_t flow_cnt, next; /* next: flow to emit */
	struct call *call;
	size_t call_cnt, call_max;
	struct call ahead; /* first one after the bin */
	bool has_ahead, end;
	bool is_steady; /* the bin has only calls that began before it and end after it */
	int64_t bin;    /* its start */
};

/* By the operation of the function; flushing moves no bytes that a call has not moved before. Each name is looked up once. */
static enum direction direction_of(struct io *io, int64_t name_id)
{
	uint64_t *slot = map_at(&io->directions, (uint64_t)name_id, true);
	enum direction d = NEITHER;

	if (!slot)
		return NEITHER;
	if (*slot)
		return (enum direction)(*slot - 1);
	if (sqlite3_bind_int64(io->kind, 1, name_id) == SQLITE_OK &&
	    sqlite3_step(io->kind) == SQLITE_ROW)
		d = sqlite3_column_int(io->kind, 0) == 3 ? READ : WRITTEN;
	sqlite3_reset(io->kind);
	*slot = d + 1;
	return d;
}

static size_t flow_at(struct io *io, int64_t process, enum direction direction)
{
	uint64_t *slot = map_at(&io->by_process, (uint64_t)process ^ direction, true);
	struct flow *more;

	if (!slot)
		return SIZE_MAX;
	if (*slot)
		return *slot - 1;
	more = reallocarray(io->flow, io->flow_cnt + 1, sizeof(*more));
	if (!more)
		return SIZE_MAX;
	io->flow = more;
	more[io->flow_cnt] = (struct flow){.process = process, .direction = direction};
	*slot = ++io->flow_cnt;
	return io->flow_cnt - 1;
}

/* The next call that moved bytes into io->ahead. 1, 0 at the end, -1. */
static int read_call(struct io *io)
{
	int rc;

	while ((rc = sqlite3_step(io->stmt)) == SQLITE_ROW) {
		enum direction d = direction_of(io, sqlite3_column_int64(io->stmt, 3));

		if (d == NEITHER)
			continue;
		io->ahead = (struct call){
			.start = sqlite3_column_int64(io->stmt, 0),
			.end = sqlite3_column_int64(io->stmt, 1),
			.bytes = sqlite3_column_int64(io->stmt, 4),
			.flow = flow_at(io, TL_PROCESS_OF(sqlite3_column_int64(io->stmt, 2)), d),
		};
		/* Such times are of no use and could overflow the sums below. */
		if (io->ahead.end < io->ahead.start || io->ahead.start < INT64_MIN / 4 ||
		    io->ahead.end > INT64_MAX / 4)
			continue;
		io->has_ahead = io->ahead.flow != SIZE_MAX;
		return io->has_ahead ? 1 : -1;
	}
	io->has_ahead = false;
	return rc == SQLITE_DONE ? 0 : -1;
}

/* Adds the call's share of the bin; true when it reaches beyond. */
static bool share(struct io *io, const struct call *c)
{
	int64_t from = c->start > io->bin ? c->start : io->bin;
	int64_t to = c->end < io->bin + BIN ? c->end : io->bin + BIN;
	double part = c->end > c->start ? (double)(to - from) / (double)(c->end - c->start) : 1;

	io->flow[c->flow].now += (double)c->bytes * part;
	return c->end > io->bin + BIN;
}

static int keep(struct io *io, const struct call *c)
{
	if (!grow(&io->call, io->call_cnt, &io->call_max, sizeof(*io->call)))
		return -1;
	io->call[io->call_cnt++] = *c;
	return 0;
}

/* Sums up the bin that begins at io->bin. */
static int fill(struct io *io)
{
	size_t left = 0;
	int rc = 1;

	for (size_t i = 0; i < io->flow_cnt; i++)
		io->flow[i].now = 0;
	io->is_steady = true;
	for (size_t i = 0; i < io->call_cnt; i++) {
		io->is_steady &= io->call[i].start <= io->bin;
		if (share(io, &io->call[i]))
			io->call[left++] = io->call[i];
	}
	io->is_steady &= left == io->call_cnt;
	io->call_cnt = left;
	while (io->has_ahead && io->ahead.start < io->bin + BIN) {
		io->is_steady = false;
		if (share(io, &io->ahead) && keep(io, &io->ahead) < 0)
			return -1;
		rc = read_call(io);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int64_t bin_of(int64_t ns)
{
	return ns - (ns % BIN + BIN) % BIN;
}

/* The first bin that can differ from one that is steady: calls may last for hours, or, forged, for years. */
static int64_t steady_until(const struct io *io)
{
	int64_t until = io->has_ahead ? io->ahead.start : INT64_MAX;

	for (size_t i = 0; i < io->call_cnt; i++)
		if (io->call[i].end < until)
			until = io->call[i].end;
	return bin_of(until);
}

/* The start of the next bin in which a call moves bytes, or in which the curve falls back to 0. */
static bool next_bin(struct io *io)
{
	bool moving = io->call_cnt > 0;

	for (size_t i = 0; i < io->flow_cnt; i++)
		moving |= io->flow[i].shown != 0;
	if (moving) {
		int64_t next = io->is_steady && io->call_cnt ? steady_until(io) : INT64_MIN;

		io->bin = next > io->bin + BIN ? next : io->bin + BIN;
		return true;
	}
	if (!io->has_ahead)
		return false;
	io->bin = bin_of(io->ahead.start);
	return true;
}

static double rate(const struct flow *f)
{
	return f->now * (1e9 / BIN);
}

/* Moves on to the next flow whose value has changed. */
int tl_io_step(struct tl_source *s)
{
	struct io *io = s->state;

	for (;;) {
		for (; io->next < io->flow_cnt; io->next++)
			if (rate(&io->flow[io->next]) != io->flow[io->next].shown)
				break;
		if (io->next < io->flow_cnt) {
			s->ts = s->end = io->bin;
			return 1;
		}
		if (!next_bin(io))
			return 0;
		if (fill(io) < 0)
			return -1;
		io->next = 0;
	}
}

int tl_io_row(struct tl_run *r, struct tl_source *s, struct tl_event *e)
{
	struct io *io = s->state;
	struct flow *f = &io->flow[io->next];
	struct tl_track *process;

	if (!f->track) {
		process = tl_track_process(r->tracks, f->process);
		if (process)
			f->track = tl_track_counter(r->tracks, process, f->direction,
						    f->direction == READ ? "read" : "written",
						    "bytes/s");
	}
	f->shown = rate(f);
	io->next++;
	e->kind = TL_VALUE;
	e->track = f->track;
	e->is_real = true;
	e->real = f->shown;
	return f->track ? tl_emit(r, e) : -1;
}

/* Do calls lie in the order of their start? The source of their slices may know. */
static int in_order(const struct tl_run *r)
{
	for (size_t i = 0; i < r->source_cnt; i++)
		if (strcmp(r->source[i].def->table, "OSRT_API") == 0 && r->source[i].rows)
			return r->source[i].late_cnt == 0;
	return tl_in_order(r->db, "OSRT_API", "start", NULL);
}

int tl_io_open(struct tl_run *r, struct tl_source *s)
{
	static const char sql[] = "SELECT start, \"end\", globalTid, nameId, bytesDone FROM "
				  "OSRT_API WHERE %s bytesDone > 0 "
				  "AND globalTid IS NOT NULL%s";
	static const char kind[] = "SELECT io FROM SL_FUNCTION_KINDS WHERE nameId = ?1 AND io IN "
				   "(3, 4) AND file IS NOT 'flush'";
	struct io *io;
	char text[384], bound[TL_BOUND];
	int order;

	memset(s, 0, sizeof(*s));
	s->def = &io_def;
	if (!tl_has_column(r->db, "OSRT_API", "bytesDone"))
		return 0;
	tl_bound(r, "OSRT_API", bound, sizeof(bound));
	order = *bound ? 0 : in_order(r);
	io = s->state = calloc(1, sizeof(*io));
	if (!io || order < 0)
		return -1;
	io->run = r;
	snprintf(text, sizeof(text), sql, bound, order ? "" : " ORDER BY start");
	if (sqlite3_prepare_v2(r->db, kind, -1, &io->kind, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(r->db, text, -1, &io->stmt, NULL) != SQLITE_OK || read_call(io) < 0)
		return -1;
	return tl_io_step(s);
}

void tl_io_close(struct tl_source *s)
{
	struct io *io = s->state;

	if (!io)
		return;
	sqlite3_finalize(io->stmt);
	sqlite3_finalize(io->kind);
	map_free(&io->directions);
	map_free(&io->by_process);
	free(io->flow);
	free(io->call);
	free(io);
	s->state = NULL;
}
