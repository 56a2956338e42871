-- title: GPU Gaps
-- about: Times in which a GPU had nothing to do for a process, between the first and the last thing it
-- about: did for it. Time that the tracer itself took is left out.
-- needs: SL_GPU_WORK = GPU work
-- uses: gpu_device
-- default: 50
-- arg: gap=500, milliseconds from which on a gap counts
-- advice: See what the host did meanwhile: sightline stats -r osrt_sum with --filter-time, or the timeline.
-- advice: NVTX ranges around the steps of the program show where the gaps come from.
-- column: Row# = rank by duration
-- column: Duration (ns) = length of the gap
-- column: Start (ns) = its start
-- column: PID = process
-- column: Device ID = number of the GPU
-- column: Context ID = CUDA context; empty where it is not known
-- Time that the tracer took from a thread is no fault of the program: it ends a gap, or begins one.
CREATE TEMP TABLE gap AS
WITH gpu AS (
	SELECT globalPid, deviceId, start, end FROM sl_gpu_life
), stretch AS (
	-- in which there is no such gap
	SELECT gpu, globalPid, deviceId, contextId, lag(next) OVER (PARTITION BY gpu ORDER BY end) AS start, end
	FROM (
		SELECT gpu, globalPid, deviceId, contextId, next, end FROM sl_gpu_busy WHERE idle > :gap * 1000000
		UNION ALL
		SELECT gpu, globalPid, deviceId, contextId, NULL, end FROM sl_gpu_life
	)
), used AS (
	SELECT s.globalPid, s.deviceId, contextId, coalesce(s.start, gpu.start) AS start, s.end
	FROM stretch AS s JOIN gpu ON gpu.globalPid IS s.globalPid AND gpu.deviceId IS s.deviceId
	UNION ALL
	SELECT globalPid, deviceId, NULL, max(o.start, gpu.start), min(o.end, gpu.end)
	FROM PROFILER_OVERHEAD AS o JOIN gpu ON globalPid >> 24 = globalTid >> 24
	WHERE o.end > gpu.start AND o.start < gpu.end
), before AS (
	SELECT globalPid, deviceId, contextId, start, max(end) OVER (PARTITION BY globalPid, deviceId
		ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free
	FROM used
)
SELECT globalPid, deviceId, contextId, free AS start, start - free AS ns
FROM before
WHERE start - free > :gap * 1000000;

-- GPUs are idle side by side: the idle time of the one with the longest gaps is the gain.
SELECT
	CASE WHEN unknown > 0 THEN 'info' WHEN 10 * ns > wall THEN 'severe' WHEN 50 * ns > wall THEN 'bad' ELSE 'info' END AS severity,
	-- work whose times were lost may lie in the gaps
	iif(unknown > 0, NULL, ns) AS cost,
	'GPU ' || gpuId || ' had nothing to do for {' || ns || ' ns} in {' || n || ' gap|gaps} of more than '
		|| :gap || ' ms, the longest {' || longest || ' ns}'
		|| iif(unknown > 0, ', unless its work without times lay there: {' || unknown || '} lost.', '.') AS finding,
	(SELECT start || ' ' || (start + g.ns) || ' GPU ' || gpuId FROM gap AS g WHERE g.globalPid IS most.globalPid
		AND g.deviceId IS most.deviceId ORDER BY g.ns DESC, start LIMIT 1) AS worst
FROM (
	SELECT gap.globalPid, gap.deviceId, gpuId, sum(ns) AS ns, count(*) AS n, max(ns) AS longest, (SELECT wall.ns FROM wall) AS wall,
		(SELECT sum(count) FROM SL_LOST_EVENTS AS l
			WHERE l.globalTid >> 24 IS gap.globalPid >> 24 AND (what GLOB 'GPU work:*' OR what GLOB 'GPU records:*')) AS unknown
	FROM gap JOIN gpu_device AS d ON d.globalPid IS gap.globalPid AND d.deviceId IS gap.deviceId
	GROUP BY gap.globalPid, gap.deviceId
	ORDER BY 4 DESC
	LIMIT 1
) AS most;

SELECT
	row_number() OVER (ORDER BY ns DESC, start) AS "Row#",
	ns AS "Duration (ns)",
	start AS "Start (ns)",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID",
	contextId AS "Context ID"
FROM gap
ORDER BY 1
LIMIT :rows;
