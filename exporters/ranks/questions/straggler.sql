-- title: Which rank do the others wait for?
-- about: In a collective all ranks are done together, so the one that comes last has the shortest kernel; no clock is compared.
-- about: What a rank waited for others since the last collective of the communicator is not its own fault, and taken off.
-- column: rank = the rank that the others waited for
-- column: collectives = in how many it was the one
-- column: rankSeconds = what all the others together waited, s
-- column: share = of all such waits
WITH g AS (
	SELECT commHash, seq, min("end" - "start") AS least, max("end" - "start") AS most, sum("end" - "start") - count(*) * min("end" - "start") AS waited
	FROM SL_COLLECTIVES
	WHERE run = :run AND commHash IS NOT NULL AND "start" IS NOT NULL
	GROUP BY commHash, seq
	HAVING count(*) > 1 AND count(*) >= coalesce(max(nRanks), 2) AND min(op) = max(op) AND min(bytes) = max(bytes)
), w AS (
	SELECT c.commHash, c.seq, c."rank", g.waited, g.most - (c."end" - c."start") AS late, c."end" - c."start" - g.least AS own,
		sum(c."end" - c."start" - g.least) OVER (PARTITION BY c."rank" ORDER BY c.callStart, c.commHash, c.seq) AS reached
	FROM SL_COLLECTIVES AS c JOIN g ON g.commHash = c.commHash AND g.seq = c.seq
	WHERE c.run = :run
), b AS (
	SELECT commHash, seq, "rank", waited,
		late - (reached - own - coalesce(lag(reached) OVER (PARTITION BY "rank", commHash ORDER BY seq), 0)) AS net
	FROM w
), c AS (
	SELECT commHash, seq, max_by("rank", net) AS culprit, max(waited) AS waited FROM b GROUP BY commHash, seq
)
SELECT culprit AS "rank", count(*) AS collectives, sum(waited) / 1e9 AS rankSeconds,
	sum(waited) * 1e0 / sum(sum(waited)) OVER () AS share
FROM c
GROUP BY culprit
ORDER BY rankSeconds DESC, "rank"
LIMIT :top;
