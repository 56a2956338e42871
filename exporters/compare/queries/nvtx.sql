-- title: NVTX ranges
-- needs: NVTX_EVENTS = NVTX
-- unit: ns
-- default: 110
WITH range AS (
	SELECT k0 AS process, k1 AS domain, k2 AS text, k3 AS textId, hist
	FROM sl_hist_rows((
		SELECT sl_hist(globalTid / 0x1000000, domainId, text, textId, end - start)
		FROM NVTX_EVENTS
		WHERE eventType IN (59, 60) AND end >= start
	))
)
SELECT k0, NULL, value, times
FROM sl_hist_rows((
	SELECT sl_stats(name, hist)
	FROM (
		SELECT coalesce(domain.name, '') || ':' || coalesce(text, value, '') AS name, hist
		FROM range LEFT JOIN SL_NVTX_DOMAINS AS domain USING (process, domain) LEFT JOIN StringIds ON StringIds.id = textId
		ORDER BY 1
	)
)) CROSS JOIN sl_hist_values(hist);

SELECT coalesce(domain.name, '') || ':' || coalesce(text, value, '') AS worst, NULL, start, end, globalTid & 0xFFFFFF
FROM NVTX_EVENTS AS e LEFT JOIN SL_NVTX_DOMAINS AS domain ON domain.process = e.globalTid / 0x1000000 AND domain.domain = e.domainId
	LEFT JOIN StringIds ON StringIds.id = textId
WHERE eventType IN (59, 60) AND end >= start AND end - start IN wanted;
