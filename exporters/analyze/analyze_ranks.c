/*
 * analyze_ranks.c - several reports are mostly the ranks of one job: is their load even?
 *
 * The judgement of the rule gpu_imbalance across all reports: it compares the processes of one.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/analyze/analyze.h"

/* As the rule's own are without arguments. */
#define RATIO 0.5  /* least busy by most busy */
#define PART  0.05 /* of the most kernels; with fewer, a process has another job */

static const char advice[] = "Cut the work into parts of equal time rather than equal size: the "
			     "ranks wait for the slowest.";

int ranks_add(struct ranks *r, struct analysis *a, char *why, size_t why_len)
{
	sqlite3_stmt *stmt = NULL;
	int rc;

	if (analysis_use(a, "gpu_load", why, why_len) < 0)
		return -1;
	rc = sqlite3_prepare_v2(a->db, "SELECT ns, deviceId, n FROM gpu_load", -1, &stmt, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct rank *more = reallocarray(r->list, r->cnt + 1, sizeof(*more));

		rc = more ? SQLITE_OK : SQLITE_NOMEM;
		if (!more)
			break;
		r->list = more;
		more[r->cnt++] =
			(struct rank){a->input, sqlite3_column_int64(stmt, 0),
				      sqlite3_column_int(stmt, 1), sqlite3_column_int64(stmt, 2)};
	}
	if (rc != SQLITE_DONE)
		snprintf(why, why_len, "%s", sqlite3_errmsg(a->db));
	sqlite3_finalize(stmt);
	if (wall_ns(&a->wall) > r->wall_ns)
		r->wall_ns = wall_ns(&a->wall);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* Drops GPUs with few kernels: they have no share of the job. */
static void drop_others(struct ranks *r)
{
	long long most = 0;
	size_t kept = 0;

	for (size_t i = 0; i < r->cnt; i++)
		most = r->list[i].kernels > most ? r->list[i].kernels : most;
	for (size_t i = 0; i < r->cnt; i++)
		if ((double)r->list[i].kernels >= PART * (double)most)
			r->list[kept++] = r->list[i];
	r->cnt = kept;
}

int ranks_judge(struct ranks *r, struct findings *fs)
{
	const struct rank *least = r->list, *most = r->list;
	struct finding f = {.input = "", .rule = "gpu_imbalance", .title = "Uneven Load of Ranks"};
	double mean = 0;
	int rc;

	drop_others(r);
	for (size_t i = 0; i < r->cnt; i++) {
		least = r->list[i].ns < least->ns ? &r->list[i] : least;
		most = r->list[i].ns > most->ns ? &r->list[i] : most;
		mean += (double)r->list[i].ns / (double)r->cnt;
	}
	if (r->cnt < 2 || strcmp(least->input, most->input) == 0 || r->wall_ns <= 0 ||
	    (double)least->ns >= RATIO * (double)most->ns)
		return 0;
	f.cost_ns = (long long)((double)most->ns - mean);
	f.share = (double)f.cost_ns / (double)r->wall_ns;
	f.severity = f.share > 0.1    ? SEVERITY_SEVERE
		     : f.share > 0.02 ? SEVERITY_BAD
				      : SEVERITY_INFO;
	if (f.share <= 0.01)
		return 0;
	if (asprintf(&f.text,
		     "Of {%zu} GPUs in all reports the least busy, GPU %d of %s, ran kernels for "
		     "{%lld ns}, the busiest, GPU %d of %s, for {%lld ns}: a ratio of %.2f.",
		     r->cnt, least->device, least->input, least->ns, most->device, most->input,
		     most->ns, (double)least->ns / (double)most->ns) < 0)
		return -1;
	f.advice = (char *)(uintptr_t)advice;
	rc = findings_add(fs, &f);
	free(f.text);
	return rc;
}
