-- title: NVTX GPU Projection Summary
-- about: NVTX ranges as the GPU saw them, per name. A range holds the work whose CUDA
-- about: call lies within it, on its thread; it reaches from the first start to the last end on the GPU.
-- about: Ranges without work on the GPU, and those that end on another thread, are left out.
-- about: A range inside another one of the same name counts twice.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- needs: CUPTI_ACTIVITY_KIND_KERNEL or CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET or CUPTI_ACTIVITY_KIND_GRAPH_TRACE = CUDA GPU
-- alias: nvtxgpuprojsum
-- column: Range = domain:text; the default domain has no name
-- column: Style = PushPop or StartEnd
-- column: Total Proj Time (ns) = time on the GPU of all ranges of the name
-- column: Total Range Time (ns) = their time on the CPU
-- column: Range Instances = how many
-- column: Proj Avg (ns) = mean duration on the GPU
-- column: Proj Med (ns) = median duration
-- column: Proj Min (ns) = shortest
-- column: Proj Max (ns) = longest
-- column: Proj StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Total GPU Ops = kernels, copies, sets and graphs they gave the GPU
-- column: Avg GPU Ops = the same per range
-- column: Avg Range Lvl = push/pop ranges around one, of its domain
-- column: Avg Num Child = ranges with work on the GPU directly inside one
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

WITH domain AS MATERIALIZED (
	SELECT globalTid >> 24 AS process, domainId AS domain, min(coalesce(text, value)) AS name
	FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId
	WHERE eventType = 75
	GROUP BY 1, 2
), one AS MATERIALIZED (
	SELECT kind, style, tid >> 24 AS process, domain, text, textId, last - first AS dur, end - start AS orig, n AS ops,
		lvl, children
	FROM projected
), kinds AS MATERIALIZED (
	SELECT kind, json_array(style, coalesce(d.name, '') || ':' || coalesce(text, value, '')) AS name, ranges, orig, ops,
		lvls, children
	FROM (
			SELECT kind, style, process, domain, text, textId, count(*) AS ranges, sum(orig) AS orig, sum(ops) AS ops,
				sum(lvl) AS lvls, sum(children) AS children
			FROM one
			GROUP BY kind
		) AS k
		LEFT JOIN domain AS d ON d.process = k.process AND d.domain = k.domain
		LEFT JOIN StringIds ON StringIds.id = textId
), more AS MATERIALIZED (
	SELECT name, min(kind) AS key, sum(orig) AS orig, sum(ops) AS ops, 1.0 * sum(lvls) / sum(ranges) AS lvl,
		1.0 * sum(children) / sum(ranges) AS children
	FROM kinds
	GROUP BY name
), keys AS MATERIALIZED (
	SELECT kind, key FROM kinds JOIN more USING (name)
), hist AS MATERIALIZED (
	SELECT key, dur, count(*) AS n FROM one CROSS JOIN keys USING (kind) GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT key, sum(n) AS calls, sum(n * dur) AS time, min(dur) AS least, max(dur) AS most,
		1.0 * sum(n * dur) / sum(n) AS mean
	FROM hist
	GROUP BY key
), ranked AS (
	SELECT key, dur, n, sum(n) OVER (PARTITION BY key ORDER BY dur) AS upto
	FROM hist
), spread AS (
	SELECT t.key, sum(n * (dur - mean) * (dur - mean)) AS squares,
		(min(dur) FILTER (WHERE 2 * upto >= calls) + min(dur) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(dur) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.key = r.key
	GROUP BY t.key
)
SELECT
	json_extract(name, '$[1]') AS "Range",
	CASE json_extract(name, '$[0]') WHEN 59 THEN 'PushPop' ELSE 'StartEnd' END AS "Style",
	time AS "Total Proj Time (ns)",
	orig AS "Total Range Time (ns)",
	calls AS "Range Instances",
	round(mean, 1) AS "Proj Avg (ns)",
	round(med, 1) AS "Proj Med (ns)",
	least AS "Proj Min (ns)",
	most AS "Proj Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "Proj StdDev (ns)",
	/* percentiles: p{i} AS "Proj P{p} (ns)", */
	ops AS "Total GPU Ops",
	round(1.0 * ops / calls, 1) AS "Avg GPU Ops",
	round(lvl, 1) AS "Avg Range Lvl",
	round(children, 1) AS "Avg Num Child"
FROM total JOIN spread USING (key) JOIN more USING (key)
ORDER BY time DESC, name;
