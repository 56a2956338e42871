/*
 * rollup_collectives.c - each collective call with its communicator, its place in the order of that, and its kernel; of MPI, the call
 * itself, which returns when the collective is done.
 *
 * A kernel is found by the correlation id of the launch inside the call; inside a group the launches are in ncclGroupEnd().
 * Where a group has as many kernels as collectives, each is taken to be of one, in order; otherwise all have the time from the
 * first to the last. A message has two ends, a call on either side, which are taken for those of a communicator of two: the side that
 * comes last has the shorter kernel. PyTorch's all-to-all is a group of them with all ranks, and is one collective here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/events/big_array.h"
#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/ranks/rollup_internal.h"
#include "exporters/read/id_map.h"

/* A call outside of groups, or a whole group. */
struct span {
	int64_t tid, start, end;
	size_t first, cnt; /* collectives */
	size_t kernels;
	int64_t from, to; /* of the kernels */
	bool is_kernel;   /* the call itself takes the time: of MPI */
};

struct kernel {
	int64_t start, end;
	size_t span;
	int64_t launched; /* when its call began */
};

struct collectives {
	struct rollup *r;
	struct collective *list;
	size_t cnt, room;
	struct span *spans;
	size_t spans_cnt, spans_room;
	size_t nccl_cnt, nccl_spans; /* of NCCL: the first ones */
	struct comm *comms;
	size_t comms_cnt, comms_room;
	struct launches *launches; /* calls inside of spans, their numbers as names; kernels */
	bool any_launch;
	struct kernel *kernels;
	size_t kernels_cnt, kernels_room;
	/* While calls are read: of the thread whose calls come now. */
	int64_t tid;
	unsigned depth; /* of groups */
	size_t group;   /* index of its span */
};

/* ---- calls ---- */

/* Bytes of @cnt values of the ncclDataType_t @type. */
static int64_t bytes_of(int64_t cnt, int64_t type)
{
	static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	int64_t each = type >= 0 && type < (int64_t)sizeof(bytes) ? bytes[type] : 0, all;

	return __builtin_mul_overflow(cnt, each, &all) ? INT64_MAX : all;
}

static bool is_collective(const char *name)
{
	static const char *const names[] = {"ncclAllReduce", "ncclBroadcast", "ncclBcast",
					    "ncclReduce",    "ncclAllGather", "ncclReduceScatter",
					    "ncclAlltoAll",  "ncclGather",    "ncclScatter"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]);

		if (strncmp(name, names[i], len) == 0 &&
		    (!name[len] || strcmp(name + len, "Config") == 0))
			return true;
	}
	return false;
}

static size_t open_span(struct collectives *c, int64_t tid, int64_t start, int64_t end)
{
	if (!big_grow(&c->spans, c->spans_cnt, &c->spans_room, sizeof(*c->spans)))
		return SIZE_MAX;
	c->spans[c->spans_cnt] =
		(struct span){.tid = tid, .start = start, .end = end, .first = c->cnt};
	return c->spans_cnt++;
}

