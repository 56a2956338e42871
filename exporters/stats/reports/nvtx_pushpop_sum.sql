-- title: NVTX Push/Pop Range Summary
-- about: Time of closed push/pop ranges of NVTX, per name. A range inside another counts in both.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- alias: nvtxppsum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all ranges of the name
-- column: Instances = how many
-- include: stats_heads
-- column: Range = domain:text; the default domain has no name
WITH hist AS (
	SELECT k0 AS process, k1 AS domain, k2 AS textId, k3 AS text, hist
	FROM sl_hist_rows((
		SELECT sl_hist(globalTid >> 24, domainId, textId, text, end - start)
		FROM NVTX_EVENTS
		WHERE eventType = 59 AND end IS NOT NULL
	))
), stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(coalesce(domain.name, '') || ':' || coalesce(text, value, ''), hist)
		FROM hist LEFT JOIN SL_NVTX_DOMAINS AS domain USING (process, domain) LEFT JOIN StringIds ON StringIds.id = textId
	))
	WHERE key IS NOT NULL
)
-- include: ranges_table
