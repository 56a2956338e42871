-- faults.sql - behind the schema: process 7 has three faults in data.bin; before two of them it had no CPU for 5,000 and 7,000 ns, and the
-- third follows 2,000,000 ns of running. One of a second thread, in memory of no file, came without a wait.
INSERT INTO PROCESSES(globalPid, pid, name) VALUES ((1 << 48) | (7 << 24), 7, 'prog');
INSERT INTO StringIds VALUES (1, '/data/data.bin'), (2, '');
INSERT INTO SCHED_EVENTS(start, cpu, isSchedIn, globalTid) VALUES
	(1000, 0, 1, (1 << 48) | (7 << 24) | 7), (10000, 0, 0, (1 << 48) | (7 << 24) | 7), (15000, 0, 1, (1 << 48) | (7 << 24) | 7),
	(30000, 0, 0, (1 << 48) | (7 << 24) | 7), (37000, 0, 1, (1 << 48) | (7 << 24) | 7);
INSERT INTO SL_PAGE_FAULTS VALUES
	(15500, (1 << 48) | (7 << 24) | 7, 0x7000, 1, 4096, NULL), (37200, (1 << 48) | (7 << 24) | 7, 0x8000, 1, 8192, NULL),
	(2037000, (1 << 48) | (7 << 24) | 7, 0x6000, 1, 0, NULL), (40000, (1 << 48) | (7 << 24) | 8, 0x9000, 2, 0, NULL);
