-- title: Unified Memory Analysis Summary
-- about: Migrations and page faults of unified memory, per address, those that moved most first. 1 MB is 1,000,000 bytes.
-- needs: CUDA_UM_CPU_PAGE_FAULT_EVENTS or CUDA_UM_GPU_PAGE_FAULT_EVENTS or CUPTI_ACTIVITY_KIND_MEMCPY.virtualAddress = CUDA Unified Memory CPU page faults
-- default: 190 quiet
-- alias: unifiedmemory
-- arg: rows=<limit>, addresses to list, 10 by default; -1: all
-- column: Virtual Address = of the pages
-- column: HtoD Migration Size (MB) = moved from host to device, as far as CUPTI has reported it
-- column: DtoH Migration Size (MB) = moved from device to host, as far as CUPTI has reported it
-- column: CPU Page Faults = faults by the CPU that CUPTI has reported; empty where the report has none at all
-- column: GPU Page Faults = faults by GPUs that CUPTI has reported; empty where the report has none at all
-- column: Migration Throughput (MB/s) = both sizes by the time the migrations took
WITH piece(address, down, up, ns, cpu, gpu) AS (
	-- migrations and faults of an address, one kind at a time
	SELECT virtualAddress, bytes * (copyKind = 11), bytes * (copyKind = 12), end - start, NULL, NULL
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	WHERE copyKind IN (11, 12)
	UNION ALL
	SELECT address, 0, 0, 0, 1, NULL FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS
	UNION ALL
	SELECT address, 0, 0, 0, NULL, numberOfPageFaults FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS
), recorded AS MATERIALIZED (
	SELECT count(cpu) > 0 AS cpu, count(gpu) > 0 AS gpu FROM piece
)
SELECT
	printf('0x%llX', address) AS "Virtual Address",
	round(sum(down) / 1e6, 3) AS "HtoD Migration Size (MB)",
	round(sum(up) / 1e6, 3) AS "DtoH Migration Size (MB)",
	CASE WHEN recorded.cpu THEN coalesce(sum(piece.cpu), 0) END AS "CPU Page Faults",
	CASE WHEN recorded.gpu THEN coalesce(sum(piece.gpu), 0) END AS "GPU Page Faults",
	round((sum(down) + sum(up)) * 1e3 / nullif(sum(ns), 0), 3) AS "Migration Throughput (MB/s)"
FROM piece, recorded
WHERE address IS NOT NULL
GROUP BY address
ORDER BY sum(down) + sum(up) DESC, address
LIMIT coalesce(:rows, 10);
