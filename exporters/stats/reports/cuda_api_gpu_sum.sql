-- title: CUDA Summary (API/Kernels/MemOps)
-- about: Time of CUDA calls, and of kernels, copies and sets of memory on the GPU. They overlap: the sum is
-- about: not the time that the program took.
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME or CUPTI_ACTIVITY_KIND_KERNEL or CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET = CUDA trace
-- alias: apigpusum
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all of them
-- column: Instances = how many
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Category = CUDA_API, CUDA_KERNEL or MEMORY_OPER
-- column: Operation = function, kernel, kind of copy, or set
--
-- Only the first step sees every row: it sorts them once into a histogram (key, value, how many), from
-- which all figures follow exactly, the median included. That is cheaper than ranking all rows.
-- [nvtx-name] These lines are the same in every report that takes it.
-- In one domain of one thread ranges nest. So every begin (step 1) and end (-1) has a level, and what is open after
-- it is the last range that began at that level: a launch needs one look at the edge before it.
DROP TABLE IF EXISTS temp.edge;
DROP TABLE IF EXISTS temp.innermost;
DROP TABLE IF EXISTS temp.launch;
CREATE TEMP TABLE edge (thread INTEGER, domain INTEGER, at INTEGER, step INTEGER, end INTEGER, text);
INSERT INTO edge
SELECT globalTid, coalesce(domainId, 0), CASE step WHEN 1 THEN start ELSE end END AS at, step, end,
	coalesce(text, (SELECT value FROM StringIds WHERE id = textId))
FROM NVTX_EVENTS, (SELECT 1 AS step UNION ALL SELECT -1)
WHERE :nvtx_name AND eventType = 59 AND end > start
ORDER BY globalTid, coalesce(domainId, 0), at, step, end DESC;
CREATE TEMP TABLE innermost (thread INTEGER, domain INTEGER, at INTEGER, edge INTEGER, open INTEGER,
	PRIMARY KEY (thread, domain, at, edge)) WITHOUT ROWID;
INSERT INTO innermost
SELECT thread, domain, at, edge, max(edge) FILTER (WHERE step = 1)
	OVER (PARTITION BY level ORDER BY edge ROWS UNBOUNDED PRECEDING) AS open
FROM (SELECT rowid AS edge, *, sum(step) OVER (ORDER BY rowid ROWS UNBOUNDED PRECEDING) AS level FROM edge)
ORDER BY thread, domain, at, edge;
CREATE TEMP TABLE launch (process INTEGER, correlationId INTEGER, text,
	PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO launch
SELECT process, correlationId, edge.text
FROM (
	SELECT globalTid >> 24 AS process, correlationId, end, (
		SELECT open FROM innermost AS i
		WHERE i.thread = globalTid AND i.domain = d.domain AND i.at <= start ORDER BY i.at DESC, edge DESC LIMIT 1
	) AS open
	FROM CUPTI_ACTIVITY_KIND_RUNTIME, (SELECT DISTINCT thread, domain FROM innermost) AS d
	WHERE :nvtx_name AND thread = globalTid AND correlationId IS NOT NULL
) AS call JOIN edge ON edge.rowid = open AND edge.end >= call.end
ORDER BY process, correlationId, at DESC, edge.end, domain;
-- [end]
WITH hist AS MATERIALIZED (
	SELECT 1 AS category,
		coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
			demangledName) AS name,
		end - start AS dur, count(*) AS n
	FROM CUPTI_ACTIVITY_KIND_KERNEL
	WHERE NOT coalesce(:nvtx_name, 0) AND end IS NOT NULL
	GROUP BY 2, 3
	UNION ALL
	SELECT 1, coalesce(l.text || '/', '') || coalesce(s.value, '[unknown ' || k.nameId || ']'), end - start, count(*)
	FROM (SELECT *, coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
				demangledName) AS nameId FROM CUPTI_ACTIVITY_KIND_KERNEL) AS k
		LEFT JOIN launch AS l ON l.process = k.globalPid >> 24 AND l.correlationId = k.correlationId
		LEFT JOIN StringIds AS s ON s.id = k.nameId
	WHERE :nvtx_name AND end IS NOT NULL
	GROUP BY 2, 3
	UNION ALL
	SELECT 2, copyKind, end - start, count(*)
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	WHERE end IS NOT NULL
	GROUP BY 2, 3
	UNION ALL
	SELECT 2, -1, end - start, count(*)
	FROM CUPTI_ACTIVITY_KIND_MEMSET
	WHERE end IS NOT NULL
	GROUP BY 3
	UNION ALL
	SELECT 3, nameId, end - start, count(*)
	FROM CUPTI_ACTIVITY_KIND_RUNTIME
	WHERE end IS NOT NULL
	GROUP BY 2, 3
), named AS MATERIALIZED (
	SELECT category || CASE
			WHEN category = 2 AND hist.name = -1 THEN '[CUDA memset]'
			WHEN category = 2 THEN '[CUDA memcpy ' || coalesce(label, hist.name) || ']'
			WHEN typeof(hist.name) = 'text' THEN hist.name
			WHEN category = 3 AND s.value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(s.value, 1, length(s.value) - 6)
			ELSE coalesce(s.value, '[unknown ' || hist.name || ']') END AS key,
		dur, sum(n) AS n
	FROM hist
		LEFT JOIN StringIds AS s ON category <> 2 AND s.id = hist.name
		LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS o ON category = 2 AND o.id = hist.name
	GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT key, sum(n) AS calls, sum(n * dur) AS time, min(dur) AS least, max(dur) AS most,
		1.0 * sum(n * dur) / sum(n) AS mean
	FROM named
	GROUP BY key
), ranked AS (
	SELECT key, dur, n, sum(n) OVER (PARTITION BY key ORDER BY dur) AS upto
	FROM named
), spread AS (
	SELECT t.key, sum(n * (dur - mean) * (dur - mean)) AS squares,
		(min(dur) FILTER (WHERE 2 * upto >= calls) + min(dur) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(dur) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.key = r.key
	GROUP BY t.key
)
SELECT
	round(100.0 * time / sum(time) OVER (), 1) AS "Time (%)",
	time AS "Total Time (ns)",
	calls AS "Instances",
	round(mean, 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	least AS "Min (ns)",
	most AS "Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
	CASE substr(key, 1, 1) WHEN '1' THEN 'CUDA_KERNEL' WHEN '2' THEN 'MEMORY_OPER' ELSE 'CUDA_API' END AS "Category",
	substr(key, 2) AS "Operation"
FROM total JOIN spread USING (key)
ORDER BY time DESC, key;
