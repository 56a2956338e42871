-- The common temporary tables of all roll-ups; :rank, :from and :epoch are bound.
-- rank_process(pid, rank, restart, is_main): processes of ranks, pid: the upper bits of their ids. Helpers (workers of a
-- DataLoader, shells around) are of the rank of the process that started them.
-- rank_gpu(rank, restart, pid, gpuId): of the main process, the GPU of most of its kernels: all ranks of a node may see all of its GPUs.
-- rank(rank, restart, localRank, worldSize, source, pid, ncclRank): pid: the main process; ncclRank: in a communicator of all ranks.
CREATE TEMP TABLE rank_variable AS
WITH value AS (
	SELECT globalPid >> 24 AS pid, name, CASE WHEN value NOT GLOB '*[^0-9]*' AND length(value) BETWEEN 1 AND 9
		THEN CAST(value AS INTEGER) END AS number
	FROM SL_RANK_VARIABLES
), wide AS (
	SELECT pid, max(number) FILTER (WHERE name = 'RANK') AS torch,
		coalesce(max(number) FILTER (WHERE name = 'OMPI_COMM_WORLD_RANK'), max(number) FILTER (WHERE name = 'PMIX_RANK'),
			max(number) FILTER (WHERE name = 'PMI_RANK'), max(number) FILTER (WHERE name = 'MV2_COMM_WORLD_RANK'),
			max(number) FILTER (WHERE name = 'PALS_RANKID'), max(number) FILTER (WHERE name = 'FLUX_TASK_RANK')) AS mpi,
		max(number) FILTER (WHERE name = 'SLURM_PROCID') AS slurm, max(number) FILTER (WHERE name = 'SLURM_NTASKS') AS tasks,
		max(number) FILTER (WHERE name = 'JOB_COMPLETION_INDEX') AS job,
		coalesce(max(number) FILTER (WHERE name = 'LOCAL_RANK'), max(number) FILTER (WHERE name = 'OMPI_COMM_WORLD_LOCAL_RANK'),
			max(number) FILTER (WHERE name = 'MV2_COMM_WORLD_LOCAL_RANK'), max(number) FILTER (WHERE name = 'SLURM_LOCALID')) AS localRank,
		max(number) FILTER (WHERE name = 'WORLD_SIZE') AS torchSize,
		coalesce(max(number) FILTER (WHERE name = 'OMPI_COMM_WORLD_SIZE'), max(number) FILTER (WHERE name = 'PMI_SIZE'),
			max(number) FILTER (WHERE name = 'MV2_COMM_WORLD_SIZE')) AS mpiSize,
		max(number) FILTER (WHERE name = 'TORCHELASTIC_RESTART_COUNT') AS restart
	FROM value GROUP BY pid
), nccl AS (
	-- the largest communicator
	SELECT globalPid >> 24 AS pid, max(nRanks) AS size, rank FROM SL_NCCL_COMMUNICATORS
	WHERE rank IS NOT NULL AND nRanks > 1 GROUP BY globalPid
), above AS (
	-- SLURM or Kubernetes started a launcher, whose processes have ranks of their own.
	SELECT coalesce(max(coalesce(torch, nccl.rank, mpi) <> slurm), 0) AS slurm_task, coalesce(max(coalesce(torch, nccl.rank, mpi) <> job), 0) AS job_task
	FROM wide LEFT JOIN nccl USING (pid)
)
SELECT pid, coalesce(torch, nccl.rank, mpi, CASE WHEN tasks > 1 AND NOT slurm_task THEN slurm END, CASE WHEN NOT job_task THEN job END) AS rank,
	coalesce(restart, 0) AS restart, localRank,
	CASE WHEN torch IS NOT NULL THEN torchSize WHEN nccl.rank IS NOT NULL THEN nccl.size WHEN mpi IS NOT NULL THEN mpiSize
		WHEN tasks > 1 AND slurm IS NOT NULL THEN tasks END AS worldSize,
	CASE WHEN torch IS NOT NULL THEN 'RANK' WHEN nccl.rank IS NOT NULL THEN 'NCCL' WHEN mpi IS NOT NULL THEN 'MPI'
		WHEN tasks > 1 AND slurm IS NOT NULL THEN 'SLURM_PROCID' WHEN job IS NOT NULL THEN 'JOB_COMPLETION_INDEX' END AS source,
	CASE WHEN nccl.size = coalesce(torchSize, mpiSize, tasks, nccl.size) THEN nccl.rank END AS ncclRank
FROM (SELECT pid FROM wide UNION SELECT pid FROM nccl) LEFT JOIN wide USING (pid) LEFT JOIN nccl USING (pid) CROSS JOIN above;

