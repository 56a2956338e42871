-- title: NVTX GPU Projection Trace
-- about: NVTX ranges as the GPU saw them, in order of time. A range holds the work whose CUDA
-- about: call lies within it, on its thread; it reaches from the first start to the last end on the GPU.
-- about: Ranges without work on the GPU, and those that end on another thread, are left out.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- needs: CUPTI_ACTIVITY_KIND_KERNEL or CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET or CUPTI_ACTIVITY_KIND_GRAPH_TRACE = CUDA GPU
-- alias: nvtxgpuproj
-- column: Name = domain:text; the default domain has no name
-- column: Projected Start (ns) = start of the first work on the GPU
-- column: Projected Duration (ns) = until the end of the last
-- column: Orig Start (ns) = start of the range on the CPU
-- column: Orig Duration (ns) = its duration there
-- column: Style = PushPop or StartEnd
-- column: PID = process
-- column: TID = thread
-- column: NumGPUOps = kernels, copies, sets and graphs it gave the GPU
-- column: Lvl = push/pop ranges around it, of its domain; 0 for StartEnd
-- column: NumChild = ranges of this table directly inside
-- column: RangeId = number of the range in this table
-- column: ParentId = RangeId of the range directly around it
-- column: RangeStack = RangeIds from the outermost range to this one
--
-- [projection] These lines are the same in every report that takes it. Where they are, sightline has a table of its
-- own stand in for them (exporters/sql/projection.h).
-- Nothing here compares ranges with calls pair by pair: a range is two places in the order of its thread's
-- calls, found through an index.
-- Ranges in order of their stacks; those of start/end (style 60) stand beside the stacks.
CREATE TEMP TABLE closed AS
SELECT eventType AS style, globalTid AS tid, coalesce(domainId, 0) AS domain, start, end, text, textId
FROM NVTX_EVENTS
WHERE eventType IN (59, 60) AND end IS NOT NULL
	AND (eventType = 59 OR endGlobalTid IS NULL OR endGlobalTid = globalTid)
ORDER BY tid, domain, style, start, end DESC;

