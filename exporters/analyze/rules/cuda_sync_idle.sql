-- title: Synchronisation that Empties the GPU
-- about: Calls that wait until the GPU has done everything, so that it has nothing to do until the thread has sent it
-- about: new work.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- uses: call_places
-- lines: --cudabacktrace=all
-- gain: sync
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
-- column: Device ID = number of the GPU
-- column: API Name = function
CREATE TEMP TABLE wait AS
SELECT globalTid, start, end, nameId
FROM sl_cuda_calls
WHERE what = 'sync' AND end > start AND globalTid IS NOT NULL;

-- A gap is put down to a wait that began before the gap and ended in it: of several, to the last. In which gap a wait
-- ended, if in any, is found by the last interval that was over by then.
CREATE TEMP TABLE idle AS
SELECT b.globalPid, b.deviceId, b.end AS start, idle AS ns, globalTid, nameId, max(w.end) AS time
FROM wait AS w CROSS JOIN sl_gpu_life AS d ON d.globalPid >> 24 = globalTid >> 24
	CROSS JOIN sl_gpu_busy AS b ON b.gpu = d.gpu AND b.at = w.end
WHERE w.start < b.end AND w.end <= b.next
GROUP BY b.gpu, b.end;

SELECT
	'bad' AS severity,
	-- the gap is the host's next work; without the wait, no more is won than the GPU worked inside of it
	NULL AS cost,
	'GPU ' || gpuId || ' ran empty {' || n || ' time|times} (' || printf('%.0f', 1e9 * n / wall)
		|| ' per second) because a thread waited for it, and was idle for {' || ns || ' ns} in all, {' || (ns / n)
		|| ' ns} each time on average'
		|| coalesce(made_at, '') || '.' AS finding, made_at,
	(SELECT start || ' ' || (start + i.ns) || ' ' || (globalTid & 0xFFFFFF) FROM idle AS i WHERE i.globalPid IS g.globalPid
		AND i.deviceId IS g.deviceId ORDER BY i.ns DESC, start LIMIT 1) AS worst
FROM (
	SELECT globalPid, deviceId, sl_gpu(globalPid, deviceId) AS gpuId, sum(ns) AS ns, count(*) AS n, (SELECT wall.ns FROM wall) AS wall,
		(SELECT '; it waited longest at ' || place FROM call_places AS c
			WHERE c.globalTid >> 24 = globalPid >> 24 AND c.nameId IN (SELECT nameId FROM wait)
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at
	FROM idle
	GROUP BY globalPid, deviceId
	ORDER BY 4 DESC
	LIMIT 1
) AS g
WHERE 50 * ns > wall AND 1e9 * n > :rate * wall AND n >= :count;

SELECT
	round(100.0 * ns / (SELECT wall.ns FROM wall), 1) AS "Time (%)",
	ns AS "Idle Time (ns)",
	n AS "Waits",
	round(1.0 * ns / n, 1) AS "Avg Idle (ns)",
	longest AS "Max Idle (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "PID",
	globalTid % 0x1000000 AS "TID",
	sl_gpu(globalTid, deviceId) AS "Device ID",
	CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6) ELSE value END AS "API Name"
FROM (
	SELECT globalTid, deviceId, nameId, sum(ns) AS ns, count(*) AS n, max(ns) AS longest
	FROM idle
	GROUP BY globalTid, deviceId, nameId
) LEFT JOIN StringIds ON StringIds.id = nameId
ORDER BY 2 DESC, "API Name"
LIMIT :rows;
