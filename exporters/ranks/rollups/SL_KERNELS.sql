WITH sums AS (
	SELECT k0 AS pid, k1 AS minute, k2 AS name, n, total, least, most
	FROM sl_hist_rows((
		SELECT sl_sums(globalPid >> 24, (start + :epoch) / 60000000000, coalesce(demangledName, shortName), end - start, NULL)
		FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end >= start))
)
SELECT rank, minute, value, sum(n), sum(total), min(least), max(most), restart
FROM sums JOIN rank_process AS p USING (pid) LEFT JOIN StringIds ON id = name
GROUP BY rank, restart, minute, name;
