-- title: Instructions
-- about: Instructions that the program executed, of --cpu-core-events=2: hardly any noise, also on a machine that does other work.
-- needs: PMU_EVENT_COUNTERS = event counters
-- needs: PMU_EVENT_REQUESTS = event counters
-- unit: count
-- default: 6 single steady
SELECT '', NULL, sum(c.value), 1
FROM PMU_EVENT_REQUESTS AS r JOIN PMU_EVENT_COUNTERS AS c ON c.idx = r.id
WHERE r.event_name = 'instructions' AND r.systemWide = 0
HAVING count(*) > 0;
