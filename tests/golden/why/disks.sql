-- disks.sql - behind the schema: a process of 1 s, whose thread waits four times; times in ms.
-- [100, 195) in read() of /data/x: its own requests are under way in [110, 150) and [140, 190), of vda: 80 of 95.
-- [300, 400) in fsync(): its own in [310, 330); the journal's in [340, 360); a flush in [350, 390): 70 of 100. What the kernel writes
--   back all the time is not what it waits for.
-- [500, 600) uninterruptible, in no call: its own request in [510, 590): a page that had to be read, 80 of 100.
-- [700, 800) interruptible, in no call: its own request does not say what it waits for.
CREATE TEMP TABLE me(tid); INSERT INTO me VALUES ((1 << 48) + (100 << 24) + 100);
INSERT INTO StringIds VALUES (0, ''), (1, 'read'), (2, 'fsync'), (3, '/data/x'), (4, 'vda'), (5, 'prog'), (6, 'jbd2/vda-8'), (7, 'kworker/u8:1'),
	(8, 'kworker/0:1H');
INSERT INTO PROCESSES VALUES ((1 << 48) + (100 << 24), 100, 'prog');
INSERT INTO ThreadNames SELECT 5, 20, tid FROM me;
INSERT INTO ANALYSIS_DETAILS VALUES (1 << 48, 1000000000, 0, 1000000000);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.28.1');
INSERT INTO SL_PROCESS_TREE VALUES ((1 << 48) + (100 << 24), NULL, 0, 1000000000, 0, 1, '/usr/bin/prog', 'prog', 0);
INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId)
	SELECT start * 1000000, end * 1000000, 27, tid, name, 0, 0, 0, 0, 3 FROM me, (SELECT 99 AS start, 201 AS end, 1 AS name UNION ALL VALUES (299, 401, 2));
INSERT INTO SCHED_EVENTS SELECT at * 1000000, 0, isIn, tid, state, NULL FROM me, (SELECT 0 AS at, 1 AS isIn, 1 AS state UNION ALL VALUES
	(100, 0, 3), (200, 1, 1), (300, 0, 3), (400, 1, 1), (500, 0, 3), (600, 1, 1), (700, 0, 2), (800, 1, 1), (1000, 0, 5));
INSERT INTO SL_SCHED_DETAIL SELECT at * 1000000, tid, preempted, wake * 1000000, NULL, 120 FROM me, (SELECT 100 AS at, 0 AS preempted, NULL AS wake UNION ALL
	VALUES (300, 0, NULL), (500, 0, NULL), (700, 0, NULL), (1000, 0, NULL), (200, NULL, 195), (400, NULL, 400), (600, NULL, 600), (800, NULL, 800));
INSERT INTO SL_BLOCK_IO SELECT start * 1000000, start * 1000000 + 1000, end * 1000000, iif(name = 5, tid, NULL), name, 254 << 20, 4, 0, bytes, operation, 0
	FROM me, (SELECT 140 AS start, 190 AS end, 5 AS name, 4096 AS bytes, 0 AS operation UNION ALL VALUES (110, 150, 5, 4096, 0), (310, 330, 5, 8192, 1),
	(340, 360, 6, 8192, 1), (350, 390, 8, 0, 2), (0, 1000, 7, 65536, 1), (510, 590, 5, 4096, 0), (700, 800, 5, 4096, 0));
