-- step(no, tid, start, end, name, stem): the ranges that are the steps of a program.
-- A name's stem has # for each number in it.
DROP TABLE IF EXISTS temp.named;
DROP TABLE IF EXISTS temp.often;
DROP TABLE IF EXISTS temp.outermost;
DROP TABLE IF EXISTS temp.optimizer;
DROP TABLE IF EXISTS temp.choice;
DROP TABLE IF EXISTS temp.step;
CREATE TEMP TABLE named AS
WITH
-- include: nvtx_domain
, main AS MATERIALIZED (
	SELECT max(globalTid & 0xFFFFFF = globalTid >> 24 & 0xFFFFFF) AS there FROM NVTX_EVENTS WHERE eventType = 59
), range AS (
	SELECT eventType, globalTid AS tid, coalesce(domainId, 0) AS domain, start, end, coalesce(d.name, '') AS domainName,
		coalesce(text, value, '') AS name
	FROM NVTX_EVENTS
		LEFT JOIN domain AS d ON d.process = globalTid >> 24 AND d.domain = domainId
		LEFT JOIN StringIds ON StringIds.id = textId
	WHERE eventType IN (59, 60) AND end IS NOT NULL
), chosen AS (
	SELECT tid, domain, start, end, domainName || ':' || name AS name
	FROM range CROSS JOIN main
	WHERE CASE WHEN :range IS NOT NULL THEN name LIKE :range OR domainName || ':' || name LIKE :range
		-- what libraries and the tracer say of themselves are no steps
		ELSE eventType = 59 AND (tid & 0xFFFFFF = tid >> 24 & 0xFFFFFF) = there
			AND domainName NOT IN ('GIL Trace', 'NCCL', 'MPI', 'UCX', 'CCCL', 'cuBLAS', 'cuDNN')
			AND name NOT LIKE 'aten::%' AND name NOT LIKE '%, op_id = %'
			AND (domainName <> 'pytorch' OR name LIKE 'Optimizer.step#%')
			-- steps marked by --python-step
			AND (domainName = 'python-step' OR NOT EXISTS (SELECT 1 FROM domain AS d WHERE d.name = 'python-step')) END
)
SELECT tid, domain, start, end, name, CASE
		WHEN name LIKE '%optimizer%' THEN 0
		WHEN name LIKE '%step%' OR name LIKE '%iter%' OR name LIKE '%batch%' THEN 2
		WHEN name LIKE '%epoch%' THEN 1 ELSE 0 END AS likely,
	CASE WHEN name NOT GLOB '*[0-9]*' THEN name ELSE
		replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
		name, '0', '#'), '1', '#'), '2', '#'), '3', '#'), '4', '#'), '5', '#'), '6', '#'), '7', '#'), '8', '#'), '9', '#'),
		'##', '#'), '##', '#'), '##', '#'), '##', '#') END AS stem
FROM chosen
ORDER BY tid, domain, start, end DESC;

-- Ranges that repeat and are in no other that repeats. Epochs are looked into where there are steps.
CREATE TEMP TABLE often AS
SELECT tid, stem, max(likely) AS likely FROM named GROUP BY 1, 2 HAVING count(*) > 1 OR :range IS NOT NULL;
CREATE TEMP TABLE outermost AS
SELECT tid, start, end, name, stem, likely
FROM (
	SELECT n.tid, start, end, name, n.stem, n.likely, max(end) OVER (PARTITION BY n.tid, domain ORDER BY start, end DESC
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
	FROM named AS n
		JOIN often AS o ON o.tid = n.tid AND o.stem = n.stem
	WHERE :range IS NOT NULL OR n.likely <> 1 OR NOT EXISTS (SELECT 1 FROM often WHERE likely = 2)
)
WHERE coalesce(reached < end, 1);

CREATE TEMP TABLE optimizer AS
SELECT tid, lag(end) OVER (PARTITION BY tid, stem ORDER BY end) AS start, end, name, stem
FROM (
	SELECT tid, start, end, name, stem, max(end) OVER (PARTITION BY tid ORDER BY start, end DESC
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
	FROM named
	WHERE stem LIKE '%optimizer%step%'
)
WHERE coalesce(reached < end, 1);

CREATE TEMP TABLE choice AS
SELECT kind, stem
FROM (
	SELECT 'named' AS kind, NULL AS stem, 5 AS likely, 0 AS time WHERE :range IS NOT NULL
	UNION ALL
	SELECT 'outermost', stem, CASE WHEN likely > 0 THEN 4 ELSE 2 END, sum(end - start)
	FROM outermost
	GROUP BY stem
	-- what takes little of the time and does not call itself a step is none
	HAVING likely > 0 OR 10 * sum(end - start) >= (SELECT max(end) - min(start) FROM named)
	UNION ALL
	SELECT 'optimizer', stem, 3, sum(end - start) FROM optimizer GROUP BY stem HAVING count(start) > 1
	UNION ALL
	SELECT 'profiler', NULL, 1, 0
)
ORDER BY likely DESC, time DESC, stem
LIMIT 1;

CREATE TEMP TABLE step AS
SELECT row_number() OVER (PARTITION BY tid, stem ORDER BY start, end) AS no, tid, start, end, name, stem
FROM (
	SELECT tid, start, end, name, o.stem FROM outermost AS o CROSS JOIN choice AS c
	WHERE kind = 'named' OR kind = 'outermost' AND c.stem = o.stem
	UNION ALL
	SELECT tid, start, end, 'until ' || name, 'until ' || o.stem FROM optimizer AS o CROSS JOIN choice AS c
	WHERE kind = 'optimizer' AND c.stem = o.stem AND start IS NOT NULL
	UNION ALL
	SELECT globalTid, end, (
			SELECT min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME AS b
			WHERE b.nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cu%ProfilerStop%')
				AND b.globalTid >> 24 = a.globalTid >> 24 AND b.start >= a.end
		) AS stop, 'cudaProfilerStart', 'cudaProfilerStart'
	FROM CUPTI_ACTIVITY_KIND_RUNTIME AS a
	WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cu%ProfilerStart%')
		AND stop IS NOT NULL AND (SELECT kind FROM choice) = 'profiler'
);
