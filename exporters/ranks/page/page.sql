-- The figures of the page, as lines of fields that | separates; texts are hexadecimal. Columns of pictures are steps, or so many neighbours
-- of them together that there are at most :wide. A cell has a letter: a nothing special, b to h more and more, . nothing recorded.
CREATE TEMP TABLE own AS SELECT "rank" AS r, step, max("end" - "start" - coalesce(exposedCollNs, 0)) AS ns, max("end" - "start") AS whole
	FROM SL_STEPS WHERE run = :run AND "end" >= "start" GROUP BY "rank", step;
CREATE TEMP TABLE axis AS SELECT min(step) AS lowest, max(step) AS highest, least(max(step) - min(step) + 1, :wide) AS wide FROM own;
CREATE TEMP TABLE mid AS SELECT step, quantile_cont(ns, 0.5) AS ns, quantile_cont(whole, 0.5) AS whole FROM own GROUP BY step;
CREATE TEMP MACRO letter(x) AS CASE WHEN x < 1.02 THEN 'a' WHEN x < 1.05 THEN 'b' WHEN x < 1.1 THEN 'c' WHEN x < 1.25 THEN 'd' WHEN x < 1.5 THEN 'e' WHEN x < 2 THEN 'f' WHEN x < 4 THEN 'g' ELSE 'h' END;
CREATE TEMP MACRO late(x) AS CASE WHEN x < 1e5 THEN 'a' WHEN x < 1e6 THEN 'b' WHEN x < 5e6 THEN 'c' WHEN x < 2e7 THEN 'd' WHEN x < 1e8 THEN 'e' WHEN x < 5e8 THEN 'f' WHEN x < 2e9 THEN 'g' ELSE 'h' END;
SELECT 'S|' || coalesce(lowest, 0) || '|' || coalesce(highest, 0) || '|' || coalesce(wide, 0) || '|' || (SELECT count(DISTINCT r) FROM own) AS t FROM axis;
-- All ranks together: the median of the step against that of the run.
WITH c AS (
	SELECT (step - lowest) * wide // (highest - lowest + 1) AS col, max(letter(mid.whole / greatest(a.whole, 1))) AS level
	FROM mid CROSS JOIN axis CROSS JOIN (SELECT quantile_cont(whole, 0.5) AS whole FROM mid) AS a GROUP BY col
)
SELECT 'A|' || string_agg(coalesce(c.level, '.'), '' ORDER BY n) AS t FROM range((SELECT coalesce(wide, 0) FROM axis)) AS w(n) LEFT JOIN c ON c.col = n;
WITH c AS (
	SELECT own.r, (own.step - lowest) * wide // (highest - lowest + 1) AS col, max(letter(CASE WHEN own.ns - mid.ns < 1e5 THEN 1 ELSE own.ns / greatest(mid.ns, 1) END)) AS level
	FROM own JOIN mid ON mid.step = own.step CROSS JOIN axis GROUP BY own.r, col
), grid AS (
	SELECT r, n FROM (SELECT DISTINCT r FROM own) AS ranks CROSS JOIN range((SELECT coalesce(wide, 0) FROM axis)) AS w(n)
)
SELECT 'R|' || grid.r || '|' || string_agg(coalesce(c.level, '.'), '' ORDER BY grid.n) AS t FROM grid LEFT JOIN c ON c.r = grid.r AND c.col = grid.n GROUP BY grid.r ORDER BY grid.r;
SELECT 'W|' || own.r || '|' || own.step || '|' || own.ns || '|' || CAST(mid.ns AS BIGINT) AS t FROM own JOIN mid ON mid.step = own.step
	WHERE own.ns > 1.02 * mid.ns AND own.ns - mid.ns > 1e5 ORDER BY own.ns - mid.ns DESC, own.r, own.step LIMIT 20;
