/*
 * projection.c - ranges, calls and GPU work are joined by sorting: calls and work by correlation id, then calls and
 * ranges by time (sweep.c), then ranges with work by their stacks.
 */
#include "exporters/projection_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exporters/spill.h"

static const char read_ranges[] =
	"SELECT eventType, globalTid, coalesce(domainId, 0), start, end, text, textId "
	"FROM NVTX_EVENTS "
	"WHERE eventType IN (59, 60) AND end IS NOT NULL "
	"AND (eventType = 59 OR endGlobalTid IS NULL OR endGlobalTid = globalTid)";
static const char read_calls[] =
	"SELECT globalTid, start, end, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME";
static const char read_work[] =
	"SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL "
	"UNION ALL "
	"SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY "
	"UNION ALL "
	"SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_MEMSET "
	"UNION ALL "
	"SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE";

/* ---- texts ---- */

size_t texts_bytes_max = 4 << 20;
#define IN_FILE (INT64_C(1) << 62)

int texts_add(struct texts *t, const char *text, size_t len, int64_t *number)
{
	uint32_t size = (uint32_t)len;
	int rc;

	if (t->bytes < texts_bytes_max) {
		uint32_t before = t->pool.cnt;

		rc = hist_pool_add(&t->pool, text, size, number);
		*number += 1;
		t->bytes += t->pool.cnt > before ? len + 64 : 0;
		return rc;
	}
	if (!t->file)
		t->file = spill_file();
	if (!t->file || fwrite(&size, sizeof(size), 1, t->file) != 1 ||
	    fwrite(text, 1, len, t->file) != len)
		return SQLITE_FULL;
	*number = IN_FILE | t->at;
	t->at += (int64_t)(sizeof(size) + len);
	return SQLITE_OK;
}

int texts_get(struct texts *t, int64_t number, const char **text, size_t *len)
{
	int64_t at = number & ~IN_FILE;
	uint32_t size;

	if (!(number & IN_FILE)) {
		*text = t->pool.text[number - 1].data;
		*len = t->pool.text[number - 1].len;
		return SQLITE_OK;
	}
	if (pread(fileno(t->file), &size, sizeof(size), at) != (ssize_t)sizeof(size))
		return SQLITE_IOERR;
	if (size > t->room) {
		free(t->buf);
		t->room = size;
		t->buf = malloc(size);
	}
	if (size > 0 && !t->buf)
		return SQLITE_NOMEM;
	if (pread(fileno(t->file), t->buf, size, at + (int64_t)sizeof(size)) != (ssize_t)size)
		return SQLITE_IOERR;
	*text = size > 0 ? t->buf : "";
	*len = size;
	return SQLITE_OK;
}

void texts_free(struct texts *t)
{
	hist_pool_free(&t->pool);
	free(t->buf);
	if (t->file)
		fclose(t->file);
}

/* ---- what is read ---- */

