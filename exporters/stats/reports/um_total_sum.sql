-- title: Unified Memory Totals Summary
-- about: All migrations and page faults of unified memory together. 1 MB is 1,000,000 bytes.
-- needs: CUDA_UM_CPU_PAGE_FAULT_EVENTS or CUDA_UM_GPU_PAGE_FAULT_EVENTS or CUPTI_ACTIVITY_KIND_MEMCPY.virtualAddress = CUDA Unified Memory CPU page faults
-- default: 200 quiet
-- alias: unifiedmemorytotals
-- column: Total HtoD Migration Size (MB) = moved from host to device, as far as CUPTI has reported it; empty where nothing was moved
-- column: Total DtoH Migration Size (MB) = moved from device to host, as far as CUPTI has reported it; empty where nothing was moved
-- column: Total CPU Page Faults = faults by the CPU that CUPTI has reported; empty where there are none
-- column: Total GPU PageFaults = faults by GPUs that CUPTI has reported; empty where there are none
-- column: Minimum Virtual Address = lowest address of a migration or fault
-- column: Maximum Virtual Address = highest
WITH moved AS (
	SELECT sum(bytes) FILTER (WHERE copyKind = 11) AS down, sum(bytes) FILTER (WHERE copyKind = 12) AS up,
		min(virtualAddress) AS low, max(virtualAddress) AS high
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	WHERE copyKind IN (11, 12)
), cpu AS (
	SELECT nullif(count(*), 0) AS faults, min(address) AS low, max(address) AS high FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS
), gpu AS (
	SELECT sum(numberOfPageFaults) AS faults, min(address) AS low, max(address) AS high
	FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS
), ends(low, high) AS (
	SELECT low, high FROM moved UNION ALL SELECT low, high FROM cpu UNION ALL SELECT low, high FROM gpu
)
SELECT
	round(down / 1e6, 3) AS "Total HtoD Migration Size (MB)",
	round(up / 1e6, 3) AS "Total DtoH Migration Size (MB)",
	cpu.faults AS "Total CPU Page Faults",
	gpu.faults AS "Total GPU PageFaults",
	(SELECT printf('0x%llX', min(low)) FROM ends WHERE low IS NOT NULL HAVING count(*) > 0) AS "Minimum Virtual Address",
	(SELECT printf('0x%llX', max(high)) FROM ends WHERE high IS NOT NULL HAVING count(*) > 0) AS "Maximum Virtual Address"
FROM moved, cpu, gpu
WHERE EXISTS (SELECT 1 FROM ends WHERE low IS NOT NULL);
