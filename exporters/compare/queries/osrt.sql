-- title: Calls of the operating system's runtime
-- about: Recorded calls, those at or above the threshold.
-- needs: OSRT_API = OS runtime
-- unit: ns
-- default: 150
SELECT k0, NULL, value, times
FROM sl_hist_rows((
	SELECT sl_stats(name, hist)
	FROM (
		SELECT coalesce(value, '[unknown]') AS name, hist
		FROM sl_hist_rows((SELECT sl_hist(nameId, end - start) FROM OSRT_API WHERE end >= start AND coalesce(eventClass, 27) NOT IN (31, 32)))
			LEFT JOIN StringIds ON id = k0
		ORDER BY name
	)
)) CROSS JOIN sl_hist_values(hist);

SELECT coalesce(value, '[unknown]') AS worst, NULL, start, end, globalTid & 0xFFFFFF
FROM OSRT_API LEFT JOIN StringIds ON id = nameId
WHERE end >= start AND coalesce(eventClass, 27) NOT IN (31, 32) AND end - start IN wanted;
