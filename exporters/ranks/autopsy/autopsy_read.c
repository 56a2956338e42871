/* autopsy_read.c - reads the files of a run's nodes. They may hold anything: what is no object, or no number, is left out. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/ranks/autopsy/autopsy.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/store/shared_folder.h"

#define FILE_MOST  (64u << 20) /* bytes, of a node */
#define RANKS_MOST 1000000u

typedef int json_row(void *ctx, sqlite3_stmt *row);

struct reading {
	sqlite3 *db;
	struct autopsy *a;
	const char *node;
};

/* What a row's callback fills. */
struct at {
	struct reading *r;
	struct autopsy_rank *rank;
};

static int64_t number(sqlite3_stmt *s, int i)
{
	return sqlite3_column_type(s, i) == SQLITE_INTEGER ? sqlite3_column_int64(s, i)
							   : AUTOPSY_NONE;
}

static int64_t number_or_0(sqlite3_stmt *s, int i)
{
	int64_t n = number(s, i);

	return n == AUTOPSY_NONE ? 0 : n;
}

static char *text(sqlite3_stmt *s, int i)
{
	const char *t = (const char *)sqlite3_column_text(s, i);

	return t && *t ? strdup(t) : NULL;
}

static int each(sqlite3 *db, const char *sql, const char *json, json_row *row, void *ctx)
{
	sqlite3_stmt *s = NULL;
	int rc = json ? sqlite3_prepare_v2(db, sql, -1, &s, NULL) : SQLITE_DONE;

	if (s)
		sqlite3_bind_text(s, 1, json, -1, SQLITE_STATIC);
	while (s && rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
		rc = row(ctx, s);
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- stacks and threads ---- */

static int frame_row(void *ctx, sqlite3_stmt *s)
{
	struct autopsy_stack *to = ctx;

	if (!grow(&to->list, to->cnt, &to->room, sizeof(*to->list)))
		return SQLITE_NOMEM;
	to->list[to->cnt++] = (struct autopsy_frame){.function = text(s, 0),
						     .file = text(s, 1),
						     .line = number_or_0(s, 2),
						     .module = text(s, 3),
						     .rank = number_or_0(s, 4)};
	return SQLITE_OK;
}

static int read_stack(struct reading *r, struct autopsy_stack *to, const char *json)
{
	return each(r->db,
		    "SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM "
		    "json_each(?1) WHERE type = 'array' LIMIT 64",
		    json, frame_row, to);
}

/* tid, time, call, path, owner, ownerPid, state, peer, stack */
static int add_thread(struct reading *r, struct autopsy_thread **list, size_t *cnt, size_t *room,
		      sqlite3_stmt *s)
{
	struct autopsy_thread *t;

	if (number(s, 1) == AUTOPSY_NONE)
		return SQLITE_OK;
	if (!grow(list, *cnt, room, sizeof(**list)))
		return SQLITE_NOMEM;
	t = &(*list)[(*cnt)++];
	*t = (struct autopsy_thread){.tid = number_or_0(s, 0),
				     .time = number(s, 1),
				     .call = text(s, 2),
				     .path = text(s, 3),
				     .owner = number_or_0(s, 4),
				     .pid = number_or_0(s, 5),
				     .state = text(s, 6),
				     .peer = text(s, 7)};
	return read_stack(r, &t->stack, (const char *)sqlite3_column_text(s, 8));
}

#define THREAD_COLUMNS                                                               \
	"value ->> 'tid', coalesce(value ->> 'time', value ->> 'start'), "           \
	"coalesce(value ->> 'call', value ->> 'name'), value ->> 'path', value ->> " \
	"'owner', value ->> 'ownerPid', value ->> 'state', value ->> 'peer', value -> 'stack' "

static int death_row(void *ctx, sqlite3_stmt *s)
{
	struct at *at = ctx;
	struct autopsy_rank *k = at->rank;

	return add_thread(at->r, &k->deaths, &k->deaths_cnt, &k->deaths_room, s);
}

static int wait_row(void *ctx, sqlite3_stmt *s)
{
	struct at *at = ctx;
	struct autopsy_rank *k = at->rank;

	return add_thread(at->r, &k->waits, &k->waits_cnt, &k->waits_room, s);
}

static int last_row(void *ctx, sqlite3_stmt *s)
{
	struct at *at = ctx;
	struct autopsy_rank *k = at->rank;

	return add_thread(at->r, &k->last, &k->last_cnt, &k->last_room, s);
}

/* ---- lists of a rank ---- */

static int joined_row(void *ctx, sqlite3_stmt *s)
{
	struct autopsy_rank *k = ((struct at *)ctx)->rank;

	if (number(s, 0) == AUTOPSY_NONE || number(s, 1) == AUTOPSY_NONE)
		return SQLITE_OK;
	if (!grow(&k->joined, k->joined_cnt, &k->joined_room, sizeof(*k->joined)))
		return SQLITE_NOMEM;
	k->joined[k->joined_cnt++] = (struct autopsy_joined){.comm = number(s, 0),
							     .seq = number(s, 1),
							     .op = text(s, 2),
							     .size = number_or_0(s, 3),
							     .own = number(s, 4),
							     .bytes = number_or_0(s, 5),
							     .call = number(s, 6),
							     .end = number(s, 7)};
	return SQLITE_OK;
}

/* hash, nRanks, rank: of a communicator on which it has joined nothing yet. */
static int comm_row(void *ctx, sqlite3_stmt *s)
{
	struct autopsy_rank *k = ((struct at *)ctx)->rank;

	for (size_t i = 0; i < k->joined_cnt; i++)
		if (k->joined[i].comm == number(s, 0))
			return SQLITE_OK;
	if (number(s, 0) == AUTOPSY_NONE)
		return SQLITE_OK;
	if (!grow(&k->joined, k->joined_cnt, &k->joined_room, sizeof(*k->joined)))
		return SQLITE_NOMEM;
	k->joined[k->joined_cnt++] = (struct autopsy_joined){.comm = number(s, 0),
							     .size = number_or_0(s, 1),
							     .own = number(s, 2),
							     .call = AUTOPSY_NONE,
							     .end = AUTOPSY_NONE};
	return SQLITE_OK;
}

static int range_row(void *ctx, sqlite3_stmt *s)
{
	struct autopsy_rank *k = ((struct at *)ctx)->rank;

	if (number(s, 0) == AUTOPSY_NONE)
		return SQLITE_OK;
	if (!grow(&k->ranges, k->ranges_cnt, &k->ranges_room, sizeof(*k->ranges)))
		return SQLITE_NOMEM;
	k->ranges[k->ranges_cnt++] = (struct autopsy_range){number(s, 0), number(s, 1), text(s, 2)};
	return SQLITE_OK;
}

static int add_call(struct autopsy_call **list, size_t *cnt, size_t *room, sqlite3_stmt *s)
{
	if (!grow(list, *cnt, room, sizeof(**list)))
		return SQLITE_NOMEM;
	(*list)[(*cnt)++] = (struct autopsy_call){number_or_0(s, 1), number_or_0(s, 2), text(s, 0)};
	return SQLITE_OK;
}

static int call_row(void *ctx, sqlite3_stmt *s)
{
	struct autopsy_rank *k = ((struct at *)ctx)->rank;

	return add_call(&k->calls, &k->calls_cnt, &k->calls_room, s);
}

static int note_row(void *ctx, sqlite3_stmt *s)
{
	struct autopsy_rank *k = ((struct at *)ctx)->rank;

	return add_call(&k->notes, &k->notes_cnt, &k->notes_room, s);
}

static int child_row(void *ctx, sqlite3_stmt *s)
{
	struct autopsy_rank *k = ((struct at *)ctx)->rank;

	return add_call(&k->children, &k->children_cnt, &k->children_room, s);
}

static int read_lists(struct at *at, const char *json)
{
	static const struct {
		const char *sql;
		json_row *row;
	} lists[] = {
		{"SELECT " THREAD_COLUMNS
		 "FROM json_each(?1, '$.facts.deaths') WHERE type = 'object'",
		 death_row},
		{"SELECT " THREAD_COLUMNS
		 "FROM json_each(?1, '$.facts.waits') WHERE type = 'object'",
		 wait_row},
		{"SELECT " THREAD_COLUMNS
		 "FROM (SELECT json_extract(?1, '$.facts.sample') AS value UNION ALL SELECT "
		 "json_extract(?1, '$.facts.call')) WHERE json_type(value) = 'object'",
		 last_row},
		{"SELECT value ->> 'comm', value ->> 'seq', value ->> 'op', value ->> 'size', "
		 "value "
		 "->> 'own', value ->> 'bytes', value ->> 'call', value ->> 'end' FROM "
		 "json_each(?1, '$.joined') WHERE type = 'object'",
		 joined_row},
		{"SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1, '$.facts.comms') "
		 "WHERE type = 'array' LIMIT 1024",
		 comm_row},
		{"SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1, "
		 "'$.facts.ranges') "
		 "WHERE type = 'array' ORDER BY 1",
		 range_row},
		{"SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1, '$.facts.calls') "
		 "WHERE type = 'array'",
		 call_row},
		{"SELECT value, 0, 0 FROM json_each(?1, '$.facts.notes') WHERE type = 'text'",
		 note_row},
		{"SELECT value ->> 1, value ->> 2, value ->> 3 FROM json_each(?1, "
		 "'$.facts.children') WHERE type = 'array'",
		 child_row},
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(lists) / sizeof(lists[0]); i++)
		rc = each(at->r->db, lists[i].sql, json, lists[i].row, at);
	return rc;
}

/* The last sign that the rank got ahead: the end of a range, a collective joined or done. */
static int64_t progress_of(const struct autopsy_rank *k)
{
	int64_t last = k->life.start;

	for (size_t i = 0; i < k->ranges_cnt; i++)
		if (k->ranges[i].end > last)
			last = k->ranges[i].end;
	for (size_t i = 0; i < k->joined_cnt; i++) {
		if (k->joined[i].call > last)
			last = k->joined[i].call;
		if (k->joined[i].end > last)
			last = k->joined[i].end;
	}
	return last;
}

/* rank, restart, world, host, report, complete, start, pid, status, end, command, the object */
static int rank_row(void *ctx, sqlite3_stmt *s)
{
	struct reading *r = ctx;
	struct autopsy *a = r->a;
	struct at at = {.r = r};
	int rc;

	if (number(s, 0) == AUTOPSY_NONE || a->ranks_cnt >= RANKS_MOST)
		return SQLITE_OK;
	if (!grow(&a->ranks, a->ranks_cnt, &a->ranks_room, sizeof(*a->ranks)))
		return SQLITE_NOMEM;
	at.rank = &a->ranks[a->ranks_cnt++];
	*at.rank = (struct autopsy_rank){
		.id = {.rank = number(s, 0),
		       .restart = number_or_0(s, 1),
		       .pid = number_or_0(s, 7),
		       .node = strdup(r->node),
		       .host = text(s, 3),
		       .report = text(s, 4),
		       .command = text(s, 10)},
		.life = {.start = number(s, 6),
			 .end = number(s, 9),
			 .status = number(s, 8),
			 .complete = number_or_0(s, 5)},
	};
	if (number(s, 2) > a->world)
		a->world = number(s, 2);
	if (at.rank->life.start != AUTOPSY_NONE && (!a->start || at.rank->life.start < a->start))
		a->start = at.rank->life.start;
	rc = read_lists(&at, (const char *)sqlite3_column_text(s, 11));
	at.rank->life.progress = progress_of(at.rank);
	return rc;
}

int autopsy_read_node(struct autopsy *a, sqlite3 *db, const char *node, const char *json)
{
	struct reading r = {db, a, node};

	return each(
		db,
		"SELECT value ->> 'rank', value ->> 'restart', value ->> 'world', value ->> "
		"'host', value ->> 'report', value ->> 'complete', value ->> 'start', value ->> "
		"'$.facts.pid', value ->> '$.facts.status', value ->> '$.facts.end', value ->> "
		"'$.facts.command', value FROM json_each(?1, '$.ranks') WHERE type = 'object'",
		json, rank_row, &r);
}

/* ---- files ---- */

static int read_file(struct autopsy *a, sqlite3 *db, const char *folder, const char *run,
		     const char *node)
{
	char *path = dataset_ends(folder, run, node);
	char *json = path ? shared_file_read(path, FILE_MOST) : NULL;
	int rc = json ? autopsy_read_node(a, db, node, json) : SQLITE_OK;

	/* A file that is none, or was cut off, is no reason to keep the others back. */
	if (!json || rc == SQLITE_ERROR)
		a->unread++;
	free(json);
	free(path);
	return rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

int autopsy_read(struct autopsy *a, sqlite3 *manifests, const char *folder, const char *run,
		 char *why, size_t why_len)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(
		manifests, "SELECT node FROM manifest WHERE run = ?1 ORDER BY node", -1, &s, NULL);

	memset(a, 0, sizeof(*a));
	if (rc == SQLITE_OK)
		sqlite3_bind_text(s, 1, run, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
		rc = read_file(a, manifests, folder, run, (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	if (rc == SQLITE_DONE)
		return 0;
	snprintf(why, why_len, "%s", sqlite3_errmsg(manifests));
	return -1;
}

/* ---- the end ---- */

static void free_threads(struct autopsy_thread *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		for (size_t k = 0; k < list[i].stack.cnt; k++) {
			free(list[i].stack.list[k].function);
			free(list[i].stack.list[k].file);
			free(list[i].stack.list[k].module);
		}
		free(list[i].stack.list);
		free(list[i].call);
		free(list[i].path);
		free(list[i].peer);
		free(list[i].state);
	}
	free(list);
}

static void free_calls(struct autopsy_call *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		free(list[i].name);
	free(list);
}

static void free_rank(struct autopsy_rank *k)
{
	free(k->id.node);
	free(k->id.host);
	free(k->id.report);
	free(k->id.command);
	free_threads(k->deaths, k->deaths_cnt);
	free_threads(k->waits, k->waits_cnt);
	free_threads(k->last, k->last_cnt);
	for (size_t i = 0; i < k->joined_cnt; i++)
		free(k->joined[i].op);
	free(k->joined);
	for (size_t i = 0; i < k->ranges_cnt; i++)
		free(k->ranges[i].name);
	free(k->ranges);
	free_calls(k->calls, k->calls_cnt);
	free_calls(k->notes, k->notes_cnt);
	free_calls(k->children, k->children_cnt);
}

void autopsy_free(struct autopsy *a)
{
	for (size_t i = 0; i < a->ranks_cnt; i++)
		free_rank(&a->ranks[i]);
	for (size_t i = 0; i < a->stuck_cnt; i++) {
		free(a->stuck[i].in);
		free(a->stuck[i].missing);
	}
	free(a->ranks);
	free(a->stuck);
	memset(a, 0, sizeof(*a));
}
