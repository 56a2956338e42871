-- title: Loading and Compiling in the Loop
-- about: Calls that load or compile code for the GPU after a process's first kernel has begun, and the time that the
-- about: driver spent on compiling and loading inside other calls.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME or CUPTI_ACTIVITY_KIND_OVERHEAD = CUDA trace
-- uses: gpu_span
-- default: 140
-- advice: Load before the loop: a step to warm up, CUDA_MODULE_LOADING=EAGER, compiling for the device's architecture
-- advice: (-arch, TORCH_CUDA_ARCH_LIST) instead of PTX, a compilation cache that outlives the process.
-- column: Time (%) = share of the wall time
-- column: Total Time (ns) = time of all
-- column: Count = how many
-- column: Max (ns) = longest
-- column: PID = process
-- column: TID = thread
-- column: What = function, or what the driver was doing
CREATE TEMP TABLE found AS
WITH load AS (
	SELECT globalTid, start, end, value AS what
	FROM sl_cuda_calls JOIN StringIds ON StringIds.id = nameId
	WHERE sl_cuda_calls.what = 'load'
	UNION ALL
	SELECT globalTid, start, end, CASE overheadType WHEN 2 THEN '[compiling]' WHEN 6 THEN '[loading a module]'
		ELSE '[loading a function]' END
	FROM CUPTI_ACTIVITY_KIND_OVERHEAD
	WHERE overheadType IN (2, 6, 7)
), late AS (
	SELECT l.*
	FROM load AS l JOIN gpu_span AS g ON g.pid = globalTid >> 24
	WHERE l.start >= g.start AND l.end > l.start
)
-- a load inside another one counts once
SELECT globalTid, what, start, end - start AS ns,
	max(end - max(start, coalesce(max(end) OVER (PARTITION BY globalTid
		ORDER BY start, end DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start)), 0) AS own
FROM late;

SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' ELSE 'bad' END AS severity,
	cost,
	'Code was loaded or compiled {' || n || ' time|times} after the first kernel had begun, which took {' || cost
		|| ' ns} in one thread.' AS finding,
	(SELECT start || ' ' || (start + ns) || ' ' || (globalTid & 0xFFFFFF) FROM found WHERE globalTid = thread
		ORDER BY own DESC, start LIMIT 1) AS worst
FROM (
	SELECT globalTid AS thread, sum(own) AS cost, count(*) AS n, (SELECT ns FROM wall) AS wall
	FROM found
	GROUP BY globalTid
	ORDER BY 2 DESC
	LIMIT 1
)
WHERE 50 * cost > wall;

SELECT
	round(100.0 * sum(ns) / (SELECT wall.ns FROM wall), 1) AS "Time (%)",
	sum(ns) AS "Total Time (ns)",
	count(*) AS "Count",
	max(ns) AS "Max (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "PID",
	globalTid % 0x1000000 AS "TID",
	CASE WHEN what GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(what, 1, length(what) - 6) ELSE what END AS "What"
FROM found
GROUP BY globalTid, "What"
ORDER BY 2 DESC, "What"
LIMIT :rows;
