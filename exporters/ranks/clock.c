/* clock.c - ends of collectives from an engine; lines as a table and as JSON. */
#include "exporters/ranks/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/ranks/dataset.h"

/*
 * Only of operations that all ranks end together. Which of a minute's are taken is by a product of their number, so that they
 * are spread over it. Times are as doubles where a median is taken of them: from the start of the run on, so that they fit.
 */
const char clock_ends_sql[] =
	"WITH b AS (\n"
	"	SELECT min(\"start\") AS at FROM SL_RANKS WHERE run = :run\n"
	"), g AS (\n"
	"	SELECT commHash, seq, CAST(floor(min(\"end\" - b.at) / 6e10) AS BIGINT) AS minute\n"
	"	FROM SL_COLLECTIVES CROSS JOIN b\n"
	"	WHERE run = :run AND commHash IS NOT NULL AND \"end\" IS NOT NULL AND op IN "
	"('AllReduce', 'AllGather', "
	"'ReduceScatter', 'AlltoAll')\n"
	"	GROUP BY commHash, seq\n"
	"	HAVING min(node) <> max(node) AND count(*) >= coalesce(max(nRanks), 2) AND min(op) "
	"= max(op) AND min(bytes) = "
	"max(bytes)\n"
	"), n AS (\n"
	"	SELECT commHash, seq, minute, row_number() OVER (PARTITION BY minute, commHash "
	"ORDER BY seq * 2654435761 % "
	"4294967291, seq) AS nth FROM g\n"
	"), k AS (\n"
	"	SELECT commHash, seq, minute, row_number() OVER (PARTITION BY minute ORDER BY nth, "
	"commHash) AS place FROM n\n"
	")\n"
	"SELECT k.minute * 1000 + k.place AS id, c.node, b.at + CAST(percentile_cont(0.5) WITHIN "
	"GROUP (ORDER BY c.\"end\" - "
	"b.at) AS BIGINT) AS \"end\"\n"
	"FROM k JOIN SL_COLLECTIVES AS c ON c.commHash = k.commHash AND c.seq = k.seq CROSS JOIN "
	"b\n"
	"WHERE c.run = :run AND k.place <= 1000\n"
	"GROUP BY k.minute, k.place, c.node, b.at;\n";

