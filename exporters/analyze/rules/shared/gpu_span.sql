-- gpu_span(globalPid, pid, start, end, ns): from the start of a process's first kernel to the end of its last:
-- the loop, as far as it can be found, without the time before and after it. pid: the upper bits of its ids.
CREATE TEMP TABLE gpu_span AS
SELECT globalPid, globalPid >> 24 AS pid, min(start) AS start, max(end) AS end, max(end) - min(start) AS ns
FROM sl_gpu_cover
WHERE what = 'kernel' AND globalPid IS NOT NULL
GROUP BY globalPid;
