/* coverage.c - sums over the manifests of a run, and sentences of them. */
#include "exporters/ranks/coverage.h"

#include <stdio.h>
#include <string.h>

static const char sums_sql[] =
	"WITH r AS (SELECT rank, max(worldSize) AS world, min(complete) AS complete, max(steps) AS "
	"steps, sum(collectives) AS collectives FROM rank WHERE run = ?1 AND typeof(rank) = "
	"'integer' GROUP BY rank) SELECT count(*), coalesce(max(world), 0), (SELECT CASE WHEN "
	"count(*) = 0 OR min(rank) > 0 THEN 0 ELSE (SELECT min(a.rank) + 1 FROM r AS a LEFT JOIN r "
	"AS b ON b.rank = a.rank + 1 WHERE b.rank IS NULL) END FROM r), sum(complete = 0), "
	"sum(steps), sum(coalesce(steps, 0) = 0), sum(collectives), (SELECT coalesce(sum(unnamed), "
	"-1) FROM manifest WHERE run = ?1) FROM r";

int coverage_find(sqlite3 *manifests, const char *run, struct coverage *c)
{
	int64_t *const to[] = {&c->ranks, &c->world,         &c->first_missing, &c->cut,
			       &c->steps, &c->without_steps, &c->collectives,   &c->unnamed};
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(manifests, sums_sql, -1, &stmt, NULL);

	memset(c, 0, sizeof(*c));
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, run, -1, SQLITE_STATIC);
		rc = sqlite3_step(stmt);
		for (int i = 0; rc == SQLITE_ROW && i < 8; i++)
			*to[i] = sqlite3_column_int64(stmt, i);
		rc = rc == SQLITE_ROW ? SQLITE_OK : rc;
	}
	sqlite3_finalize(stmt);
	if (c->ranks >= c->world)
		c->first_missing = -1;
	return rc;
}

static void put_steps(FILE *out, const struct coverage *c)
{
	if (!c->steps)
		fputs("\nno step was recorded, and the question is about steps: 'profile "
		      "--python-step' marks those of a Python program, 'ranks add --step=RANGE' "
		      "takes other NVTX ranges",
		      out);
	else if (c->without_steps)
		fprintf(out, "\n%lld ranks have no steps", (long long)c->without_steps);
}

static void put_collectives(FILE *out, const struct coverage *c)
{
	if (!c->collectives)
		fputs("\nno collective was recorded, and the question is about them: '-t nccl,mpi' "
		      "records those of NCCL and MPI; gloo's are inside of PyTorch and cannot be "
		      "seen",
		      out);
	else if (c->unnamed > 0)
		fprintf(out,
			"\n%lld of %lld collectives do not count: their communicators were made "
			"before the recording began, and no other rank knows them by a name",
			(long long)c->unnamed, (long long)c->collectives);
}

char *coverage_text(const struct coverage *c, const char *sql)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	if (c->world > 0)
		fprintf(out, "%lld of %lld ranks", (long long)c->ranks, (long long)c->world);
	else
		fprintf(out, "%lld ranks", (long long)c->ranks);
	if (c->first_missing >= 0 && c->world > 0)
		fprintf(out, " (rank %lld is missing%s)", (long long)c->first_missing,
			c->world - c->ranks > 1 ? ", and others" : "");
	if (c->cut)
		fprintf(out, ", %lld of reports that were cut off", (long long)c->cut);
	fprintf(out, ", %lld steps, %lld collectives", (long long)c->steps,
		(long long)c->collectives);
	if (c->first_missing >= 0 && c->world > 0 && strstr(sql, "SL_COLLECTIVES"))
		fputs("; waits are at least so long", out);
	if (strstr(sql, "SL_STEPS"))
		put_steps(out, c);
	if (strstr(sql, "SL_COLLECTIVES"))
		put_collectives(out, c);
	return fclose(out) == 0 ? text : NULL;
}