/* Calls @row for each row. */
static int each_row(sqlite3 *db, const char *sql, int (*row)(void *ctx, sqlite3_stmt *q), void *ctx)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL), err = SQLITE_OK;

	while (rc == SQLITE_OK && err == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		err = row(ctx, q);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(q);
	return err != SQLITE_OK ? err : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static bool is_null(sqlite3_stmt *q, int col)
{
	return sqlite3_column_type(q, col) == SQLITE_NULL;
}

/* The same where its value is at hand: most are not 0, which spares a look at the type. */
static bool is_none(sqlite3_stmt *q, int col, int64_t value)
{
	return value == 0 && is_null(q, col);
}

struct reader {
	struct sorter *ranges, *calls, *work, *timed;
	struct texts *texts;
	int64_t seq;
	int64_t lone; /* process of the least thread: of work that does not say whose it is */
	bool any_call;
};

static int range_row(void *ctx, sqlite3_stmt *q)
{
	struct reader *r = ctx;
	int64_t a[A_WORDS] = {0};

	if (is_null(q, 1) || is_null(q, 3))
		return SQLITE_OK; /* no call lies within */
	a[A_STYLE] = sqlite3_column_int64(q, 0);
	a[A_TID] = sqlite3_column_int64(q, 1);
	a[A_DOMAIN] = sqlite3_column_int64(q, 2);
	a[A_START] = sqlite3_column_int64(q, 3);
	a[A_END] = sqlite3_column_int64(q, 4);
	a[A_SEQ] = r->seq++;
	a[A_TEXT_ID] = is_null(q, 6) ? NO_ID : sqlite3_column_int64(q, 6);
	if (!is_null(q, 5)) {
		const char *text = (const char *)sqlite3_column_text(q, 5);
		int rc = text ? texts_add(r->texts, text, (size_t)sqlite3_column_bytes(q, 5),
					  &a[A_TEXT])
			      : SQLITE_NOMEM;

		if (rc != SQLITE_OK)
			return rc;
	}
	return sorter_add(r->ranges, a);
}

static int call_row(void *ctx, sqlite3_stmt *q)
{
	struct reader *r = ctx;
	int64_t tid = sqlite3_column_int64(q, 0);
	/* an id, its process, then the call */
	int64_t c[5] = {tid >> 24, sqlite3_column_int64(q, 3), tid, sqlite3_column_int64(q, 1),
			sqlite3_column_int64(q, 2)};

	if (is_none(q, 0, tid))
		return SQLITE_OK;
	if (!r->any_call || c[0] < r->lone)
		r->lone = c[0];
	r->any_call = true;
	if (is_none(q, 2, c[4]))
		c[4] = INT64_C(1) << 62;
	return is_none(q, 3, c[1]) || is_none(q, 1, c[3]) ? SQLITE_OK : sorter_add(r->calls, c);
}

static int work_row(void *ctx, sqlite3_stmt *q)
{
	struct reader *r = ctx;
	int64_t pid = sqlite3_column_int64(q, 0);
	int64_t w[4] = {is_none(q, 0, pid) ? r->lone : pid >> 24, sqlite3_column_int64(q, 1),
			sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3)};

	return is_none(q, 1, w[1]) || is_none(q, 3, w[3]) ? SQLITE_OK : sorter_add(r->work, w);
}

/* ---- calls with their work ---- */

