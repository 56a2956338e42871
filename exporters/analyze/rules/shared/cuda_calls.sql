-- cuda_calls(start, end, globalTid, correlationId, nameId): calls of CUDA other than those that launch kernels, which are most:
-- rules that look for some of the others need not look at each launch.
CREATE TEMP TABLE cuda_calls AS
SELECT start, end, globalTid, correlationId, nameId
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE nameId NOT IN (SELECT id FROM StringIds WHERE value GLOB 'cudaLaunchKernel*' OR value GLOB 'cuLaunchKernel*'
	OR value GLOB 'cudaLaunchCooperativeKernel*' OR value GLOB 'cuLaunchCooperativeKernel*');
