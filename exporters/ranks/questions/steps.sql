-- title: Which rank is the straggler of each step?
-- about: The steps in which the ranks waited most for one of them.
-- about: Where ranks are missing, collectives of which half are there count: waits are then at least so long.
-- about: Broadcast, Reduce, Gather, Scatter and Scan do not count: in them a rank is done without all others.
-- column: step = number of the step
-- column: straggler = the rank that the others waited for
-- column: rankSeconds = what they waited for it together, s
WITH r AS (
	SELECT commHash, seq, bytes, nRanks, step, "end" - "start" AS ns, ("end" - "start") * 1048576 + "rank" AS place
	FROM SL_COLLECTIVES
	WHERE run = :run AND commHash IS NOT NULL AND "end" - "start" < 8000000000000 AND op NOT IN :rooted
), c AS (
	SELECT max(step) AS step, min(place) % 1048576 AS culprit, sum(ns) - count(*) * min(ns) AS waited
	FROM r
	GROUP BY commHash, seq, bytes
	HAVING count(*) > 1 AND 2 * count(*) >= coalesce(max(nRanks), 2)
), s AS (
	SELECT step, culprit, sum(waited) AS waited FROM c WHERE step IS NOT NULL GROUP BY step, culprit
), m AS (
	SELECT step, culprit, waited, max(waited) OVER (PARTITION BY step) AS most FROM s
)
SELECT step, min(CASE WHEN waited = most THEN culprit END) AS straggler, max(most) / 1e9 AS rankSeconds
FROM m
GROUP BY step
ORDER BY rankSeconds DESC, step
LIMIT :top;
