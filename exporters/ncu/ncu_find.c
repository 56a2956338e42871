/* ncu_find.c - which kernels, which launch of each, and how many launches of its name come before that. */
#include "exporters/ncu/ncu.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_SHOWN 5

static char *text_of(sqlite3_stmt *stmt, int col)
{
	const char *s = (const char *)sqlite3_column_text(stmt, col);

	return s ? strdup(s) : NULL;
}

static int fail(struct ncu *n, char *why, size_t why_len)
{
	snprintf(why, why_len, "%s", sqlite3_errmsg(n->db));
	return -1;
}

static int exec(struct ncu *n, const char *sql, char *why, size_t why_len)
{
	return sqlite3_exec(n->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(n, why, why_len);
}

/* ---- kernels ---- */

/* All that have a name, by which ncu finds them; rank: how well the name fits the pattern, 0 best. */
static const char all_kernels[] =
	"WITH total AS (SELECT coalesce(mangledName, demangledName) AS id, min(mangledName) AS "
	"mangled, min(demangledName) AS demangled, min(shortName) AS short, count(*) AS n, "
	"sum(end - start) AS ns FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1) "
	"SELECT total.id, m.value, coalesce(d.value, m.value), coalesce(s.value, d.value, "
	"m.value), "
	"n, ns, CASE WHEN ?1 IN (m.value, d.value) THEN 0 WHEN ?1 = s.value THEN 1 "
	"WHEN instr(d.value, ?1) OR instr(m.value, ?1) THEN 2 WHEN ?1 IS NULL THEN 0 ELSE 3 END AS "
	"rank FROM total LEFT JOIN StringIds AS m ON m.id = mangled LEFT JOIN StringIds AS d ON "
	"d.id = demangled LEFT JOIN StringIds AS s ON s.id = short WHERE "
	"coalesce(s.value, d.value, m.value) IS NOT NULL "
	"ORDER BY rank, ns DESC, total.id";

static int add_kernel(struct ncu *n, sqlite3_stmt *stmt)
{
	struct ncu_kernel *k = ncu_more(&n->kernels, &n->kernel_cnt, sizeof(*k));

	if (!k)
		return -1;
	*k = (struct ncu_kernel){
		.id = sqlite3_column_int64(stmt, 0),
		.mangled = text_of(stmt, 1),
		.demangled = text_of(stmt, 2),
		.name = text_of(stmt, 3),
		.launches = sqlite3_column_int64(stmt, 4),
		.ns = sqlite3_column_int64(stmt, 5),
	};
	return 0;
}

static void say_names(sqlite3_stmt *stmt, const struct ncu_ask *ask, char *why, size_t why_len)
{
	int shown = 0;

	snprintf(why, why_len, "no kernel is called '%s'", ask->kernel);
	do {
		const char *name = (const char *)sqlite3_column_text(stmt, 3);
		size_t len = strlen(why);

		snprintf(why + len, why_len - len, "%s%.120s",
			 shown ? ", " : "; those that took most time: ", name ? name : "");
	} while (++shown < NAMES_SHOWN && sqlite3_step(stmt) == SQLITE_ROW);
}

/* Reads the kernels asked for, the one that took most time first. */
static int read_kernels(struct ncu *n, char *why, size_t why_len)
{
	const struct ncu_ask *ask = n->ask;
	int64_t most = ask->kernel ? 1 : ask->top;
	sqlite3_stmt *stmt;
	int rc, best = -1;

	if (sqlite3_prepare_v2(n->db, all_kernels, -1, &stmt, NULL) != SQLITE_OK)
		return fail(n, why, why_len);
	sqlite3_bind_text(stmt, 1, ask->kernel, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int rank = sqlite3_column_int(stmt, 6);

		if (best < 0)
			best = rank;
		if (rank != best || rank == 3)
			break;
		n->matching++;
		if ((int64_t)n->kernel_cnt < most && add_kernel(n, stmt) < 0)
			break;
	}
	if (rc == SQLITE_ROW && best == 3)
		say_names(stmt, ask, why, why_len);
	else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		fail(n, why, why_len);
	else if (!n->kernel_cnt)
		snprintf(why, why_len, "the report has no kernels");
	sqlite3_finalize(stmt);
	return n->kernel_cnt ? 0 : -1;
}

static int name_kernels(struct ncu *n, char *why, size_t why_len)
{
	sqlite3_stmt *stmt;
	int rc = SQLITE_OK;

	if (exec(n,
		 "DROP TABLE IF EXISTS temp.SL_NCU_NAME; CREATE TEMP TABLE SL_NCU_NAME (id INTEGER "
		 "PRIMARY KEY, nr INTEGER)",
		 why, why_len) < 0)
		return -1;
	if (sqlite3_prepare_v2(n->db, "INSERT INTO SL_NCU_NAME VALUES(?, ?)", -1, &stmt, NULL) !=
	    SQLITE_OK)
		return fail(n, why, why_len);
	for (size_t i = 0; i < n->kernel_cnt && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(stmt, 1, n->kernels[i].id);
		sqlite3_bind_int64(stmt, 2, (int64_t)i);
		sqlite3_step(stmt);
		rc = sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_OK ? 0 : fail(n, why, why_len);
}

/* ---- ranges ---- */

/*
 * Spans of time in which a thread (of push/pop ranges) or a process (of start/end ranges, which any thread may end) is in
 * such a range: overlapping spans are one. ncu keeps the two kinds apart; where a name has both, the first is taken.
 */
static const char ranges[] =
	"CREATE TEMP TABLE SL_NCU_RANGE AS "
	"WITH name AS MATERIALIZED (SELECT id FROM StringIds WHERE value = ?1), "
	"named AS MATERIALIZED (SELECT eventType, globalTid, start, coalesce(end, "
	"9223372036854775807) AS end FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND (text = ?1 "
	"OR textId IN (SELECT id FROM name)) AND CASE WHEN ?2 IS NULL THEN coalesce(domainId, 0) = "
	"0 ELSE (globalTid >> 24, domainId) IN (SELECT process, domain FROM "
	"SL_NVTX_DOMAINS WHERE name = ?2) END), "
	"span AS (SELECT CASE eventType WHEN 59 THEN globalTid ELSE globalTid >> 24 END AS owner, "
	"eventType AS kind, start, end FROM named WHERE eventType = (SELECT min(eventType) FROM "
	"named)), "
	"edge AS (SELECT *, start > coalesce(max(end) OVER (PARTITION BY owner ORDER BY start, end "
	"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -9223372036854775807) AS is_new FROM "
	"span), "
	"island AS (SELECT *, sum(is_new) OVER (PARTITION BY owner ORDER BY start, end ROWS "
	"UNBOUNDED PRECEDING) AS nr FROM edge) "
	"SELECT owner, min(start) AS start, max(end) AS end, kind FROM island GROUP BY owner, nr";

static int read_range(struct ncu *n, char *why, size_t why_len)
{
	const struct db_filter_nvtx *r = &n->ask->nvtx;
	sqlite3_stmt *stmt;
	int rc;

	if (exec(n, "DROP TABLE IF EXISTS temp.SL_NCU_RANGE", why, why_len) < 0)
		return -1;
	if (!r->range)
		return exec(n, "CREATE TEMP TABLE SL_NCU_RANGE (owner, start, end, kind)", why,
			    why_len);
	if (sqlite3_prepare_v2(n->db, ranges, -1, &stmt, NULL) != SQLITE_OK)
		return fail(n, why, why_len);
	sqlite3_bind_text(stmt, 1, r->range, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, r->domain, -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	if (rc != SQLITE_DONE)
		return fail(n, why, why_len);
	if (exec(n, "CREATE INDEX temp.SL_NCU_RANGE_OWNER ON SL_NCU_RANGE(owner, start)", why,
		 why_len) < 0 ||
	    sqlite3_prepare_v2(n->db, "SELECT max(kind) FROM SL_NCU_RANGE", -1, &stmt, NULL) !=
		    SQLITE_OK)
		return fail(n, why, why_len);
	sqlite3_step(stmt);
	n->is_push_pop = sqlite3_column_int(stmt, 0) == 59;
	rc = sqlite3_column_type(stmt, 0);
	sqlite3_finalize(stmt);
	if (rc != SQLITE_NULL)
		return 0;
	snprintf(why, why_len, "there is no NVTX range '%s' in %s%s%s", r->range,
		 r->domain ? "the domain '" : "the default domain", r->domain ? r->domain : "",
		 r->domain ? "'" : "");
	return -1;
}

/* ---- launches ---- */

static const char take_kernels[] =
	"DROP TABLE IF EXISTS temp.SL_NCU_KERNEL; DROP TABLE IF EXISTS temp.SL_NCU_CALL; "
	"DROP TABLE IF EXISTS temp.SL_NCU_LAUNCH; "
	"CREATE TEMP TABLE SL_NCU_KERNEL AS SELECT nr, process, correlationId, "
	"start, end, deviceId, streamId, graphNodeId, launchType, gridX, gridY, gridZ, blockX, "
	"blockY, blockZ, registersPerThread AS registers, staticSharedMemory AS static, "
	"dynamicSharedMemory AS dynamic FROM SL_NCU_NAME JOIN SL_GPU_KERNELS AS k ON "
	"coalesce(k.mangledName, k.demangledName) = SL_NCU_NAME.id; "
	"CREATE TEMP TABLE SL_NCU_CALL (process, correlationId, start, globalTid, PRIMARY KEY "
	"(correlationId, process)) WITHOUT ROWID; "
	"INSERT OR IGNORE INTO SL_NCU_CALL SELECT process, correlationId, start, globalTid FROM "
	"SL_LAUNCH_CALLS WHERE correlationId IN (SELECT correlationId FROM SL_NCU_KERNEL) "
	"ORDER BY process, correlationId, start";

/* Kernels of one call (a graph) count in the order in which they began on the GPU. */
#define NUMBERED                                                                                 \
	"CREATE TEMP TABLE SL_NCU_LAUNCH AS WITH known AS (SELECT k.rowid AS row, k.*, c.start " \
	"AS call, c.globalTid FROM SL_NCU_KERNEL AS k LEFT JOIN SL_NCU_CALL AS c ON "            \
	"c.correlationId = k.correlationId AND c.process = k.process), numbered AS (SELECT *, "  \
	"row_number() OVER (PARTITION BY nr, process ORDER BY coalesce(call, start), "           \
	"correlationId, start, row) - 1 AS skip FROM known WHERE %s) SELECT *, count(*) OVER "   \
	"each AS n, sum(end - start) OVER each AS ns, row_number() OVER (PARTITION BY nr, "      \
	"process ORDER BY end - start, skip) - 1 AS place FROM numbered WINDOW each AS "         \
	"(PARTITION BY nr, process) ORDER BY nr, process, skip"

#define IS_INSIDE                                                                                  \
	"(SELECT r.end FROM SL_NCU_RANGE AS r WHERE r.owner = known.%s AND r.start <= call ORDER " \
	"BY r.start DESC LIMIT 1) > call"

static int number_launches(struct ncu *n, char *why, size_t why_len)
{
	char sql[sizeof(NUMBERED) + sizeof(IS_INSIDE) + 16], inside[sizeof(IS_INSIDE) + 16] = "1";

	if (n->ask->nvtx.range)
		snprintf(inside, sizeof(inside), IS_INSIDE,
			 n->is_push_pop ? "globalTid" : "process");
	snprintf(sql, sizeof(sql), NUMBERED, inside);
	if (exec(n, take_kernels, why, why_len) < 0)
		return -1;
	return exec(n, sql, why, why_len);
}

/* ---- the launch asked for ---- */

/* Condition for one row of each kernel and process, by its place among durations or its number. */
static const char *place_of(const char *instance)
{
	static const char *const words[][2] = {
		{"median", "place = (n - 1) / 2"}, {"longest", "place = n - 1"},
		{"shortest", "place = 0"},         {"first", "skip = 0"},
		{"last", "skip = n - 1"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i][0], instance) == 0)
			return words[i][1];
	return "skip = ?2";
}

static int64_t number_or(sqlite3_stmt *stmt, int col, int64_t none)
{
	return sqlite3_column_type(stmt, col) == SQLITE_NULL ? none
							     : sqlite3_column_int64(stmt, col);
}

static int add_target(struct ncu *n, sqlite3_stmt *stmt)
{
	struct ncu_target *t = ncu_more(&n->targets.list, &n->targets.cnt, sizeof(*t));
	int c = 0;

	if (!t)
		return -1;
	*t = (struct ncu_target){.rank = -1, .is_sure = true};
	t->kernel = &n->kernels[sqlite3_column_int64(stmt, c++)];
	t->pid = sqlite3_column_int64(stmt, c++) & 0xFFFFFF;
	t->launches = sqlite3_column_int64(stmt, c++);
	t->ns = sqlite3_column_int64(stmt, c++);
	t->median = sqlite3_column_int64(stmt, c++);
	t->peers = sqlite3_column_int64(stmt, c++);
	t->launch.skip = sqlite3_column_int64(stmt, c++);
	t->launch.start = sqlite3_column_int64(stmt, c++);
	t->launch.end = sqlite3_column_int64(stmt, c++);
	t->launch.call = number_or(stmt, c++, INT64_MIN);
	t->launch.device = sqlite3_column_int64(stmt, c++);
	t->launch.stream = sqlite3_column_int64(stmt, c++);
	t->launch.correlation = sqlite3_column_int64(stmt, c++);
	t->launch.node = sqlite3_column_int64(stmt, c++);
	t->launch.type = sqlite3_column_int64(stmt, c++);
	for (int i = 0; i < 3; i++)
		t->launch.grid[i] = sqlite3_column_int64(stmt, c++);
	for (int i = 0; i < 3; i++)
		t->launch.block[i] = sqlite3_column_int64(stmt, c++);
	t->launch.registers = sqlite3_column_int64(stmt, c++);
	t->launch.shared[0] = sqlite3_column_int64(stmt, c++);
	t->launch.shared[1] = sqlite3_column_int64(stmt, c++);
	t->is_of_job = sqlite3_column_int(stmt, c + 2);
	if (t->peers > 1 || t->is_of_job) {
		t->rank = sqlite3_column_int64(stmt, c);
		t->is_rank_known = sqlite3_column_int(stmt, c + 1);
	}
	return 0;
}

/*
 * The rank of each process: as its launcher named it in the environment, as MPI has it, else by the order of process ids.
 * many: the job has more processes than the report.
 */
static const char ranks[] =
	"DROP TABLE IF EXISTS temp.SL_NCU_RANK; "
	"CREATE TEMP TABLE SL_NCU_RANK AS WITH known AS (SELECT DISTINCT nr, process FROM "
	"SL_NCU_LAUNCH), named AS (SELECT globalPid >> 24 AS process, name, value, CASE name WHEN "
	"'RANK' THEN 0 WHEN 'OMPI_COMM_WORLD_RANK' THEN 1 WHEN 'PMI_RANK' THEN 2 WHEN "
	"'SLURM_PROCID' THEN 3 END AS place, name IN ('WORLD_SIZE', 'OMPI_COMM_WORLD_SIZE', "
	"'PMI_SIZE', 'SLURM_NTASKS') AND cast(value AS INTEGER) > 1 AS is_many FROM "
	"SL_RANK_VARIABLES) "
	"SELECT nr, process, count(*) OVER (PARTITION BY nr) AS peers, coalesce((SELECT "
	"cast(value AS INTEGER) FROM named AS n WHERE n.process = known.process AND place IS NOT "
	"NULL ORDER BY place LIMIT 1), (SELECT rank FROM MPI_RANKS AS m WHERE m.globalTid >> 24 = "
	"known.process LIMIT 1), dense_rank() OVER (PARTITION BY nr ORDER BY process) - 1) AS "
	"rank, "
	"EXISTS (SELECT 1 FROM named AS n WHERE n.process = known.process AND place IS NOT NULL) "
	"OR "
	"EXISTS (SELECT 1 FROM MPI_RANKS AS m WHERE m.globalTid >> 24 = known.process) AS "
	"is_known, "
	"EXISTS (SELECT 1 FROM named AS n WHERE n.process = known.process AND is_many) AS many "
	"FROM known";

#define CHOSEN                                                                                     \
	"SELECT l.nr, l.process, n, ns, (SELECT m.end - m.start FROM SL_NCU_LAUNCH AS m WHERE "    \
	"m.nr = l.nr AND m.process = l.process AND m.place = (m.n - 1) / 2), peers, skip, start, " \
	"end, call, sl_gpu(l.process << 24, deviceId), streamId, correlationId, graphNodeId, "     \
	"launchType, gridX, gridY, "                                                               \
	"gridZ, blockX, blockY, blockZ, registers, static, dynamic, rank, is_known, many FROM "    \
	"SL_NCU_LAUNCH AS l JOIN SL_NCU_RANK AS r ON r.nr = l.nr AND r.process = l.process WHERE " \
	"(?1 = 0 OR l.process & 0xFFFFFF = ?1) AND %s ORDER BY l.nr, l.process"

static int read_targets(struct ncu *n, char *why, size_t why_len)
{
	const struct ncu_ask *ask = n->ask;
	char sql[sizeof(CHOSEN) + 64];
	sqlite3_stmt *stmt;
	int rc;

	if (exec(n, ranks, why, why_len) < 0)
		return -1;
	snprintf(sql, sizeof(sql), CHOSEN, place_of(ask->instance));
	if (sqlite3_prepare_v2(n->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return fail(n, why, why_len);
	sqlite3_bind_int64(stmt, 1, ask->pid);
	sqlite3_bind_int64(stmt, 2, strtoll(ask->instance, NULL, 10));
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		if (add_target(n, stmt) < 0)
			break;
	sqlite3_finalize(stmt);
	if (rc != SQLITE_DONE)
		return fail(n, why, why_len);
	if (n->targets.cnt)
		return 0;
	snprintf(why, why_len, "'%.200s' %s%s%s%s", n->kernels[0].name,
		 ask->pid ? "was not launched by that process" : "has no such launch",
		 ask->nvtx.range ? " in the range '" : "", ask->nvtx.range ? ask->nvtx.range : "",
		 ask->nvtx.range ? "'" : "");
	return -1;
}

int ncu_find(struct ncu *n, char *why, size_t why_len)
{
	if (read_kernels(n, why, why_len) < 0 || name_kernels(n, why, why_len) < 0 ||
	    read_range(n, why, why_len) < 0 || number_launches(n, why, why_len) < 0)
		return -1;
	return read_targets(n, why, why_len);
}
