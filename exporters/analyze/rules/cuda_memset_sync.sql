-- title: CUDA Synchronous Memset
-- about: Fills of pinned or managed memory by calls that block the calling thread until they are done.
-- needs: CUPTI_ACTIVITY_KIND_MEMSET = CUDA memset
-- uses: mem_kind, cuda_calls
-- default: 30
-- advice: Use cudaMemsetAsync().
-- column: Duration (ns) = time of the fill on the GPU
-- column: Start (ns) = when it began
-- column: Mem Kind = memory that was filled
-- column: Bytes (MB) = size, 10^6 bytes
-- column: PID = process
-- column: Device ID = CUDA ordinal in the process
-- column: Context ID = CUDA context
-- column: Green Context ID = green context; empty: none
-- column: Stream ID = CUDA stream
-- column: API Name = call that asked for it
CREATE TEMP TABLE call(pid INTEGER, correlationId INTEGER, start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER,
	PRIMARY KEY (pid, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO call
SELECT globalTid >> 24, correlationId, start, end, globalTid, nameId
FROM cuda_calls
WHERE what = 'set' AND correlationId IS NOT NULL AND globalTid IS NOT NULL;

-- managed static memory is managed memory
CREATE TEMP TABLE found AS
SELECT m.*, m.end - m.start AS ns, c.start AS callStart, c.end AS callEnd, globalTid, nameId
FROM CUPTI_ACTIVITY_KIND_MEMSET AS m JOIN call AS c ON pid = globalPid >> 24 AND c.correlationId = m.correlationId
WHERE memKind IN (1, 4, 6) AND m.end >= m.start;

SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' WHEN 50 * cost > wall THEN 'bad' ELSE 'info' END AS severity,
	cost,
	'{' || n || ' synchronous fill|synchronous fills} of {' || bytes || ' B} of pinned or managed memory blocked their threads for {'
		|| calls || ' ns}.' AS finding
FROM (
	SELECT max(cost) AS cost, sum(n) AS n, sum(bytes) AS bytes, sum(calls) AS calls, (SELECT ns FROM wall) AS wall
	FROM (
		SELECT sum(min(ns, callEnd - callStart)) AS cost, count(*) AS n, sum(bytes) AS bytes,
			sum(callEnd - callStart) AS calls
		FROM found
		GROUP BY globalTid
	)
)
WHERE n > 0;

SELECT
	ns AS "Duration (ns)",
	start AS "Start (ns)",
	coalesce(label, memKind) AS "Mem Kind",
	round(bytes / 1e6, 3) AS "Bytes (MB)",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	deviceId AS "Device ID",
	contextId AS "Context ID",
	greenContextId AS "Green Context ID",
	streamId AS "Stream ID",
	s.value AS "API Name"
FROM found LEFT JOIN mem_kind ON mem_kind.id = memKind LEFT JOIN StringIds AS s ON s.id = nameId
ORDER BY ns DESC, start
LIMIT :rows;