/* globalTid, start, end, name, comm, count, type, seq, peer; only calls of level 0: in order of thread and start */
static int call_row(void *ctx, sqlite3_stmt *stmt)
{
	struct collectives *c = ctx;
	int64_t tid = sqlite3_column_int64(stmt, 0), start = sqlite3_column_int64(stmt, 1);
	int64_t end = sqlite3_column_int64(stmt, 2);
	const char *name = (const char *)sqlite3_column_text(stmt, 3);
	struct rank *k = rollup_rank(c->r, tid >> 24);
	struct collective *x;

	if (!name || !k)
		return SQLITE_OK;
	if (tid != c->tid) {
		c->tid = tid;
		c->depth = 0;
	}
	if (strcmp(name, "ncclGroupStart") == 0) {
		if (!c->depth++)
			c->group = open_span(c, tid, start, end);
		return c->group == SIZE_MAX ? SQLITE_NOMEM : SQLITE_OK;
	}
	if (strcmp(name, "ncclGroupEnd") == 0) {
		if (c->depth && !--c->depth)
			c->spans[c->group].end = end;
		return SQLITE_OK;
	}
	if (!is_collective(name) && !message_is(name))
		return SQLITE_OK;
	if (!c->depth)
		c->group = open_span(c, tid, start, end);
	if (c->group == SIZE_MAX || !big_grow(&c->list, c->cnt, &c->room, sizeof(*c->list)))
		return SQLITE_NOMEM;
	x = &c->list[c->cnt++];
	*x = (struct collective){
		.tid = tid,
		.start = start,
		.end = end,
		.comm = sqlite3_column_int64(stmt, 4),
		.bytes = bytes_of(sqlite3_column_int64(stmt, 5), sqlite3_column_int64(stmt, 6)),
		.span = c->group,
		.rank = (size_t)(k - c->r->ranks),
		.hash = DATASET_NULL,
		.ranks = DATASET_NULL,
		.comm_rank = DATASET_NULL,
		.seq = rollup_number(stmt, 7),
		.peer = message_is(name) ? sqlite3_column_int64(stmt, 8) : -1,
		.is_send = name[4] == 'S',
	};
	if (x->peer >= 0)
		snprintf(x->op, sizeof(x->op), "SendRecv");
	else
		snprintf(x->op, sizeof(x->op), "%.*s", (int)strcspn(name + 4, "C"), name + 4);
	c->spans[c->group].cnt++;
	return SQLITE_OK;
}

/* Roles: 4 peer, 26 count, 27 type, 30 comm, 45 seq (ENUM_SL_GPU_ROLE). */
static const char calls_sql[] =
	"WITH call AS (SELECT * FROM SL_LIBRARY_API WHERE library IN (SELECT id FROM StringIds "
	"WHERE value = "
	"'nccl') AND returnValue = 0), argument AS (SELECT callId, max(value) FILTER (WHERE role = "
	"30) AS comm, "
	"max(value) FILTER (WHERE role = 26) AS cnt, max(value) FILTER (WHERE role = 27) AS type, "
	"max(value) FILTER (WHERE role = 45) AS seq, max(value) FILTER (WHERE role = 4) AS peer "
	"FROM "
	"SL_GPU_ARGUMENTS WHERE role IN (4, 26, 27, 30, 45) AND callId IN (SELECT callId FROM "
	"call) "
	"GROUP BY callId) "
	"SELECT globalTid, start, end, s.value, comm, cnt, type, seq, peer FROM call JOIN "
	"StringIds AS s "
	"ON "
	"s.id = nameId "
	"LEFT JOIN argument USING (callId) ORDER BY globalTid, start, end DESC";

/* ---- MPI ---- */

/* globalTid, start, end, name, commUid, size, seq, ranks, own rank, whether it blocks */
static int mpi_row(void *ctx, sqlite3_stmt *stmt)
{
	struct collectives *c = ctx;
	int64_t tid = sqlite3_column_int64(stmt, 0);
	const char *name = (const char *)sqlite3_column_text(stmt, 3);
	struct rank *k = rollup_rank(c->r, tid >> 24);
	struct collective *x;

	if (!name || !k)
		return SQLITE_OK;
	c->group = open_span(c, tid, sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2));
	if (c->group == SIZE_MAX || !big_grow(&c->list, c->cnt, &c->room, sizeof(*c->list)))
		return SQLITE_NOMEM;
	c->spans[c->group].cnt = 1;
	c->spans[c->group].is_kernel = sqlite3_column_int(stmt, 9);
	x = &c->list[c->cnt++];
	*x = (struct collective){
		.tid = tid,
		.start = c->spans[c->group].start,
		.end = c->spans[c->group].end,
		.bytes = rollup_number(stmt, 5),
		.span = c->group,
		.rank = (size_t)(k - c->r->ranks),
		.hash = rollup_number(stmt, 4),
		.ranks = rollup_number(stmt, 7),
		.comm_rank = rollup_number(stmt, 8),
		.seq = rollup_number(stmt, 6),
		.peer = -1,
		.comm_at = SIZE_MAX,
	};
	snprintf(x->op, sizeof(x->op), "%s", message_op_of_mpi(name));
	return SQLITE_OK;
}

