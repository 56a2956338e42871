-- title: MPI Message Size Summary
-- about: Bytes that MPI calls sent and received, per function. Calls whose size is not known are left out.
-- needs: MPI_P2P_EVENTS.size or MPI_COLLECTIVES_EVENTS.size or MPI_COLLECTIVES_EVENTS.recvSize = MPI message size
-- column: Total Message Volume = bytes of all calls of the function
-- column: Instances = how many
-- column: Avg = mean bytes
-- column: Med = median bytes
-- column: Min = fewest bytes
-- column: Max = most bytes
-- column: StdDev = sample standard deviation (n - 1); 0 for a single one
-- column: Source = p2p, coll_send (sent in a collective) or coll_recv (received in one)
-- column: Name = function
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(json_array(source, coalesce(value, '[unknown ' || textId || ']')), size)
		FROM (
			SELECT 'p2p' AS source, textId, size FROM MPI_P2P_EVENTS
			UNION ALL
			SELECT 'coll_send', textId, size FROM MPI_COLLECTIVES_EVENTS
			UNION ALL
			SELECT 'coll_recv', textId, recvSize FROM MPI_COLLECTIVES_EVENTS
		) LEFT JOIN StringIds ON StringIds.id = textId
		WHERE size IS NOT NULL
	))
	WHERE key IS NOT NULL
)
SELECT
	total AS "Total Message Volume",
	n AS "Instances",
	round(mean, 1) AS "Avg",
	round(median, 1) AS "Med",
	min AS "Min",
	max AS "Max",
	round(stddev, 1) AS "StdDev",
	/* percentiles: p{i} AS "P{p}", */
	json_extract(key, '$[0]') AS "Source",
	json_extract(key, '$[1]') AS "Name"
FROM stats
ORDER BY total DESC, "Source", "Name";
