-- title: Peak GPU memory
-- about: The most that was allocated at a time, of the GPU of which that was most.
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS = GPU memory
-- unit: bytes
-- default: 50 single
WITH used AS (
	SELECT sum(CASE memoryOperationType WHEN 0 THEN bytes ELSE -bytes END) OVER (PARTITION BY globalPid, deviceId
			ORDER BY start, memoryOperationType DESC ROWS UNBOUNDED PRECEDING) AS bytes
	FROM CUDA_GPU_MEMORY_USAGE_EVENTS
	WHERE memKind IN (2, 4, 5, 6)
)
SELECT '', NULL, max(bytes), 1
FROM used
HAVING count(*) > 0;
