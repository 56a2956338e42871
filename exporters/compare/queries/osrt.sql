-- title: Calls of the operating system's runtime
-- about: Recorded calls, those at or above the threshold.
-- needs: OSRT_API = OS runtime
-- unit: ns
-- default: 150
WITH hist AS MATERIALIZED (
	SELECT nameId, end - start AS dur, count(*) AS n
	FROM OSRT_API
	WHERE end >= start AND coalesce(eventClass, 27) NOT IN (31, 32)
	GROUP BY 1, 2
)
SELECT coalesce(value, '[unknown]'), NULL, dur, sum(n)
FROM hist LEFT JOIN StringIds ON id = nameId
GROUP BY 1, dur
ORDER BY 1, dur;
