-- title: CUDA Synchronization APIs
-- about: Calls that block the calling thread until all work of a stream, a context or the device is done.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- uses: call_places
-- lines: --cudabacktrace=all
-- default: 40
-- advice: Wait for less, later and less often: for an event (cudaEventSynchronize) where the result is needed, and let
-- advice: streams wait for each other on the device (cudaStreamWaitEvent). What it costs: rule cuda_sync_idle.
-- column: Duration (ns) = time in the call
-- column: Start (ns) = when it began
-- column: PID = process
-- column: TID = thread
-- column: API Name = function
CREATE TEMP TABLE found AS
SELECT start, end - start AS ns, globalTid, nameId
FROM sl_cuda_calls
WHERE what = 'sync' AND end >= start
	AND nameId NOT IN (SELECT id FROM StringIds WHERE value GLOB 'cudaEventSynchronize*' OR value GLOB 'cuEventSynchronize*');

-- To wait is no loss as long as the GPU works: the possible gain is another rule's matter.
SELECT
	'info' AS severity,
	NULL AS cost,
	'{' || n || ' call|calls} waited for all work of a stream or device, the thread that waited longest for {' || most
		|| ' ns} (' || printf('%.1f', 100.0 * most / (SELECT ns FROM wall)) || ' % of the time'
		|| coalesce(made_at, '') || ').' AS finding, made_at,
	(SELECT start || ' ' || (start + ns) || ' ' || (globalTid & 0xFFFFFF) FROM found WHERE globalTid = thread
		ORDER BY ns DESC, start LIMIT 1) AS worst
FROM (
	SELECT thread, sum(n) AS n, max(ns) AS most, (SELECT '; {' || sum(c.ns) || ' ns} of it at ' || place FROM call_places AS c
			WHERE c.globalTid = thread AND c.nameId IN (SELECT nameId FROM found)
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at
	FROM (SELECT globalTid AS thread, sum(ns) AS ns, count(*) AS n FROM found GROUP BY globalTid)
)
WHERE n > 0;

SELECT
	ns AS "Duration (ns)",
	start AS "Start (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "PID",
	globalTid % 0x1000000 AS "TID",
	value AS "API Name"
FROM found LEFT JOIN StringIds ON StringIds.id = nameId
ORDER BY ns DESC, start
LIMIT :rows;
