-- title: OpenACC Summary
-- about: Time of OpenACC events, per name. Events nest: a construct contains its transfers and launches.
-- needs: CUPTI_ACTIVITY_KIND_OPENACC_DATA or CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH or CUPTI_ACTIVITY_KIND_OPENACC_OTHER = OpenACC event
-- default: 220 quiet
-- alias: openaccsum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all events of the name
-- column: Count = how many
-- include: stats_heads
-- column: Name = event
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(coalesce(value, '[unknown ' || nameId || ']'), end - start)
		FROM (
			SELECT nameId, start, end FROM CUPTI_ACTIVITY_KIND_OPENACC_DATA
			UNION ALL
			SELECT nameId, start, end FROM CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH
			UNION ALL
			SELECT nameId, start, end FROM CUPTI_ACTIVITY_KIND_OPENACC_OTHER
		) LEFT JOIN StringIds ON StringIds.id = nameId
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Count",
	-- include: stats_columns
	key AS "Name"
FROM stats
ORDER BY total DESC, key;
