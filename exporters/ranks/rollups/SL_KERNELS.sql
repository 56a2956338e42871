WITH op AS (
	SELECT p.rank, (start + :epoch) / 60000000000 AS minute, coalesce(demangledName, shortName) AS name, end - start AS ns
	FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN rank_process AS p ON p.pid = k.globalPid >> 24
	WHERE end >= start
)
SELECT rank, minute, value, count(*), sum(ns), min(ns), max(ns)
FROM op LEFT JOIN StringIds ON id = name
GROUP BY rank, minute, name;
