-- title: CUDA Synchronous Memset
-- about: Fills of pinned or managed memory by calls that block the calling thread until they are done.
-- needs: CUPTI_ACTIVITY_KIND_MEMSET = CUDA memset
-- uses: mem_kind
-- default: 30
-- advice: Use cudaMemsetAsync().
-- column: Duration (ns) = time of the fill on the GPU
-- column: Start (ns) = when it began
-- column: Mem Kind = memory that was filled
-- column: Bytes (MB) = size, 10^6 bytes
-- column: PID = process
-- column: Device ID = number of the GPU
-- column: Context ID = CUDA context
-- column: Green Context ID = green context; empty: none
-- column: Stream ID = CUDA stream
-- column: API Name = call that asked for it

-- managed static memory is managed memory
CREATE TEMP TABLE found AS
SELECT *, end - start AS ns FROM sl_fills WHERE kind IN (1, 4, 6) AND nameId IS NOT NULL;

SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' WHEN 50 * cost > wall THEN 'bad' ELSE 'info' END AS severity,
	cost,
	'{' || n || ' synchronous fill|synchronous fills} of {' || bytes || ' B} of pinned or managed memory blocked their threads for {'
		|| calls || ' ns}.' AS finding,
	(SELECT callStart || ' ' || callEnd || ' ' || (globalTid & 0xFFFFFF) FROM found WHERE callEnd > callStart
		ORDER BY callEnd - callStart DESC, callStart LIMIT 1) AS worst
FROM (
	SELECT max(cost) AS cost, sum(n) AS n, sum(bytes) AS bytes, sum(calls) AS calls, (SELECT ns FROM wall) AS wall
	FROM (
		SELECT sum(min(ns, callEnd - callStart)) AS cost, count(*) AS n, sum(bytes) AS bytes,
			sum(callEnd - callStart) AS calls
		FROM found
		GROUP BY globalTid
	)
)
WHERE n > 0;

SELECT
	ns AS "Duration (ns)",
	start AS "Start (ns)",
	coalesce(label, kind) AS "Mem Kind",
	round(bytes / 1e6, 3) AS "Bytes (MB)",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID",
	contextId AS "Context ID",
	greenContextId AS "Green Context ID",
	streamId AS "Stream ID",
	s.value AS "API Name"
FROM found LEFT JOIN mem_kind ON mem_kind.id = kind LEFT JOIN StringIds AS s ON s.id = nameId
ORDER BY ns DESC, start
LIMIT :rows;
