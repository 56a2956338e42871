-- title: Is the network slow?
-- about: The shortest kernel of a collective has not waited for a rank: its bytes per time, by communicator, operation and size; first what
-- about: loses most time against the fastest communicator with the same operation and size.
-- about: Where the rank that came last is missing, the shortest kernel has waited for it: rates are then at least so high.
-- about: Collectives that one kernel did together have no rate of their own.
-- column: commHash = communicator; of a message, its two ranks
-- column: comm = its name; of a message with the ranks in it, sender > receiver
-- column: op = operation
-- column: bytes = size
-- column: collectives = how many
-- column: gbPerS = median, GB/s: algbw of nccl-tests
-- column: busGbPerS = busbw of nccl-tests: what the slowest link has to carry
-- column: worst = 5 % are slower, GB/s, as gbPerS
-- column: slower = the fastest communicator's median against this one's
-- column: lostS = what that costs all of them, s
WITH c AS (
	SELECT commHash, max(comm) AS comm, op, bytes, min("end" - "start") AS ns,
		bytes * CASE WHEN op IN ('AllGather', 'ReduceScatter', 'Alltoall', 'AlltoAll') THEN coalesce(max(nRanks), count(*)) ELSE 1 END AS moved,
		CASE WHEN op = 'AllReduce' THEN 2e0 ELSE 1e0 END * CASE WHEN op IN ('Broadcast', 'Bcast', 'Reduce', 'SendRecv') THEN 1e0
			ELSE (coalesce(max(nRanks), count(*)) - 1) * 1e0 / coalesce(max(nRanks), count(*)) END AS bus
	FROM SL_COLLECTIVES
	WHERE run = :run AND commHash IS NOT NULL AND "start" IS NOT NULL AND bytes > 0 AND grouped = 1
	GROUP BY commHash, seq, op, bytes
	HAVING count(*) > 1 AND 2 * count(*) >= coalesce(max(nRanks), 2) AND min("end" - "start") > 0
), g AS (
	SELECT commHash, max(comm) AS comm, op, bytes, count(*) AS collectives, sum(ns) AS ns, percentile_cont(0.5) WITHIN GROUP (ORDER BY moved * 1e0 / ns) AS gbPerS,
		percentile_cont(0.05) WITHIN GROUP (ORDER BY moved * 1e0 / ns) AS worst,
		max(bus) AS bus
	FROM c GROUP BY commHash, op, bytes
), b AS (
	SELECT *, max(gbPerS) OVER (PARTITION BY op, bytes) / gbPerS AS slower FROM g
)
SELECT commHash, comm, op, bytes, collectives, gbPerS, gbPerS * bus AS busGbPerS, worst, slower, ns * (1 - 1 / slower) / 1e9 AS lostS
FROM b
ORDER BY lostS DESC, ns DESC, commHash, op, bytes
LIMIT :top;