static int compare_ids(const int64_t *a, const int64_t *b)
{
	for (int i = 0; i < 2; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* The next call: in the order of ids. NULL behind the last one. */
static int next_record(struct sorter *s, const int64_t **record)
{
	int rc = sorter_next(s, record);

	if (rc == SQLITE_DONE)
		*record = NULL;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int join_work(struct reader *r)
{
	const int64_t *call = NULL, *work = NULL;
	int rc = sorter_rewind(r->calls);

	if (rc == SQLITE_OK)
		rc = sorter_rewind(r->work);
	if (rc == SQLITE_OK)
		rc = next_record(r->calls, &call);
	if (rc == SQLITE_OK)
		rc = next_record(r->work, &work);
	while (rc == SQLITE_OK && call && work) {
		int64_t id[2] = {work[0], work[1]};
		int64_t c[C_WORDS] = {[C_FIRST] = work[2], [C_LAST] = work[3]};

		for (; rc == SQLITE_OK && work && compare_ids(work, id) == 0;
		     rc = next_record(r->work, &work)) {
			c[C_N]++;
			c[C_FIRST] = work[2] < c[C_FIRST] ? work[2] : c[C_FIRST];
			c[C_LAST] = work[3] > c[C_LAST] ? work[3] : c[C_LAST];
		}
		while (rc == SQLITE_OK && call && compare_ids(call, id) <= 0) {
			c[C_TID] = call[2];
			c[C_START] = call[3];
			c[C_END] = call[4];
			if (compare_ids(call, id) == 0)
				rc = sorter_add(r->timed, c);
			if (rc == SQLITE_OK)
				rc = next_record(r->calls, &call);
		}
	}
	return rc;
}

/* ---- ranges with work, in order of their stacks ---- */

enum stacked {
	S_TID,
	S_DOMAIN,
	S_STYLE,
	S_START,
	S_MINUS_END,
	S_SEQ,
	S_KEYS,
	S_TEXT = S_KEYS,
	S_TEXT_ID,
	S_N,
	S_FIRST,
	S_LAST,
	S_WORDS,
};

static int add_stacked(void *ctx, const int64_t *a, const struct work *w)
{
	int64_t s[S_WORDS] = {
		[S_TID] = a[A_TID],     [S_DOMAIN] = a[A_DOMAIN],   [S_STYLE] = a[A_STYLE],
		[S_START] = a[A_START], [S_MINUS_END] = -a[A_END],  [S_SEQ] = a[A_SEQ],
		[S_TEXT] = a[A_TEXT],   [S_TEXT_ID] = a[A_TEXT_ID], [S_N] = w->n,
		[S_FIRST] = w->first,   [S_LAST] = w->last,
	};

	return sorter_add(ctx, s);
}

struct levels {                   /* of one thread and domain */
	int64_t *end;             /* of open ranges: a heap, the next to end first */
	int64_t (*last)[R_WORDS]; /* the last range of each level, which may get children yet */
	size_t open, room, lasts;
	struct projection *to;
};

static int flush_levels(struct levels *l, size_t from)
{
	int rc = SQLITE_OK;

	for (size_t i = from; i < l->lasts && rc == SQLITE_OK; i++)
		rc = sorter_add(l->to->results, l->last[i]);
	l->lasts = from;
	return rc;
}

static void drop_ended(struct levels *l, int64_t by)
{
	while (l->open > 0 && l->end[0] <= by) {
		int64_t last = l->end[--l->open];
		size_t at = 0;

		for (size_t child; (child = 2 * at + 1) < l->open; at = child) {
			child += child + 1 < l->open && l->end[child + 1] < l->end[child];
			if (last <= l->end[child])
				break;
			l->end[at] = l->end[child];
		}
		l->end[at] = last;
	}
}

/* A range's level is how many are open when it begins; its parent is the last one before it, one level up. */
static int add_level(struct levels *l, int64_t *result, int64_t end)
{
	size_t at, lvl;

	drop_ended(l, result[R_START]);
	lvl = l->open;
	if (lvl == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		int64_t *more = reallocarray(l->end, room, sizeof(*more));
		int64_t(*lasts)[R_WORDS];

		if (!more)
			return SQLITE_NOMEM;
		l->end = more;
		lasts = reallocarray(l->last, room, sizeof(*lasts));
		if (!lasts)
			return SQLITE_NOMEM;
		l->last = lasts;
		l->room = room;
	}
	for (at = l->open++; at > 0 && l->end[(at - 1) / 2] > end; at = (at - 1) / 2)
		l->end[at] = l->end[(at - 1) / 2];
	l->end[at] = end;
	result[R_LVL] = (int64_t)lvl;
	if (lvl > 0) {
		result[R_PARENT] = l->last[lvl - 1][R_ID];
		l->last[lvl - 1][R_CHILDREN]++;
	}
	if (lvl < l->lasts) {
		int rc = sorter_add(l->to->results, l->last[lvl]);

		if (rc != SQLITE_OK)
			return rc;
	} else {
		l->lasts = lvl + 1;
	}
	memcpy(l->last[lvl], result, sizeof(l->last[lvl]));
	return SQLITE_OK;
}

static int add_result(struct levels *l, const int64_t *s)
{
	int64_t r[R_WORDS] = {
		[R_FIRST] = s[S_FIRST], [R_START] = s[S_START],     [R_MINUS_END] = s[S_MINUS_END],
		[R_ID] = ++l->to->cnt,  [R_LAST] = s[S_LAST],       [R_N] = s[S_N],
		[R_STYLE] = s[S_STYLE], [R_TID] = s[S_TID],         [R_DOMAIN] = s[S_DOMAIN],
		[R_TEXT] = s[S_TEXT],   [R_TEXT_ID] = s[S_TEXT_ID],
	};

	if (l->to->with_kinds) {
		int64_t kind[] = {s[S_STYLE], s[S_TID] >> 24, s[S_DOMAIN], s[S_TEXT], s[S_TEXT_ID]};
		int rc = hist_pool_add(&l->to->kinds, (const char *)kind, sizeof(kind), &r[R_KIND]);

		if (rc != SQLITE_OK)
			return rc;
	}
	if (l->lasts > 0 &&
	    (l->last[0][R_TID] != r[R_TID] || l->last[0][R_DOMAIN] != r[R_DOMAIN])) {
		int rc = flush_levels(l, 0);

		if (rc != SQLITE_OK)
			return rc;
		l->open = 0;
	}
	return s[S_STYLE] == 59 ? add_level(l, r, -s[S_MINUS_END]) : sorter_add(l->to->results, r);
}

static int add_levels(struct sorter *stacked, struct projection *to)
{
	struct levels l = {.to = to};
	const int64_t *s = NULL;
	int rc = sorter_rewind(stacked);

	if (rc == SQLITE_OK)
		rc = next_record(stacked, &s);
	while (rc == SQLITE_OK && s) {
		rc = add_result(&l, s);
		if (rc == SQLITE_OK)
			rc = next_record(stacked, &s);
	}
	if (rc == SQLITE_OK)
		rc = flush_levels(&l, 0);
	free(l.end);
	free(l.last);
	return rc;
}

/* ---- numbers ---- */

static int map_nodes(struct projection *p)
{
	FILE *f;

	if (p->cnt >= UINT32_MAX)
		return SQLITE_TOOBIG;
	p->node_bytes = ((size_t)p->cnt + 1) * sizeof(*p->node);
	f = spill_file();
	if (!f || ftruncate(fileno(f), (off_t)p->node_bytes) < 0 ||
	    posix_fallocate(fileno(f), 0, (off_t)p->node_bytes) != 0) {
		if (f)
			fclose(f);
		return SQLITE_FULL;
	}
	p->node = mmap(NULL, p->node_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	fclose(f);
	if (p->node == MAP_FAILED)
		p->node = NULL;
	return p->node ? SQLITE_OK : SQLITE_NOMEM;
}

static int give_numbers(struct projection *p)
{
	const int64_t *r = NULL;
	uint32_t number = 0;
	int rc = map_nodes(p);

	if (rc == SQLITE_OK)
		rc = next_record(p->results, &r);
	for (; rc == SQLITE_OK && r; rc = next_record(p->results, &r))
		p->node[r[R_ID]] = (struct node){(uint32_t)r[R_PARENT], ++number};
	return rc == SQLITE_OK ? sorter_rewind(p->results) : rc;
}

/* ---- all of it ---- */

static int read_all(sqlite3 *db, struct reader *r)
{
	int rc = each_row(db, read_calls, call_row, r);

	if (rc == SQLITE_OK)
		rc = each_row(db, read_work, work_row, r);
	if (rc == SQLITE_OK)
		rc = join_work(r);
	sorter_free(r->calls);
	sorter_free(r->work);
	r->calls = r->work = NULL;
	if (rc == SQLITE_OK)
		rc = each_row(db, read_ranges, range_row, r);
	if (rc == SQLITE_OK && r->texts->file && fflush(r->texts->file) != 0)
		rc = SQLITE_FULL;
	if (rc == SQLITE_OK)
		rc = sorter_rewind(r->timed);
	return rc == SQLITE_OK ? sorter_rewind(r->ranges) : rc;
}

int projection_run(sqlite3 *db, bool numbered, bool kinds, struct projection *p)
{
	struct reader r = {
		.ranges = sorter_new(A_WORDS, A_KEYS),
		.calls = sorter_new(5, 2),
		.work = sorter_new(4, 2),
		.timed = sorter_new(C_WORDS, C_KEYS),
		.texts = &p->texts,
	};
	struct sorter *stacked = sorter_new(S_WORDS, S_KEYS);
	int rc = SQLITE_NOMEM;

	p->with_kinds = kinds;
	p->results = sorter_new(R_WORDS, numbered ? R_KEYS : 0);
	if (r.ranges && r.calls && r.work && r.timed && stacked && p->results)
		rc = read_all(db, &r);
	if (rc == SQLITE_OK)
		rc = sweep(r.ranges, r.timed, add_stacked, stacked);
	sorter_free(r.ranges);
	sorter_free(r.calls);
	sorter_free(r.work);
	sorter_free(r.timed);
	if (rc == SQLITE_OK)
		rc = add_levels(stacked, p);
	sorter_free(stacked);
	if (rc == SQLITE_OK)
		rc = sorter_rewind(p->results);
	return rc == SQLITE_OK && numbered ? give_numbers(p) : rc;
}

void projection_free(struct projection *p)
{
	sorter_free(p->results);
	texts_free(&p->texts);
	hist_pool_free(&p->kinds);
	if (p->node)
		munmap(p->node, p->node_bytes);
	memset(p, 0, sizeof(*p));
}
