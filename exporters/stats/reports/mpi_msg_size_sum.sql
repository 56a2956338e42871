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
--
-- The first step sorts all rows once into a histogram (key, value, how many), from which all figures follow.
WITH hist AS MATERIALIZED (
	SELECT json_array(source, coalesce(value, '[unknown ' || textId || ']')) AS name, size, count(*) AS n
	FROM (
		SELECT 'p2p' AS source, textId, size FROM MPI_P2P_EVENTS
		UNION ALL
		SELECT 'coll_send', textId, size FROM MPI_COLLECTIVES_EVENTS
		UNION ALL
		SELECT 'coll_recv', textId, recvSize FROM MPI_COLLECTIVES_EVENTS
	) LEFT JOIN StringIds ON StringIds.id = textId
	WHERE size IS NOT NULL
	GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT name, sum(n) AS calls, sum(n * size) AS bytes, min(size) AS least, max(size) AS most,
		1.0 * sum(n * size) / sum(n) AS mean
	FROM hist
	GROUP BY name
), ranked AS (
	SELECT name, size, n, sum(n) OVER (PARTITION BY name ORDER BY size) AS upto
	FROM hist
), spread AS (
	SELECT t.name, sum(n * (size - mean) * (size - mean)) AS squares,
		(min(size) FILTER (WHERE 2 * upto >= calls) + min(size) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(size) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.name = r.name
	GROUP BY t.name
)
SELECT
	bytes AS "Total Message Volume",
	calls AS "Instances",
	round(mean, 1) AS "Avg",
	round(med, 1) AS "Med",
	least AS "Min",
	most AS "Max",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev",
	/* percentiles: p{i} AS "P{p}", */
	json_extract(name, '$[0]') AS "Source",
	json_extract(name, '$[1]') AS "Name"
FROM total JOIN spread USING (name)
ORDER BY bytes DESC, "Source", "Name";
