-- launch(process, correlationId, text): where :nvtx_name is set, the innermost push/pop range around each CUDA call.
-- In one domain of one thread ranges nest. So every begin (step 1) and end (-1) has a level, and the range that is open after
-- it is the last that began at that level: a launch needs one look at the edge before it.
DROP TABLE IF EXISTS temp.edge;
DROP TABLE IF EXISTS temp.innermost;
DROP TABLE IF EXISTS temp.launch;
CREATE TEMP TABLE edge (thread INTEGER, domain INTEGER, at INTEGER, step INTEGER, end INTEGER, text);
INSERT INTO edge
SELECT globalTid, coalesce(domainId, 0), CASE step WHEN 1 THEN start ELSE end END AS at, step, end,
	coalesce(text, (SELECT value FROM StringIds WHERE id = textId))
FROM NVTX_EVENTS, (SELECT 1 AS step UNION ALL SELECT -1)
WHERE :nvtx_name AND eventType = 59 AND end > start
ORDER BY globalTid, coalesce(domainId, 0), at, step, end DESC;
CREATE TEMP TABLE innermost (thread INTEGER, domain INTEGER, at INTEGER, edge INTEGER, open INTEGER,
	PRIMARY KEY (thread, domain, at, edge)) WITHOUT ROWID;
INSERT INTO innermost
SELECT thread, domain, at, edge, max(edge) FILTER (WHERE step = 1)
	OVER (PARTITION BY level ORDER BY edge ROWS UNBOUNDED PRECEDING) AS open
FROM (SELECT rowid AS edge, *, sum(step) OVER (ORDER BY rowid ROWS UNBOUNDED PRECEDING) AS level FROM edge)
ORDER BY thread, domain, at, edge;
CREATE TEMP TABLE launch (process INTEGER, correlationId INTEGER, text,
	PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO launch
SELECT process, correlationId, edge.text
FROM (
	SELECT process, correlationId, start AS begin, end, (
		SELECT open FROM innermost AS i
		WHERE i.thread = globalTid AND i.domain = d.domain AND i.at <= start ORDER BY i.at DESC, edge DESC LIMIT 1
	) AS open
	FROM SL_LAUNCH_CALLS, (SELECT DISTINCT thread, domain FROM innermost) AS d
	WHERE :nvtx_name AND thread = globalTid
) AS call JOIN edge ON edge.rowid = open AND edge.end >= call.end
ORDER BY process, correlationId, begin, at DESC, edge.end, domain;
