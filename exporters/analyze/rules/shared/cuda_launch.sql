-- cuda_launch(pid, ns): what launching a kernel takes in a process, on average. pid: the upper bits of its ids.
CREATE TEMP TABLE cuda_launch(pid INTEGER PRIMARY KEY, ns REAL);
INSERT INTO cuda_launch
SELECT globalTid >> 24, 1.0 * sum(end - start) / count(*)
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE end >= start AND globalTid IS NOT NULL AND nameId IN (
	SELECT id FROM StringIds WHERE value GLOB 'cudaLaunchKernel*' OR value GLOB 'cuLaunchKernel*'
		OR value GLOB 'cudaLaunchCooperativeKernel*' OR value GLOB 'cuLaunchCooperativeKernel*')
GROUP BY 1;
