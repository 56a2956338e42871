-- title: Do the ranks call the same collectives?
-- about: The n-th collective of a communicator with another operation or size on some ranks, or which some ranks did not reach: such
-- about: a job hangs, or its order depends on the data. Other questions leave these out.
-- column: commHash = communicator
-- column: seq = place in its order
-- column: ranks = how many have it
-- column: nRanks = how many should
-- column: ops = operations
-- column: smallest = bytes, the least
-- column: largest = bytes, the most
SELECT commHash, seq, count(*) AS ranks, max(nRanks) AS nRanks, min(op) || CASE WHEN min(op) <> max(op) THEN ', ' || max(op) ELSE '' END AS ops,
	min(bytes) AS smallest, max(bytes) AS largest
FROM SL_COLLECTIVES
WHERE run = :run AND commHash IS NOT NULL
GROUP BY commHash, seq
HAVING min(op) <> max(op) OR min(bytes) <> max(bytes) OR count(*) < max(nRanks)
ORDER BY commHash, seq
LIMIT :top;
