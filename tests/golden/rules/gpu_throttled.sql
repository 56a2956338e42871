-- 10 s of samples. GPU 0: power 300 ms (3 %), thermal 100 ms (1 %), low utilization 5 s. GPU 1: nothing.
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1000, 0xA00000A, 1, 1), (999999000, 1000000000, 0xA00000A, 2, 1);
INSERT INTO SL_COUNTERS VALUES (1, 'gpu', 0, 'X', 0, 'Throttled: Power', 'ns', 1), (2, 'gpu', 0, 'X', 0, 'Throttled: Thermal', 'ns', 1),
	(3, 'gpu', 0, 'X', 0, 'Throttled: Low Utilization', 'ns', 1), (4, 'gpu', 0, 'X', 0, 'Power', 'W', 0), (5, 'gpu', 0, 'X', 0, 'Temperature', 'C', 0),
	(6, 'gpu', 1, 'X', 1, 'Throttled: Power', 'ns', 1);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 100)
INSERT INTO SL_COUNTER_SAMPLES SELECT c, i * 100000000, CASE WHEN c = 4 THEN 600 + i WHEN c = 5 THEN 80 + i / 50 WHEN i = 0 THEN NULL
	WHEN c = 1 THEN 3000000 WHEN c = 2 THEN 1000000 WHEN c = 3 THEN 50000000 ELSE 0 END
FROM i, (SELECT 1 AS c UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6);
