-- title: Short-Lived Processes
-- about: Programs that are started over and over for a moment each: starting and ending them costs more than what
-- about: they do.
-- needs: SL_PROCESS_TREE = process
-- uses: names
-- default: 460
-- arg: count=50, starts of one program from which on it is looked at
-- arg: life=50, milliseconds within which most of them end
-- arg: few=10, starts of one program from which on it is looked at if its processes, one after another, fill half of the time
-- arg: few_life=200, milliseconds within which most of those end
-- advice: Let one process do many items: many file names per call (xargs, find -exec ... +), what the shell
-- advice: or the language can do by itself instead of a program, a library instead of a command, a pool of
-- advice: processes that stay.
-- column: Time (ns) = during which at least one of them lived
-- column: Processes = how many
-- column: Median (ns) = median of their lives
-- column: Per Second = from the first to the last
-- column: Program = executable; of a process that was only forked, its parent's
CREATE TEMP TABLE life AS
SELECT coalesce(exe, '(unknown)') AS exe, globalPid, min(start) AS start, max(end) AS end
FROM SL_PROCESS_TREE AS p
WHERE kind <> 0 AND end IS NOT NULL
	-- a process that went on as another program belongs to that
	AND NOT EXISTS (SELECT 1 FROM SL_PROCESS_TREE AS q WHERE q.globalPid = p.globalPid AND q.start > p.start)
GROUP BY 1, 2;

CREATE TEMP TABLE program AS
WITH ranked AS (
	SELECT exe, start, end, row_number() OVER (PARTITION BY exe ORDER BY end - start) AS nr,
		count(*) OVER (PARTITION BY exe) AS n,
		max(end) OVER (PARTITION BY exe ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM life
)
SELECT exe, max(n) AS n, sum(max(0, end - max(start, coalesce(before, start)))) AS ns,
	avg(end - start) FILTER (WHERE nr IN ((n + 1) / 2, (n + 2) / 2)) AS median,
	min(end - start) FILTER (WHERE 10 * nr >= n) AS least, max(end) - min(start) AS span, sum(end - start) AS lives
FROM ranked
GROUP BY exe
-- Few of them, and those that live longer, do as well where the run is little else; side by side they are a pool's or make's work.
HAVING (max(n) >= :count AND median < :life * 1e6)
	OR (max(n) >= :few AND median < :few_life * 1e6 AND lives < 2 * ns AND 2 * ns > (SELECT wall.ns FROM wall));

-- The shortest lives (the first tenth, without the luckiest) are the cost of start and end.
SELECT
	'bad' AS severity,
	-- their lives are no gain: without them, a thread that waits for them may wait for something else
	NULL AS cost,
	exe || ' was started {' || n || '} times, {' || CAST(n * 1e9 / max(span, 1) AS INTEGER)
		|| '} per second, for {' || CAST(median AS INTEGER) || ' ns} each; one or another of them was there for {'
		|| ns || ' ns}.' AS finding,
	(SELECT start || ' ' || end || ' ' || (globalPid / 0x1000000 % 0x1000000) FROM life WHERE life.exe = p.exe
		ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM (
	SELECT *, min(ns, n * least) AS cost FROM program
) AS p
WHERE cost >= 5000000 AND 20 * cost > (SELECT wall.ns FROM wall)
ORDER BY ns DESC
LIMIT 1;

SELECT
	ns AS "Time (ns)",
	n AS "Processes",
	round(median, 1) AS "Median (ns)",
	round(n * 1e9 / max(span, 1), 1) AS "Per Second",
	exe AS "Program"
FROM program
ORDER BY ns DESC, exe
LIMIT :rows;
