-- title: Synchronisation that Empties the GPU
-- about: Calls that wait until the GPU has done everything, so that it has nothing to do until the thread has sent it
-- about: new work.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- uses: gpu_busy
-- default: 90
-- arg: rate=10, waits per second above which they are frequent
-- arg: count=10, waits from which on they are a habit and not the ends of a program's parts
-- advice: Send the next work before waiting for the last: wait for an event of the step before, check results (loss,
-- advice: convergence) every so many steps, leave .item(), .cpu() and print() of device values out of the loop.
-- column: Time (%) = share of the wall time that the GPU was idle
-- column: Idle Time (ns) = from the end of the GPU's work to the start of the next, around such waits
-- column: Waits = calls after which the GPU was idle
-- column: Avg Idle (ns) = mean
-- column: Max Idle (ns) = longest
-- column: PID = process
-- column: TID = thread that waited
-- column: Device ID = CUDA ordinal in the process
-- column: API Name = function
CREATE TEMP TABLE wait AS
SELECT globalTid, start, end, nameId
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE end > start AND globalTid IS NOT NULL AND nameId IN (
	SELECT id FROM StringIds
	WHERE value GLOB 'cudaDeviceSynchronize*' OR value GLOB 'cudaStreamSynchronize*' OR value GLOB 'cudaEventSynchronize*'
		OR value GLOB 'cudaThreadSynchronize*' OR value GLOB 'cuCtxSynchronize*' OR value GLOB 'cuStreamSynchronize*'
		OR value GLOB 'cuEventSynchronize*');

-- A gap is put down to a wait that began before the gap and ended in it: of several, to the last.
CREATE TEMP TABLE idle AS
WITH gap AS (
	SELECT globalPid, deviceId, end AS start, lead(start) OVER (PARTITION BY globalPid, deviceId ORDER BY start) AS end
	FROM gpu_busy
), point AS (
	SELECT globalPid, deviceId, start AS time, start AS gapStart, end AS gapEnd, NULL AS since, NULL AS globalTid, NULL AS nameId
	FROM gap
	WHERE end > start
	UNION ALL
	SELECT d.globalPid, deviceId, end, NULL, NULL, start, globalTid, nameId
	FROM wait JOIN (SELECT DISTINCT globalPid, deviceId FROM gpu_busy) AS d ON d.globalPid >> 24 = globalTid >> 24
), last AS (
	SELECT globalPid, deviceId, time, since, globalTid, nameId, max(gapStart) OVER gpu AS gapStart, max(gapEnd) OVER gpu AS gapEnd
	FROM point
	WINDOW gpu AS (PARTITION BY globalPid, deviceId ORDER BY time, since IS NOT NULL ROWS UNBOUNDED PRECEDING)
)
SELECT globalPid, deviceId, gapStart AS start, gapEnd - gapStart AS ns, globalTid, nameId, max(time) AS time
FROM last
WHERE since < gapStart AND time <= gapEnd
GROUP BY globalPid, deviceId, gapStart;

SELECT
	CASE WHEN 10 * ns > wall THEN 'severe' ELSE 'bad' END AS severity,
	ns AS cost,
	'GPU ' || deviceId || ' ran empty {' || n || ' time|times} (' || printf('%.0f', 1e9 * n / wall)
		|| ' per second) because a thread waited for it, and was idle for {' || ns || ' ns} in all, {' || (ns / n)
		|| ' ns} each time on average.' AS finding
FROM (
	SELECT deviceId, sum(ns) AS ns, count(*) AS n, (SELECT wall.ns FROM wall) AS wall
	FROM idle
	GROUP BY globalPid, deviceId
	ORDER BY 2 DESC
	LIMIT 1
)
WHERE 50 * ns > wall AND 1e9 * n > :rate * wall AND n >= :count;

SELECT
	round(100.0 * ns / (SELECT wall.ns FROM wall), 1) AS "Time (%)",
	ns AS "Idle Time (ns)",
	n AS "Waits",
	round(1.0 * ns / n, 1) AS "Avg Idle (ns)",
	longest AS "Max Idle (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "PID",
	globalTid % 0x1000000 AS "TID",
	deviceId AS "Device ID",
	CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6) ELSE value END AS "API Name"
FROM (
	SELECT globalTid, deviceId, nameId, sum(ns) AS ns, count(*) AS n, max(ns) AS longest
	FROM idle
	GROUP BY globalTid, deviceId, nameId
) LEFT JOIN StringIds ON StringIds.id = nameId
ORDER BY 2 DESC, "API Name"
LIMIT :rows;
