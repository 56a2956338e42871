-- title: Which collectives and messages wait, and for which rank?
-- about: Sums by communicator, operation, size and the rank that came last.
-- about: Where ranks are missing, collectives of which half are there count: waits are then at least so long.
-- about: Broadcast, Reduce, Gather, Scatter and Scan do not count: in them a rank is done without all others.
-- about: A message (SendRecv) waits for the side that came last: a bubble of a pipeline where that is the sender.
-- column: commHash = communicator; of a message, its two ranks
-- column: comm = its name; of a message with the ranks in it, sender > receiver
-- column: op = operation
-- column: bytes = size
-- column: culprit = the rank that came last
-- column: collectives = how many
-- column: rankSeconds = what the others waited together, s
-- column: longestMs = the longest wait of one rank, ms
WITH r AS (
	SELECT commHash, comm, seq, op, bytes, nRanks, "end" - "start" AS ns, ("end" - "start") * 1048576 + "rank" AS place
	FROM SL_COLLECTIVES
	WHERE run = :run AND commHash IS NOT NULL AND "end" - "start" < 8000000000000 AND op NOT IN :rooted
), c AS (
	SELECT commHash, max(comm) AS comm, op, bytes, min(place) % 1048576 AS culprit, max(ns) - min(ns) AS longest, sum(ns) - count(*) * min(ns) AS waited
	FROM r
	GROUP BY commHash, seq, op, bytes
	HAVING count(*) > 1 AND 2 * count(*) >= coalesce(max(nRanks), 2)
)
SELECT commHash, max(comm) AS comm, op, bytes, culprit, count(*) AS collectives, sum(waited) / 1e9 AS rankSeconds, max(longest) / 1e6 AS longestMs
FROM c
GROUP BY commHash, op, bytes, culprit
ORDER BY rankSeconds DESC, commHash, op, bytes, culprit
LIMIT :top;
