-- Process 10: 100, 150, then from the fourth of nine readings on 200, 220, ... 300 MB, each 100 ms; process 11 has 50 MB all the time. The
-- cgroup may use 1 GB, and uses 500 MB; of the machine's memory 8 GB are available.
CREATE TABLE IF NOT EXISTS SL_PROCESS_TREE(globalPid, parentGlobalPid, start, end, kind, traced, exe, commandLine, exitStatus);
INSERT INTO SL_PROCESS_TREE VALUES ((1 << 48) + (10 << 24), NULL, 0, 1000000000, 0, 1, '/usr/bin/python3', 'python3 train.py', 0),
	((1 << 48) + (11 << 24), (1 << 48) + (10 << 24), 0, 1000000000, 1, 1, '/bin/cat', 'cat', 0);
INSERT INTO SL_COUNTERS VALUES (1, 'process', (1 << 48) + (10 << 24), NULL, NULL, 'Memory Resident', 'B', 0),
	(2, 'process', (1 << 48) + (11 << 24), NULL, NULL, 'Memory Resident', 'B', 0), (3, 'host', NULL, NULL, NULL, 'Memory Available', 'B', 0),
	(4, 'cgroup', NULL, '/job', NULL, 'Memory Used', 'B', 0), (5, 'cgroup', NULL, '/job', NULL, 'Memory Limit', 'B', 0);
INSERT INTO SL_COUNTER_SAMPLES VALUES (1, 0, 100000000), (1, 100000000, 150000000), (1, 200000000, 200000000), (1, 300000000, 200000000),
	(1, 400000000, 220000000), (1, 500000000, 240000000), (1, 600000000, 260000000), (1, 700000000, 280000000), (1, 800000000, 300000000),
	(3, 0, 9000000000), (3, 800000000, 8000000000), (5, 0, 1000000000), (4, 0, 100000000), (4, 800000000, 500000000);
INSERT INTO SL_COUNTER_SAMPLES SELECT 2, timestamp, 50000000 FROM SL_COUNTER_SAMPLES WHERE counterId = 1;
