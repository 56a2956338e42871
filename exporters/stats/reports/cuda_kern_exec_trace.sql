-- title: CUDA Kernel Launch & Exec Time Trace
-- about: Every kernel with the call that launched it, in order of the calls.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- alias: kernexectrace
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: API Start (ns) = entry of the call
-- column: API Dur (ns) = until it returned
-- column: Queue Start (ns) = return of the call, if the kernel had not started by then
-- column: Queue Dur (ns) = from then to the start of the kernel
-- column: Kernel Start (ns) = start on the GPU
-- column: Kernel Dur (ns) = until its end
-- column: Total Dur (ns) = from the entry of the call to the end of the kernel, or of the call if that is later
-- column: PID = process
-- column: TID = thread that made the call
-- column: DevId = CUDA device as the process numbers them
-- column: API Function = call
-- column: GridXYZ = blocks in the grid
-- column: BlockXYZ = threads in a block
-- column: Kernel Name = kernel
-- [nvtx-name] These lines are the same in every report that takes it.
-- In one domain of one thread ranges nest. So every begin (step 1) and end (-1) has a level, and what is open after
-- it is the last range that began at that level: a launch needs one look at the edge before it.
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
	SELECT globalTid >> 24 AS process, correlationId, end, (
		SELECT open FROM innermost AS i
		WHERE i.thread = globalTid AND i.domain = d.domain AND i.at <= start ORDER BY i.at DESC, edge DESC LIMIT 1
	) AS open
	FROM CUPTI_ACTIVITY_KIND_RUNTIME, (SELECT DISTINCT thread, domain FROM innermost) AS d
	WHERE :nvtx_name AND thread = globalTid AND correlationId IS NOT NULL
) AS call JOIN edge ON edge.rowid = open AND edge.end >= call.end
ORDER BY process, correlationId, at DESC, edge.end, domain;
-- [end]

-- [calls-by-id] These lines are the same in every report that takes it.
-- Correlation ids repeat between processes; a launch of a graph has many kernels.
DROP TABLE IF EXISTS temp.api;
CREATE TEMP TABLE api (process INTEGER, correlationId INTEGER, start INTEGER, end INTEGER, thread INTEGER,
	nameId INTEGER, PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO api
SELECT globalTid >> 24, correlationId, start, end, globalTid, nameId
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE correlationId IS NOT NULL AND globalTid IS NOT NULL AND end IS NOT NULL
ORDER BY 1, 2, start;
-- [end]
SELECT
	a.start AS "API Start (ns)",
	a.end - a.start AS "API Dur (ns)",
	CASE WHEN k.start > a.end THEN a.end END AS "Queue Start (ns)",
	CASE WHEN k.start > a.end THEN k.start - a.end END AS "Queue Dur (ns)",
	k.start AS "Kernel Start (ns)",
	k.end - k.start AS "Kernel Dur (ns)",
	max(a.end, k.end) - a.start AS "Total Dur (ns)",
	(a.thread >> 24) & 0xFFFFFF AS "PID",
	a.thread & 0xFFFFFF AS "TID",
	k.deviceId AS "DevId",
	CASE WHEN f.value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(f.value, 1, length(f.value) - 6)
		ELSE coalesce(f.value, '[unknown ' || a.nameId || ']') END AS "API Function",
	printf('%4d %4d %4d', gridX, gridY, gridZ) AS "GridXYZ",
	printf('%4d %4d %4d', blockX, blockY, blockZ) AS "BlockXYZ",
	coalesce(l.text || '/', '') || coalesce(n.value, '[unknown ' || k.name || ']') AS "Kernel Name"
FROM (
	SELECT *, coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END, demangledName) AS name
	FROM CUPTI_ACTIVITY_KIND_KERNEL
) AS k
	JOIN api AS a ON a.process = k.globalPid >> 24 AND a.correlationId = k.correlationId
	LEFT JOIN launch AS l ON l.process = a.process AND l.correlationId = a.correlationId
	LEFT JOIN StringIds AS f ON f.id = a.nameId
	LEFT JOIN StringIds AS n ON n.id = k.name
WHERE k.end IS NOT NULL
ORDER BY a.start, a.thread, k.start, k.deviceId, k.streamId, k.correlationId;
