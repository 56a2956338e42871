-- gpu_sample(typeId, start, end): samples of GPU_METRICS with the time that each is about; gpu_period(typeId, ns): the usual
-- distance of two. A sample ends with the next one; before a gap earlier: where the report has none listed (nsys), a distance
-- of more than 1.5 times the usual one is one.
CREATE TEMP TABLE gpu_next AS
SELECT typeId, timestamp AS start, lead(timestamp) OVER (PARTITION BY typeId ORDER BY timestamp) AS next
FROM (SELECT DISTINCT typeId, timestamp FROM GPU_METRICS);

CREATE TEMP TABLE gpu_period AS
SELECT typeId, max(ns) FILTER (WHERE 2 * (at - 1) <= n) AS ns
FROM (
	SELECT typeId, next - start AS ns, row_number() OVER (PARTITION BY typeId ORDER BY next - start) AS at,
		count(*) OVER (PARTITION BY typeId) AS n
	FROM gpu_next WHERE next IS NOT NULL
)
GROUP BY typeId;

CREATE TEMP TABLE gpu_gap(typeId INTEGER, start INTEGER, PRIMARY KEY (typeId, start)) WITHOUT ROWID;
INSERT OR IGNORE INTO gpu_gap SELECT typeId, start FROM SL_GPU_METRIC_GAPS;

CREATE TEMP TABLE gpu_sample(typeId INTEGER, start INTEGER, end INTEGER, PRIMARY KEY (typeId, start)) WITHOUT ROWID;
INSERT INTO gpu_sample
SELECT typeId, s.start, CASE
		WHEN next IS NULL THEN s.start + coalesce(ns, 0)
		WHEN listed THEN coalesce((SELECT min(g.start) FROM gpu_gap AS g
			WHERE g.typeId = s.typeId AND g.start > s.start AND g.start < next), next)
		WHEN 2 * (next - s.start) > 3 * ns THEN s.start + ns
		ELSE next END
FROM gpu_next AS s LEFT JOIN gpu_period AS p USING (typeId)
	CROSS JOIN (SELECT EXISTS (SELECT 1 FROM SL_GPU_METRIC_SETS) AS listed)
ORDER BY 1, 2;
