-- title: Peak GPU memory
-- about: The most that was allocated at a time, of the GPU of which that was most.
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS = GPU memory
-- unit: bytes
-- default: 50 single
-- Not memory of the host. Memory that has only a free was there before the recording, as in report cuda_mem_peak.
WITH event AS (
	SELECT globalPid, deviceId, start, memoryOperationType AS op, bytes,
		row_number() OVER (PARTITION BY globalPid, address ORDER BY start, correlationId, memoryOperationType) AS nr
	FROM CUDA_GPU_MEMORY_USAGE_EVENTS
	WHERE memKind NOT IN (0, 1) AND address <> 0
), change AS (
	SELECT globalPid, deviceId, start, op, CASE op WHEN 0 THEN bytes ELSE -bytes END AS bytes FROM event
	UNION ALL
	SELECT globalPid, deviceId, -9223372036854775807, 0, bytes FROM event WHERE nr = 1 AND op = 1
), used AS (
	SELECT sum(bytes) OVER (PARTITION BY globalPid, deviceId ORDER BY start, op DESC ROWS UNBOUNDED PRECEDING) AS bytes
	FROM change
)
SELECT '', NULL, max(bytes), 1
FROM used
HAVING count(*) > 0;
