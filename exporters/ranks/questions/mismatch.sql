-- title: Do the ranks call the same collectives?
-- about: The n-th collective of a communicator with another operation or size on some ranks, or which some ranks did not reach that others
-- about: of its collectives have: such a job hangs, or its order depends on the data. Windows of ranks begin and end at other times:
-- about: before the last begin, and after the first end where ranks were done or had just called, none is missing.
-- column: commHash = communicator; of a message, its two ranks
-- column: comm = its name; of a message with the ranks in it, sender > receiver
-- column: seq = place in its order
-- column: ranks = how many have it
-- column: nRanks = how many should
-- column: lacks = the first rank that did not reach it
-- column: ops = operations
-- column: smallest = bytes, the least
-- column: largest = bytes, the most
WITH member AS (
	SELECT commHash, "rank", min(seq) AS seqFirst, max(seq) AS seqLast FROM SL_COLLECTIVES WHERE run = :run AND commHash IS NOT NULL GROUP BY commHash, "rank"
), size AS (
	SELECT commHash, count(*) AS there, max(seqFirst) AS allFrom, min(seqLast) AS allTo FROM member GROUP BY commHash
), life AS (
	SELECT "rank", max("end") AS over FROM SL_RANKS WHERE run = :run GROUP BY "rank"
), g AS (
	SELECT c.commHash, max(c.comm) AS comm, c.seq, count(*) AS ranks, max(c.nRanks) AS nRanks, min(c.op) || CASE WHEN min(c.op) <> max(c.op) THEN ', ' || max(c.op) ELSE '' END AS ops,
		min(c.bytes) AS smallest, max(c.bytes) AS largest
	FROM SL_COLLECTIVES AS c JOIN size ON size.commHash = c.commHash LEFT JOIN life ON life."rank" = c."rank"
	WHERE c.run = :run
	GROUP BY c.commHash, c.seq
	HAVING min(c.op) <> max(c.op) OR min(c.bytes) <> max(c.bytes) OR (count(*) < max(size.there) AND c.seq >= max(size.allFrom)
		AND (c.seq <= max(size.allTo) OR (count(c."end") = 0 AND coalesce(max(life.over - c.callStart), 2000000000) > 1000000000)))
	ORDER BY c.commHash, c.seq
	LIMIT :top
), lack AS (
	SELECT g.commHash, g.seq, min(m."rank") AS lacks
	FROM g JOIN member AS m ON m.commHash = g.commHash
	LEFT JOIN SL_COLLECTIVES AS c ON c.run = :run AND c.commHash = g.commHash AND c.seq = g.seq AND c."rank" = m."rank"
	WHERE c."rank" IS NULL
	GROUP BY g.commHash, g.seq
)
SELECT g.commHash, g.comm, g.seq, g.ranks, g.nRanks, lack.lacks, g.ops, g.smallest, g.largest
FROM g LEFT JOIN lack ON lack.commHash = g.commHash AND lack.seq = g.seq
ORDER BY g.commHash, g.seq
LIMIT :top;