/* Nsight Systems has no numbers: their order, then. */
static const char mpi_sql[] =
	"WITH m AS MATERIALIZED (SELECT globalPid >> 24 AS pid, commUid, max(size) AS size, "
	"max(localRank) AS own FROM MPI_COMMUNICATORS WHERE commUid IS NOT NULL GROUP BY 1, 2) "
	"SELECT globalTid, start, end, value, e.commUid, e.size, coalesce(seq, row_number() OVER "
	"(PARTITION BY globalTid >> 24, e.commUid ORDER BY start)), m.size, m.own, requestHandle "
	"IS "
	"NULL FROM MPI_COLLECTIVES_EVENTS AS e JOIN StringIds ON id = textId LEFT JOIN m ON pid = "
	"globalTid >> 24 AND m.commUid = e.commUid WHERE end >= start ORDER BY globalTid, start";

/* ---- communicators ---- */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* globalPid, comm, commHash, nRanks, rank, start, end, name: in order of start */
static int comm_row(void *ctx, sqlite3_stmt *stmt)
{
	struct collectives *c = ctx;

	if (!grow(&c->comms, c->comms_cnt, &c->comms_room, sizeof(*c->comms)))
		return SQLITE_NOMEM;
	c->comms[c->comms_cnt++] = (struct comm){
		.pid = sqlite3_column_int64(stmt, 0) >> 24,
		.handle = sqlite3_column_int64(stmt, 1),
		.hash = rollup_number(stmt, 2),
		.ranks = rollup_number(stmt, 3),
		.rank = rollup_number(stmt, 4),
		.start = sqlite3_column_int64(stmt, 5),
		.end = rollup_number(stmt, 6),
	};
	snprintf(c->comms[c->comms_cnt - 1].name, sizeof(c->comms->name), "%s",
		 or_empty((const char *)sqlite3_column_text(stmt, 7)));
	return SQLITE_OK;
}

/*
 * The communicator with the handle at the time of the call; a new one where it was made before the recording, which hides no
 * recorded one: a handle is an address, which another communicator may have had. NULL: no memory.
 */
static struct comm *comm_of(struct collectives *c, const struct collective *x)
{
	struct comm *unrecorded = NULL;

	for (size_t i = c->comms_cnt; i-- > 0;) {
		struct comm *m = &c->comms[i];

		if (m->pid != x->tid >> 24 || m->handle != x->comm || m->start > x->start ||
		    (m->end != DATASET_NULL && m->end < x->start))
			continue;
		if (m->start != INT64_MIN)
			return m;
		unrecorded = m;
	}
	if (unrecorded)
		return unrecorded;
	if (!grow(&c->comms, c->comms_cnt, &c->comms_room, sizeof(*c->comms)))
		return NULL;
	c->comms[c->comms_cnt] = (struct comm){.pid = x->tid >> 24,
					       .handle = x->comm,
					       .hash = DATASET_NULL,
					       .ranks = DATASET_NULL,
					       .rank = DATASET_NULL,
					       .start = INT64_MIN,
					       .end = DATASET_NULL};
	return &c->comms[c->comms_cnt++];
}

