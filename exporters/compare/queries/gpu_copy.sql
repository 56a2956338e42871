-- title: GPU copies and fills
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET = GPU memory
-- unit: ns
-- default: 130
WITH op(name, dur) AS (
	SELECT 'memcpy ' || coalesce(label, copyKind), end - start
	FROM CUPTI_ACTIVITY_KIND_MEMCPY LEFT JOIN ENUM_CUDA_MEMCPY_OPER ON id = copyKind
	WHERE end >= start
	UNION ALL
	SELECT 'memset', end - start
	FROM CUPTI_ACTIVITY_KIND_MEMSET
	WHERE end >= start
)
SELECT name, NULL, dur, count(*)
FROM op
GROUP BY name, dur
ORDER BY name, dur;
