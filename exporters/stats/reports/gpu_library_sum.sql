-- title: GPU Library Summary
-- about: Time in calls into cuBLAS, cuDNN, NCCL, cuFFT, cuSPARSE, cuSOLVER and cuFile, per function, and the kernels that were
-- about: launched in them. Work that is launched later (CUDA graphs) is not theirs.
-- needs: CUBLAS_EVENTS.callId or CUDNN_EVENTS.callId or SL_LIBRARY_API = calls into GPU libraries
-- arg: sizes, one row for each size: rows x columns x length of the sum of a product of matrices (* how many), else bytes or elements
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls of the function; one that another of them makes counts in both
-- column: Num Calls = how many
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Kernels = kernels launched in outermost calls
-- column: GPU Time (ns) = how long these ran; empty without GPU trace
-- column: TFLOP/s = 10^12 operations on numbers per second of GPU time, of products of matrices
-- column: Library = library
-- column: Name = function
-- column: Size = size, with the argument sizes
DROP TABLE IF EXISTS temp.library_call;
DROP TABLE IF EXISTS temp.figure;

-- [library-calls] Where these lines are, sightline has functions of its own stand in for them
-- (exporters/sql/library_calls.c).
CREATE TEMP TABLE library_call (callId INTEGER PRIMARY KEY, thread INTEGER, start INTEGER, end INTEGER, library TEXT,
	nameId INTEGER, outermost INTEGER, kernels INTEGER, gpu INTEGER);
INSERT INTO library_call
SELECT callId, globalTid, start, end, library, nameId, start >= coalesce(max(end) OVER (PARTITION BY globalTid
	ORDER BY start, end DESC, callId ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start), 0, 0
FROM (
	SELECT callId, globalTid, start, end, 'cublas' AS library, nameId FROM CUBLAS_EVENTS
	UNION ALL
	SELECT callId, globalTid, start, end, 'cudnn', nameId FROM CUDNN_EVENTS
	UNION ALL
	SELECT callId, globalTid, start, end, value, nameId FROM SL_LIBRARY_API LEFT JOIN StringIds ON StringIds.id = library
);
CREATE INDEX temp.library_call_begin ON library_call (thread, start) WHERE outermost;

-- A launch belongs to the last outermost call that began before it in its thread, where that had not ended.
WITH launch AS MATERIALIZED (
	SELECT r.start AS at, (
			SELECT callId FROM library_call AS c
			WHERE c.outermost AND c.thread = r.globalTid AND c.start <= r.start ORDER BY c.start DESC LIMIT 1
		) AS id, k.end - k.start AS ns
	FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
		ON r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24
	WHERE k.graphNodeId IS NULL
), work AS MATERIALIZED (
	SELECT id, count(*) AS n, sum(ns) AS ns
	FROM launch JOIN library_call ON callId = id AND at <= end
	GROUP BY id
)
UPDATE library_call SET kernels = work.n, gpu = work.ns FROM work WHERE callId = work.id;

CREATE TEMP TABLE figure AS
WITH argument AS MATERIALIZED (
	SELECT callId, max(value) FILTER (WHERE role = 33) AS m, max(value) FILTER (WHERE role = 34) AS n,
		max(value) FILTER (WHERE role = 35) AS k, coalesce(max(value) FILTER (WHERE role = 36), 1) AS batch,
		max(value) FILTER (WHERE role = 0) AS bytes, max(value) FILTER (WHERE role = 26) AS elements,
		max(role = 37 AND value IN (4, 5, 6, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27)) AS complex
	FROM SL_GPU_ARGUMENTS
	WHERE role IN (0, 26, 33, 34, 35, 36, 37) AND callId IN (SELECT callId FROM library_call)
	GROUP BY callId
), name AS MATERIALIZED (
	SELECT id, value, value LIKE '%gemm%' AS gemm, value GLOB 'cublas[CZ]*' AS complex
	FROM StringIds
	WHERE id IN (SELECT nameId FROM library_call)
), call AS MATERIALIZED (
	SELECT json_array(library, coalesce(value, '[unknown ' || nameId || ']'), CASE WHEN :sizes THEN
			coalesce(m || ' x ' || n || coalesce(' x ' || k, '') || iif(batch > 1, ' * ' || batch, ''),
			bytes || ' bytes', elements || ' elements', '') ELSE '' END) AS key, end - start AS dur, kernels, gpu,
		CASE WHEN gemm THEN m * n * k * batch * CASE WHEN a.complex OR name.complex THEN 8.0 ELSE 2.0 END END AS work
	FROM library_call LEFT JOIN argument AS a USING (callId) LEFT JOIN name ON name.id = nameId
	WHERE end IS NOT NULL
), more AS MATERIALIZED (
	SELECT key, sum(kernels) AS kernels, sum(gpu) AS gpu, sum(work) FILTER (WHERE gpu > 0) AS work
	FROM call
	GROUP BY key
), hist AS MATERIALIZED (
	SELECT key, dur, count(*) AS n FROM call GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT key, sum(n) AS calls, sum(n * dur) AS time, min(dur) AS least, max(dur) AS most,
		1.0 * sum(n * dur) / sum(n) AS mean
	FROM hist
	GROUP BY key
), ranked AS (
	SELECT key, dur, n, sum(n) OVER (PARTITION BY key ORDER BY dur) AS upto
	FROM hist
), spread AS (
	SELECT t.key, sum(n * (dur - mean) * (dur - mean)) AS squares,
		(min(dur) FILTER (WHERE 2 * upto >= calls) + min(dur) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(dur) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.key = r.key
	GROUP BY t.key
)
SELECT calls, time, mean, med, least, most, squares/* percentiles: , p{i} */, kernels, gpu, work,
	json_extract(key, '$[0]') AS library, json_extract(key, '$[1]') AS name,
	nullif(json_extract(key, '$[2]'), '') AS size
FROM total JOIN spread USING (key) JOIN more USING (key);
-- [end]

SELECT
	round(100.0 * time / sum(time) OVER (), 1) AS "Time (%)",
	time AS "Total Time (ns)",
	calls AS "Num Calls",
	round(mean, 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	least AS "Min (ns)",
	most AS "Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
	CASE WHEN kernels > 0 THEN kernels END AS "Kernels",
	CASE WHEN kernels > 0 THEN gpu END AS "GPU Time (ns)",
	round(work / gpu / 1000, 2) AS "TFLOP/s",
	library AS "Library",
	name AS "Name",
	size AS "Size"
FROM figure
ORDER BY time DESC, library, name, size;
