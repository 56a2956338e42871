-- title: GPU Memory beyond CUDA's Allocations
-- about: What the driver counts for a process, less what it allocated: the context, code, local memory of kernels, what memory pools hold
-- about: unused. And of each GPU what is in use, less what was allocated by all recorded processes. At the times at which the driver
-- about: was asked (--gpu-health).
-- needs: SL_COUNTER_SAMPLES = GPU health counters (--gpu-health)
-- column: GPU = number of the GPU
-- column: PID = process; empty: all that is in use on the GPU
-- column: Samples = times at which the driver was asked
-- column: Used (B) = most that the driver counted
-- column: Allocated (B) = what was allocated then
-- column: Other (B) = what is left of it, then
-- column: Least Other (B) = least at any of these times
-- column: Med Other (B) = median
-- column: Most Other (B) = most
-- include: cuda_mem
DROP TABLE IF EXISTS temp.mem_level;
CREATE TEMP TABLE mem_level (owner INTEGER, gpu INTEGER, at INTEGER, bytes INTEGER);
INSERT INTO mem_level
SELECT globalPid, gpu, at, sum(delta) OVER (PARTITION BY globalPid, gpu ORDER BY at, step, block ROWS UNBOUNDED PRECEDING) FROM mem_edge
UNION ALL
SELECT 0, gpu, at, sum(delta) OVER (PARTITION BY gpu ORDER BY at, step, block ROWS UNBOUNDED PRECEDING) FROM mem_edge;
CREATE INDEX temp.mem_level_at ON mem_level(owner, gpu, at);
WITH sample AS (
	SELECT CASE scope WHEN 'process' THEN scopeId ELSE 0 END AS owner, coalesce(gpuId, scopeId) AS gpu, timestamp,
		CAST(value AS INTEGER) AS used
	FROM SL_COUNTERS AS c JOIN SL_COUNTER_SAMPLES AS s ON s.counterId = c.id
	WHERE value IS NOT NULL AND (scope = 'gpu' AND name = 'Memory Used' OR scope = 'process' AND name = 'GPU Memory Used')
), compared AS (
	SELECT *, used - own AS other
	FROM (
		-- of several edges at one time the last row has the level
		SELECT *, coalesce((SELECT bytes FROM mem_level AS l WHERE l.owner = s.owner AND l.gpu = s.gpu AND l.at <= timestamp
			ORDER BY l.at DESC, l.rowid DESC LIMIT 1), 0) AS own
		FROM sample AS s
	)
), placed AS (
	SELECT *, row_number() OVER (PARTITION BY owner, gpu ORDER BY other) AS nr, count(*) OVER (PARTITION BY owner, gpu) AS n,
		row_number() OVER (PARTITION BY owner, gpu ORDER BY used DESC, timestamp) AS top
	FROM compared
)
SELECT
	gpu AS "GPU",
	nullif(owner >> 24 & 0xFFFFFF, 0) AS "PID",
	max(n) AS "Samples",
	max(used) AS "Used (B)",
	max(own) FILTER (WHERE top = 1) AS "Allocated (B)",
	max(other) FILTER (WHERE top = 1) AS "Other (B)",
	min(other) AS "Least Other (B)",
	max(other) FILTER (WHERE nr = (n + 1) / 2) AS "Med Other (B)",
	max(other) AS "Most Other (B)"
FROM placed
GROUP BY gpu, owner
ORDER BY gpu, owner <> 0, "Used (B)" DESC, "PID";