static int by_start(const void *a, const void *b, void *none)
{
	const struct collective *x = a, *y = b;
	int order = (x->start > y->start) - (x->start < y->start);

	(void)none;
	return order ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

/* ---- kernels ---- */

/* The span of the thread that @time is in; SIZE_MAX: none. Spans are in order of thread and start. */
static size_t span_at(const struct collectives *c, int64_t tid, int64_t time)
{
	size_t low = search_first(i, 0, c->nccl_spans,
				  c->spans[i].tid < tid ||
					  (c->spans[i].tid == tid && c->spans[i].start <= time));

	return low && c->spans[low - 1].tid == tid && time < c->spans[low - 1].end ? low - 1
										   : SIZE_MAX;
}

/* globalTid, start, correlationId */
static int launch_row(void *ctx, sqlite3_stmt *stmt)
{
	struct collectives *c = ctx;
	size_t span = span_at(c, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1));

	if (span == SIZE_MAX)
		return SQLITE_OK;
	c->any_launch = true;
	return launches_add_call(c->launches, sqlite3_column_int64(stmt, 2),
				 &(struct launch_call){sqlite3_column_int64(stmt, 0),
						       sqlite3_column_int64(stmt, 1), LAUNCH_OPEN,
						       (int64_t)span});
}

/* start, end */
static int kernel_row(void *ctx, const struct launch_call *call, const int64_t *words)
{
	struct collectives *c = ctx;

	if (!big_grow(&c->kernels, c->kernels_cnt, &c->kernels_room, sizeof(*c->kernels)))
		return SQLITE_NOMEM;
	c->kernels[c->kernels_cnt++] =
		(struct kernel){words[0], words[1], (size_t)call->name, call->start};
	return SQLITE_OK;
}

static int by_span(const void *a, const void *b, void *none)
{
	const struct kernel *x = a, *y = b;

	(void)none;
	if (x->span != y->span)
		return (x->span > y->span) - (x->span < y->span);
	return (x->launched > y->launched) - (x->launched < y->launched);
}

static int find_kernels(struct collectives *c)
{
	static const struct launch_reader reader = {kernel_row, NULL};
	/* Threads are followed by others in the order of calls, so spans are in order already. */
	int rc = rollup_sql(
		c->r,
		"SELECT globalTid, start, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE "
		"correlationId IS NOT NULL AND globalTid >> 24 IN (SELECT pid FROM rank_process)",
		launch_row, c);

	if (rc != SQLITE_OK || !c->any_launch)
		return rc;
	rc = launches_read_work(c->launches, c->r->db, 1u << GPU_WORK_KERNEL, "start, end",
				"WHERE end >= start");
	if (rc == SQLITE_OK)
		rc = launches_join(c->launches, &reader, c);
	big_sort(c->kernels, c->kernels_cnt, sizeof(*c->kernels), by_span, NULL);
	for (size_t i = 0; i < c->kernels_cnt; i++) {
		const struct kernel *k = &c->kernels[i];
		struct span *s = &c->spans[k->span];

		s->from = !s->kernels || k->start < s->from ? k->start : s->from;
		s->to = !s->kernels || k->end > s->to ? k->end : s->to;
		s->kernels++;
	}
	return rc;
}

/* ---- rows ---- */

/* When the collective, the @nth of its span, was done; false: no kernel is known. @first_kernel: of the span. */
static bool time_of(const struct collectives *c, const struct span *s, size_t nth,
		    size_t first_kernel, int64_t *start, int64_t *end, int64_t *grouped)
{
	if (s->is_kernel) {
		*start = s->start;
		*end = s->end;
		*grouped = 1;
		return true;
	}
	if (!s->kernels)
		return false;
	*start = s->from;
	*end = s->to;
	*grouped = (int64_t)s->cnt;
	if (s->kernels != s->cnt)
		return true;
	*start = c->kernels[first_kernel + nth].start;
	*end = c->kernels[first_kernel + nth].end;
	*grouped = 1;
	return true;
}

