-- title: NVTX Push/Pop Range Trace
-- about: Every push/pop range with its place among the others, in order of time. Ranges nest per thread and
-- about: domain: each domain has a stack of its own, as in NVTX itself.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- alias: nvtxpptrace
-- column: Start (ns) = pushed, since the start of the session
-- column: End (ns) = popped; empty when the range was never closed
-- column: Duration (ns) = from Start to End
-- column: DurChild (ns) = time of the ranges directly inside
-- column: DurNonChild (ns) = the rest of Duration
-- column: Name = domain:text; the default domain has no name
-- column: PID = process
-- column: TID = thread
-- column: Lvl = ranges around it
-- column: NumChild = ranges directly inside
-- column: RangeId = number of the range in this table
-- column: ParentId = RangeId of the range directly around it
-- column: RangeStack = RangeIds from the outermost range to this one
-- column: NameTree = Name, behind "--" per level
--
-- [stacks] Where these lines are, sightline has a table of its own stand in for them (exporters/sql/projection.h).
-- A range's level is the number of ranges open when it begins: a running sum over beginnings and ends. Its
-- parent is the last range before it with one level less. Each step sorts or looks up by key, so the cost
-- grows with the ranges alone, not with their depth.
CREATE TEMP TABLE pushpop AS
SELECT globalTid AS tid, coalesce(domainId, 0) AS domain, start, end, text, textId
FROM NVTX_EVENTS
WHERE eventType = 59
ORDER BY tid, domain, start, end IS NOT NULL, end DESC;

-- At the same time, ends come before beginnings, except that a range without duration ends after it began.
CREATE TEMP TABLE depth(lvl INTEGER, id INTEGER, PRIMARY KEY (lvl, id)) WITHOUT ROWID;
INSERT INTO depth
SELECT lvl, id
FROM (
	SELECT id, step, sum(step) OVER (ORDER BY tid, domain, time, kind, turn ROWS UNBOUNDED PRECEDING) - 1 AS lvl
	FROM (
		SELECT rowid AS id, 1 AS step, tid, domain, start AS time, 1 AS kind, 2 * rowid AS turn FROM pushpop
		UNION ALL
		SELECT rowid, -1, tid, domain, coalesce(end, 1 << 62), start IS end, 2 * rowid + 1 FROM pushpop
	)
)
WHERE step = 1
ORDER BY 1, 2;

CREATE TEMP TABLE tree(parent INTEGER, id INTEGER, lvl INTEGER, PRIMARY KEY (parent, id)) WITHOUT ROWID;
INSERT INTO tree
SELECT coalesce((SELECT max(id) FROM depth WHERE lvl = d.lvl - 1 AND id < d.id), 0), id, lvl
FROM depth AS d
ORDER BY 1, 2;

CREATE TEMP TABLE child(id INTEGER PRIMARY KEY, n INTEGER, dur INTEGER);
INSERT INTO child
SELECT parent, count(*), sum(end - start)
FROM tree JOIN pushpop ON pushpop.rowid = tree.id
WHERE parent > 0
GROUP BY parent;

-- RangeId counts in order of time, not of thread.
CREATE TEMP TABLE number(id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO number SELECT rowid, row_number() OVER (ORDER BY start, tid, domain, rowid) FROM pushpop ORDER BY rowid;

CREATE TEMP VIEW stacked AS
WITH RECURSIVE stack(id, parent, lvl, path) AS (
	SELECT tree.id, NULL, 0, ':' || n
	FROM tree JOIN number USING (id)
	WHERE parent = 0
	UNION ALL
	SELECT tree.id, (SELECT n FROM number WHERE id = stack.id), tree.lvl, path || ':' || n
	FROM stack JOIN tree ON tree.parent = stack.id JOIN number ON number.id = tree.id
)
SELECT start, end, tid, domain, text, textId, lvl, coalesce(child.n, 0) AS children, coalesce(child.dur, 0) AS inside,
	number.n AS number, stack.parent AS above, path
FROM stack JOIN pushpop AS p ON p.rowid = stack.id JOIN number ON number.id = stack.id
	LEFT JOIN child ON child.id = stack.id;
-- [end]

WITH domain AS MATERIALIZED (
	SELECT globalTid >> 24 AS process, domainId AS domain, min(coalesce(text, value)) AS name
	FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId
	WHERE eventType = 75
	GROUP BY 1, 2
)
SELECT
	start AS "Start (ns)",
	end AS "End (ns)",
	end - start AS "Duration (ns)",
	inside AS "DurChild (ns)",
	end - start - inside AS "DurNonChild (ns)",
	coalesce(d.name, '') || ':' || coalesce(text, value, '') AS "Name",
	tid >> 24 & 0xFFFFFF AS "PID",
	tid & 0xFFFFFF AS "TID",
	lvl AS "Lvl",
	children AS "NumChild",
	number AS "RangeId",
	above AS "ParentId",
	path AS "RangeStack",
	replace(hex(zeroblob(lvl)), '00', '--') || coalesce(d.name, '') || ':' || coalesce(text, value, '') AS "NameTree"
FROM stacked AS p
	LEFT JOIN domain AS d ON d.process = tid >> 24 AND d.domain = p.domain
	LEFT JOIN StringIds ON StringIds.id = textId
ORDER BY number;
