-- title: Which collectives wait, and for which rank?
-- about: Sums by communicator, operation, size and the rank that came last.
-- column: commHash = communicator
-- column: op = operation
-- column: bytes = size
-- column: culprit = the rank that came last
-- column: collectives = how many
-- column: rankSeconds = what the others waited together, s
-- column: longestMs = the longest wait of one rank, ms
WITH c AS (
	SELECT commHash, seq, min(op) AS op, min(bytes) AS bytes, min_by("rank", "end" - "start") AS culprit,
		max("end" - "start") - min("end" - "start") AS longest, sum("end" - "start") - count(*) * min("end" - "start") AS waited
	FROM SL_COLLECTIVES
	WHERE run = :run AND commHash IS NOT NULL AND "start" IS NOT NULL
	GROUP BY commHash, seq
	HAVING count(*) > 1 AND count(*) >= coalesce(max(nRanks), 2) AND min(op) = max(op) AND min(bytes) = max(bytes)
)
SELECT commHash, op, bytes, culprit, count(*) AS collectives, sum(waited) / 1e9 AS rankSeconds, max(longest) / 1e6 AS longestMs
FROM c
GROUP BY commHash, op, bytes, culprit
ORDER BY rankSeconds DESC, commHash, op, bytes, culprit
LIMIT :top;
