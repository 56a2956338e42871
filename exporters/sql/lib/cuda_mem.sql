-- mem_block: each piece of memory that CUDA allocated, from its allocation to its free. A free belongs to the last allocation of
-- that address in its process; addresses are unique in a process. ending:
--   freed      by a free
--   reset      by cudaDeviceReset() and the like, where the process uses one device (context) and it is clear which
--   lost       its free has no row: the address was allocated again, at end
--   live       at the end of the recording, or of the process: gone is then the end of the process
--   before     start NULL: there is only its free; it was there when recording began, or its allocation was lost
--   unmatched  as before, after another free of the address: nothing is known of it but this free
-- mem_edge(gpu, globalPid, at, step, block, delta): memory of a GPU that is taken (1) or given back (0), in order; not that of the
-- host. mem_device(globalPid, deviceId, gpu): which GPU a process means by a number.
DROP TABLE IF EXISTS temp.mem_event;
DROP TABLE IF EXISTS temp.mem_end;
DROP TABLE IF EXISTS temp.mem_block;
DROP TABLE IF EXISTS temp.mem_device;
DROP TABLE IF EXISTS temp.mem_edge;
CREATE TEMP TABLE mem_event AS
SELECT globalPid, deviceId, contextId, memKind AS kind, coalesce(localMemoryPoolAddress, importedMemoryPoolAddress) AS pool,
	address, start AS at, memoryOperationType AS op, bytes, correlationId, name
FROM CUDA_GPU_MEMORY_USAGE_EVENTS
WHERE memoryOperationType IN (0, 1) AND address <> 0
ORDER BY globalPid, address, start, correlationId, memoryOperationType;

-- Calls that give back all memory: of a device, where the process uses one; of a context, where it uses one.
CREATE TEMP TABLE mem_end (globalPid INTEGER, at INTEGER, PRIMARY KEY (globalPid, at)) WITHOUT ROWID;
INSERT OR IGNORE INTO mem_end
SELECT u.globalPid, r.end
FROM (SELECT globalPid, count(DISTINCT deviceId) AS devices, count(DISTINCT contextId) AS contexts FROM mem_event GROUP BY 1) AS u
	JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.globalTid >> 24 = u.globalPid >> 24
	JOIN StringIds AS s ON s.id = r.nameId
WHERE returnValue = 0 AND (devices = 1 AND (value GLOB 'cudaDeviceReset*' OR value GLOB 'cuDevicePrimaryCtxReset*')
	OR contexts = 1 AND value GLOB 'cuCtxDestroy*');

CREATE TEMP TABLE mem_block (id INTEGER PRIMARY KEY, globalPid INTEGER, deviceId INTEGER, kind INTEGER, pool INTEGER,
	address INTEGER, start INTEGER, end INTEGER, bytes INTEGER, correlationId INTEGER, name TEXT, ending TEXT, gone INTEGER);
INSERT INTO mem_block (globalPid, deviceId, kind, pool, address, start, end, bytes, correlationId, name, ending)
WITH chain AS (
	SELECT *, lead(op) OVER one AS nextOp, lead(at) OVER one AS nextAt, lag(op) OVER one AS lastOp
	FROM mem_event
	WINDOW one AS (PARTITION BY globalPid, address ORDER BY rowid)
), piece AS (
	SELECT *, op = 0 AND (nextAt IS NULL OR nextOp = 0) AS may_be_reset,
		CASE WHEN op = 1 THEN CASE WHEN lastOp IS NULL THEN 'before' ELSE 'unmatched' END
			WHEN nextOp = 1 THEN 'freed' WHEN nextOp = 0 THEN 'lost' ELSE 'live' END AS ending
	FROM chain
	WHERE op = 0 OR lastOp IS NOT 0
), ended AS (
	SELECT *, CASE WHEN may_be_reset THEN (SELECT min(e.at) FROM mem_end AS e
		WHERE e.globalPid = piece.globalPid AND e.at >= piece.at AND e.at <= coalesce(nextAt, e.at)) END AS reset
	FROM piece
)
SELECT globalPid, deviceId, kind, pool, address, CASE op WHEN 0 THEN at END,
	CASE WHEN op = 1 THEN at WHEN reset IS NOT NULL THEN reset ELSE nextAt END, bytes, CASE op WHEN 0 THEN correlationId END, name,
	CASE WHEN reset IS NOT NULL THEN 'reset' ELSE ending END
FROM ended
ORDER BY at, op DESC, correlationId;
-- The end of a process frees its memory.
UPDATE mem_block SET gone = coalesce(end, (SELECT max(t.end) FROM SL_PROCESS_TREE AS t
	WHERE t.globalPid >> 24 = mem_block.globalPid >> 24 AND exitStatus IS NOT NULL AND t.end >= mem_block.start));

CREATE TEMP TABLE mem_device AS
SELECT globalPid, deviceId, sl_gpu(globalPid, deviceId) AS gpu
FROM (SELECT DISTINCT globalPid, deviceId FROM mem_event);

-- Where both happen at one time, memory is given back first.
CREATE TEMP TABLE mem_edge AS
SELECT gpu, b.globalPid, at, step, block, delta
FROM (
	SELECT id AS block, globalPid, deviceId, coalesce(start, -9223372036854775807) AS at, 1 AS step, bytes AS delta FROM mem_block
	WHERE kind NOT IN (0, 1) AND ending <> 'unmatched' AND (start IS NULL OR gone IS NULL OR gone > start)
	UNION ALL
	SELECT id, globalPid, deviceId, gone, 0, -bytes FROM mem_block
	WHERE kind NOT IN (0, 1) AND ending <> 'unmatched' AND gone IS NOT NULL AND (start IS NULL OR gone > start)
) AS b JOIN mem_device AS d ON d.globalPid = b.globalPid AND d.deviceId = b.deviceId
ORDER BY gpu, at, step, block;
