-- title: Host Counter Summary
-- about: Counters of the machine (--host-counters): processors, memory, pressure (PSI), the program's cgroup, disks, network, energy.
-- about: A level counts until its next sample; sums are per second, those of time in per cent of the time.
-- needs: SL_COUNTERS.scope=host or SL_COUNTERS.scope=cgroup or SL_COUNTERS.scope=disk = counters of the machine
-- default: 906 quiet
-- arg: cores, a row per processor, too
-- column: Samples = how many
-- column: Covered (%) = share of the recording of which the value is known
-- column: Mean = by time
-- column: Min = least of the samples
-- column: Med = half of the time it was as low or lower
-- column: P90 = 90 % of the time
-- column: Max = most of the samples
-- column: Total = what came together between samples, of sums
-- column: Unit = of Mean to Max; that of Total is the same without /s, and ns where Unit is % of the time
-- column: Of = host, or which core, package, disk, interface or cgroup
-- column: Counter = what
-- include: counter_sums

SELECT
	n AS "Samples",
	round(100.0 * covered / nullif((SELECT max(duration) FROM ANALYSIS_DETAILS), 0), 1) AS "Covered (%)",
	round(mean, 3) AS "Mean",
	round(least, 3) AS "Min",
	round(med, 3) AS "Med",
	round(p90, 3) AS "P90",
	round(most, 3) AS "Max",
	round(total, 3) AS "Total",
	unit AS "Unit",
	trim(scope || ' ' || coalesce(scopeName, scopeId, '')) AS "Of",
	name AS "Counter"
FROM counter_sum JOIN counter_unit USING (id)
WHERE scope NOT IN ('gpu', 'process', 'link') AND (scope <> 'core' OR coalesce(:cores, 0))
ORDER BY CASE scope WHEN 'host' THEN 0 WHEN 'cgroup' THEN 1 WHEN 'disk' THEN 2 WHEN 'nic' THEN 3 WHEN 'package' THEN 4 ELSE 5 END,
	scopeName, scopeId, id;
