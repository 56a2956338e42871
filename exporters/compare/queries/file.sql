-- title: Files
-- about: Time in recorded calls on them.
-- needs: OSRT_API.pathId = file
-- unit: ns
-- default: 160
WITH hist AS MATERIALIZED (
	SELECT pathId, end - start AS dur, count(*) AS n
	FROM OSRT_API
	WHERE pathId IS NOT NULL AND end >= start AND coalesce(eventClass, 27) NOT IN (31, 32)
	GROUP BY 1, 2
)
SELECT value, NULL, dur, sum(n)
FROM hist JOIN StringIds ON id = pathId
GROUP BY 1, dur
ORDER BY 1, dur;
