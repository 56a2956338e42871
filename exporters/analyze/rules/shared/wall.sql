-- wall(start, end, ns): from the first event to the last. Context switches, which may be those of the
-- whole machine, count only where there is nothing else.
CREATE TEMP TABLE wall AS
WITH span(first, last) AS (
	SELECT min(start), max(max(start), max(end)) FROM CUPTI_ACTIVITY_KIND_RUNTIME
	UNION ALL SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL
	UNION ALL SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_MEMCPY
	UNION ALL SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_MEMSET
	UNION ALL SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE
	UNION ALL SELECT min(start), max(max(start), max(end)) FROM OSRT_API
	UNION ALL SELECT min(start), coalesce(max(max(start), max(end)), max(start)) FROM NVTX_EVENTS
		WHERE eventType IN (34, 59, 60) -- marks and ranges; names of domains and categories are no events
	UNION ALL SELECT min(start), max(end) FROM MPI_COLLECTIVES_EVENTS
	UNION ALL SELECT min(start), max(end) FROM MPI_P2P_EVENTS
), event AS (
	SELECT min(first) AS start, max(last) AS end FROM span
)
SELECT start, end, end - start AS ns FROM event WHERE start IS NOT NULL
UNION ALL
SELECT * FROM (SELECT min(start) AS start, max(start) AS end, max(start) - min(start) FROM SCHED_EVENTS)
WHERE (SELECT start FROM event) IS NULL;
