-- title: Wall time
-- about: From the start of the program to the end of its last process; where these are unknown, from the first to the last event.
-- unit: ns
-- default: 10 single whole
WITH lives AS (
	SELECT max(end) - min(start) AS ns
	FROM SL_PROCESS_TREE
	WHERE end IS NOT NULL AND (traced = 1 OR kind <> 0)
), span(first, last) AS (
	SELECT min(start), max(max(start), max(end)) FROM CUPTI_ACTIVITY_KIND_RUNTIME
	UNION ALL SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_MEMCPY
	UNION ALL SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_MEMSET
	UNION ALL SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
	UNION ALL SELECT min(start), max(max(start), max(end)) FROM OSRT_API
	UNION ALL SELECT min(start), max(end) FROM SYSCALL
	UNION ALL SELECT min(start), coalesce(max(max(start), max(end)), max(start)) FROM NVTX_EVENTS
		WHERE eventType IN (34, 59, 60) -- marks and ranges; names of domains and categories are no events
	UNION ALL SELECT min(start), max(end) FROM MPI_COLLECTIVES_EVENTS
	UNION ALL SELECT min(start), max(end) FROM MPI_P2P_EVENTS
), events AS (
	SELECT max(last) - min(first) AS ns FROM span
), said AS ( -- the time in which was recorded, though perhaps nothing happened for most of it
	SELECT max(duration) AS ns FROM ANALYSIS_DETAILS
)
SELECT '', NULL, coalesce(nullif(lives.ns, 0), nullif(events.ns, 0), said.ns), 1
FROM lives, events, said
WHERE coalesce(nullif(lives.ns, 0), nullif(events.ns, 0), said.ns) IS NOT NULL;
