-- title: Kernels
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- unit: ns
-- default: 120
WITH hist AS MATERIALIZED (
	SELECT demangledName, shortName, end - start AS dur, count(*) AS n
	FROM CUPTI_ACTIVITY_KIND_KERNEL
	WHERE end >= start
	GROUP BY 1, 2, 3
)
SELECT coalesce(full.value, '[unknown]'), short.value, dur, sum(n)
FROM hist LEFT JOIN StringIds AS full ON full.id = demangledName LEFT JOIN StringIds AS short ON short.id = shortName
GROUP BY 1, dur
ORDER BY 1, dur;
