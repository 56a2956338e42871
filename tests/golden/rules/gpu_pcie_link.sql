-- GPU 0: 8 of 16 lanes, generation 1 at rest and 5 of 5 under load. GPU 1 has no load: nothing is known of it.
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1000, 0xA00000A, 1, 1), (999999000, 1000000000, 0xA00000A, 2, 1);
INSERT INTO SL_COUNTERS SELECT g * 10 + n, 'gpu', g, 'X', g, name, '', 0 FROM (SELECT 0 AS g UNION SELECT 1), (SELECT 1 AS n, 'PCIe Link Generation' AS name
	UNION SELECT 2, 'PCIe Link Width' UNION SELECT 3, 'PCIe Link Generation Maximum' UNION SELECT 4, 'PCIe Link Width Maximum' UNION SELECT 5, 'GPU Utilization');
INSERT INTO SL_COUNTER_SAMPLES VALUES (1, 0, 1), (1, 1000000000, 5), (2, 0, 8), (2, 1000000000, 8), (3, 0, 5), (4, 0, 16), (5, 0, 0), (5, 1000000000, 98),
	(11, 0, 1), (12, 0, 16), (13, 0, 5), (14, 0, 16), (15, 0, 3);
