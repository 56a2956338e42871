-- title: Unified Memory Analysis Summary
-- about: Migrations and page faults of unified memory, per address, largest first. 1 MB is 1,000,000 bytes.
-- needs: CUDA_UM_CPU_PAGE_FAULT_EVENTS or CUDA_UM_GPU_PAGE_FAULT_EVENTS or CUPTI_ACTIVITY_KIND_MEMCPY.virtualAddress = CUDA Unified Memory CPU page faults
-- default: 190 quiet
-- alias: unifiedmemory
-- arg: rows=<limit>, addresses to list, 10 by default; -1: all
-- column: Virtual Address = of the pages
-- column: HtoD Migration Size (MB) = moved from host to device
-- column: DtoH Migration Size (MB) = moved from device to host
-- column: CPU Page Faults = faults by the CPU; empty where the report has none at all
-- column: GPU Page Faults = faults by GPUs; empty where the report has none at all
-- column: Migration Throughput (MB/s) = both sizes by the time the migrations took
WITH part AS (
	SELECT virtualAddress AS address, total(bytes) FILTER (WHERE copyKind = 11) AS h2d,
		total(bytes) FILTER (WHERE copyKind = 12) AS d2h, total(end - start) AS time, 0 AS cpu, 0 AS gpu
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	WHERE copyKind IN (11, 12)
	GROUP BY 1
	UNION ALL
	SELECT address, 0, 0, 0, count(*), 0
	FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS
	GROUP BY 1
	UNION ALL
	SELECT address, 0, 0, 0, 0, sum(coalesce(numberOfPageFaults, 1))
	FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS
	GROUP BY 1
), page AS (
	SELECT address, sum(h2d) AS h2d, sum(d2h) AS d2h, sum(time) AS time, sum(cpu) AS cpu, sum(gpu) AS gpu
	FROM part
	GROUP BY 1
)
SELECT
	printf('0x%X', address) AS "Virtual Address",
	round(h2d / 1e6, 3) AS "HtoD Migration Size (MB)",
	round(d2h / 1e6, 3) AS "DtoH Migration Size (MB)",
	CASE WHEN EXISTS (SELECT 1 FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS) THEN cpu END AS "CPU Page Faults",
	CASE WHEN EXISTS (SELECT 1 FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS) THEN gpu END AS "GPU Page Faults",
	round(1000 * (h2d + d2h) / time, 3) AS "Migration Throughput (MB/s)"
FROM page
ORDER BY h2d + d2h DESC, cpu + gpu DESC, address
LIMIT coalesce(:rows, 10);
