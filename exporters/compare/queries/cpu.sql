-- title: CPU time
-- about: Time that threads ran on a CPU, from context switches; of a machine recorded as a whole, those of the program.
-- needs: SCHED_EVENTS = context switch
-- unit: ns
-- default: 20 single
WITH mine AS MATERIALIZED (
	SELECT globalPid FROM SL_PROCESS_TREE WHERE traced = 1 OR kind <> 0
), pair AS (
	SELECT start, isSchedIn, lead(start) OVER thread AS next, lead(isSchedIn) OVER thread AS next_in
	FROM SCHED_EVENTS
	WHERE globalTid / 0x1000000 * 0x1000000 IN mine OR NOT EXISTS (SELECT 1 FROM mine)
	WINDOW thread AS (PARTITION BY globalTid ORDER BY start, isSchedIn DESC)
)
SELECT '', NULL, sum(next - start), 1
FROM pair
WHERE isSchedIn AND next_in = 0
HAVING count(*) > 0;