static int put_collective(struct collectives *c, const struct collective *x, size_t nth,
			  size_t first_kernel)
{
	struct rollup *r = c->r;
	struct rank *k = &r->ranks[x->rank];
	const struct rank_step *step = rollup_step(k, x->start);
	int64_t start = 0, end = 0, grouped = DATASET_NULL;
	bool has_kernel = time_of(c, &c->spans[x->span], nth, first_kernel, &start, &end, &grouped);
	char comm[128];
	const union dataset_value v[] = {
		{.number = k->rank},
		{.number = step ? step->no : DATASET_NULL},
		/* Above 0, as engines and people read it. */
		{.number = x->hash == DATASET_NULL ? x->hash : x->hash & INT64_MAX},
		{.number = x->seq},
		{.text = x->op},
		{.number = x->bytes},
		{.number = x->ranks},
		{.number = x->comm_rank},
		{.number = rollup_utc(r, x->start)},
		{.number = has_kernel ? rollup_utc(r, start) : DATASET_NULL},
		{.number = has_kernel ? rollup_utc(r, end) : DATASET_NULL},
		{.number = grouped},
		{.number = k->restart},
		{.text = message_comm(x, x->comm_at == SIZE_MAX ? NULL : &c->comms[x->comm_at],
				      comm, sizeof(comm))},
	};

	k->collectives++;
	r->found->unmatched += !has_kernel && x->span < c->nccl_spans;
	r->found->unnamed += x->hash == DATASET_NULL;
	return dataset_values(r->d, DATASET_SL_COLLECTIVES, v);
}

/*
 * Numbers collectives by communicator, in the order of their calls, across threads; where they have the number that their
 * program gave them (from the communicator's making on), it is that.
 */
static int number_them(struct collectives *c)
{
	struct collective *sorted = big_calloc(c->nccl_cnt + 1, sizeof(*sorted));
	int rc = sorted ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; rc == SQLITE_OK && i < c->nccl_cnt; i++) {
		sorted[i] = c->list[i];
		sorted[i].seq = (int64_t)i; /* its place in the list */
	}
	if (rc == SQLITE_OK)
		big_sort(sorted, c->nccl_cnt, sizeof(*sorted), by_start, NULL);
	for (size_t i = 0; rc == SQLITE_OK && i < c->nccl_cnt; i++) {
		struct collective *x = &c->list[sorted[i].seq];
		struct comm *m = comm_of(c, x);

		if (!m) {
			rc = SQLITE_NOMEM;
			break;
		}
		x->hash = m->hash;
		x->ranks = m->ranks;
		x->comm_rank = m->rank;
		x->comm_at = (size_t)(m - c->comms);
		if (x->peer >= 0)
			message_pair(x);
		else
			x->seq = m->seq = x->seq == DATASET_NULL ? m->seq + 1 : x->seq;
	}
	big_free(sorted);
	return rc;
}

/* ---- numbers of steps ---- */

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The communicator with most ranks on which the rank called: the same on all ranks, mostly that of all. SIZE_MAX: none with a name. */
static size_t main_collective(const struct collectives *c, size_t rank)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < c->cnt; i++) {
		const struct collective *x = &c->list[i],
					*b = best == SIZE_MAX ? NULL : &c->list[best];

		if (x->rank == rank && x->hash != DATASET_NULL && x->peer < 0 &&
		    (!b || x->ranks > b->ranks || (x->ranks == b->ranks && x->hash < b->hash)))
			best = i;
	}
	return best;
}

/* For each step the number of its first collective on the communicator, INT64_MAX: it has none. False: the first one of all is recorded. */
static bool first_of_steps(const struct collectives *c, const struct rank *k, size_t rank,
			   int64_t hash, int64_t *first)
{
	for (size_t i = 0; i < k->steps_cnt; i++)
		first[i] = INT64_MAX;
	for (size_t i = 0; i < c->cnt; i++) {
		const struct collective *x = &c->list[i];
		const struct rank_step *s =
			x->rank == rank && x->hash == hash ? rollup_step(k, x->start) : NULL;

		if (s && x->seq < first[s - k->steps])
			first[s - k->steps] = x->seq;
		if (x->rank == rank && x->hash == hash && x->seq == 1)
			return false;
	}
	return true;
}

