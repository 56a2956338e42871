-- title: MPI Event Trace
-- about: Every MPI call, in order of time. A call that sends and receives (MPI_Sendrecv) has two rows where peer, tag
-- about: or size differ.
-- needs: MPI_P2P_EVENTS or MPI_COLLECTIVES_EVENTS or MPI_START_WAIT_EVENTS or MPI_OTHER_EVENTS = MPI event
-- column: Start (ns) = entry, since the start of the session
-- column: End (ns) = return
-- column: Duration (ns) = until return
-- column: Event = function
-- column: Pid = process
-- column: Tid = thread
-- column: Tag = tag of the message
-- column: Rank = rank of the caller
-- column: PeerRank = the other rank of a point-to-point message
-- column: RootRank = root of a collective
-- column: Size = bytes of a point-to-point message
-- column: CollSendSize = bytes sent in a collective
-- column: CollRecvSize = bytes received in a collective
WITH event AS (
	SELECT start, end, globalTid, textId, tag, remoteRank, NULL AS rootRank, size, NULL AS sendSize, NULL AS recvSize
	FROM MPI_P2P_EVENTS
	UNION ALL
	SELECT start, end, globalTid, textId, NULL, NULL, rootRank, NULL, size, recvSize FROM MPI_COLLECTIVES_EVENTS
	UNION ALL
	SELECT start, end, globalTid, textId, NULL, NULL, NULL, NULL, NULL, NULL FROM MPI_START_WAIT_EVENTS
	UNION ALL
	SELECT start, end, globalTid, textId, NULL, NULL, NULL, NULL, NULL, NULL FROM MPI_OTHER_EVENTS
), ranks AS MATERIALIZED (
	-- the thread that called MPI_Init stands there; others of its process have the same rank
	SELECT globalTid >> 24 AS process, min(rank) AS rank FROM MPI_RANKS GROUP BY 1
)
SELECT
	start AS "Start (ns)",
	end AS "End (ns)",
	end - start AS "Duration (ns)",
	coalesce(value, '[unknown ' || textId || ']') AS "Event",
	e.globalTid >> 24 & 0xFFFFFF AS "Pid",
	e.globalTid & 0xFFFFFF AS "Tid",
	tag AS "Tag",
	coalesce(own.rank, ranks.rank) AS "Rank",
	remoteRank AS "PeerRank",
	rootRank AS "RootRank",
	size AS "Size",
	sendSize AS "CollSendSize",
	recvSize AS "CollRecvSize"
FROM event AS e
	LEFT JOIN StringIds ON StringIds.id = textId
	LEFT JOIN (SELECT globalTid, min(rank) AS rank FROM MPI_RANKS GROUP BY 1) AS own ON own.globalTid = e.globalTid
	LEFT JOIN ranks ON ranks.process = e.globalTid >> 24
ORDER BY start, e.globalTid, end DESC, textId;
