-- timed(no, tid, start, end, dur, name, stem, busy): the steps of a program; slow(tid, stem, n, med, least): from where on
-- a step is slow.
-- include: step_ranges

-- When the GPU worked for a process: work that overlaps or touches is one stretch; before: ns of earlier ones.
CREATE TEMP TABLE busy(process INTEGER, start INTEGER, end INTEGER, before INTEGER, PRIMARY KEY (process, start))
	WITHOUT ROWID;
INSERT INTO busy
WITH mark AS (
	SELECT process, start, end, start > coalesce(max(end) OVER (PARTITION BY process ORDER BY start
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start - 1) AS fresh
	FROM (SELECT coalesce(globalPid, lone) >> 24 AS process, start, end
		FROM (SELECT globalPid, start, end FROM SL_GPU_WORK WHERE end IS NOT NULL LIMIT -1)
			CROSS JOIN (SELECT min(tid) AS lone FROM step))
	WHERE process IN (SELECT tid >> 24 FROM step)
), stretch AS (
	SELECT process, start, end, sum(fresh) OVER (PARTITION BY process ORDER BY start ROWS UNBOUNDED PRECEDING) AS no
	FROM mark
)
SELECT process, start, end, sum(end - start) OVER (PARTITION BY process ORDER BY start
	ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
FROM (SELECT process, min(start) AS start, max(end) AS end FROM stretch GROUP BY process, no)
ORDER BY 1, 2;

CREATE TEMP TABLE timed AS
SELECT no, tid, start, end, end - start AS dur, name, stem,
	CASE WHEN there THEN coalesce((SELECT coalesce(before, 0) + min(s.end, b.end) - b.start FROM busy AS b
			WHERE b.process = s.tid >> 24 AND b.start <= s.end ORDER BY b.start DESC LIMIT 1), 0)
		- coalesce((SELECT coalesce(before, 0) + min(s.start, b.end) - b.start FROM busy AS b
			WHERE b.process = s.tid >> 24 AND b.start <= s.start ORDER BY b.start DESC LIMIT 1), 0) END AS busy
FROM step AS s CROSS JOIN (SELECT EXISTS (SELECT 1 FROM SL_GPU_WORK) AS there);

-- Median, and the median distance from it, per thread and stem.
CREATE TEMP TABLE mid AS
SELECT tid, stem, count(*) AS n, avg(dur) FILTER (WHERE 2 * at - cnt BETWEEN 0 AND 2) AS med
FROM (
	SELECT tid, stem, dur, row_number() OVER (PARTITION BY tid, stem ORDER BY dur) AS at,
		count(*) OVER (PARTITION BY tid, stem) AS cnt
	FROM timed
)
GROUP BY 1, 2;
CREATE TEMP TABLE slow AS
SELECT tid, stem, n, med, med + 3 * 1.4826 * avg(far) FILTER (WHERE 2 * at - n BETWEEN 0 AND 2) AS least
FROM (
	SELECT tid, stem, n, med, abs(dur - med) AS far,
		row_number() OVER (PARTITION BY tid, stem ORDER BY abs(dur - med)) AS at
	FROM timed JOIN mid USING (tid, stem)
)
GROUP BY 1, 2;
