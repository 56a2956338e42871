-- Steps of programs that mark none: tid, start, end, name. On the communicator with most ranks a kind of collective (function, size) that
-- comes from the begin to the end of the recording, and of those the one that comes least often, ends a step: a loss that is
-- summed up once per step, rather than the gradients of each layer. All ranks make the same collectives, so they find the same one.
WITH own AS (
	SELECT pid FROM rank
), comm AS MATERIALIZED (
	SELECT globalPid >> 24 AS pid, commUid AS hash, max(size) AS ranks FROM MPI_COMMUNICATORS WHERE commUid IS NOT NULL GROUP BY 1, 2
	UNION ALL
	SELECT globalPid >> 24, commHash, max(nRanks) FROM SL_NCCL_COMMUNICATORS WHERE commHash IS NOT NULL GROUP BY 1, 2
), argument AS MATERIALIZED (
	SELECT callId, max(value) FILTER (WHERE role = 30) AS comm, max(value) FILTER (WHERE role = 26) AS cnt, max(value) FILTER (WHERE role = 45) AS seq
	FROM SL_GPU_ARGUMENTS WHERE role IN (26, 30, 45) GROUP BY callId
), coll AS MATERIALIZED (
	SELECT globalTid AS tid, end, commUid AS hash, textId AS name, size AS bytes, seq FROM MPI_COLLECTIVES_EVENTS WHERE requestHandle IS NULL
	UNION ALL
	SELECT globalTid, end, (SELECT commHash FROM SL_NCCL_COMMUNICATORS AS m WHERE m.globalPid = a.globalTid >> 24 << 24 AND m.comm = g.comm AND m.start <= a.start
		ORDER BY m.start DESC LIMIT 1), nameId, cnt, seq
	FROM argument AS g JOIN SL_LIBRARY_API AS a USING (callId) JOIN StringIds AS s ON s.id = nameId
	WHERE returnValue = 0 AND g.comm IS NOT NULL AND s.value NOT IN ('ncclSend', 'ncclRecv')
), main AS (
	SELECT pid, hash FROM (
		SELECT pid, hash, row_number() OVER (PARTITION BY pid ORDER BY ranks DESC, hash) AS no
		FROM comm JOIN own USING (pid) WHERE ranks > 1 AND (pid, hash) IN (SELECT tid >> 24, hash FROM coll)
	) WHERE no = 1
), kind AS (
	SELECT tid, c.hash, name, bytes, count(*) AS n, min(seq) AS first, max(seq) AS last, min(min(seq)) OVER w AS low, max(max(seq)) OVER w AS high
	FROM coll AS c JOIN main AS m ON m.pid = tid >> 24 AND m.hash = c.hash
	WHERE seq IS NOT NULL
	GROUP BY tid, c.hash, name, bytes
	WINDOW w AS (PARTITION BY tid >> 24)
), best AS (
	SELECT *, row_number() OVER (PARTITION BY tid >> 24 ORDER BY n, first, tid) AS no FROM kind WHERE n >= 4 AND last - first >= 0.8 * (high - low)
)
SELECT tid, start, end, '' FROM (
	SELECT c.tid, lag(c.end) OVER (PARTITION BY c.tid ORDER BY c.end) AS start, c.end
	FROM coll AS c JOIN best AS b ON b.no = 1 AND b.tid = c.tid AND b.hash = c.hash AND b.name = c.name AND b.bytes IS c.bytes
) WHERE start IS NOT NULL
ORDER BY tid, start;
