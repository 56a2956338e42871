-- title: Memory Allocation in the Loop
-- about: Calls that allocate and free memory of the GPU, or pinned memory, while kernels come and go: from the start
-- about: of a process's first kernel to the end of its last. Most of them wait for the device; those that take from a
-- about: pool (cudaMallocAsync) do not, and do not count.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- uses: gpu_span, call_places
-- lines: --cudabacktrace=all
-- default: 70
-- arg: bad=10, per cent of the loop's time above which it is bad
-- arg: severe=30, per cent of the loop's time above which it is severe
-- arg: rate=10, calls per second above which it is worth a word
-- advice: Allocate once before the loop and use the memory again, or take it from a pool: cudaMallocAsync(), a caching
-- advice: allocator.
-- column: Loop (%) = share of the time from the first to the last kernel
-- column: Total Time (ns) = time in these calls
-- column: Num Calls = how many
-- column: Calls/s = how many per second of the loop
-- column: Avg (ns) = mean duration
-- column: Max (ns) = longest
-- column: PID = process
-- column: TID = thread
-- column: API Name = function
CREATE TEMP TABLE found AS
SELECT r.globalTid, nameId, count(*) AS n, sum(r.end - r.start) AS ns, max(r.end - r.start) AS longest,
	max(g.ns) AS loop
FROM sl_cuda_calls AS r JOIN gpu_span AS g ON g.pid = r.globalTid >> 24
WHERE r.what = 'alloc' AND r.start >= g.start AND r.start < g.end AND r.end >= r.start
GROUP BY r.globalTid, nameId;

-- How often the allocated memory fell from a peak by at least a fifth of the highest level and rose again by as much.
CREATE TEMP TABLE teeth AS
WITH level AS (
	SELECT m.globalPid, deviceId, m.start, sum(CASE memoryOperationType WHEN 0 THEN bytes ELSE -bytes END)
		OVER (PARTITION BY m.globalPid, deviceId ORDER BY m.start ROWS UNBOUNDED PRECEDING) AS bytes
	FROM CUDA_GPU_MEMORY_USAGE_EVENTS AS m JOIN gpu_span AS g ON g.globalPid = m.globalPid
	WHERE memoryOperationType IN (0, 1) AND memKind IN (2, 5) AND m.start >= g.start AND m.start < g.end
), turn AS (
	SELECT *, lag(bytes) OVER gpu AS before, lead(bytes) OVER gpu AS after,
		max(bytes) OVER (PARTITION BY globalPid, deviceId) - min(bytes) OVER (PARTITION BY globalPid, deviceId) AS swing
	FROM level
	WINDOW gpu AS (PARTITION BY globalPid, deviceId ORDER BY start)
), corner AS (
	SELECT globalPid, deviceId, start, bytes, swing,
		lag(bytes) OVER (PARTITION BY globalPid, deviceId ORDER BY start) AS before
	FROM turn
	WHERE (before IS NULL OR after IS NULL OR (bytes >= before AND bytes > after) OR (bytes <= before AND bytes < after))
)
SELECT globalPid, deviceId, count(*) AS n
FROM corner
WHERE swing > 0 AND before - bytes >= 0.2 * swing
GROUP BY globalPid, deviceId;

SELECT
	CASE WHEN 100.0 * cost > :severe * loop THEN 'severe' WHEN 100.0 * cost > :bad * loop THEN 'bad'
		ELSE 'info' END AS severity,
	cost,
	'Memory was allocated and freed {' || n || ' time|times} while kernels ran (' || printf('%.1f', 1e9 * n / loop)
		|| ' per second); one thread spent ' || printf('%.1f', 100.0 * cost / loop) || ' % of that time on it, {' || cost
		|| ' ns}' || coalesce('; allocated GPU memory went up and down {' || nullif(teeth, 0) || ' time|times}', '')
		|| coalesce(made_at, '') || '.' AS finding, made_at,
	(SELECT c.start || ' ' || c.end || ' ' || (c.globalTid & 0xFFFFFF) FROM sl_cuda_calls AS c JOIN gpu_span AS g ON g.pid = c.globalTid >> 24
		WHERE c.what = 'alloc' AND c.globalTid >> 24 = process AND c.start >= g.start AND c.start < g.end AND c.end >= c.start
		ORDER BY c.end - c.start DESC, c.start LIMIT 1) AS worst
FROM (
	SELECT pid AS process, max(ns) AS cost, sum(n) AS n, max(loop) AS loop, (SELECT max(n) FROM teeth WHERE globalPid >> 24 = pid) AS teeth,
		(SELECT '; its longest calls are made at ' || place FROM call_places AS c
			WHERE c.globalTid >> 24 = pid AND c.nameId IN (SELECT nameId FROM found)
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at
	FROM (
		SELECT globalTid >> 24 AS pid, sum(ns) AS ns, sum(n) AS n, max(loop) AS loop FROM found GROUP BY globalTid
	)
	GROUP BY pid
	ORDER BY cost DESC
	LIMIT 1
)
WHERE 100.0 * cost > :bad * loop OR 1e9 * n > :rate * loop;

SELECT
	round(100.0 * ns / loop, 1) AS "Loop (%)",
	ns AS "Total Time (ns)",
	n AS "Num Calls",
	round(1e9 * n / loop, 1) AS "Calls/s",
	round(1.0 * ns / n, 1) AS "Avg (ns)",
	longest AS "Max (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "PID",
	globalTid % 0x1000000 AS "TID",
	CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6) ELSE value END AS "API Name"
FROM found LEFT JOIN StringIds ON StringIds.id = nameId
ORDER BY ns DESC, "API Name"
LIMIT :rows;
