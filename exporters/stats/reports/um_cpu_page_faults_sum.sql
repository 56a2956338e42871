-- title: Unified Memory CPU Page Faults Summary
-- about: Page faults of unified memory that the CPU took, per instruction.
-- needs: CUDA_UM_CPU_PAGE_FAULT_EVENTS = CUDA Unified Memory CPU page faults
-- default: 210 quiet
-- alias: umcpupagefaults
-- column: CPU Page Faults = how many CUPTI has reported
-- column: CPU Instruction Address = function the instruction is in, or its address where that is not known
-- The address itself stands in StringIds where the symbol was not looked up.
WITH fault AS (
	SELECT CpuInstruction AS place, count(*) AS n
	FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS
	GROUP BY place
)
SELECT
	n AS "CPU Page Faults",
	coalesce((SELECT value FROM StringIds WHERE id = place), '[unknown ' || place || ']') AS "CPU Instruction Address"
FROM fault
ORDER BY n DESC, 2;
