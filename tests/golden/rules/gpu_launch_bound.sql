-- GPU 1 (device 0 of process 10): 80 kernels of 5 us and 20 of 20 us, from 0.1 s on one each ms; the last ends at 199,020,000 ns.
-- SMs Active is 30 % in the odd ms and 40 % in the even ones from 100 to 198 ms: 35 %; before and after it is 100 %, which does
-- not count, as the GPU has no work then. GPU 2 is no device of the process.
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 10), (2, 1, 10);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES ((1 << 48) + (1 << 32) + 1, (1 << 48) + (1 << 32), 'GPU Metrics [X]', 1, 'SMs Active [Throughput %]');
INSERT INTO TARGET_INFO_GPU_METRICS VALUES ((1 << 48) + (1 << 32) + 2, (1 << 48) + (1 << 32), 'GPU Metrics [X]', 1, 'SMs Active [Throughput %]');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1000, 0xA00000A, 1, 1), (999999000, 1000000000, 0xA00000A, 2, 1);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 99)
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 100000000 + i * 1000000, 100000000 + i * 1000000 + iif(i < 80, 5000, 20000), 0, 1, 7, i, 0xA000000, 31,
	iif(i < 80, 30, 32) FROM i;
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999)
INSERT INTO GPU_METRICS SELECT i * 1000000, i * 1000000, (1 << 48) + (1 << 32) + 1, 1, CASE WHEN i < 100 OR i > 199 THEN 100 WHEN i % 2 THEN 30 ELSE 40 END, NULL FROM i;
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999)
INSERT INTO GPU_METRICS SELECT i * 1000000, i * 1000000, (1 << 48) + (1 << 32) + 2, 1, 1, NULL FROM i;
