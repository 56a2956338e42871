-- title: CUDA GPU Summary (Kernels/MemOps)
-- about: Time of kernels and of copies and sets of memory on the GPU.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL or CUPTI_ACTIVITY_KIND_MEMCPY or CUPTI_ACTIVITY_KIND_MEMSET = CUDA GPU
-- alias: gpusum
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
-- column: Category = CUDA_KERNEL or MEMORY_OPER
-- column: Operation = kernel, kind of copy, or set
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
-- key: a text with the range before it, or 4 * id + 1 for a kernel, 4 * kind + 2 for a copy (-1: set)
WITH hist AS MATERIALIZED (
	SELECT 4 * coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
			demangledName) + 1 AS key,
		end - start AS dur, count(*) AS n
	FROM CUPTI_ACTIVITY_KIND_KERNEL
	WHERE NOT coalesce(:nvtx_name, 0) AND end IS NOT NULL
	GROUP BY 1, 2
	UNION ALL
	SELECT coalesce(l.text || '/', '') || coalesce(s.value, '[unknown ' || k.nameId || ']'), end - start, count(*)
	FROM (SELECT *, coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END,
				demangledName) AS nameId FROM CUPTI_ACTIVITY_KIND_KERNEL) AS k
		LEFT JOIN launch AS l ON l.process = k.globalPid >> 24 AND l.correlationId = k.correlationId
		LEFT JOIN StringIds AS s ON s.id = k.nameId
	WHERE :nvtx_name AND end IS NOT NULL
	GROUP BY 1, 2
	UNION ALL
	SELECT 4 * copyKind + 2, end - start, count(*)
	FROM CUPTI_ACTIVITY_KIND_MEMCPY
	WHERE end IS NOT NULL
	GROUP BY 1, 2
	UNION ALL
	SELECT -2, end - start, count(*)
	FROM CUPTI_ACTIVITY_KIND_MEMSET
	WHERE end IS NOT NULL
	GROUP BY 2
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
	CASE WHEN typeof(key) = 'text' OR key & 3 = 1 THEN 'CUDA_KERNEL' ELSE 'MEMORY_OPER' END AS "Category",
	CASE WHEN typeof(key) = 'text' THEN key
		WHEN key & 3 = 1 THEN coalesce(value, '[unknown ' || (key >> 2) || ']')
		WHEN key < 0 THEN '[CUDA memset]'
		ELSE '[CUDA memcpy ' || coalesce(label, key >> 2) || ']' END AS "Operation"
FROM total JOIN spread USING (key)
	LEFT JOIN StringIds AS s ON key & 3 = 1 AND s.id = key >> 2
	LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS o ON key & 3 = 2 AND o.id = key >> 2
ORDER BY time DESC, "Category", "Operation";
