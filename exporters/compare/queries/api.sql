-- title: CUDA calls
-- about: Names without the version that NVIDIA's tools put after them (_v and four or five digits).
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA API
-- unit: ns
-- default: 140
WITH hist AS MATERIALIZED (
	SELECT nameId, end - start AS dur, count(*) AS n
	FROM CUPTI_ACTIVITY_KIND_RUNTIME
	WHERE end >= start
	GROUP BY 1, 2
), named AS (
	SELECT CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6)
			WHEN value GLOB '*_v[0-9][0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 7)
			ELSE coalesce(value, '[unknown]') END AS name, dur, n
	FROM hist LEFT JOIN StringIds ON id = nameId
)
SELECT name, NULL, dur, sum(n)
FROM named
GROUP BY name, dur
ORDER BY name, dur;
