-- title: GPU Energy Summary
-- about: Energy that GPUs took by their own counters (--gpu-health), in the whole recording, in the steps (as step_sum has them), and
-- about: with ranges by name in NVTX ranges. The counter moves every 10 to 100 ms; between two of its updates it is interpolated.
-- about: Ranges in which it moved less than 10 times have no figure, nor those with a gap in it.
-- about: Ranges are times of the host: kernels that a range launches may run later, unless it waits for them.
-- needs: SL_COUNTERS.name=Energy = counters of GPUs
-- default: 903 quiet
-- arg: range=<name>, the ranges that are steps: text or domain:text, % stands for anything
-- arg: ranges, rows for NVTX ranges by name, too
-- column: GPU = number of the GPU
-- column: Energy (J) = of all that have a figure
-- column: Avg (J) = of one
-- column: Med (J) = half of them took as much or less
-- column: Min (J) = least
-- column: Max (J) = most
-- column: Power (W) = Energy (J) per second of them
-- column: Of = recording, steps or range
-- column: Range = name of the ranges, # stands for numbers of steps
-- column: Instances = how many ranges
-- column: Used = how many of them have a figure
-- column: Note = why others have none
-- include: gpu_spans

-- The times at which the counter had moved, and its value there; part: between gaps. The first reading of a part is 0.
CREATE TEMP TABLE energy_point(gpuId INTEGER, at INTEGER, joules REAL, part INTEGER, updates INTEGER, PRIMARY KEY (gpuId, at)) WITHOUT ROWID;
INSERT OR IGNORE INTO energy_point
WITH reading AS (
	SELECT coalesce(gpuId, scopeId) AS gpuId, timestamp AS at, value,
		sum(value IS NULL) OVER (PARTITION BY counterId ORDER BY timestamp ROWS UNBOUNDED PRECEDING) AS part
	FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS AS c ON c.id = counterId
	WHERE scope = 'gpu' AND name = 'Energy' AND isSum
)
SELECT gpuId, at, joules, part, updates
FROM (
	SELECT gpuId, at, part, value, sum(coalesce(value, 0)) OVER sofar AS joules, sum(coalesce(value, 0) > 0) OVER sofar AS updates,
		row_number() OVER sofar AS nr
	FROM reading
	WINDOW sofar AS (PARTITION BY gpuId, part ORDER BY at ROWS UNBOUNDED PRECEDING)
)
WHERE value > 0 OR nr = 1
ORDER BY gpuId, at;

-- The whole recording: the counted energy, whatever its gaps.
CREATE TEMP TABLE energy_all AS
SELECT gpuId, sum(joules) AS joules, sum(ns) AS ns, sum(updates) AS updates
FROM (SELECT gpuId, max(joules) AS joules, max(at) - min(at) AS ns, max(updates) AS updates FROM energy_point GROUP BY gpuId, part)
GROUP BY gpuId;

CREATE TEMP TABLE energy_span AS
SELECT kind, name, gpuId, end - start AS ns, CASE WHEN updates >= 10 AND part0 = part1 THEN e1 - e0 END AS joules,
	CASE WHEN is_bare THEN 'not covered' WHEN part0 = part1 THEN iif(updates < 10, 'short', NULL) ELSE 'gap' END AS why
FROM (
	SELECT s.kind, s.name, s.gpuId, s.start, s.end, a0.part + b0.part IS NULL OR a1.part + b1.part IS NULL AS is_bare,
		iif(a0.part = b0.part, a0.part, NULL) AS part0, iif(a1.part = b1.part, a1.part, NULL) AS part1,
		a0.joules + coalesce((b0.joules - a0.joules) * (s.start - a0.at) / nullif(b0.at - a0.at, 0), 0) AS e0,
		a1.joules + coalesce((b1.joules - a1.joules) * (s.end - a1.at) / nullif(b1.at - a1.at, 0), 0) AS e1,
		a1.updates - a0.updates AS updates
	FROM (
		SELECT kind, name, gpuId, start, end,
			(SELECT max(at) FROM energy_point AS p WHERE p.gpuId = s.gpuId AND at <= s.start) AS t0,
			(SELECT min(at) FROM energy_point AS p WHERE p.gpuId = s.gpuId AND at >= s.start) AS t1,
			(SELECT max(at) FROM energy_point AS p WHERE p.gpuId = s.gpuId AND at <= s.end) AS t2,
			(SELECT min(at) FROM energy_point AS p WHERE p.gpuId = s.gpuId AND at >= s.end) AS t3
		FROM gpu_span AS s WHERE kind > 0
	) AS s
		LEFT JOIN energy_point AS a0 ON a0.gpuId = s.gpuId AND a0.at = t0
		LEFT JOIN energy_point AS b0 ON b0.gpuId = s.gpuId AND b0.at = t1
		LEFT JOIN energy_point AS a1 ON a1.gpuId = s.gpuId AND a1.at = t2
		LEFT JOIN energy_point AS b1 ON b1.gpuId = s.gpuId AND b1.at = t3
);

WITH ranked AS (
	SELECT *, row_number() OVER (PARTITION BY kind, name, gpuId, joules IS NULL ORDER BY joules) AS rank,
		count(joules) OVER (PARTITION BY kind, name, gpuId) AS used
	FROM energy_span
), figure AS (
	SELECT kind, name, gpuId, count(*) AS n, max(used) AS used, sum(joules) AS joules, avg(joules) AS mean,
		min(joules) FILTER (WHERE 2 * rank >= used) AS med, min(joules) AS least, max(joules) AS most,
		sum(ns) FILTER (WHERE joules IS NOT NULL) AS ns, sum(ns) AS all_ns, sum(why = 'short') AS short, sum(why = 'gap') AS gap,
		sum(why = 'not covered') AS bare
	FROM ranked
	GROUP BY 1, 2, 3
	UNION ALL
	SELECT 0, NULL, gpuId, 1, updates >= 10, iif(updates >= 10, joules, NULL), iif(updates >= 10, joules, NULL),
		iif(updates >= 10, joules, NULL), iif(updates >= 10, joules, NULL), iif(updates >= 10, joules, NULL), ns, ns, updates < 10, 0, 0
	FROM energy_all
)
SELECT
	f.gpuId AS "GPU",
	round(joules, 3) AS "Energy (J)",
	round(mean, 3) AS "Avg (J)",
	round(med, 3) AS "Med (J)",
	round(least, 3) AS "Min (J)",
	round(most, 3) AS "Max (J)",
	round(1e9 * joules / nullif(ns, 0), 1) AS "Power (W)",
	CASE kind WHEN 0 THEN 'recording' WHEN 1 THEN 'steps' ELSE 'range' END AS "Of",
	coalesce(name, '') AS "Range",
	n AS "Instances",
	used AS "Used",
	trim(iif(short, short || ' with fewer than 10 updates of the counter, ', '') || iif(gap, gap || ' with a gap in the counter, ', '')
		|| iif(bare, bare || ' not covered by it, ', ''), ', ') AS "Note"
FROM figure AS f
WHERE f.gpuId IN (SELECT gpuId FROM energy_point)
ORDER BY f.gpuId, kind, all_ns DESC, name;
