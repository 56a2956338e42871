-- GPU 0 receives at 70 % of PCIe, and sends at 10 %; NVLink by kinds of packets: 20 + 15 + 10 + 10 = 55 % received.
INSERT INTO TARGET_INFO_GPU_METRICS VALUES ((1 << 48) + (1 << 32) + 0, (1 << 48) + (1 << 32), 'GPU Metrics [X]', 1, 'PCIe RX Throughput [Throughput %]');
INSERT INTO TARGET_INFO_GPU_METRICS VALUES ((1 << 48) + (1 << 32) + 0, (1 << 48) + (1 << 32), 'GPU Metrics [X]', 2, 'PCIe TX Throughput [Throughput %]');
INSERT INTO TARGET_INFO_GPU_METRICS VALUES ((1 << 48) + (1 << 32) + 0, (1 << 48) + (1 << 32), 'GPU Metrics [X]', 3, 'NVLink RX Requests User Data [Throughput %]');
INSERT INTO TARGET_INFO_GPU_METRICS VALUES ((1 << 48) + (1 << 32) + 0, (1 << 48) + (1 << 32), 'GPU Metrics [X]', 4, 'NVLink RX Requests Protocol Data [Throughput %]');
INSERT INTO TARGET_INFO_GPU_METRICS VALUES ((1 << 48) + (1 << 32) + 0, (1 << 48) + (1 << 32), 'GPU Metrics [X]', 5, 'NVLink RX Responses User Data [Throughput %]');
INSERT INTO TARGET_INFO_GPU_METRICS VALUES ((1 << 48) + (1 << 32) + 0, (1 << 48) + (1 << 32), 'GPU Metrics [X]', 6, 'NVLink RX Responses Protocol Data [Throughput %]');
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1000, 0xA00000A, 1, 1), (999999000, 1000000000, 0xA00000A, 2, 1);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 99)
INSERT INTO GPU_METRICS SELECT i * 10000000, i * 10000000, (1 << 48) + (1 << 32), m, CASE m WHEN 1 THEN 60 + i % 2 * 20 WHEN 2 THEN 10 WHEN 3 THEN 20 WHEN 4 THEN 15 ELSE 10 END, NULL
FROM i, (SELECT 1 AS m UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6);
