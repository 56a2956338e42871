/*
 * ncu_notes.c - reasons for another number of the launch under ncu, and ways for ncu to run the kernel again: runs one after
 * the other do not suit kernels that wait for other kernels.
 */
#include "exporters/ncu/ncu.h"

#include <stdlib.h>
#include <string.h>

/* ---- gaps of the whole report ---- */

static int64_t ask(sqlite3 *db, const char *sql, int64_t a, int64_t b, int64_t c)
{
	sqlite3_stmt *stmt;
	int64_t n = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_int64(stmt, 1, a);
	sqlite3_bind_int64(stmt, 2, b);
	sqlite3_bind_int64(stmt, 3, c);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	return sqlite3_finalize(stmt) == SQLITE_OK ? n : -1;
}

/* Launches that succeeded and left no kernel: they were lost, or recorded into a graph. */
static const char without_kernel[] =
	"DROP TABLE IF EXISTS temp.SL_NCU_MISSING; "
	"CREATE TEMP TABLE SL_NCU_MISSING AS SELECT globalTid >> 24 & 16777215 AS pid, start FROM "
	"CUPTI_ACTIVITY_KIND_RUNTIME WHERE returnValue = 0 AND nameId IN (SELECT id FROM StringIds "
	"WHERE value GLOB 'cudaLaunchKernel*' OR value GLOB 'cuLaunchKernel*' OR value GLOB "
	"'cudaLaunchCooperativeKernel*' OR value GLOB 'cuLaunchCooperativeKernel*') AND (globalTid "
	">> 24, correlationId) NOT IN (SELECT process, correlationId FROM SL_GPU_KERNELS WHERE "
	"correlationId IS NOT NULL AND process IS NOT NULL)";

static const char in_capture[] =
	"SELECT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE globalTid >> 24 & 16777215 "
	"= ?1 AND nameId IN (SELECT id FROM StringIds WHERE value GLOB 'cudaStreamBeginCapture*' "
	"OR "
	"value GLOB 'cuStreamBeginCapture*'))";

static const char lost[] =
	"SELECT total(count) FROM SL_LOST_EVENTS WHERE (globalTid IS NULL OR globalTid >> 24 & "
	"16777215 = ?1) AND (what LIKE '%GPU%' OR what LIKE '%CUDA%' OR what LIKE '%CUPTI%' OR "
	"what "
	"LIKE '%ring%' OR what LIKE 'records%' OR what LIKE 'rows of the report%' OR what LIKE "
	"'spooled%')";

/* The messages of nsys on lost CUDA events. */
static const char collected[] = "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%CUDA%' "
				"AND (text LIKE '%not %collected%' "
				"OR text LIKE '% lost%' OR text LIKE '%dropped%')";

static const char whole_graphs[] = "SELECT count(*) FROM SL_GPU_WORK WHERE kind = 'graph' "
				   "AND globalPid >> 24 & 16777215 = ?1 AND start < ?2";

static const char nodes_before[] =
	"SELECT count(*) FROM SL_NCU_LAUNCH WHERE graphNodeId <> 0 AND nr = ?1 AND skip < ?2";

static const char without_call[] = "SELECT count(*) FROM SL_NCU_LAUNCH WHERE call IS NULL AND nr = "
				   "?1 AND process & 16777215 = "
				   "?2";

/* 1: there was no room for the memory that ncu saves between runs of a kernel, as far as allocations were recorded. */
static const char memory_is_full[] =
	"SELECT coalesce((SELECT total(CASE memoryOperationType WHEN 0 THEN bytes ELSE -bytes END) "
	"FROM "
	"CUDA_GPU_MEMORY_USAGE_EVENTS WHERE globalPid >> 24 & 16777215 = ?1 AND sl_gpu(globalPid, "
	"deviceId) = ?2 AND "
	"memKind IN (2, 3, 5) AND start < ?3) > 0.8 * (SELECT totalMemory FROM TARGET_INFO_GPU AS "
	"g "
	"WHERE g.id = coalesce((SELECT gpuId FROM TARGET_INFO_CUDA_DEVICE AS d WHERE d.cudaId = ?2 "
	"AND d.pid = ?1), ?2)), 0)";

