-- title: GPU copies and fills
-- needs: SL_GPU_WORK.kind=memcpy or SL_GPU_WORK.kind=memset = GPU memory
-- unit: ns
-- default: 130
WITH op(name, dur) AS (
	SELECT kind || coalesce(' ' || coalesce(label, copyKind), ''), end - start
	FROM SL_GPU_WORK LEFT JOIN ENUM_CUDA_MEMCPY_OPER ON id = copyKind
	WHERE kind IN ('memcpy', 'memset') AND end >= start
)
SELECT name, NULL, dur, count(*)
FROM op
GROUP BY name, dur
ORDER BY name, dur;