static int by_name(const void *a, const void *b)
{
	const struct clock_node *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int clock_read(FILE *in, struct clock_nodes *nodes, struct clock_end **ends, size_t *cnt)
{
	char *line = NULL;
	size_t len = 0, room = 0;
	int rc = 0;

	*ends = NULL;
	*cnt = 0;
	while (rc == 0 && getline(&line, &len, in) > 0) {
		char *at, *name = line + strcspn(line, ",\t");
		struct clock_node key, *node;
		int64_t end;

		if (!*name) /* a message of the engine */
			continue;
		*name++ = 0;
		at = name + strcspn(name, ",\t");
		if (!*at)
			continue;
		*at++ = 0;
		key.name = name;
		node = nodes->cnt ? bsearch(&key, nodes->list, nodes->cnt, sizeof(key), by_name)
				  : NULL;
		end = strtoll(at, NULL, 10);
		/* The heading, too; no clock is before 1970, and differences do not overflow. */
		if (!node || end < 0)
			continue;
		if (!grow(ends, *cnt, &room, sizeof(**ends))) {
			rc = -1;
			break;
		}
		(*ends)[(*cnt)++] = (struct clock_end){strtoull(line, NULL, 10),
						       (uint32_t)(node - nodes->list), end};
		node->ends++;
	}
	free(line);
	return rc;
}

/* ---- output ---- */

static const char lines_sql[] =
	"CREATE TABLE line(node TEXT, time INTEGER, offsetNs INTEGER, driftPpb INTEGER, errorNs "
	"INTEGER, collectives INTEGER, reference TEXT, source TEXT)";

static int put_line(sqlite3_stmt *put, const char *node, const struct clock_line *l,
		    const char *reference, const char *source)
{
	int rc;

	sqlite3_bind_text(put, 1, node, -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 2, l->time);
	sqlite3_bind_int64(put, 3, llround(l->offset));
	sqlite3_bind_int64(put, 4, llround(l->drift * 1e9));
	if (l->error < 0)
		sqlite3_bind_null(put, 5);
	else
		sqlite3_bind_int64(put, 5, llround(l->error));
	sqlite3_bind_int64(put, 6, l->ends);
	sqlite3_bind_text(put, 7, reference, -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 8, source, -1, SQLITE_STATIC);
	rc = sqlite3_step(put);
	sqlite3_reset(put);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Nodes that could not be fitted have the kernel's bound. */
static int put_lines(sqlite3 *db, const struct clock_nodes *nodes, const struct clock_fit *fit)
{
	const char *reference = nodes->list[fit->reference].name;
	sqlite3_stmt *put = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO line VALUES(?, ?, ?, ?, ?, ?, ?, ?)", -1, &put,
				    NULL);
	size_t at = 0;

	for (uint32_t n = 0; rc == SQLITE_OK && n < nodes->cnt; n++) {
		const struct clock_node *node = &nodes->list[n];
		bool is_fitted = at < fit->cnt && fit->lines[at].node == n;
		struct clock_line none = {
			.time = node->start == DATASET_NULL ? 0 : node->start,
			.error = n == fit->reference && fit->cnt ? 0
				 : node->bound == DATASET_NULL   ? -1
								 : (double)node->bound,
		};

		for (; rc == SQLITE_OK && at < fit->cnt && fit->lines[at].node == n; at++)
			rc = put_line(put, node->name, &fit->lines[at], reference, "collectives");
		if (rc == SQLITE_OK && !is_fitted)
			rc = put_line(put, node->name, &none, reference,
				      n == fit->reference && fit->cnt ? "reference" : "kernel");
	}
	sqlite3_finalize(put);
	return rc;
}

static int write_node(sqlite3 *db, const struct dataset_part *part, char *why, size_t why_len)
{
	struct dataset d;
	sqlite3_stmt *get = NULL;
	int rc = dataset_begin(&d), err = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db,
					"SELECT time, offsetNs, driftPpb, errorNs, collectives, "
					"reference, source FROM line WHERE node = ?",
					-1, &get, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(get, 1, part->node, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && (rc = sqlite3_step(get)) == SQLITE_ROW)
		rc = dataset_row(&d, DATASET_SL_CLOCK_FIT, get);
	if (rc == SQLITE_DONE)
		err = dataset_write_table(&d, part, DATASET_SL_CLOCK_FIT, why, why_len);
	else
		snprintf(why, why_len, "%s", sqlite3_errstr(rc));
	sqlite3_finalize(get);
	dataset_end(&d);
	return rc == SQLITE_DONE ? err : -1;
}

static int write_json(sqlite3 *db, const char *folder, const char *run, char *why, size_t why_len)
{
	sqlite3_stmt *stmt = NULL;
	char *path = dataset_clocks(folder, run);
	int rc = sqlite3_prepare_v2(
		db,
		"SELECT json_object('lines', json_group_array(json_object('node', node, 'time', "
		"time, 'offsetNs', offsetNs, 'driftPpb', driftPpb, 'errorNs', errorNs, "
		"'collectives', collectives, 'reference', reference, 'source', source))) FROM line",
		-1, &stmt, NULL);
	int err = -1;

	if (path && rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		err = dataset_write_text(folder, path, (const char *)sqlite3_column_text(stmt, 0),
					 why, why_len);
	else
		snprintf(why, why_len, "%s", path ? sqlite3_errmsg(db) : "out of memory");
	sqlite3_finalize(stmt);
	free(path);
	return err;
}

int clock_write(const char *folder, const char *run, const struct clock_nodes *nodes,
		const struct clock_fit *fit, char *why, size_t why_len)
{
	struct dataset_part part = {.folder = folder, .run = run};
	sqlite3 *db = NULL;
	int rc = sqlite3_open(":memory:", &db), err = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, lines_sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = put_lines(db, nodes, fit);
	if (rc != SQLITE_OK) {
		snprintf(why, why_len, "%s", sqlite3_errmsg(db));
		err = -1;
	}
	for (size_t n = 0; !err && n < nodes->cnt; n++) {
		part.node = nodes->list[n].name;
		err = write_node(db, &part, why, why_len);
	}
	if (!err)
		err = write_json(db, folder, run, why, why_len);
	sqlite3_close(db);
	return err;
}
