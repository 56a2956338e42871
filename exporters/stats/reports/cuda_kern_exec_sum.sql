-- title: CUDA Kernel Launch & Exec Time Summary
-- about: Times of kernels and of the calls that launched them, per thread, device, call and kernel. A queue time
-- about: is no bad sign: it means that the GPU was busy when the kernel was launched.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- alias: kernexecsum
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: PID = process
-- column: TID = thread that made the calls
-- column: DevId = number of the GPU
-- column: Count = kernels
-- column: QCount = kernels that had not started when the call returned
-- column: TAvg (ns) = from the entry of the call to the end of the kernel, or of the call if that is later: mean
-- column: TMed (ns) = the same: median
-- column: TMin (ns) = the same: least
-- column: TMax (ns) = the same: most
-- column: TStdDev (ns) = the same: sample standard deviation (n - 1); 0 for a single one
-- column: AAvg (ns) = time in the call: mean
-- column: AMed (ns) = the same: median
-- column: AMin (ns) = the same: least
-- column: AMax (ns) = the same: most
-- column: AStdDev (ns) = the same: sample standard deviation (n - 1); 0 for a single one
-- column: QAvg (ns) = time from the return of the call to the start of the kernel, where there was any: mean
-- column: QMed (ns) = the same: median
-- column: QMin (ns) = the same: least
-- column: QMax (ns) = the same: most
-- column: QStdDev (ns) = the same: sample standard deviation (n - 1); 0 for a single one
-- column: KAvg (ns) = time of the kernel on the GPU: mean
-- column: KMed (ns) = the same: median
-- column: KMin (ns) = the same: least
-- column: KMax (ns) = the same: most
-- column: KStdDev (ns) = the same: sample standard deviation (n - 1); 0 for a single one
-- column: API Name = call
-- column: Kernel Name = kernel
-- include: nvtx_name

-- include: calls_by_id
DROP TABLE IF EXISTS temp.spelling;
CREATE TEMP TABLE spelling (id INTEGER PRIMARY KEY, first INTEGER, value TEXT);
INSERT INTO spelling
SELECT nameId, min(nameId) OVER (PARTITION BY plain), plain
FROM (
	SELECT nameId, CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6)
		ELSE coalesce(value, '[unknown ' || nameId || ']') END AS plain
	FROM (SELECT DISTINCT nameId FROM api WHERE nameId IS NOT NULL) LEFT JOIN StringIds ON id = nameId
);
DROP TABLE IF EXISTS temp.pair;
CREATE TEMP TABLE pair AS
SELECT dense_rank() OVER (ORDER BY thread, device, api, name, text) AS id, *
FROM (
	SELECT thread, deviceId AS device, first AS api,
		coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END, demangledName, -1) AS name,
		coalesce(text, '') AS text, max(a.end, k.end) - a.start AS t, a.end - a.start AS a,
		CASE WHEN k.start > a.end THEN k.start - a.end END AS q, k.end - k.start AS k
	FROM SL_GPU_KERNELS AS k
		JOIN api AS a ON a.process = k.process AND a.correlationId = k.correlationId
		JOIN spelling AS s ON s.id = a.nameId
		LEFT JOIN launch AS l ON l.process = a.process AND l.correlationId = a.correlationId
	WHERE k.end IS NOT NULL
);
WITH which AS MATERIALIZED (
	SELECT DISTINCT id, thread, device, api, name, text FROM pair
), t AS MATERIALIZED (
	SELECT * FROM sl_stats_rows((SELECT sl_stats(id, t) FROM pair))
), a AS MATERIALIZED (
	SELECT * FROM sl_stats_rows((SELECT sl_stats(id, a) FROM pair))
), q AS MATERIALIZED (
	SELECT * FROM sl_stats_rows((SELECT sl_stats(id, q) FROM pair WHERE q IS NOT NULL))
), k AS MATERIALIZED (
	SELECT * FROM sl_stats_rows((SELECT sl_stats(id, k) FROM pair))
)
SELECT
	(thread >> 24) & 0xFFFFFF AS "PID",
	thread & 0xFFFFFF AS "TID",
	sl_gpu(thread, device) AS "DevId",
	t.n AS "Count",
	coalesce(q.n, 0) AS "QCount",
	round(t.mean, 1) AS "TAvg (ns)",
	round(t.median, 1) AS "TMed (ns)",
	t.min AS "TMin (ns)",
	t.max AS "TMax (ns)",
	round(t.stddev, 1) AS "TStdDev (ns)",
	round(a.mean, 1) AS "AAvg (ns)",
	round(a.median, 1) AS "AMed (ns)",
	a.min AS "AMin (ns)",
	a.max AS "AMax (ns)",
	round(a.stddev, 1) AS "AStdDev (ns)",
	round(q.mean, 1) AS "QAvg (ns)",
	round(q.median, 1) AS "QMed (ns)",
	q.min AS "QMin (ns)",
	q.max AS "QMax (ns)",
	round(q.stddev, 1) AS "QStdDev (ns)",
	round(k.mean, 1) AS "KAvg (ns)",
	round(k.median, 1) AS "KMed (ns)",
	k.min AS "KMin (ns)",
	k.max AS "KMax (ns)",
	round(k.stddev, 1) AS "KStdDev (ns)",
	f.value AS "API Name",
	CASE text WHEN '' THEN '' ELSE text || '/' END || coalesce(s.value, '[unknown ' || name || ']') AS "Kernel Name"
FROM which AS w JOIN t ON t.key = w.id JOIN a ON a.key = w.id JOIN k ON k.key = w.id LEFT JOIN q ON q.key = w.id
	JOIN spelling AS f ON f.id = api
	LEFT JOIN StringIds AS s ON s.id = name
ORDER BY t.total DESC, thread, device, "API Name", "Kernel Name";
