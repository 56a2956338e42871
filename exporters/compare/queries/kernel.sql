-- title: Kernels
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- unit: ns
-- default: 120
WITH named AS MATERIALIZED (
	SELECT coalesce(full.value, '[unknown]') AS name, short.value AS alike, hist
	FROM sl_hist_rows((
			SELECT sl_hist(demangledName, shortName, end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end >= start
		)) LEFT JOIN StringIds AS full ON full.id = k0 LEFT JOIN StringIds AS short ON short.id = k1
)
SELECT k0, (SELECT max(alike) FROM named WHERE name = k0), value, times
FROM sl_hist_rows((SELECT sl_stats(name, hist) FROM (SELECT name, hist FROM named ORDER BY name)))
	CROSS JOIN sl_hist_values(hist);

SELECT coalesce(full.value, '[unknown]') AS worst, short.value, start, end, 'GPU ' || sl_gpu(globalPid, deviceId)
FROM CUPTI_ACTIVITY_KIND_KERNEL LEFT JOIN StringIds AS full ON full.id = demangledName LEFT JOIN StringIds AS short ON short.id = shortName
WHERE end >= start AND end - start IN wanted;