/* ---- replay ---- */

/* Kernels that wait for a kernel of another rank, by the names of those libraries that have such. */
static bool waits_for_others(const char *name)
{
	static const char *const parts[] = {"nvshmem", "cross_device_reduce", "multimem_all_",
					    "shot_all_reduce", "lamport_style"};

	if (strncmp(name, "nccl", 4) == 0)
		return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/*
 * Notes that there is no command: run one after the other, kernels that wait for other processes or GPUs would wait for ever.
 */
static int refuse(struct ncu_target *t, int64_t gpus)
{
	bool many = t->peers > 1 || t->is_of_job;
	char peers[24] = "RANKS";

	if (t->peers > 1 || !many)
		snprintf(peers, sizeof(peers), "%lld", (long long)(many ? t->peers : gpus));

	t->replay = NULL;
	return ncu_note(
		t, "waits",
		"no command: it waits for the same kernel %s, and ncu lets one run at a time, "
		"several "
		"times: both would wait for ever. From ncu 2026.1 on, ranks can keep in step: ncu "
		"--communicator shmem --communicator-shmem-num-peers %s --lockstep-kernel-launch "
		"before the launcher. What it waits for: sightline why. --replay-mode names a mode "
		"nevertheless",
		many ? "of other processes" : "on other GPUs", peers);
}

static int choose_replay(const struct ncu *n, struct ncu_target *t)
{
	static const char gpus[] =
		"SELECT count(DISTINCT deviceId) FROM SL_NCU_LAUNCH WHERE nr = ?1 AND process & "
		"16777215 = ?2";
	int64_t cnt;

	t->replay = n->ask->replay;
	if (strcmp(t->replay, "auto") != 0)
		return 0;
	t->replay = "kernel";
	cnt = ask(n->db, gpus, t->kernel - n->kernels, t->pid, 0);
	if (cnt < 0)
		return -1;
	if (t->launch.type == 3 || waits_for_others(t->kernel->name)) {
		if (t->peers > 1 || t->is_of_job || cnt > 1)
			return refuse(t, cnt);
		t->replay = "application";
		return ncu_note(t, "replay",
				"such kernels wait for others, so the whole program runs again for "
				"each pass");
	}
	if (t->launch.type == 2) {
		t->replay = "application";
		return ncu_note(t, "replay",
				"its blocks wait for each other, so the whole program runs again "
				"for each pass; --replay-mode=kernel is faster where nothing else "
				"of the GPU is waited for");
	}
	cnt = ask(n->db, memory_is_full, t->pid, t->launch.device, t->launch.start);
	if (cnt > 0) {
		t->replay = "application";
		return ncu_note(t, "replay",
				"more than 80 %% of the GPU's memory is allocated, so that ncu "
				"could not save it: the whole program runs again for each pass");
	}
	return cnt < 0 ? -1 : 0;
}

/* ---- notes ---- */

static int note_missing(const struct ncu *n, struct ncu_target *t)
{
	int64_t until = t->launch.call == INT64_MIN ? t->launch.start : t->launch.call;
	int64_t missing =
		ask(n->db, "SELECT count(*) FROM SL_NCU_MISSING WHERE pid = ?1 AND start < ?2",
		    t->pid, until, 0);
	int64_t gone = ask(n->db, lost, t->pid, 0, 0),
		captures = ask(n->db, in_capture, t->pid, 0, 0);

	int64_t warned = ask(n->db, collected, 0, 0, 0);

	if (missing < 0 || gone < 0 || captures < 0 || warned < 0)
		return -1;
	if (warned > 0 && gone <= 0) {
		t->is_sure = false;
		if (ncu_note(t, "lost",
			     "the recording has a warning that events of CUDA may be missing: the "
			     "number may be too small") < 0)
			return -1;
	}
	if (gone > 0) {
		t->is_sure = false;
		if (ncu_note(t, "lost",
			     "at least %lld records of the GPU's work were lost: launches may be "
			     "missing, and the number too small",
			     (long long)gone) < 0)
			return -1;
	}
	if (missing > 0 && !captures) {
		t->is_sure = false;
		return ncu_note(t, "missing",
				"%lld launches before it have no kernel in the report: as many as "
				"were of this one, the number is too small",
				(long long)missing);
	}
	return 0;
}

static int note_graphs(const struct ncu *n, struct ncu_target *t)
{
	int64_t whole = ask(n->db, whole_graphs, t->pid, t->launch.start, 0);
	int64_t nodes = ask(n->db, nodes_before, t->kernel - n->kernels, t->launch.skip + 1, 0);
	int64_t calls = ask(n->db, without_call, t->kernel - n->kernels, t->pid, 0);

	if (whole < 0 || nodes < 0 || calls < 0)
		return -1;
	if (whole > 0) {
		t->is_sure = false;
		if (ncu_note(t, "graphs",
			     "%lld graphs ran before it as a whole, whose kernels are not in the "
			     "report: record with --cuda-graph-trace=node",
			     (long long)whole) < 0)
			return -1;
	}
	if (nodes > 0) {
		t->is_sure = false;
		if (ncu_note(t, "nodes",
			     "%s: ncu counts each node of a graph, in an order of its own; here "
			     "they are in the order in which they ran",
			     t->launch.node ? "it is a node of a graph"
					    : "some before it are nodes of graphs") < 0)
			return -1;
	}
	if (calls > 0) {
		t->is_sure = false;
		if (ncu_note(
			    t, "calls",
			    "%lld of its launches have no call in the report (launched by the GPU, "
			    "or not recorded): they are in the order in which they ran",
			    (long long)calls) < 0)
			return -1;
	}
	return 0;
}

/* Libraries that choose among kernels by trying them: the choice may be another under ncu. */
static bool is_chosen(const char *name)
{
	static const char *const parts[] = {"triton_", "cutlass", "xmma", "gemm", "cudnn", "nvjet"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcasestr(name, parts[i]))
			return true;
	return false;
}

static int note_target(const struct ncu *n, struct ncu_target *t)
{
	if (n->late) {
		t->is_sure = false;
		if (ncu_note(
			    t, "late",
			    "%s: launches from before are not counted, and the number is too small "
			    "by them; ncu's --profile-from-start off and cudaProfilerStart() in "
			    "the program set a beginning for both",
			    n->late) < 0)
			return -1;
	}
	if (n->by_profiler &&
	    ncu_note(t, "range", "counted from cudaProfilerStart() on, as the report is") < 0)
		return -1;
	if (note_missing(n, t) < 0 || note_graphs(n, t) < 0)
		return -1;
	if (is_chosen(t->kernel->name) &&
	    ncu_note(t, "chosen",
		     "libraries choose such kernels, perhaps another one under ncu: if it profiles "
		     "none, try --kernel-name-base function --kernel-name with a regex: of the "
		     "name") < 0)
		return -1;
	if (t->rank >= 0 && !t->is_rank_known &&
	    ncu_note(t, "rank",
		     "the rank is not in the report: taken from the order of process ids") < 0)
		return -1;
	if (!n->argv &&
	    ncu_note(t, "program", "the report does not have the program's command line") < 0)
		return -1;
	if (n->is_masked && ncu_note(t, "masked",
				     "*** stands for an argument that was hidden when it was "
				     "recorded: put it in") < 0)
		return -1;
	return choose_replay(n, t);
}

int ncu_notes(struct ncu *n)
{
	if (sqlite3_exec(n->db, without_kernel, NULL, NULL, NULL) != SQLITE_OK)
		return -1;
	for (size_t i = 0; i < n->targets.cnt; i++)
		if (note_target(n, &n->targets.list[i]) < 0)
			return -1;
	return 0;
}
