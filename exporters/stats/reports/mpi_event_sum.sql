-- title: MPI Event Summary
-- about: Time in MPI calls, per function. Calls that never returned are left out.
-- needs: MPI_P2P_EVENTS or MPI_COLLECTIVES_EVENTS or MPI_START_WAIT_EVENTS or MPI_OTHER_EVENTS = MPI event
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all calls of the function
-- column: Instances = how many
-- include: stats_heads
-- column: Source = p2p, collectives, start_wait or other: the table it stands in (the words nsys writes here are not documented)
-- column: Name = function
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(json_array(source, coalesce(value, '[unknown ' || textId || ']')), end - start)
		FROM (
			SELECT 'p2p' AS source, textId, start, end FROM MPI_P2P_EVENTS
			UNION ALL
			SELECT 'collectives' AS source, textId, start, end FROM MPI_COLLECTIVES_EVENTS
			UNION ALL
			SELECT 'start_wait' AS source, textId, start, end FROM MPI_START_WAIT_EVENTS
			UNION ALL
			SELECT 'other' AS source, textId, start, end FROM MPI_OTHER_EVENTS
		) LEFT JOIN StringIds ON StringIds.id = textId
		WHERE end IS NOT NULL
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Instances",
	-- include: stats_columns
	json_extract(key, '$[0]') AS "Source",
	json_extract(key, '$[1]') AS "Name"
FROM stats
ORDER BY total DESC, "Source", "Name";
