-- title: GPU copies and fills
-- needs: SL_GPU_WORK.kind=memcpy or SL_GPU_WORK.kind=memset = GPU memory
-- unit: ns
-- default: 130
WITH op AS (
	SELECT k0 AS kind, k1 AS copyKind, hist
	FROM sl_hist_rows((
		SELECT sl_hist(kind, copyKind, end - start)
		FROM (
			SELECT kind, copyKind, start, end FROM SL_GPU_WORK
			WHERE kind IN ('memcpy', 'memset') AND end >= start LIMIT -1
		)
	))
)
SELECT k0, NULL, value, times
FROM sl_hist_rows((
	SELECT sl_stats(name, hist)
	FROM (
		SELECT kind || coalesce(' ' || coalesce(label, copyKind), '') AS name, hist
		FROM op LEFT JOIN ENUM_CUDA_MEMCPY_OPER ON id = copyKind
		ORDER BY name
	)
)) CROSS JOIN sl_hist_values(hist);

SELECT kind || coalesce(' ' || coalesce(label, copyKind), '') AS worst, NULL, start, end, 'GPU ' || sl_gpu(globalPid, deviceId)
FROM SL_GPU_WORK LEFT JOIN ENUM_CUDA_MEMCPY_OPER ON id = copyKind
WHERE kind IN ('memcpy', 'memset') AND end >= start AND end - start IN wanted;