-- Events of each process.
CREATE TEMP TABLE kernel_device AS
SELECT k0 AS pid, k1 AS device, n FROM sl_hist_rows((SELECT sl_sums(globalPid >> 24, deviceId, 0, NULL) FROM CUPTI_ACTIVITY_KIND_KERNEL));
CREATE TEMP TABLE kernel_process AS SELECT pid, sum(n) AS n FROM kernel_device GROUP BY pid;
CREATE TEMP TABLE range_process AS
SELECT k0 AS pid, n FROM sl_hist_rows((SELECT sl_sums(globalTid >> 24, 0, NULL) FROM NVTX_EVENTS WHERE eventType IN (59, 60)));

CREATE TEMP TABLE rank_process(pid INTEGER PRIMARY KEY, rank INTEGER, restart INTEGER, localRank INTEGER, worldSize INTEGER,
	source TEXT, parent INTEGER, work INTEGER);
INSERT OR IGNORE INTO rank_process(pid, rank, restart, localRank, worldSize, source, parent)
WITH RECURSIVE process AS MATERIALIZED (
	SELECT globalPid >> 24 AS pid, max(parentGlobalPid >> 24) AS parent FROM SL_PROCESS_TREE GROUP BY 1
	UNION
	SELECT pid, NULL FROM rank_variable WHERE pid NOT IN (SELECT globalPid >> 24 FROM SL_PROCESS_TREE)
	UNION
	SELECT globalPid >> 24, NULL FROM PROCESSES WHERE globalPid >> 24 NOT IN (SELECT globalPid >> 24 FROM SL_PROCESS_TREE)
	UNION
	SELECT globalTid >> 24, NULL FROM ThreadNames WHERE globalTid >> 24 NOT IN (SELECT globalPid >> 24 FROM SL_PROCESS_TREE)
	UNION
	SELECT pid, NULL FROM kernel_process WHERE pid NOT IN (SELECT globalPid >> 24 FROM SL_PROCESS_TREE)
), own(pid, parent, rank, restart, localRank, worldSize, source) AS (
	SELECT pid, parent, coalesce(:rank, rank), coalesce(restart, 0), localRank, worldSize,
		CASE WHEN :rank IS NULL THEN source ELSE :from END
	FROM process LEFT JOIN rank_variable USING (pid)
), down(pid, rank, restart, localRank, worldSize, source, parent, depth) AS (
	SELECT pid, rank, restart, localRank, worldSize, source, parent, 0 FROM own WHERE rank IS NOT NULL
	UNION
	SELECT o.pid, d.rank, d.restart, d.localRank, d.worldSize, d.source, o.parent, depth + 1
	FROM down AS d JOIN own AS o ON o.parent = d.pid
	WHERE o.rank IS NULL AND depth < 100
)
SELECT pid, rank, restart, localRank, worldSize, source, parent FROM down ORDER BY depth;

-- The main process: the one that uses the GPU, else the one that has steps, else the first.
UPDATE rank_process SET work =
	(SELECT 1000000000 FROM SL_NCCL_COMMUNICATORS WHERE globalPid >> 24 = pid LIMIT 1);
UPDATE rank_process SET work = 1000000 + n FROM kernel_process AS k WHERE k.pid = rank_process.pid AND work IS NULL;
UPDATE rank_process SET work = min(n, 900000) FROM range_process AS r WHERE r.pid = rank_process.pid AND work IS NULL;

CREATE TEMP TABLE rank AS
SELECT rank, restart, localRank, worldSize, source, pid, (SELECT ncclRank FROM rank_variable AS v WHERE v.pid = p.pid) AS ncclRank
FROM (
	SELECT *, row_number() OVER (PARTITION BY rank, restart ORDER BY coalesce(work, 0) DESC, coalesce(localRank, -1) DESC, pid) AS no
	FROM rank_process
) AS p
WHERE no = 1;

CREATE TEMP TABLE rank_gpu AS
WITH used AS (
	SELECT pid, device FROM (SELECT pid, device, row_number() OVER (PARTITION BY pid ORDER BY n DESC, device) AS no FROM kernel_device) WHERE no = 1
), own AS (
	SELECT rank, restart, pid, coalesce(device, localRank, 0) AS device FROM rank LEFT JOIN used USING (pid)
), seen AS (
	SELECT rank, restart, own.pid AS pid, gpuId, row_number() OVER (PARTITION BY own.pid ORDER BY cudaId <> device, cudaId) AS no
	FROM own LEFT JOIN TARGET_INFO_CUDA_DEVICE AS d ON d.pid = (own.pid & 16777215)
)
SELECT rank, restart, pid, coalesce(gpuId, (SELECT min(id) FROM TARGET_INFO_GPU)) AS gpuId FROM seen WHERE no = 1;
