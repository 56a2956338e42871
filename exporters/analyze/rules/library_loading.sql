-- title: Loading Libraries
-- about: Time in which a thread opens libraries (dlopen), which is most of what importing a Python module with native code
-- about: takes: reading them, resolving their symbols, running what they do at their start.
-- needs: OSRT_API = OS Runtime trace
-- uses: names, call_places
-- default: 480
-- arg: time=10, seconds from which on it is a finding
-- arg: share=10, per cent of the wall time from which on it is a finding
-- advice: Keep one process for many small jobs; put the installation on a local disk; run again: the second time it is in
-- advice: memory. In Python, import only what is used, and late what is seldom used (python3 -X importtime shows which import loads
-- advice: what).
-- column: Time (ns) = time in the outermost of these calls
-- column: Calls = how many of them
-- column: Max (ns) = longest
-- column: Pid = process
-- column: Tid = thread
-- column: Thread Name = its name
CREATE TEMP TABLE loaded AS
SELECT globalTid, start, end - start AS length, max(0, end - max(start, coalesce(max(end) OVER (PARTITION BY globalTid
	ORDER BY start, end DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start))) AS ns
FROM sl_os_calls
WHERE what = 'library' AND end > start;

SELECT
	'info' AS severity,
	-- once, at the start: a share of "where the time went", and no gain
	NULL AS cost,
	'Thread ' || (globalTid % 0x1000000) || coalesce(' (' || name || ')', '') || ' loaded libraries for {' || ns || ' ns}, '
		|| CAST(100 * ns / wall AS INTEGER) || ' % of the run, in {' || n || ' call|calls}'
		|| coalesce((SELECT iif(2 * sum(c.ns) >= l.ns, '; most for ', '; the largest known part for ') || place FROM call_places AS c
			WHERE c.globalTid = l.globalTid AND c.nameId IN (SELECT id FROM StringIds WHERE value IN ('dlopen', 'dlmopen'))
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1), '') || '.' AS finding,
	(SELECT start || ' ' || (start + length) || ' ' || (a.globalTid & 0xFFFFFF) FROM loaded AS a WHERE a.globalTid = l.globalTid
		ORDER BY length DESC, start LIMIT 1) AS worst
FROM (
	SELECT globalTid, sum(ns) AS ns, count(*) FILTER (WHERE ns > 0) AS n, (SELECT ns FROM wall) AS wall
	FROM loaded
	GROUP BY globalTid
	ORDER BY ns DESC, globalTid
	LIMIT 1
) AS l LEFT JOIN thread_names USING (globalTid)
WHERE ns >= :time * 1e9 AND 100 * ns > :share * wall;

SELECT
	sum(ns) AS "Time (ns)",
	count(*) FILTER (WHERE ns > 0) AS "Calls",
	max(length) AS "Max (ns)",
	globalTid / 0x1000000 % 0x1000000 AS "Pid",
	globalTid % 0x1000000 AS "Tid",
	name AS "Thread Name"
FROM loaded LEFT JOIN thread_names USING (globalTid)
GROUP BY globalTid
ORDER BY 1 DESC, globalTid
LIMIT :rows;
