-- GPU metrics, counters and events of two GPUs, and counters of a machine, with curves that are known: see stats_health.py, which
-- makes them again by itself, and works out every figure.
-- GPU 0 at 1 kHz from 0: SMs Active is a square wave of 80 % and 20 %, 50 ms each; DRAM a ramp 0, 1, ..., 99 % that begins anew
-- every 100 ms. A gap from 300 to 350 ms, which is listed. GPU 1 at 100 Hz: SMs Active 50 %, and exact values.
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (0, ''), (1, 'step'), (2, 'tiny'), (3, 'load'), (4, 'gone');
CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL);
INSERT INTO ANALYSIS_DETAILS VALUES (1 << 48, 2000000000, 0, 2000000000);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100', 'a'), (1, 'NVIDIA H100', 'b');
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT NOT NULL, numMultiprocessors INTEGER NOT NULL);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 10, 'a', 132), (1, 1, 10, 'b', 132);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
	streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
-- Process 10 sees both and works on GPU 0.
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 1, 7, 1, (1 << 48) + (10 << 24), 1, 1);

CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL, typeName TEXT NOT NULL, metricId INTEGER NOT NULL, metricName TEXT NOT NULL);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES
	((1 << 48) + (1 << 32), (1 << 48) + (1 << 32), 'GPU Metrics [NVIDIA H100]', 1, 'SMs Active [Throughput %]'),
	((1 << 48) + (1 << 32), (1 << 48) + (1 << 32), 'GPU Metrics [NVIDIA H100]', 2, 'DRAM Read Bandwidth [Throughput %]'),
	((1 << 48) + (1 << 32) + 1, (1 << 48) + (1 << 32), 'GPU Metrics [NVIDIA H100]', 1, 'SMs Active [Throughput %]');
CREATE TABLE SL_GPU_METRIC_SETS (id INTEGER NOT NULL PRIMARY KEY, typeId INTEGER NOT NULL, start INTEGER NOT NULL, uuid TEXT, source TEXT NOT NULL,
	chip TEXT, setName TEXT NOT NULL, askedHz REAL NOT NULL, realHz REAL NOT NULL, clocksLocked INTEGER, reason TEXT);
INSERT INTO SL_GPU_METRIC_SETS VALUES (1, (1 << 48) + (1 << 32), 0, 'a', 'pm', 'GH100', 'gh100', 1000, 1000, NULL, NULL),
	(2, (1 << 48) + (1 << 32) + 1, 0, 'b', 'gpm', 'GH100', 'gpm', 100, 100, NULL, NULL);
CREATE TABLE SL_GPU_METRIC_GAPS (typeId INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, why TEXT NOT NULL);
INSERT INTO SL_GPU_METRIC_GAPS VALUES ((1 << 48) + (1 << 32), 300000000, 350000000, 'overflow');
CREATE TABLE GPU_METRICS (rawTimestamp INTEGER NOT NULL, timestamp INTEGER NOT NULL, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, value INTEGER NOT NULL, exact REAL);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999)
INSERT INTO GPU_METRICS
SELECT i * 1000000, i * 1000000, (1 << 48) + (1 << 32), m, CASE m WHEN 1 THEN iif(i / 50 % 2 = 0, 80, 20) ELSE i % 100 END, NULL
FROM i, (SELECT 1 AS m UNION SELECT 2)
WHERE i < 300 OR i >= 350;
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 99)
INSERT INTO GPU_METRICS SELECT i * 10000000, i * 10000000, (1 << 48) + (1 << 32) + 1, 1, 50, 50.25 FROM i;

CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER,
	text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
-- Steps of 100 ms that begin with a wave; ranges of 5 ms, which are too short at 1 kHz; a mixed lot; one outside of all samples.
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 4)
INSERT INTO NVTX_EVENTS SELECT i * 200000000, i * 200000000 + 100000000, 59, NULL, NULL, NULL, NULL, (1 << 48) + (10 << 24) + 10, NULL, 1, 0 FROM i;
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 4)
INSERT INTO NVTX_EVENTS SELECT i * 200000000 + 1000000, i * 200000000 + 6000000, 59, NULL, NULL, NULL, NULL, (1 << 48) + (10 << 24) + 10, NULL, 2, 0 FROM i;
INSERT INTO NVTX_EVENTS VALUES
	(110000000, 130500000, 59, NULL, NULL, NULL, NULL, (1 << 48) + (10 << 24) + 10, NULL, 3, 0),
	(120000000, 140000000, 59, NULL, NULL, NULL, NULL, (1 << 48) + (10 << 24) + 11, NULL, 3, 0),
	(150000000, 151000000, 59, NULL, NULL, NULL, NULL, (1 << 48) + (10 << 24) + 10, NULL, 3, 0),
	(1500000000, 1900000000, 59, NULL, NULL, NULL, NULL, (1 << 48) + (10 << 24) + 10, NULL, 4, 0);

