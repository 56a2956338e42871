-- title: GPU Gaps
-- about: Times in which a GPU had nothing to do for a process, between the first and the last thing it
-- about: did for it.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL or CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET or CUPTI_ACTIVITY_KIND_GRAPH_TRACE = GPU work
-- uses: gpu_busy
-- default: 50
-- arg: gap=500, milliseconds from which on a gap counts
-- advice: See what the host did meanwhile: sightline stats -r osrt_sum with --filter-time, or the timeline.
-- advice: NVTX ranges around the steps of the program tell where the gaps come from.
-- column: Row# = rank by duration
-- column: Duration (ns) = length of the gap
-- column: Start (ns) = end of the work before it
-- column: PID = process
-- column: Device ID = CUDA ordinal in the process
-- column: Context ID = CUDA context; empty where several were in use
CREATE TEMP TABLE gap AS
SELECT *, next - end AS ns
FROM (
	SELECT globalPid, deviceId, contextId, end,
		lead(start) OVER (PARTITION BY globalPid, deviceId ORDER BY start) AS next
	FROM gpu_busy
)
WHERE next - end > :gap * 1000000;

-- GPUs are idle side by side: what one of them could win is what can be won.
SELECT
	CASE WHEN 10 * ns > wall THEN 'severe' WHEN 50 * ns > wall THEN 'bad' ELSE 'info' END AS severity,
	ns AS cost,
	'GPU ' || deviceId || ' had nothing to do for {' || ns || ' ns} in {' || n || '} gaps of more than '
		|| :gap || ' ms, the longest {' || longest || ' ns}.' AS finding
FROM (
	SELECT deviceId, sum(ns) AS ns, count(*) AS n, max(ns) AS longest, (SELECT wall.ns FROM wall) AS wall
	FROM gap
	GROUP BY globalPid, deviceId
	ORDER BY 2 DESC
	LIMIT 1
);

SELECT
	row_number() OVER (ORDER BY ns DESC, end) AS "Row#",
	ns AS "Duration (ns)",
	end AS "Start (ns)",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	deviceId AS "Device ID",
	contextId AS "Context ID"
FROM gap
ORDER BY 1
LIMIT :rows;
