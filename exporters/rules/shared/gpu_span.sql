-- gpu_span(globalPid, pid, start, end, ns): from the start of a process's first kernel to the end of its last:
-- the loop, as far as one can tell, without what comes before and after it. pid: the upper bits of its ids.
CREATE TEMP TABLE gpu_span AS
SELECT globalPid, globalPid >> 24 AS pid, min(start) AS start, max(end) AS end, max(end) - min(start) AS ns
FROM (
	SELECT globalPid, min(start) AS start, max(end) AS end FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1
	UNION ALL
	SELECT globalPid, min(start), max(end) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE GROUP BY 1
)
WHERE globalPid IS NOT NULL
GROUP BY globalPid;
