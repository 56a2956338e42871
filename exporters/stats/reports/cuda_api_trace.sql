-- title: CUDA API Trace
-- about: Every CUDA runtime and driver call, in order of time. A version suffix of four digits (_v7000) is left
-- about: out of the name.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- alias: cudaapitrace
-- column: Start (ns) = entry, since the start of the session
-- column: Duration (ns) = until return
-- column: Name = function
-- column: Result = value returned, 0 is success
-- column: CorrID = number by which what it started on the GPU names it, within the process
-- column: Pid = process
-- column: Tid = thread
-- column: T-Pri = priority of the thread
-- column: Thread Name = last name of the thread
SELECT
	start AS "Start (ns)",
	end - start AS "Duration (ns)",
	CASE WHEN f.value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(f.value, 1, length(f.value) - 6)
		ELSE coalesce(f.value, '[unknown ' || r.nameId || ']') END AS "Name",
	returnValue AS "Result",
	correlationId AS "CorrID",
	(r.globalTid >> 24) & 0xFFFFFF AS "Pid",
	r.globalTid & 0xFFFFFF AS "Tid",
	priority AS "T-Pri",
	n.value AS "Thread Name"
FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
	LEFT JOIN StringIds AS f ON f.id = r.nameId
	LEFT JOIN (SELECT globalTid, max(nameId) AS nameId, priority FROM ThreadNames GROUP BY globalTid) AS t
		ON t.globalTid = r.globalTid
	LEFT JOIN StringIds AS n ON n.id = t.nameId
ORDER BY start, r.globalTid, correlationId;
