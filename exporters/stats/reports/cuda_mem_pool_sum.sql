-- title: CUDA Memory Pools
-- about: Pools that cudaMallocAsync() and the like take from: how much a pool holds (reserved), and how much of that is in use, as CUDA
-- about: has it with each allocation, free, trim. What is reserved and not in use, nothing else on the GPU can have.
-- needs: CUDA_GPU_MEMORY_POOL_EVENTS or CUDA_GPU_MEMORY_USAGE_EVENTS.localMemoryPoolAddress = memory pools (--cuda-memory-usage=true)
-- column: Reserved (B) = most that the pool held
-- column: Used (B) = most that was in use of it
-- column: Unused (B) = most that was reserved and not in use
-- column: Unused At (ns) = when that was so first
-- column: Last Reserved (B) = held at last
-- column: Last Used (B) = in use at last
-- column: Keeps (B) = release threshold: what the pool keeps when memory is given back; as set at last
-- column: Allocs = allocations from it
-- column: Trims = how often it was trimmed
-- column: State = created, destroyed: as far as recorded
-- column: PID = process
-- column: Device = number of the GPU
-- column: Pool = its address
WITH seen AS (
	SELECT globalPid, deviceId, localMemoryPoolAddress AS pool, start AS at, memoryOperationType AS op, NULL AS event,
		localMemoryPoolSize AS size, localMemoryPoolUtilizedSize AS used, localMemoryPoolReleaseThreshold AS keeps
	FROM CUDA_GPU_MEMORY_USAGE_EVENTS
	WHERE localMemoryPoolAddress IS NOT NULL
	UNION ALL
	SELECT globalPid, deviceId, address, start, NULL, operationType, localMemoryPoolSize, localMemoryPoolUtilizedSize,
		localMemoryPoolReleaseThreshold
	FROM CUDA_GPU_MEMORY_POOL_EVENTS
	WHERE poolType IS NOT 2
), placed AS (
	SELECT *, row_number() OVER (pool ORDER BY at DESC, event IS NULL, op) AS back,
		row_number() OVER (pool ORDER BY size - used DESC, at) AS unused
	FROM seen
	WINDOW pool AS (PARTITION BY globalPid, deviceId, pool)
)
SELECT
	max(size) AS "Reserved (B)",
	max(used) AS "Used (B)",
	max(size - used) AS "Unused (B)",
	max(at) FILTER (WHERE unused = 1 AND size IS NOT NULL) AS "Unused At (ns)",
	max(size) FILTER (WHERE back = 1) AS "Last Reserved (B)",
	max(used) FILTER (WHERE back = 1) AS "Last Used (B)",
	max(keeps) FILTER (WHERE back = 1) AS "Keeps (B)",
	count(*) FILTER (WHERE op = 0) AS "Allocs",
	count(*) FILTER (WHERE event = 3) AS "Trims",
	trim(CASE WHEN max(event = 1) THEN 'created ' ELSE '' END || CASE WHEN max(event = 2) THEN 'destroyed' ELSE '' END) AS "State",
	globalPid >> 24 & 0xFFFFFF AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device",
	printf('0x%llX', pool) AS "Pool"
FROM placed
GROUP BY globalPid, deviceId, pool
ORDER BY "Reserved (B)" DESC, "PID", "Device", "Pool";
