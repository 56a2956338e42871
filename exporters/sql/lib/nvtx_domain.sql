-- domain(process, domain, name): the names of NVTX domains. A step of a WITH.
domain AS MATERIALIZED (
	SELECT globalTid >> 24 AS process, domainId AS domain, min(coalesce(text, value)) AS name
	FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId
	WHERE eventType = 75
	GROUP BY 1, 2
)
