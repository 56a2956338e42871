-- title: Machine Under Pressure
-- about: A machine, or the program's cgroup, that is short of something: time in which all threads stood still for want of memory
-- about: (PSI), pages fetched from swap, processes killed for want of memory, periods in which the cgroup's processors were throttled.
-- needs: SL_COUNTERS.scope=host or SL_COUNTERS.scope=cgroup = counters of the machine: --host-counters=10
-- default: 445
-- arg: full=1, per cent of the time in which all stood still for want of memory
-- arg: throttled=1, per cent of the periods in which the cgroup was throttled
-- advice: Memory: fewer or smaller workers, a higher limit (memory.max), no swap for what must be fast. Processors: a higher quota
-- advice: (cpu.max, limits of the pod), or no more threads than it has processors (OMP_NUM_THREADS, num_workers).
-- column: Of = host, or which cgroup
-- column: What = of what there was too little
-- column: Value = how much
-- column: Unit = of Value
-- column: Severity = how bad that is
CREATE TEMP TABLE counted AS
SELECT trim(scope || ' ' || coalesce(scopeName, '')) AS of, scope, name, sum(value) AS total, max(timestamp) - min(timestamp) AS sampled
FROM SL_COUNTERS AS c JOIN SL_COUNTER_SAMPLES ON counterId = c.id
WHERE scope IN ('host', 'cgroup') AND isSum
	AND name IN ('Memory Pressure Full', 'Swapped In', 'OOM Kills', 'CPU Throttled Periods', 'CPU Periods', 'CPU Throttled')
GROUP BY c.id;

CREATE TEMP TABLE want AS
SELECT of, 'stood still for want of memory' AS what, round(100.0 * total / sampled, 2) AS value, '% of the time' AS unit,
	CASE WHEN 10 * total > sampled THEN 'severe' ELSE 'bad' END AS severity, 2 AS rank,
	'all threads of the ' || of || ' stood still for want of memory for {' || CAST(total AS INTEGER) || ' ns}, ' || round(100.0 * total / sampled, 1)
		|| ' % of the time' AS sentence
FROM counted
WHERE name = 'Memory Pressure Full' AND sampled > 0 AND 100 * total > :full * sampled
UNION ALL
SELECT of, 'fetched from swap', total, 'B', 'bad', 3, '{' || CAST(total AS INTEGER) || ' B} were fetched from swap'
FROM counted
WHERE name = 'Swapped In' AND total > 0
UNION ALL
SELECT of, 'killed for want of memory', total, 'processes', 'severe', 1,
	'{' || CAST(total AS INTEGER) || ' process was|processes were} killed for want of memory (' || of || ')'
FROM counted
WHERE name = 'OOM Kills' AND total > 0
UNION ALL
SELECT t.of, 'throttled processors', round(100.0 * t.total / p.total, 2), '% of the periods', CASE WHEN 10 * t.total > p.total THEN 'severe' ELSE 'bad' END, 4,
	'the processors of the ' || t.of || ' were throttled in {' || CAST(t.total AS INTEGER) || '} of {' || CAST(p.total AS INTEGER)
		|| '} periods, for {' || CAST(coalesce(ns.total, 0) AS INTEGER) || ' ns} in all'
FROM counted AS t JOIN counted AS p ON p.of = t.of AND p.name = 'CPU Periods' AND p.total > 0
	LEFT JOIN counted AS ns ON ns.of = t.of AND ns.name = 'CPU Throttled'
WHERE t.name = 'CPU Throttled Periods' AND 100 * t.total > :throttled * p.total;

SELECT
	CASE WHEN severe THEN 'severe' ELSE 'bad' END AS severity,
	NULL AS cost,
	upper(substr(sentences, 1, 1)) || substr(sentences, 2) || '.' AS finding
FROM (SELECT max(severity = 'severe') AS severe, group_concat(sentence, '; ') AS sentences
	FROM (SELECT * FROM want ORDER BY rank, value DESC))
WHERE sentences IS NOT NULL;

SELECT
	of AS "Of",
	what AS "What",
	value AS "Value",
	unit AS "Unit",
	severity AS "Severity"
FROM want
ORDER BY rank, value DESC, of
LIMIT :rows;
