-- title: Files
-- about: Time in recorded calls on them.
-- needs: OSRT_API.pathId = file
-- unit: ns
-- default: 160
SELECT k0, NULL, value, times
FROM sl_hist_rows((
	SELECT sl_stats(name, hist)
	FROM (
		SELECT value AS name, hist
		FROM sl_hist_rows((SELECT sl_hist(pathId, end - start) FROM OSRT_API WHERE pathId IS NOT NULL AND end >= start AND coalesce(eventClass, 27) NOT IN (31, 32)))
			JOIN StringIds ON id = k0
		ORDER BY name
	)
)) CROSS JOIN sl_hist_values(hist);

SELECT value AS worst, NULL, start, end, globalTid & 0xFFFFFF
FROM OSRT_API JOIN StringIds ON id = pathId
WHERE end >= start AND coalesce(eventClass, 27) NOT IN (31, 32) AND end - start IN wanted;
