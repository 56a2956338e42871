-- title: Unified Memory Totals Summary
-- about: All migrations and page faults of unified memory together. 1 MB is 1,000,000 bytes.
-- needs: CUDA_UM_CPU_PAGE_FAULT_EVENTS or CUDA_UM_GPU_PAGE_FAULT_EVENTS or CUPTI_ACTIVITY_KIND_MEMCPY.virtualAddress = CUDA Unified Memory CPU page faults
-- default: 200 quiet
-- alias: unifiedmemorytotals
-- column: Total HtoD Migration Size (MB) = moved from host to device; empty where nothing was moved
-- column: Total DtoH Migration Size (MB) = moved from device to host; empty where nothing was moved
-- column: Total CPU Page Faults = faults by the CPU; empty where there are none
-- column: Total GPU PageFaults = faults by GPUs; empty where there are none
-- column: Minimum Virtual Address = lowest address of a migration, or of a fault where there are no migrations
-- column: Maximum Virtual Address = highest
WITH moved AS MATERIALIZED (
	SELECT sum(bytes) FILTER (WHERE copyKind = 11) AS h2d, sum(bytes) FILTER (WHERE copyKind = 12) AS d2h,
		min(virtualAddress) AS low, max(virtualAddress) AS high
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	WHERE copyKind IN (11, 12, 13)
), cpu AS MATERIALIZED (
	SELECT nullif(count(*), 0) AS faults, min(address) AS low, max(address) AS high FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS
), gpu AS MATERIALIZED (
	SELECT sum(coalesce(numberOfPageFaults, 1)) AS faults, min(address) AS low, max(address) AS high
	FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS
)
SELECT
	round(h2d / 1e6, 3) AS "Total HtoD Migration Size (MB)",
	round(d2h / 1e6, 3) AS "Total DtoH Migration Size (MB)",
	cpu.faults AS "Total CPU Page Faults",
	gpu.faults AS "Total GPU PageFaults",
	printf('0x%X', coalesce(moved.low, min(cpu.low, gpu.low), cpu.low, gpu.low)) AS "Minimum Virtual Address",
	printf('0x%X', coalesce(moved.high, max(cpu.high, gpu.high), cpu.high, gpu.high)) AS "Maximum Virtual Address"
FROM moved, cpu, gpu;