/* How many collectives a step makes: the median; 0: not known. @each: room for one number per step. */
static int64_t per_step(const int64_t *first, size_t cnt, int64_t *each)
{
	size_t n = 0;

	for (size_t i = 1; i < cnt; i++)
		if (first[i] != INT64_MAX && first[i - 1] != INT64_MAX && first[i] > first[i - 1])
			each[n++] = first[i] - first[i - 1];
	if (!n)
		return 0;
	qsort(each, n, sizeof(*each), by_number);
	return each[n / 2];
}

/*
 * Where steps were counted from the begin of a window that began late, each rank's window has begun elsewhere: the number of
 * collectives until then, which all ranks share, is a measure of the steps before.
 */
static int number_rank(const struct collectives *c, struct rank *k, size_t rank)
{
	size_t of = k->is_counted && k->steps_cnt > 1 ? main_collective(c, rank) : SIZE_MAX;
	int64_t *first, each, before;
	size_t at = 1; /* the window may have cut the first */

	if (of == SIZE_MAX)
		return SQLITE_OK;
	first = malloc(2 * k->steps_cnt * sizeof(*first));
	if (!first)
		return SQLITE_NOMEM;
	each = first_of_steps(c, k, rank, c->list[of].hash, first)
		       ? per_step(first, k->steps_cnt, first + k->steps_cnt)
		       : 0;
	while (at < k->steps_cnt && first[at] == INT64_MAX)
		at++;
	if (each && at < k->steps_cnt) {
		before = (first[at] - 1) / each - (int64_t)at;
		for (size_t i = 0; before > 0 && i < k->steps_cnt; i++)
			k->steps[i].no += before;
	}
	free(first);
	return SQLITE_OK;
}

static int number_steps(struct collectives *c)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < c->r->ranks_cnt; i++)
		rc = number_rank(c, &c->r->ranks[i], i);
	return rc;
}

static int put_them(struct collectives *c)
{
	size_t kernel = 0;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < c->spans_cnt; i++) {
		struct span *s = &c->spans[i];

		const struct collective *first = &c->list[s->first];

		if (s->cnt && first->comm_at != SIZE_MAX &&
		    message_is_all_to_all(&c->list[s->first], s->cnt, &c->comms[first->comm_at]))
			s->cnt = 1;
		for (size_t n = 0; rc == SQLITE_OK && n < s->cnt; n++)
			if (c->list[s->first + n].peer < 0 ||
			    c->list[s->first + n].peer != c->list[s->first + n].comm_rank)
				rc = put_collective(c, &c->list[s->first + n], n, kernel);
		kernel += s->kernels;
	}
	return rc;
}

int rollup_collectives(struct rollup *r)
{
	struct collectives c = {.r = r, .tid = -1, .launches = launches_new(2)};
	int rc = c.launches ? rollup_sql(r, calls_sql, call_row, &c) : SQLITE_NOMEM;

	c.nccl_cnt = c.cnt;
	c.nccl_spans = c.spans_cnt;
	if (rc == SQLITE_OK)
		rc = rollup_sql(r, mpi_sql, mpi_row, &c);
	if (rc == SQLITE_OK)
		rc = rollup_sql(
			r,
			"SELECT globalPid, comm, commHash, nRanks, rank, start, end, name FROM "
			"SL_NCCL_COMMUNICATORS ORDER BY start",
			comm_row, &c);
	if (rc == SQLITE_OK && c.cnt)
		rc = number_them(&c);
	if (rc == SQLITE_OK && c.cnt)
		rc = number_steps(&c);
	if (rc == SQLITE_OK && c.nccl_cnt)
		rc = find_kernels(&c);
	if (rc == SQLITE_OK)
		rc = put_them(&c);
	big_free(c.list);
	big_free(c.spans);
	free(c.comms);
	launches_free(c.launches);
	big_free(c.kernels);
	return rc;
}
