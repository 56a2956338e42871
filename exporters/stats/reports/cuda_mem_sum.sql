-- title: CUDA Memory Summary
-- about: Memory that was allocated through CUDA, per process, GPU, kind and pool: how much, how much at a time at most, and what is
-- about: still there at the end. Recorded with --cuda-memory-usage=true. What was allocated before the recording is known only by
-- about: its free, and counts from the beginning; of what then stays, nothing is known.
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS = CUDA memory usage (--cuda-memory-usage=true)
-- default: 240 quiet
-- column: Peak (B) = most at a time
-- column: Peak At (ns) = when that was reached first; empty: before the recording
-- column: Allocs = allocations
-- column: Allocated (B) = bytes of all allocations together
-- column: Largest (B) = bytes of the largest one
-- column: Live Allocs = of these not given back at the end
-- column: Live (B) = their bytes
-- column: Before (B) = bytes of frees without an allocation: there when recording began, or its allocation was lost
-- column: Unmatched = frees and allocations of an address that was free, or in use, already: at least so many records are missing
-- column: PID = process
-- column: Device = number of the GPU
-- column: Kind = of memory
-- column: Pool = address of the memory pool that it is from; empty: none
-- include: cuda_mem
WITH edge AS (
	SELECT globalPid, deviceId, kind, pool, coalesce(start, -9223372036854775807) AS at, 1 AS step, id, bytes AS delta FROM mem_block
	WHERE ending <> 'unmatched' AND (start IS NULL OR end IS NULL OR end > start)
	UNION ALL
	SELECT globalPid, deviceId, kind, pool, end, 0, id, -bytes FROM mem_block
	WHERE ending <> 'unmatched' AND end IS NOT NULL AND (start IS NULL OR end > start)
), level AS (
	SELECT globalPid, deviceId, kind, pool, at, step, id, sum(delta) OVER (PARTITION BY globalPid, deviceId, kind, pool
		ORDER BY at, step, id ROWS UNBOUNDED PRECEDING) AS bytes
	FROM edge
), peak AS (
	SELECT globalPid, deviceId, kind, pool, bytes, nullif(at, -9223372036854775807) AS at, row_number() OVER (PARTITION BY
		globalPid, deviceId, kind, pool ORDER BY bytes DESC, at, step, id) AS nr
	FROM level
), total AS (
	SELECT globalPid, deviceId, kind, pool, count(start) AS allocs, total(bytes) FILTER (WHERE start IS NOT NULL) AS allocated,
		max(bytes) FILTER (WHERE start IS NOT NULL) AS largest, count(*) FILTER (WHERE ending = 'live') AS live,
		total(bytes) FILTER (WHERE ending = 'live') AS left, total(bytes) FILTER (WHERE ending = 'before') AS before,
		count(*) FILTER (WHERE ending IN ('unmatched', 'lost')) AS bad
	FROM mem_block
	GROUP BY 1, 2, 3, 4
)
SELECT
	coalesce(p.bytes, 0) AS "Peak (B)",
	p.at AS "Peak At (ns)",
	allocs AS "Allocs",
	CAST(allocated AS INTEGER) AS "Allocated (B)",
	largest AS "Largest (B)",
	live AS "Live Allocs",
	CAST(left AS INTEGER) AS "Live (B)",
	CAST(before AS INTEGER) AS "Before (B)",
	bad AS "Unmatched",
	t.globalPid >> 24 & 0xFFFFFF AS "PID",
	sl_gpu(t.globalPid, t.deviceId) AS "Device",
	coalesce(label, t.kind) AS "Kind",
	CASE WHEN t.pool <> 0 THEN printf('0x%llX', t.pool) END AS "Pool"
FROM total AS t LEFT JOIN peak AS p ON p.nr = 1 AND p.globalPid = t.globalPid AND p.deviceId = t.deviceId AND p.kind = t.kind
		AND p.pool IS t.pool
	LEFT JOIN ENUM_CUDA_MEM_KIND AS k ON k.id = t.kind
ORDER BY "Peak (B)" DESC, "PID", "Device", "Kind", "Pool";
