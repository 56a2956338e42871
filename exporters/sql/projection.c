/*
 * projection.c - ranges, calls and GPU work are joined by sorting: calls and work by correlation id, then calls and
 * ranges by time (sweep.c), then ranges with work by their stacks.
 */
#include "exporters/events/gpu_work.h"
#include "exporters/sql/projection_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exporters/events/spill.h"

/* ---- reading rows ---- */

/* globalPid, correlationId, start, end */
static int work_row(void *ctx, sqlite3_value **v)
{
	struct range_reader *r = ctx;
	bool has_process = sqlite3_value_type(v[0]) != SQLITE_NULL;
	int64_t w[4] = {has_process ? sqlite3_value_int64(v[0]) >> 24 : r->lone,
			sqlite3_value_int64(v[1]), sqlite3_value_int64(v[2]),
			sqlite3_value_int64(v[3])};

	if (sqlite3_value_type(v[1]) == SQLITE_NULL || sqlite3_value_type(v[3]) == SQLITE_NULL)
		return SQLITE_OK;
	return sorter_add(r->work, w);
}

static int read_work(sqlite3 *db, struct range_reader *r)
{
	int rc = SQLITE_OK;

	for (unsigned kind = 0; kind < GPU_WORK_KINDS && rc == SQLITE_OK; kind++)
		rc = gpu_work_values(db, kind, "globalPid, correlationId, start, end", "", work_row,
				     r);
	return rc;
}

/* ---- calls with their work ---- */

static int join_work(struct range_reader *r)
{
	const int64_t *call = NULL, *work = NULL;
	int rc = sorter_rewind(r->calls);

	if (rc == SQLITE_OK)
		rc = sorter_rewind(r->work);
	if (rc == SQLITE_OK)
		rc = sweep_next(r->calls, &call);
	if (rc == SQLITE_OK)
		rc = sweep_next(r->work, &work);
	while (rc == SQLITE_OK && call && work) {
		int64_t id[2] = {work[0], work[1]};
		int64_t c[C_WORDS] = {[C_FIRST] = work[2], [C_LAST] = work[3]};

		for (; rc == SQLITE_OK && work && compare_ids(work, id) == 0;
		     rc = sweep_next(r->work, &work)) {
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
				rc = sweep_next(r->calls, &call);
		}
	}
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
	r->calls = sorter_new(5, 2);
	r->work = sorter_new(4, 2);
	r->timed = sorter_new(C_WORDS, C_KEYS);
	if (r->ranges && r->calls && r->work && r->timed)
		rc = read_calls_of(db, r);
	if (rc == SQLITE_OK)
		rc = read_work(db, r);
	if (rc == SQLITE_OK)
		rc = join_work(r);
	sorter_free(r->calls);
	sorter_free(r->work);
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
