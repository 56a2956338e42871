-- title: Memory that grows
-- about: Resident memory of a process that grows all the time: reading after reading, and by the end much larger than after the first third
-- about: of the readings, in which caches and pools fill.
-- needs: SL_COUNTERS.scope=process = memory of processes: --host-counters=10
-- default: 447
-- arg: readings=9, fewer readings of a process say nothing
-- arg: grown=20, per cent by which it has to grow after the first third
-- arg: least=16, MiB by which it has to grow
-- advice: Free what is no longer needed: lists, caches without a limit, references that keep objects (Python: tracemalloc, gc.get_referrers;
-- advice: C and C++: heaptrack, -fsanitize=leak). Memory that is needed has a limit: fewer or smaller parts at a time.
-- column: Rate (B/s) = by which it grew, from the first third of the readings on
-- column: First (bytes) = resident memory after the first third
-- column: Last (bytes) = resident memory in the last reading
-- column: Most (bytes) = the most that it was
-- column: Time (ns) = from the first third to the last reading
-- column: Full After (ns) = after the last reading, at that rate, the memory of its cgroup or of the machine is full
-- column: Pid = process
-- column: Process = executable
CREATE TEMP TABLE reading AS
SELECT c.scopeId AS process, s.timestamp AS at, s.value, row_number() OVER each AS no, count(*) OVER (PARTITION BY c.scopeId) AS cnt,
	s.value - lag(s.value) OVER each AS change
FROM SL_COUNTERS AS c JOIN SL_COUNTER_SAMPLES AS s ON s.counterId = c.id
WHERE c.scope = 'process' AND c.name = 'Memory Resident' AND s.value IS NOT NULL
WINDOW each AS (PARTITION BY c.scopeId ORDER BY s.timestamp);

CREATE TEMP TABLE room AS
SELECT min(value) AS bytes
FROM (
	-- of the cgroup, what is left below its limit; of the machine, what is available
	SELECT (SELECT value FROM SL_COUNTER_SAMPLES AS s JOIN SL_COUNTERS AS c ON c.id = s.counterId WHERE c.scope = 'cgroup'
		AND c.name = 'Memory Limit' ORDER BY timestamp DESC LIMIT 1) - (SELECT value FROM SL_COUNTER_SAMPLES AS s JOIN SL_COUNTERS AS c
		ON c.id = s.counterId WHERE c.scope = 'cgroup' AND c.name = 'Memory Used' ORDER BY timestamp DESC LIMIT 1) AS value
	UNION ALL
	SELECT (SELECT value FROM SL_COUNTER_SAMPLES AS s JOIN SL_COUNTERS AS c ON c.id = s.counterId WHERE c.scope = 'host'
		AND c.name = 'Memory Available' ORDER BY timestamp DESC LIMIT 1)
);

CREATE TEMP TABLE grown AS
SELECT process, min(at) AS since, max(at) AS until, max(value) AS most, max(value) FILTER (WHERE no = least) AS first,
	max(value) FILTER (WHERE no = cnt) AS last
FROM (SELECT *, min(no) OVER (PARTITION BY process) AS least FROM reading WHERE 3 * no > cnt AND cnt >= :readings)
GROUP BY process
-- in most readings, and it hardly ever falls
HAVING 2 * count(*) FILTER (WHERE change > 0) > count(*) AND 10 * count(*) FILTER (WHERE change < 0) <= count(*)
	AND 100 * (last - first) >= :grown * first AND last - first >= :least * 1048576 AND max(at) > min(at);

CREATE TEMP TABLE growth AS
SELECT g.*, 1e9 * (last - first) / (until - since) AS rate, (SELECT bytes FROM room) * (until - since) / (last - first) AS full,
	process >> 24 & 0xFFFFFF AS pid, coalesce((SELECT replace(exe, rtrim(exe, replace(exe, '/', '')), '') FROM SL_PROCESS_TREE AS t
	WHERE t.globalPid = process ORDER BY start DESC LIMIT 1), '') AS name
FROM grown AS g;

SELECT
	CASE WHEN full <= 10 * (until - since) THEN 'severe' ELSE 'bad' END AS severity,
	NULL AS cost,
	'Memory of process ' || pid || iif(name <> '', ' (' || name || ')', '') || ' grew by {' || CAST(rate AS INTEGER) || ' B} per second, from {'
		|| CAST(first AS INTEGER) || ' B} to {' || CAST(last AS INTEGER) || ' B} in {' || (until - since) || ' ns}'
		|| coalesce('; at that rate the memory is full after another {' || CAST(full AS INTEGER) || ' ns}', '') || '.' AS finding,
	since || ' ' || until || ' ' || pid AS worst
FROM growth
ORDER BY rate DESC, pid
LIMIT 3;

SELECT
	CAST(rate AS INTEGER) AS "Rate (B/s)",
	CAST(first AS INTEGER) AS "First (bytes)",
	CAST(last AS INTEGER) AS "Last (bytes)",
	CAST(most AS INTEGER) AS "Most (bytes)",
	until - since AS "Time (ns)",
	CAST(full AS INTEGER) AS "Full After (ns)",
	pid AS "Pid",
	name AS "Process"
FROM growth
ORDER BY rate DESC, pid
LIMIT :rows;
