-- title: CUDA calls
-- about: Names without the version that NVIDIA's tools put after them (_v and four or five digits).
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA API
-- unit: ns
-- default: 140
SELECT k0, NULL, value, times
FROM sl_hist_rows((
	SELECT sl_stats(name, hist)
	FROM (
		SELECT CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6)
				WHEN value GLOB '*_v[0-9][0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 7)
				ELSE coalesce(value, '[unknown]') END AS name, hist
		FROM sl_hist_rows((SELECT sl_hist(nameId, end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE end >= start))
			LEFT JOIN StringIds ON id = k0
		ORDER BY name
	)
)) CROSS JOIN sl_hist_values(hist);

SELECT CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6)
		WHEN value GLOB '*_v[0-9][0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 7)
		ELSE coalesce(value, '[unknown]') END AS worst, NULL, start, end, globalTid & 0xFFFFFF
FROM CUPTI_ACTIVITY_KIND_RUNTIME LEFT JOIN StringIds ON id = nameId
WHERE end >= start AND end - start IN wanted;
