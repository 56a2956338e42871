-- step(no, tid, start, end, name, stem): the ranges that are the steps of a program.
-- A name's stem has # for each number in it.
DROP TABLE IF EXISTS temp.step;
-- Steps are push/pop ranges of main threads that repeat, apart from numbers, and are in no other range that repeats; ranges
-- of libraries and the tracer are none. First those called step, iteration or batch (else epoch) that take most time, then
-- the times between the steps of an optimizer, then others that take a tenth of all; where there are none, the same of
-- start/end ranges. :range takes the place of all these. (steps_choose.c)
CREATE TEMP TABLE step AS
SELECT no, tid, start, end, name, stem FROM sl_steps(:range);
-- Else the steps that the program itself delimits.
INSERT INTO step
WITH stop AS MATERIALIZED (
	SELECT globalTid >> 24 AS process, start FROM CUPTI_ACTIVITY_KIND_RUNTIME
	WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cu%ProfilerStop%')
)
SELECT row_number() OVER (PARTITION BY tid ORDER BY start, end), tid, start, end, 'cudaProfilerStart', 'cudaProfilerStart'
FROM (
	SELECT globalTid AS tid, end AS start,
		(SELECT min(start) FROM stop WHERE process = a.globalTid >> 24 AND start >= a.end) AS end
	FROM (
		SELECT 1 WHERE :range IS NULL AND NOT EXISTS (SELECT 1 FROM step)
			AND EXISTS (SELECT 1 FROM StringIds WHERE value LIKE 'cu%ProfilerStart%')
	) CROSS JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS a
	WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cu%ProfilerStart%')
)
WHERE end IS NOT NULL;
