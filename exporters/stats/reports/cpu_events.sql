-- title: Event Counter Summary
-- about: How often events of the CPU and of the kernel happened (--cpu-core-events, --os-events).
-- needs: PMU_EVENTS or PMU_EVENT_REQUESTS = event counters
-- arg: cpu, a row per event and CPU
-- default: 905 quiet
-- column: Total = events in the whole recording; empty: it was never counted
-- column: Rate (1/s) = Total per second of the recording
-- column: Max Rate (1/s) = the same of the interval with the most
-- column: Counted (%) = least share of an interval in which it was really counted; below 100 the figures are scaled up
-- column: CPU = number of the CPU, or all
-- column: Of = whose events: process tree, or system
-- column: Event = name of the event; (user): without what happened in the kernel
-- column: About = what happens then
WITH session AS MATERIALIZED (
	SELECT max(coalesce((SELECT max(duration) FROM ANALYSIS_DETAILS), 0),
		coalesce((SELECT max(end) FROM PMU_EVENTS), 0)) AS ns
), part AS (
	-- one reading, of the CPUs that are asked for
	SELECT c.idx, iif(coalesce(:cpu, 0), e.cpu, -1) AS cpu, max(e.end) - e.start AS ns, sum(c.value) AS value,
		min(coalesce(c.counted, 100)) AS counted
	FROM PMU_EVENTS AS e JOIN PMU_EVENT_COUNTERS AS c ON c.id = e.counter_id
	GROUP BY 1, 2, e.start
), total AS (
	SELECT idx, cpu, sum(value) AS value, max(1e9 * value / nullif(ns, 0)) AS most, min(counted) AS counted
	FROM part
	GROUP BY 1, 2
	UNION ALL
	-- nothing at all has happened
	SELECT id, NULL, 0, 0, 100 FROM PMU_EVENT_REQUESTS WHERE NOT EXISTS (SELECT 1 FROM PMU_EVENT_COUNTERS)
)
SELECT
	t.value AS "Total",
	round(1e9 * t.value / nullif((SELECT ns FROM session), 0), 1) AS "Rate (1/s)",
	round(t.most, 1) AS "Max Rate (1/s)",
	coalesce(t.counted, 0) AS "Counted (%)",
	iif(coalesce(t.cpu, -1) < 0, 'all', t.cpu) AS "CPU",
	iif(r.systemWide = 0, 'process tree', 'system') AS "Of",
	coalesce(r.event_name, 'event ' || r.eventid) || iif(r.userOnly = 1, ' (user)', '') AS "Event",
	coalesce(r.description, '') AS "About"
FROM PMU_EVENT_REQUESTS AS r LEFT JOIN total AS t ON t.idx = r.id
ORDER BY r.id, t.cpu;
