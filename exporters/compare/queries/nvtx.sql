-- title: NVTX ranges
-- needs: NVTX_EVENTS = NVTX
-- unit: ns
-- default: 110
WITH domain AS MATERIALIZED (
	SELECT globalTid / 0x1000000 AS process, domainId,
		max(coalesce(text, (SELECT value FROM StringIds WHERE id = textId))) AS name
	FROM NVTX_EVENTS
	WHERE eventType = 75
	GROUP BY 1, 2
), hist AS (
	SELECT globalTid / 0x1000000 AS process, domainId, text, textId, end - start AS dur, count(*) AS n
	FROM NVTX_EVENTS
	WHERE eventType IN (59, 60) AND end >= start
	GROUP BY 1, 2, 3, 4, 5
)
SELECT coalesce(domain.name, '') || ':' || coalesce(text, value, ''), NULL, dur, sum(n)
FROM hist LEFT JOIN domain USING (process, domainId) LEFT JOIN StringIds ON StringIds.id = textId
GROUP BY 1, dur
ORDER BY 1, dur;
