/* autopsy_make.c - takes the ends of ranks out of reports, one file of JSON per node. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/embed.h"
#include "exporters/ranks/autopsy/autopsy.h"
#include "exporters/ranks/dataset.h"
#include "exporters/why/model/frame.h"

#define LAST_NS INT64_C(30000000000) /* of a rank's life */

struct autopsy_node {
	sqlite3_str *ranks;
	char *path;    /* of the report that is being added */
	int64_t bytes; /* its size */
};

struct autopsy_node *autopsy_node_new(void)
{
	struct autopsy_node *n = calloc(1, sizeof(*n));

	if (n)
		n->ranks = sqlite3_str_new(NULL);
	return n;
}

void autopsy_node_free(struct autopsy_node *n)
{
	if (!n)
		return;
	sqlite3_free(sqlite3_str_finish(n->ranks));
	free(n->path);
	free(n);
}

void autopsy_node_report(struct autopsy_node *n, const char *path)
{
	struct stat st;

	free(n->path);
	n->path = realpath(path, NULL);
	n->bytes = n->path && stat(n->path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static const char *embedded(void)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "ranks/autopsy/ends.sql") == 0)
			return e->text;
	return "";
}

/* sl_frame_rank(kind, symbol, module, file, line, unresolved) */
static void frame_rank(sqlite3_context *ctx, int cnt, sqlite3_value **v)
{
	struct frames *f = sqlite3_user_data(ctx);
	struct frame_row row = frames_row(v);
	uint32_t i = frames_number(f, &row);

	(void)cnt;
	if (i != UINT32_MAX)
		sqlite3_result_int(ctx, f->list[i].rank);
}

/* What the dataset has of the rank, and how far it got in the collectives of each communicator. */
static const char rank_sql[] =
	"SELECT json_object('rank', r.rank, 'restart', r.restart, 'world', r.worldSize, 'host', "
	"r.host, 'report', r.report, 'complete', r.complete, 'start', r.start, 'path', ?4, "
	"'bytes', ?5, 'last', r.\"end\", "
	"'joined', json((SELECT json_group_array(json_object('comm', commHash, 'seq', seq, 'op', "
	"op, "
	"'size', nRanks, 'own', commRank, 'bytes', bytes, 'call', callStart, 'end', done)) FROM "
	"(SELECT commHash, max(seq) AS seq, op, nRanks, commRank, bytes, callStart, \"end\" AS "
	"done "
	"FROM SL_COLLECTIVES WHERE rank = r.rank AND commHash IS NOT NULL GROUP BY commHash ORDER "
	"BY "
	"callStart DESC LIMIT 64))), 'facts', json(?3)) FROM SL_RANKS AS r WHERE r.rank = ?1 AND "
	"r.restart = ?2";

static int put_rank(struct autopsy_node *n, sqlite3_stmt *to, sqlite3_stmt *from)
{
	int rc;

	for (int i = 0; i < 3; i++)
		sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
	sqlite3_bind_text(to, 4, n->path, -1, SQLITE_STATIC);
	sqlite3_bind_int64(to, 5, n->bytes);
	rc = sqlite3_step(to);
	if (rc == SQLITE_ROW)
		sqlite3_str_appendf(n->ranks, "%s%s", sqlite3_str_length(n->ranks) ? ",\n" : "",
				    (const char *)sqlite3_column_text(to, 0));
	sqlite3_reset(to);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? sqlite3_str_errcode(n->ranks) : rc;
}

/* Did a rank end badly, or is that not known? Stacks and calls of others would only take time. */
/* Where no process has ended yet, or the report does not have it, the last 30 s are those before the rows that were written last. */
static const char deep_sql[] =
	"SELECT max(bad), coalesce(max(till), max((SELECT coalesce(max(end), 0) FROM (SELECT end "
	"FROM "
	"OSRT_API ORDER BY rowid DESC LIMIT 1000)), (SELECT coalesce(max(end), 0) FROM (SELECT end "
	"FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY rowid DESC LIMIT 1000)))) FROM (SELECT "
	"coalesce((SELECT exitStatus FROM SL_PROCESS_TREE "
	"AS t "
	"WHERE t.globalPid >> 24 = r.pid ORDER BY start DESC LIMIT 1), 1) <> 0 AS bad, (SELECT "
	"max(end) FROM SL_PROCESS_TREE AS t WHERE t.globalPid >> 24 = r.pid) AS till FROM rank AS "
	"r)";

static int find_depth(sqlite3 *report, bool *deep, int64_t *from)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(report, deep_sql, -1, &stmt, NULL);

	*deep = false;
	*from = INT64_MIN;
	if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		*deep = sqlite3_column_int(stmt, 0) != 0;
		if (sqlite3_column_type(stmt, 1) == SQLITE_INTEGER)
			*from = sqlite3_column_int64(stmt, 1) - LAST_NS;
	}
	sqlite3_finalize(stmt);
	return rc;
}

static void bind(sqlite3_stmt *stmt, bool deep, int64_t from, int64_t epoch)
{
	for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
		const char *name = sqlite3_bind_parameter_name(stmt, i);

		sqlite3_bind_int64(stmt, i,
				   strcmp(name, ":deep") == 0   ? deep
				   : strcmp(name, ":from") == 0 ? from
								: epoch);
	}
}

static int run_all(struct autopsy_node *n, sqlite3 *report, sqlite3_stmt *to, int64_t epoch)
{
	bool deep;
	int64_t from;
	int rc = find_depth(report, &deep, &from);

	for (const char *at = embedded(); rc == SQLITE_OK && *at;) {
		sqlite3_stmt *stmt = NULL;

		rc = sqlite3_prepare_v2(report, at, -1, &stmt, &at);
		if (rc != SQLITE_OK || !stmt)
			break;
		bind(stmt, deep, from, epoch);
		while ((rc = sqlite3_step(stmt)) == SQLITE_ROW &&
		       (rc = put_rank(n, to, stmt)) == SQLITE_OK)
			;
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
		sqlite3_finalize(stmt);
	}
	return rc;
}

int autopsy_node_add(struct autopsy_node *n, struct dataset *d, sqlite3 *report, int64_t epoch)
{
	struct frames frames;
	sqlite3_stmt *to = NULL;
	int rc = frames_open(&frames, report);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(report, "sl_frame_rank", 6, SQLITE_UTF8, &frames,
					     frame_rank, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(d->db, rank_sql, -1, &to, NULL);
	if (rc == SQLITE_OK)
		rc = run_all(n, report, to, epoch);
	sqlite3_finalize(to);
	sqlite3_create_function(report, "sl_frame_rank", 6, SQLITE_UTF8, NULL, NULL, NULL, NULL);
	frames_close(&frames);
	return rc;
}

int autopsy_node_write(struct autopsy_node *n, const char *folder, const char *run,
		       const char *node, char *why, size_t why_len)
{
	char *path = dataset_ends(folder, run, node);
	char *ranks = sqlite3_str_finish(n->ranks);
	char *text = sqlite3_mprintf("{\"version\": 1, \"ranks\": [\n%s\n]}\n", ranks ? ranks : "");
	int err = -1;

	n->ranks = sqlite3_str_new(NULL);
	if (path && text)
		err = dataset_write_text(folder, path, text, why, why_len);
	else
		snprintf(why, why_len, "out of memory");
	sqlite3_free(text);
	sqlite3_free(ranks);
	free(path);
	return err;
}
