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
-- column: DevId = CUDA device as the process numbers them
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
-- One sort, by the key of pair; all that follows goes through it in its order.
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
CREATE TEMP TABLE pair (thread INTEGER, device INTEGER, api INTEGER, name INTEGER, text TEXT, i INTEGER,
	t INTEGER, a INTEGER, q INTEGER, k INTEGER, PRIMARY KEY (thread, device, api, name, text, i)) WITHOUT ROWID;
INSERT INTO pair
SELECT thread, deviceId, first,
	coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END, demangledName, -1),
	coalesce(text, ''), row_number() OVER (),
	max(a.end, k.end) - a.start, a.end - a.start, CASE WHEN k.start > a.end THEN k.start - a.end END,
	k.end - k.start
FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
	JOIN api AS a ON a.process = k.globalPid >> 24 AND a.correlationId = k.correlationId
	JOIN spelling AS s ON s.id = a.nameId
	LEFT JOIN launch AS l ON l.process = a.process AND l.correlationId = a.correlationId
WHERE k.end IS NOT NULL
ORDER BY 1, 2, 3, 4, 5;
WITH total AS MATERIALIZED (
	SELECT thread, device, api, name, text, count(*) AS cnt, count(q) AS q_cnt, sum(t) AS time,
		avg(t) AS t_mean, min(t) AS t_min, max(t) AS t_max, avg(a) AS a_mean, min(a) AS a_min, max(a) AS a_max,
		avg(q) AS q_mean, min(q) AS q_min, max(q) AS q_max, avg(k) AS k_mean, min(k) AS k_min, max(k) AS k_max
	FROM pair
	GROUP BY thread, device, api, name, text
), spread AS MATERIALIZED (
	SELECT thread, device, api, name, text,
		sum((t - t_mean) * (t - t_mean)) AS t_squares, sum((a - a_mean) * (a - a_mean)) AS a_squares,
		sum((q - q_mean) * (q - q_mean)) AS q_squares, sum((k - k_mean) * (k - k_mean)) AS k_squares
	FROM pair JOIN total USING (thread, device, api, name, text)
	GROUP BY thread, device, api, name, text
)
SELECT
	(thread >> 24) & 0xFFFFFF AS "PID",
	thread & 0xFFFFFF AS "TID",
	device AS "DevId",
	cnt AS "Count",
	q_cnt AS "QCount",
	round(t_mean, 1) AS "TAvg (ns)",
	(
		SELECT round(avg(v), 1)
		FROM (
			SELECT t AS v, row_number() OVER (ORDER BY t) AS place FROM pair AS p
			WHERE p.thread = t.thread AND p.device = t.device AND p.api = t.api AND p.name = t.name
				AND p.text = t.text
		)
		WHERE place IN ((cnt + 1) / 2, cnt / 2 + 1)
	) AS "TMed (ns)",
	t_min AS "TMin (ns)",
	t_max AS "TMax (ns)",
	round(CASE WHEN cnt > 1 THEN sqrt(t_squares / (cnt - 1)) WHEN cnt = 1 THEN 0 END, 1) AS "TStdDev (ns)",
	round(a_mean, 1) AS "AAvg (ns)",
	(
		SELECT round(avg(v), 1)
		FROM (
			SELECT a AS v, row_number() OVER (ORDER BY a) AS place FROM pair AS p
			WHERE p.thread = t.thread AND p.device = t.device AND p.api = t.api AND p.name = t.name
				AND p.text = t.text
		)
		WHERE place IN ((cnt + 1) / 2, cnt / 2 + 1)
	) AS "AMed (ns)",
	a_min AS "AMin (ns)",
	a_max AS "AMax (ns)",
	round(CASE WHEN cnt > 1 THEN sqrt(a_squares / (cnt - 1)) WHEN cnt = 1 THEN 0 END, 1) AS "AStdDev (ns)",
	round(q_mean, 1) AS "QAvg (ns)",
	(
		SELECT round(avg(v), 1)
		FROM (
			SELECT q AS v, row_number() OVER (ORDER BY q) AS place FROM pair AS p
			WHERE p.thread = t.thread AND p.device = t.device AND p.api = t.api AND p.name = t.name
				AND p.text = t.text AND q IS NOT NULL
		)
		WHERE place IN ((q_cnt + 1) / 2, q_cnt / 2 + 1)
	) AS "QMed (ns)",
	q_min AS "QMin (ns)",
	q_max AS "QMax (ns)",
	round(CASE WHEN q_cnt > 1 THEN sqrt(q_squares / (q_cnt - 1)) WHEN q_cnt = 1 THEN 0 END, 1) AS "QStdDev (ns)",
	round(k_mean, 1) AS "KAvg (ns)",
	(
		SELECT round(avg(v), 1)
		FROM (
			SELECT k AS v, row_number() OVER (ORDER BY k) AS place FROM pair AS p
			WHERE p.thread = t.thread AND p.device = t.device AND p.api = t.api AND p.name = t.name
				AND p.text = t.text
		)
		WHERE place IN ((cnt + 1) / 2, cnt / 2 + 1)
	) AS "KMed (ns)",
	k_min AS "KMin (ns)",
	k_max AS "KMax (ns)",
	round(CASE WHEN cnt > 1 THEN sqrt(k_squares / (cnt - 1)) WHEN cnt = 1 THEN 0 END, 1) AS "KStdDev (ns)",
	f.value AS "API Name",
	CASE text WHEN '' THEN '' ELSE text || '/' END || coalesce(n.value, '[unknown ' || name || ']') AS "Kernel Name"
FROM total AS t JOIN spread USING (thread, device, api, name, text)
	JOIN spelling AS f ON f.id = api
	LEFT JOIN StringIds AS n ON n.id = name
ORDER BY time DESC, thread, device, "API Name", "Kernel Name";