-- The slowest step: the one whose median is longest, the first apart, in which programs start up; the ranks with most time of their own in it.
SELECT 'T|' || s."rank" || '|' || s.step || '|' || s."start" || '|' || s."end" AS t FROM SL_STEPS AS s
	WHERE s.run = :run AND s.step = (SELECT step FROM mid CROSS JOIN axis ORDER BY CASE WHEN step > lowest THEN 0 ELSE 1 END, whole DESC, step LIMIT 1) AND s."end" >= s."start"
	ORDER BY s."end" - s."start" - coalesce(s.exposedCollNs, 0) DESC, s."rank" LIMIT 10;
SELECT 'M|' || own.r || '|' || CAST(avg(own.ns) AS BIGINT) || '|' || hex(coalesce(max(h.host), '')) AS t
	FROM own LEFT JOIN (SELECT "rank" AS r, max(host) AS host FROM SL_RANKS WHERE run = :run GROUP BY "rank") AS h ON h.r = own.r GROUP BY own.r ORDER BY own.r;
-- Lateness: how much earlier the first rank has begun the kernel than this one; all are done together.
CREATE TEMP TABLE coll AS SELECT "rank" AS r, commHash AS comm, seq, "end" - "start" AS ns FROM SL_COLLECTIVES
	WHERE run = :run AND commHash IS NOT NULL AND "end" >= "start" AND op NOT IN :rooted;
CREATE TEMP TABLE most AS SELECT comm, seq, max(ns) AS ns, count(*) AS n FROM coll GROUP BY comm, seq;
CREATE TEMP TABLE span AS SELECT comm, min(seq) AS lowest, max(seq) AS highest FROM most WHERE n > 1 GROUP BY comm;
CREATE TEMP TABLE wide AS SELECT least(coalesce(max(highest - lowest + 1), 0), :wide) AS wide, coalesce(max(highest - lowest + 1), 0) AS longest FROM span;
SELECT 'C|' || wide || '|' || longest || '|' || (SELECT count(*) FROM span) AS t FROM wide;
WITH c AS (
	SELECT coll.r, (coll.seq - span.lowest) * wide // (span.highest - span.lowest + 1) AS col, max(late(most.ns - coll.ns)) AS level
	FROM coll JOIN most ON most.comm = coll.comm AND most.seq = coll.seq AND most.n > 1 JOIN span ON span.comm = coll.comm CROSS JOIN wide GROUP BY coll.r, col
), grid AS (
	SELECT r, n FROM (SELECT DISTINCT r FROM coll) AS ranks CROSS JOIN range((SELECT wide FROM wide)) AS w(n)
)
SELECT 'L|' || grid.r || '|' || string_agg(coalesce(c.level, '.'), '' ORDER BY grid.n) AS t FROM grid LEFT JOIN c ON c.r = grid.r AND c.col = grid.n GROUP BY grid.r ORDER BY grid.r;
-- As nccl-tests define them: bytes that a rank has in the end by time, and what the slowest link carries.
WITH x AS (
	SELECT op, bytes, commHash, seq, min("end" - "start") AS ns, coalesce(max(nRanks), count(*)) AS n
	FROM SL_COLLECTIVES WHERE run = :run AND commHash IS NOT NULL AND grouped = 1 AND bytes > 0 AND "end" > "start" GROUP BY op, bytes, commHash, seq HAVING count(*) > 1
), b AS (
	SELECT op, CASE WHEN op IN ('AllGather', 'ReduceScatter', 'AlltoAll') THEN bytes * n ELSE bytes END AS size, ns,
		CASE WHEN op = 'AllReduce' THEN 2e0 * (n - 1) / n WHEN op IN ('AllGather', 'ReduceScatter', 'AlltoAll') THEN (n - 1) * 1e0 / n ELSE 1 END AS factor
	FROM x
)
SELECT 'B|' || hex(op) || '|' || CAST(power(2, floor(log2(size))) AS BIGINT) || '|' || count(*) || '|' || CAST(1e9 * quantile_cont(size * 1e0 / ns, 0.5) AS BIGINT) || '|' ||
	CAST(1e9 * quantile_cont(size * factor / ns, 0.5) AS BIGINT) AS t FROM b GROUP BY op, floor(log2(size)) ORDER BY op, floor(log2(size));