CREATE TABLE SL_COUNTERS (id INTEGER NOT NULL PRIMARY KEY, scope TEXT NOT NULL, scopeId INTEGER, scopeName TEXT, gpuId INTEGER, name TEXT NOT NULL,
	unit TEXT NOT NULL, isSum INTEGER NOT NULL);
CREATE TABLE SL_COUNTER_SAMPLES (counterId INTEGER NOT NULL, timestamp INTEGER NOT NULL, value REAL);
INSERT INTO SL_COUNTERS VALUES
	(1, 'gpu', 0, 'NVIDIA H100', 0, 'Energy', 'J', 1), (2, 'gpu', 0, 'NVIDIA H100', 0, 'Power', 'W', 0),
	(3, 'gpu', 0, 'NVIDIA H100', 0, 'Throttled: Power', 'ns', 1), (4, 'gpu', 1, 'NVIDIA H100', 1, 'Energy', 'J', 1),
	(5, 'process', (1 << 48) + (10 << 24), NULL, 0, 'GPU Memory Used', 'B', 0), (6, 'host', NULL, NULL, NULL, 'CPU Pressure Some', 'ns', 1),
	(7, 'host', NULL, NULL, NULL, 'Memory Total', 'B', 0), (8, 'core', 0, NULL, NULL, 'CPU Busy', 'ns', 1),
	(9, 'disk', NULL, 'sda', NULL, 'Disk Read', 'B', 1), (10, 'cgroup', NULL, '/job', NULL, 'Memory Used', 'B', 0);
-- Energy of GPU 0 is read every 5 ms and moves every 10 ms, 1 J and 3 J in turn; from 700 to 800 ms it is not known.
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 200)
INSERT INTO SL_COUNTER_SAMPLES
SELECT 1, i * 5000000, CASE WHEN i = 0 OR i = 160 THEN NULL WHEN i % 2 THEN 0 ELSE 1 + i / 2 % 2 * 2 END FROM i WHERE i <= 140 OR i >= 160;
-- Power: 100 W, 300 W from 500 ms on.
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 20)
INSERT INTO SL_COUNTER_SAMPLES SELECT 2, i * 50000000, iif(i < 10, 100, 300) FROM i;
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 20)
INSERT INTO SL_COUNTER_SAMPLES SELECT 3, i * 50000000, CASE i WHEN 0 THEN NULL WHEN 4 THEN 25000000 ELSE 0 END FROM i;
-- GPU 1: moves three times only.
INSERT INTO SL_COUNTER_SAMPLES VALUES (4, 0, NULL), (4, 300000000, 5), (4, 600000000, 7), (4, 900000000, 6);
INSERT INTO SL_COUNTER_SAMPLES VALUES (5, 100000000, 1000), (5, 600000000, 3000), (5, 1000000000, NULL);
INSERT INTO SL_COUNTER_SAMPLES VALUES (6, 0, NULL), (6, 100000000, 50000000), (6, 300000000, 20000000), (7, 0, 16000000000),
	(8, 0, NULL), (8, 500000000, 250000000), (8, 1500000000, 500000000), (9, 250000000, NULL), (9, 500000000, 4096), (9, 1000000000, 0),
	(10, 0, 10), (10, 1000000000, 30);
CREATE TABLE SL_GPU_EVENTS (timestamp INTEGER NOT NULL, gpuId INTEGER NOT NULL, kind TEXT NOT NULL, code INTEGER, gpuInstance INTEGER, computeInstance INTEGER);
INSERT INTO SL_GPU_EVENTS VALUES (300000000, 0, 'xid', 79, NULL, NULL), (200000000, 0, 'xid', 31, NULL, NULL), (250000000, 0, 'xid', 31, NULL, NULL), (400000000, 1, 'ecc', 2, NULL, NULL);
