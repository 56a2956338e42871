-- 10 s of samples. All threads stood still for want of memory for 200 ms (2 %); the cgroup /job was throttled in 5 of 100 periods,
-- for 250 ms; nothing was swapped, nothing killed.
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1000, 0xA00000A, 1, 1), (999999000, 1000000000, 0xA00000A, 2, 1);
INSERT INTO SL_COUNTERS VALUES (1, 'host', NULL, NULL, NULL, 'Memory Pressure Full', 'ns', 1), (2, 'host', NULL, NULL, NULL, 'Swapped In', 'B', 1),
	(3, 'host', NULL, NULL, NULL, 'OOM Kills', 'count', 1), (4, 'cgroup', NULL, '/job', NULL, 'CPU Throttled Periods', 'count', 1),
	(5, 'cgroup', NULL, '/job', NULL, 'CPU Periods', 'count', 1), (6, 'cgroup', NULL, '/job', NULL, 'CPU Throttled', 'ns', 1),
	(7, 'cgroup', NULL, '/job', NULL, 'OOM Kills', 'count', 1);
INSERT INTO SL_COUNTER_SAMPLES SELECT id, 0, NULL FROM SL_COUNTERS;
INSERT INTO SL_COUNTER_SAMPLES SELECT id, 5000000000, CASE id WHEN 1 THEN 200000000 WHEN 4 THEN 5 WHEN 5 THEN 60 WHEN 6 THEN 250000000 ELSE 0 END FROM SL_COUNTERS;
INSERT INTO SL_COUNTER_SAMPLES SELECT id, 10000000000, CASE id WHEN 5 THEN 40 ELSE 0 END FROM SL_COUNTERS;
