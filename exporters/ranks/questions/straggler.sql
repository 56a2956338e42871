-- title: Which rank do the others wait for?
-- about: In a collective all ranks are done together, so the one that comes last has the shortest kernel (of MPI: call); no clock is compared.
-- about: What such a rank itself waited for in other communicators in the same step is not its own fault: that part goes to the
-- about: rank it waited for (of the 32 ranks that others wait for most). Collectives of more than 8,000 s do not count.
-- about: Where ranks are missing, collectives of which half are there count: waits are then at least so long.
-- about: Broadcast, Reduce, Gather, Scatter and Scan do not count: in them a rank is done without all others.
-- column: rank = the rank that the others waited for
-- column: collectives = in how many it came last
-- column: rankSeconds = what all the others together waited, s
-- column: share = of all such waits
WITH
-- roll-up SL_CULPRITS: c
r AS (
	SELECT commHash, seq, bytes, nRanks, step, "end" - "start" AS ns, ("end" - "start") * 1048576 + "rank" AS place
	FROM SL_COLLECTIVES
	WHERE run = :run AND commHash IS NOT NULL AND "end" - "start" < 8000000000000 AND op NOT IN :rooted
), g AS (
	SELECT commHash, coalesce(max(step), 0) AS step, min(place) % 1048576 AS culprit, (min(place) - min(place) % 1048576) / 1048576 AS least,
		sum(ns) AS ns, count(*) AS n
	FROM r
	GROUP BY commHash, seq, bytes
	HAVING count(*) > 1 AND 2 * count(*) >= coalesce(max(nRanks), 2)
), c AS (
	SELECT step, commHash, culprit, count(*) AS collectives, sum(ns - n * least) AS waited, sum((ns - n * least) * 1e0 / (n - 1)) AS late, sum(least) AS least
	FROM g WHERE culprit IS NOT NULL GROUP BY step, commHash, culprit
)
-- roll-up end
, suspect AS (
	-- Whatever uses c names all of its columns: of those that do not, Spark computes another c, out of all collectives.
	SELECT culprit AS "rank" FROM c WHERE collectives + late + least IS NOT NULL GROUP BY culprit ORDER BY sum(waited) DESC, culprit LIMIT 32
), l AS (
	SELECT step, commHash, sum(least) AS least, max_by(culprit, waited) AS cause FROM c WHERE collectives + late IS NOT NULL GROUP BY step, commHash
),
-- roll-up SL_TOOK: took
took AS (
	SELECT coalesce(s.step, 0) AS step, s.commHash, s."rank", sum(s."end" - s."start") AS ns
	FROM SL_COLLECTIVES AS s
	JOIN suspect ON suspect."rank" = s."rank" -- not rolled up
	WHERE s.run = :run AND s.commHash IS NOT NULL AND s."end" - s."start" < 8000000000000 AND s.op NOT IN :rooted
	GROUP BY coalesce(s.step, 0), s.commHash, s."rank"
)
-- roll-up end
, elsewhere AS (
	SELECT t.step, t.commHash, t."rank", t.ns - l.least AS ns, l.cause
	FROM took AS t JOIN l ON l.step = t.step AND l.commHash = t.commHash
	WHERE l.cause <> t."rank" AND t.ns > l.least
), x AS (
	SELECT c.step, c.commHash, c.culprit, c.collectives, c.waited, c.late, coalesce(sum(e.ns), 0) AS ns, max_by(e.cause, e.ns) AS cause
	FROM c JOIN suspect ON suspect."rank" = c.culprit
	LEFT JOIN elsewhere AS e ON e.step = c.step AND e."rank" = c.culprit AND e.commHash <> c.commHash
	WHERE c.least IS NOT NULL
	GROUP BY c.step, c.commHash, c.culprit, c.collectives, c.waited, c.late
), y AS (
	SELECT culprit, collectives, waited, cause, CASE WHEN late > 0 THEN least(ns, late) * 1e0 / late ELSE 0 END AS part FROM x
), blame AS (
	SELECT culprit AS "rank", collectives, waited * (1 - part) AS waited FROM y
	UNION ALL
	SELECT cause, 0, waited * part FROM y WHERE cause IS NOT NULL
	UNION ALL
	SELECT culprit, collectives, waited FROM c WHERE culprit NOT IN (SELECT "rank" FROM suspect) AND late + least IS NOT NULL
)
SELECT "rank", CAST(sum(collectives) AS BIGINT) AS collectives, sum(waited) / 1e9 AS rankSeconds, sum(waited) / sum(sum(waited)) OVER () AS share
FROM blame
GROUP BY "rank"
ORDER BY rankSeconds DESC, "rank"
LIMIT :top;
