-- title: GPU Time Utilization
-- about: Stretches of time in which a GPU was busy for a process for less than a share of the time. The time from the
-- about: first to the last thing it did for the process is cut into equal chunks; neighbours that fall below are joined.
-- needs: SL_GPU_WORK = GPU work
-- uses: gpu_device
-- default: 60
-- arg: threshold=50, per cent of the time below which a chunk counts
-- arg: chunks=30, how many, 1 to 1000
-- advice: See what the host did meanwhile: context switches, calls that block and NVTX ranges show whether it was busy
-- advice: itself, waited, or sent work too late.
-- column: Row# = rank, least busy first
-- column: In-Use (%) = share of the time with at least one operation
-- column: Duration (ns) = length of the stretch
-- column: Start (ns) = its start
-- column: PID = process
-- column: Device ID = number of the GPU
-- column: Context ID = CUDA context; empty where several were in use
CREATE TEMP TABLE chunk AS
WITH RECURSIVE whole AS (
	SELECT *, max((end - start + max(1, min(1000, :chunks)) - 1) / max(1, min(1000, :chunks)), 1) AS size
	FROM sl_gpu_life
), number AS (
	SELECT gpu, globalPid, deviceId, contextId, start, end, size, 0 AS nr FROM whole
	UNION ALL
	SELECT gpu, globalPid, deviceId, contextId, start, end, size, nr + 1 FROM number WHERE start + (nr + 1) * size < end
), cut AS (
	SELECT gpu, globalPid, deviceId, contextId, nr, start + nr * size AS start, min(end, start + (nr + 1) * size) AS end
	FROM number
)
-- busy time up to the end of the chunk, without the busy time up to its start
SELECT globalPid, deviceId, contextId, nr, start, end,
	coalesce((SELECT busy FROM sl_gpu_busy AS b WHERE b.gpu = cut.gpu AND b.end <= cut.end ORDER BY b.end DESC LIMIT 1), 0)
	+ coalesce((SELECT max(0, cut.end - b.start) FROM sl_gpu_busy AS b
		WHERE b.gpu = cut.gpu AND b.end > cut.end ORDER BY b.end LIMIT 1), 0)
	- coalesce((SELECT busy FROM sl_gpu_busy AS b WHERE b.gpu = cut.gpu AND b.end <= cut.start ORDER BY b.end DESC LIMIT 1), 0)
	- coalesce((SELECT max(0, cut.start - b.start) FROM sl_gpu_busy AS b
		WHERE b.gpu = cut.gpu AND b.end > cut.start ORDER BY b.end LIMIT 1), 0) AS ns
FROM cut;

CREATE TEMP TABLE low AS
SELECT globalPid, deviceId, contextId, min(start) AS start, max(end) - min(start) AS ns, sum(ns) AS busy
FROM (
	SELECT *, nr - row_number() OVER (PARTITION BY globalPid, deviceId ORDER BY nr) AS island
	FROM chunk
	WHERE 100.0 * ns < :threshold * (end - start)
)
GROUP BY globalPid, deviceId, island;

SELECT
	'info' AS severity,
	-- idle time of the GPU is no gain: the host may have no work for it
	NULL AS cost,
	'GPU ' || gpuId || ' was busy for less than ' || :threshold || ' % of the time in {' || n
		|| ' stretch|stretches} of {' || ns || ' ns} altogether, of which it was idle for {' || idle || ' ns}.' AS finding,
	(SELECT start || ' ' || (start + l.ns) || ' GPU ' || gpuId FROM low AS l WHERE l.globalPid IS most.globalPid
		AND l.deviceId IS most.deviceId ORDER BY l.ns - l.busy DESC, start LIMIT 1) AS worst
FROM (
	SELECT low.globalPid, low.deviceId, gpuId, count(*) AS n, sum(ns) AS ns, sum(ns - busy) AS idle
	FROM low JOIN gpu_device AS d ON d.globalPid IS low.globalPid AND d.deviceId IS low.deviceId
	GROUP BY low.globalPid, low.deviceId
	ORDER BY idle DESC
	LIMIT 1
) AS most;

SELECT
	row_number() OVER (ORDER BY 1.0 * busy / ns, start) AS "Row#",
	round(100.0 * busy / ns, 1) AS "In-Use (%)",
	ns AS "Duration (ns)",
	start AS "Start (ns)",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID",
	contextId AS "Context ID"
FROM low
ORDER BY 1
LIMIT :rows;
