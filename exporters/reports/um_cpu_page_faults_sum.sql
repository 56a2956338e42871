-- title: Unified Memory CPU Page Faults Summary
-- about: Page faults of unified memory that the CPU took, per instruction.
-- needs: CUDA_UM_CPU_PAGE_FAULT_EVENTS = CUDA Unified Memory CPU page faults
-- default: 210 quiet
-- alias: umcpupagefaults
-- column: CPU Page Faults = how many
-- column: CPU Instruction Address = function the instruction is in, or its address where that is not known
SELECT
	count(*) AS "CPU Page Faults",
	coalesce(value, '[unknown ' || CpuInstruction || ']') AS "CPU Instruction Address"
FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS LEFT JOIN StringIds ON id = CpuInstruction
GROUP BY CpuInstruction
ORDER BY 1 DESC, 2;
