-- Process 11 dies of SIGSEGV at 400 ms, dumping core; 12 and 13 of SIGKILL at 500 and 600 ms, 13 while the OOM killer was at work; 14 is
-- asked to end at 700 ms; 15 ends by itself. At 590 ms 2 GB of 16 GB were available, and the cgroup used 950 MB of 1 GB.
CREATE TABLE IF NOT EXISTS SL_PROCESS_TREE(globalPid, parentGlobalPid, start, end, kind, traced, exe, commandLine, exitStatus);
CREATE TABLE IF NOT EXISTS DIAGNOSTIC_EVENT(timestamp, timestampType, source, severity, text, globalPid);
INSERT INTO SL_PROCESS_TREE VALUES ((1 << 48) + (10 << 24), NULL, 0, 1000000000, 0, 1, '/usr/bin/python3', 'python3 train.py', 256),
	((1 << 48) + (11 << 24), (1 << 48) + (10 << 24), 100, 400000000, 1, 1, '/usr/bin/tool', 'tool -x', 139),
	((1 << 48) + (12 << 24), (1 << 48) + (10 << 24), 100, 500000000, 1, 1, '/usr/bin/python3', 'python3 train.py', 9),
	((1 << 48) + (13 << 24), (1 << 48) + (10 << 24), 100, 600000000, 1, 1, '/usr/bin/python3', 'python3 train.py', 9),
	((1 << 48) + (14 << 24), (1 << 48) + (10 << 24), 100, 700000000, 1, 1, NULL, NULL, 15),
	((1 << 48) + (15 << 24), (1 << 48) + (10 << 24), 100, 800000000, 1, 1, '/bin/true', 'true', 0);
INSERT INTO DIAGNOSTIC_EVENT VALUES (500000000, 2, 2, 1, 'process 12 (python3) was ended by signal 9 (SIGKILL)', (1 << 48) + (12 << 24)),
	(600000000, 2, 2, 2, 'process 13 (python3) was ended by signal 9 (SIGKILL): the kernel has ended 1 process for want of memory meanwhile (OOM killer)',
	(1 << 48) + (13 << 24));
INSERT INTO SL_COUNTERS VALUES (1, 'host', NULL, NULL, NULL, 'Memory Available', 'B', 0), (2, 'host', NULL, NULL, NULL, 'Memory Total', 'B', 0),
	(3, 'cgroup', NULL, '/job', NULL, 'Memory Used', 'B', 0), (4, 'cgroup', NULL, '/job', NULL, 'Memory Limit', 'B', 0);
INSERT INTO SL_COUNTER_SAMPLES VALUES (2, 0, 16000000000), (4, 0, 1000000000), (1, 0, 8000000000), (3, 0, 5000000), (1, 490000000, 4000000000),
	(3, 490000000, 500000000), (1, 590000000, 2000000000), (3, 590000000, 950000000), (1, 650000000, 9000000000), (3, 650000000, 10000000);
