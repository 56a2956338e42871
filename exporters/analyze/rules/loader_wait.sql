-- title: Waiting for the DataLoader
-- about: Time in which a thread of a PyTorch program waits inside of its DataLoader: for workers that have no batch ready, for
-- about: workers to start, or, without workers, for the files themselves. From the stacks of long calls. Where the process
-- about: uses a GPU, that may be busy meanwhile with what it was given before: then rules data_loading and gpu_gaps show what is lost.
-- needs: SL_STACKS or OSRT_CALLCHAINS = stacks
-- uses: names, call_places
-- lines: --osrt-backtrace-threshold=1000
-- default: 380
-- advice: More workers (num_workers, up to the CPUs there are), persistent_workers=True where epochs are short, a larger
-- advice: prefetch_factor; less work per sample: decoded once and stored, small files packed into few large ones.
-- column: Time (ns) = time in these calls
-- column: Calls = how many
-- column: Pid = process
-- column: Tid = thread
-- column: Thread Name = its name
-- column: Function = function that waited
-- column: Place = caller of the DataLoader, by the stack
CREATE TEMP TABLE loading AS
WITH loader AS MATERIALIZED (
	SELECT DISTINCT stack FROM SL_CHAIN_FRAMES
	WHERE module IN (SELECT id FROM StringIds WHERE value GLOB '*/torch/utils/data/dataloader.py')
		-- who imports it does not wait for it
		AND symbol NOT IN (SELECT id FROM StringIds WHERE value = '<module>')
), worker AS MATERIALIZED (
	-- a forked one has the stack of its parent
	SELECT DISTINCT stack FROM SL_CHAIN_FRAMES
	WHERE module IN (SELECT id FROM StringIds WHERE value GLOB '*/torch/utils/data/_utils/worker.py')
), call AS (
	SELECT globalTid, nameId, stack, start, end FROM SL_CHAIN_CALLS
	WHERE stack IN loader AND stack NOT IN worker AND end > start
)
-- a system call inside of a call counts once
SELECT globalTid, nameId, stack, start, end, max(0, end - max(start, coalesce(max(end) OVER (PARTITION BY globalTid
	ORDER BY start, end DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start))) AS ns
FROM call;

CREATE TEMP TABLE loading_place AS
SELECT p.stack, replace(f.value, rtrim(f.value, replace(f.value, '/', '')), '') || ':' || line || ' in ' || s.value AS place
FROM place_of AS p JOIN StringIds AS f ON f.id = p.file JOIN StringIds AS s ON s.id = p.symbol
WHERE p.stack IN (SELECT stack FROM loading);

CREATE TEMP TABLE busy AS
SELECT value AS function, place, sum(ns) AS ns
FROM call_places AS c JOIN StringIds ON StringIds.id = nameId
WHERE nameId NOT IN (SELECT nameId FROM SL_FUNCTION_KINDS WHERE waits IN ('poll', 'accept', 'queue', 'condition'))
	-- nor what forked workers have of their parent's stack
	AND own AND place NOT IN (SELECT place FROM call_places WHERE globalTid IN (SELECT globalTid FROM loading))
	AND c.globalTid / 0x1000000 * 0x1000000 IN (
		SELECT globalPid FROM SL_PROCESS_TREE
		WHERE parentGlobalPid IN (SELECT globalTid / 0x1000000 * 0x1000000 FROM loading))
GROUP BY 1, 2;

SELECT
	CASE WHEN gpu THEN 'info' WHEN 10 * ns > wall THEN 'severe' ELSE 'bad' END AS severity,
	CASE WHEN NOT gpu THEN ns END AS cost,
	'Thread ' || (globalTid % 0x1000000) || coalesce(' (' || name || ')', '') || ' waited {' || ns
		|| ' ns} for its DataLoader, in {' || n || ' long call|long calls}' || coalesce(made_at, '')
		|| coalesce((SELECT '. Its workers were longest in ' || function || ' at ' || place || ', {' || ns || ' ns} together'
			FROM busy ORDER BY ns DESC, place LIMIT 1), '') || '.' AS finding, made_at,
	(SELECT start || ' ' || end || ' ' || (a.globalTid & 0xFFFFFF) FROM loading AS a WHERE a.globalTid = waiter.globalTid
		ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM (
	SELECT globalTid, sum(ns) AS ns, count(*) AS n, (SELECT ns FROM wall) AS wall,
		(SELECT name FROM thread_names AS t WHERE t.globalTid = l.globalTid) AS name,
		globalTid / 0x1000000 * 0x1000000 IN (SELECT globalPid FROM sl_gpu_cover) AS gpu,
		(SELECT iif(2 * sum(m.ns) >= (SELECT sum(ns) FROM loading AS a WHERE a.globalTid = l.globalTid),
				'; most at ', '; the largest known part at ') || place FROM loading AS m JOIN loading_place USING (stack)
			WHERE m.globalTid = l.globalTid GROUP BY place ORDER BY sum(m.ns) DESC, place LIMIT 1) AS made_at
	FROM loading AS l
	GROUP BY globalTid
	ORDER BY ns DESC, globalTid
	LIMIT 1
) AS waiter
WHERE ns >= 5000000 AND 50 * ns > wall;

SELECT
	sum(ns) AS "Time (ns)",
	count(*) AS "Calls",
	l.globalTid / 0x1000000 % 0x1000000 AS "Pid",
	l.globalTid % 0x1000000 AS "Tid",
	name AS "Thread Name",
	value AS "Function",
	coalesce((SELECT place FROM loading_place AS p WHERE p.stack = l.stack), '?') AS "Place"
FROM loading AS l LEFT JOIN thread_names USING (globalTid) LEFT JOIN StringIds ON StringIds.id = nameId
GROUP BY l.globalTid, nameId, "Place"
ORDER BY 1 DESC, l.globalTid, "Place"
LIMIT :rows;
