/*
 * projection.c - ranges, calls and GPU work are joined by sorting: calls and work by correlation id (launches.c), then calls
 * and ranges by time (sweep.c), then ranges with work by their stacks.
 */
#include "exporters/events/launches.h"
#include "exporters/sql/projection_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exporters/events/spill.h"

/* ---- calls with their work ---- */

struct timed {
	struct sorter *calls; /* of C_WORDS */
	int64_t c[C_WORDS];   /* the work of a call so far */
};

/* start, end */
static int add_work(void *ctx, const struct launch_call *call, const int64_t *words)
{
	int64_t *c = ((struct timed *)ctx)->c;
	bool is_first = c[C_N]++ == 0;

	(void)call;
	c[C_FIRST] = is_first || words[0] < c[C_FIRST] ? words[0] : c[C_FIRST];
	c[C_LAST] = is_first || words[1] > c[C_LAST] ? words[1] : c[C_LAST];
	return SQLITE_OK;
}

static int add_call(void *ctx, const struct launch_call *call)
{
	struct timed *t = ctx;
	int rc;

	t->c[C_TID] = call->tid;
	t->c[C_START] = call->start;
	t->c[C_END] = call->end;
	rc = sorter_add(t->calls, t->c);
	t->c[C_N] = 0;
	return rc;
}

static int read_launches(sqlite3 *db, struct sorter *timed)
{
	static const struct launch_reader reader = {add_work, add_call};
	struct launches *l = launches_new(2);
	struct timed t = {.calls = timed};
	int rc = l ? launches_read_calls(l, db) : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = launches_read_work(l, db, -1u, "start, end", "WHERE end IS NOT NULL");
	if (rc == SQLITE_OK)
		rc = launches_join(l, &reader, &t);
	launches_free(l);
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
		rc = sweep_next(p->results, &r);
	for (; rc == SQLITE_OK && r; rc = sweep_next(p->results, &r))
		p->node[r[R_ID]] = (struct node){(uint32_t)r[R_PARENT], ++number};
	return rc == SQLITE_OK ? sorter_rewind(p->results) : rc;
}

/* ---- all of it ---- */

static int found(void *ctx, const int64_t *range, const struct work *w)
{
	return stacked_add(ctx, range, w);
}

/* Ranges with work, in order of their stacks. */
static int read_work_of_ranges(sqlite3 *db, struct range_reader *r, struct sorter *stacked)
{
	int rc = SQLITE_NOMEM;

	r->ranges = sorter_new(A_WORDS, A_KEYS);
	r->timed = sorter_new(C_WORDS, C_KEYS);
	if (r->ranges && r->timed)
		rc = read_launches(db, r->timed);
	if (rc == SQLITE_OK)
		rc = read_ranges_of(db, r);
	if (rc == SQLITE_OK)
		rc = sorter_rewind(r->timed);
	if (rc == SQLITE_OK)
		rc = work_of_ranges(r->ranges, r->timed, found, stacked);
	sorter_free(r->ranges);
	sorter_free(r->timed);
	return rc == SQLITE_OK ? sorter_rewind(stacked) : rc;
}

int projection_run(sqlite3 *db, enum projection_of of, bool numbered, bool kinds,
		   struct projection *p)
{
	struct range_reader r = {.of = of, .texts = &p->texts};
	struct sorter *stacked = sorter_new(S_WORDS, S_KEYS);
	int rc = SQLITE_NOMEM;

	p->of = of;
	p->with_kinds = kinds;
	p->results = sorter_new(R_WORDS, numbered ? R_KEYS : 0);
	if (stacked && p->results) {
		r.ranges = stacked;
		rc = of == STACKS ? read_ranges_of(db, &r) : read_work_of_ranges(db, &r, stacked);
	}
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
