-- title: CUDA Memory that was not freed
-- about: Allocations that were not freed when their context was destroyed, their process or the recording ended, by the stack of the
-- about: call that made them (--cudabacktrace=memory or all). Variables of modules do not count. Where it ended with the recording,
-- about: the program may have freed it later.
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS = CUDA memory usage (--cuda-memory-usage=true)
-- default: 260 quiet
-- arg: frames=6, frames of a stack to show, from the innermost of the program on
-- column: Live (B) = bytes that were left
-- column: Count = in so many allocations
-- column: Of = allocations from there in all
-- column: Largest (B) = largest that was left
-- column: First (ns) = when the first of them was allocated
-- column: Last (ns) = when the last was
-- column: Until = what ended: context, process or recording
-- column: PID = process
-- column: Device = number of the GPU
-- column: Kind = of memory
-- column: API Name = call that allocated it
-- column: Stack = of that call, innermost frame first
-- include: cuda_mem
DROP TABLE IF EXISTS temp.mem_wanted;
CREATE TEMP TABLE mem_wanted AS SELECT id FROM mem_block WHERE start IS NOT NULL AND kind NOT IN (5, 6);
-- include: cuda_mem_stacks
WITH piece AS (
	SELECT b.*, c.api, c.place, CASE b.ending WHEN 'reset' THEN 'context' WHEN 'live' THEN CASE WHEN EXISTS (
			SELECT 1 FROM SL_PROCESS_TREE AS t WHERE t.globalPid >> 24 = b.globalPid >> 24 AND t.exitStatus IS NOT NULL
		) THEN 'process' ELSE 'recording' END END AS until
	FROM mem_block AS b LEFT JOIN mem_place AS c ON c.globalPid = b.globalPid AND c.correlationId = b.correlationId
	WHERE b.id IN mem_wanted
)
SELECT
	sum(bytes) AS "Live (B)",
	count(*) AS "Count",
	max(n) AS "Of",
	max(bytes) AS "Largest (B)",
	min(start) AS "First (ns)",
	max(start) AS "Last (ns)",
	until AS "Until",
	globalPid >> 24 & 0xFFFFFF AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device",
	coalesce(label, kind) AS "Kind",
	api AS "API Name",
	site AS "Stack"
FROM (
	SELECT *, coalesce(place, '[no call]') AS site, count(*) OVER (PARTITION BY globalPid, deviceId, kind, api, place) AS n FROM piece
) LEFT JOIN ENUM_CUDA_MEM_KIND AS k ON k.id = kind
WHERE until IS NOT NULL
GROUP BY globalPid, deviceId, kind, api, site, until
ORDER BY "Live (B)" DESC, "PID", "Device", "Kind", "API Name", "Stack", "Until";