-- The calls that gave the GPU work, in order of thread and time.
CREATE TEMP TABLE op(process INTEGER, correlationId INTEGER, n INTEGER, first INTEGER, last INTEGER,
	PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT INTO op
SELECT coalesce(globalPid, lone) >> 24, correlationId, 1, start, end
FROM (
	SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL
	SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_MEMCPY
	UNION ALL
	SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_MEMSET
	UNION ALL
	SELECT globalPid, correlationId, start, end FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
) CROSS JOIN (SELECT min(globalTid) AS lone FROM CUPTI_ACTIVITY_KIND_RUNTIME)
WHERE correlationId IS NOT NULL AND end IS NOT NULL
-- a launch of a graph may have many; the rest comes about in order, which a sort would not make better
ON CONFLICT DO UPDATE SET n = n + 1, first = min(first, excluded.first), last = max(last, excluded.last);

CREATE TEMP TABLE call AS
SELECT globalTid AS tid, c.start, coalesce(c.end, 1 << 62) AS end, n, first, last
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS c
	CROSS JOIN op ON op.process = globalTid >> 24 AND op.correlationId = c.correlationId
ORDER BY tid, c.start, 3;
CREATE INDEX temp.call_start ON call(tid, start, end);

CREATE TEMP TABLE span AS
SELECT id, lo, hi
FROM (
	SELECT r.rowid AS id,
		(SELECT c.rowid FROM call AS c WHERE c.tid = r.tid AND c.start >= r.start ORDER BY c.start LIMIT 1) AS lo,
		(SELECT c.rowid FROM call AS c WHERE c.tid = r.tid AND c.start <= r.end AND c.end <= r.end
			ORDER BY c.start DESC LIMIT 1) AS hi
	FROM closed AS r
)
WHERE lo <= hi;
-- What the calls of a range gave the GPU: few calls are looked at one by one, many by sums over 16, 256, 4096, ...
-- calls, so that no range costs more than a few dozen rows.
CREATE TEMP TABLE block(size INTEGER, id INTEGER, n INTEGER, first INTEGER, last INTEGER, PRIMARY KEY (size, id))
	WITHOUT ROWID;
INSERT INTO block SELECT 4, rowid >> 4, sum(n), min(first), max(last) FROM call GROUP BY 2;
INSERT INTO block SELECT 8, id >> 4, sum(n), min(first), max(last) FROM block WHERE size = 4 GROUP BY 2;
INSERT INTO block SELECT 12, id >> 4, sum(n), min(first), max(last) FROM block WHERE size = 8 GROUP BY 2;
INSERT INTO block SELECT 16, id >> 4, sum(n), min(first), max(last) FROM block WHERE size = 12 GROUP BY 2;

CREATE TEMP TABLE proj(id INTEGER PRIMARY KEY, n INTEGER, first INTEGER, last INTEGER);
INSERT INTO proj
SELECT s.id, sum(n), min(first), max(last)
FROM span AS s CROSS JOIN call AS c ON c.rowid BETWEEN lo AND hi
WHERE hi - lo < 32
GROUP BY s.id;
WITH RECURSIVE piece(id, size, lo, hi) AS (
	SELECT id, 0, lo, hi FROM span WHERE hi - lo >= 32
	UNION ALL
	SELECT id, size + 4, (lo >> 4) + 1, (hi >> 4) - 1 FROM piece WHERE size < 16 AND (hi >> 4) - (lo >> 4) > 1
), edge AS MATERIALIZED (
	SELECT id, size, lo, CASE size WHEN 16 THEN hi ELSE min(hi, lo | 15) END AS hi FROM piece
	UNION ALL
	SELECT id, size, hi & ~15, hi FROM piece WHERE size < 16 AND hi >> 4 > lo >> 4
)
INSERT INTO proj
SELECT id, sum(n), min(first), max(last)
FROM (
	SELECT e.id, n, first, last FROM edge AS e CROSS JOIN call AS c ON c.rowid BETWEEN lo AND hi WHERE size = 0
	UNION ALL
	SELECT e.id, n, first, last FROM edge AS e CROSS JOIN block AS b ON b.size = e.size AND b.id BETWEEN lo AND hi
	WHERE e.size > 0
)
GROUP BY id;

-- Levels and parents among the ranges with GPU work, as in nvtx_pushpop_trace: a range around one of them has GPU
-- work too, so only NumChild leaves out some, those without a row.
CREATE TEMP TABLE depth(lvl INTEGER, id INTEGER, PRIMARY KEY (lvl, id)) WITHOUT ROWID;
INSERT INTO depth
SELECT lvl, id
FROM (
	SELECT id, step, sum(step) OVER (ORDER BY tid, domain, time, kind, turn ROWS UNBOUNDED PRECEDING) - 1 AS lvl
	FROM (
		SELECT id, 1 AS step, tid, domain, start AS time, 1 AS kind, 2 * id AS turn
		FROM proj JOIN closed ON closed.rowid = id
		WHERE style = 59
		UNION ALL
		SELECT id, -1, tid, domain, end, start = end, 2 * id + 1
		FROM proj JOIN closed ON closed.rowid = id
		WHERE style = 59
	)
)
WHERE step = 1
ORDER BY 1, 2;

CREATE TEMP TABLE tree(parent INTEGER, id INTEGER, lvl INTEGER, PRIMARY KEY (parent, id)) WITHOUT ROWID;
INSERT INTO tree
SELECT coalesce((SELECT max(id) FROM depth WHERE lvl = d.lvl - 1 AND id < d.id), 0), id, lvl
FROM depth AS d
UNION ALL
SELECT 0, id, 0 FROM proj JOIN closed ON closed.rowid = id WHERE style = 60
ORDER BY 1, 2;
CREATE TEMP TABLE child(id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO child SELECT parent, count(*) FROM tree WHERE parent > 0 GROUP BY parent;

-- kind: the same where style, process, domain and text are.
CREATE TEMP TABLE projected(id INTEGER PRIMARY KEY, parent INTEGER, lvl INTEGER, children INTEGER, kind INTEGER,
	style INTEGER, tid INTEGER, domain INTEGER, start INTEGER, end INTEGER, text TEXT, textId INTEGER, n INTEGER,
	first INTEGER, last INTEGER);
INSERT INTO projected
SELECT tree.id, parent, lvl, coalesce(child.n, 0), dense_rank() OVER (ORDER BY style, tid >> 24, domain, text, textId),
	style, tid, domain, start, end, text, textId, proj.n, first, last
FROM tree JOIN proj ON proj.id = tree.id JOIN closed AS c ON c.rowid = tree.id LEFT JOIN child ON child.id = tree.id;
-- [end]

-- [numbers] Likewise.
CREATE INDEX temp.projected_parent ON projected(parent);
CREATE TEMP TABLE number(id INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO number SELECT id, row_number() OVER (ORDER BY first, start, end DESC, id) FROM projected ORDER BY id;

CREATE TEMP VIEW numbered AS
WITH RECURSIVE stack(id, above, path) AS (
	SELECT p.id, NULL, ':' || number.n
	FROM projected AS p JOIN number USING (id)
	WHERE parent = 0
	UNION ALL
	SELECT p.id, (SELECT n FROM number WHERE id = stack.id), path || ':' || number.n
	FROM stack JOIN projected AS p ON p.parent = stack.id JOIN number ON number.id = p.id
)
SELECT p.*, number.n AS number, above, path
FROM stack JOIN projected AS p ON p.id = stack.id JOIN number ON number.id = stack.id;
-- [end]

WITH domain AS MATERIALIZED (
	SELECT globalTid >> 24 AS process, domainId AS domain, min(coalesce(text, value)) AS name
	FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId
	WHERE eventType = 75
	GROUP BY 1, 2
)
SELECT
	coalesce(d.name, '') || ':' || coalesce(text, value, '') AS "Name",
	first AS "Projected Start (ns)",
	last - first AS "Projected Duration (ns)",
	start AS "Orig Start (ns)",
	end - start AS "Orig Duration (ns)",
	CASE style WHEN 59 THEN 'PushPop' ELSE 'StartEnd' END AS "Style",
	tid >> 24 & 0xFFFFFF AS "PID",
	tid & 0xFFFFFF AS "TID",
	n AS "NumGPUOps",
	lvl AS "Lvl",
	children AS "NumChild",
	number AS "RangeId",
	above AS "ParentId",
	path AS "RangeStack"
FROM numbered AS r
	LEFT JOIN domain AS d ON d.process = tid >> 24 AND d.domain = r.domain
	LEFT JOIN StringIds ON StringIds.id = textId
ORDER BY number;
