-- title: System calls
-- needs: SYSCALL = system call
-- unit: ns
-- default: 170
SELECT k0, NULL, value, times
FROM sl_hist_rows((
	SELECT sl_stats(name, hist)
	FROM (
		SELECT coalesce(value, '[unknown]') AS name, hist
		FROM sl_hist_rows((SELECT sl_hist(nameId, end - start) FROM SYSCALL WHERE end >= start))
			LEFT JOIN StringIds ON id = k0
		ORDER BY name
	)
)) CROSS JOIN sl_hist_values(hist);

SELECT coalesce(value, '[unknown]') AS worst, NULL, start, end, globalTid & 0xFFFFFF
FROM SYSCALL LEFT JOIN StringIds ON id = nameId
WHERE end >= start AND end - start IN wanted;
