-- ours.sql - a small report of our own; goes into a database made by collector/schema.sql.
-- Process 100 (threads 100, 101) forks 200, which execs, then dies by a signal. Texts are nasty on purpose.
BEGIN;
CREATE TEMP TABLE id(name, tid INTEGER);
INSERT INTO id VALUES ('main', (1 << 48) + (100 << 24) + 100), ('helper', (1 << 48) + (100 << 24) + 101),
	('child', (1 << 48) + (200 << 24) + 200);
INSERT INTO StringIds VALUES (0, ''), (1, 'read'), (2, 'write'), (3, 'openat64'), (4, 'poll'), (5, 'pthread_mutex_lock'),
	(6, '__pread64_chk'), (7, 'fread'), (8, 'mmap'),
	(10, 'main'), (11, 'helper, "quoted"'), (12, 'child'),
	(20, '/tmp/plain.txt'), (21, '/tmp/a "b", c' || char(10) || 'd' || char(9) || 'e\f'), (22, '/tmp/ünïcode-日本'),
	(23, '/tmp/<script>&''x''' || char(27) || '[31m'), (24, '/tmp/bad-' || CAST(x'FFFE' AS TEXT));
INSERT INTO ThreadNames SELECT 10, 20, tid FROM id WHERE name = 'main';
INSERT INTO ThreadNames SELECT 11, 20, tid FROM id WHERE name = 'helper';
INSERT INTO ThreadNames SELECT 12, 20, tid FROM id WHERE name = 'child';
INSERT INTO PROCESSES VALUES ((1 << 48) + (100 << 24), 100, 'prog'), ((1 << 48) + (200 << 24), 200, 'sh');
INSERT INTO ANALYSIS_DETAILS VALUES (1 << 48, 1000000, 5000000, 6000000);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.28.1');
INSERT INTO OSRT_API
SELECT start, start + dur, 27, tid, nameId, ret, level, 0, 0, fd, NULL, path, asked,
	CASE WHEN asked IS NULL THEN NULL WHEN err THEN 0 WHEN nameId = 7 THEN 64 ELSE ret END, NULL, err
FROM id JOIN (
	SELECT 'main' AS who, 1000 AS start, 1500 AS dur, 3 AS nameId, 3 AS ret, 0 AS level, 3 AS fd, 20 AS path, NULL AS asked, NULL AS err
	UNION ALL VALUES ('main', 3000, 2000, 1, 4096, 0, 3, 20, 4096, NULL), ('main', 6000, 4000, 1, 1000, 0, 3, 20, 4096, NULL),
		('main', 11000, 1001, 1, 0, 0, 3, 20, 4096, NULL), ('main', 13000, 700000, 4, 1, 0, NULL, NULL, NULL, NULL),
		('helper', 2000, 1200, 3, 4, 0, 4, 21, NULL, NULL), ('helper', 4000, 9000, 2, 50, 0, 4, 21, 50, NULL),
		('helper', 14000, 1100, 1, -1, 1, 5, 22, 10, 11), ('helper', 16000, 250000, 5, 0, 0, NULL, NULL, NULL, NULL),
		('helper', 16000, 3000, 3, -1, 0, NULL, 23, NULL, 2),
		('child', 500000, 1234, 6, 17, 0, 6, 23, 17, NULL), ('child', 510000, 4321, 7, 2, 0, 7, 24, 64, NULL),
		('child', 520000, 1111, 2, 1, 0, 7, 24, 1, NULL),
		('child', 522000, 1500, 8, 1 << 62, 0, NULL, NULL, NULL, NULL), ('child', 524000, 1600, 8, 1 << 62, 0, NULL, NULL, NULL, NULL)
) ON who = name;
INSERT INTO SL_OSRT_TOTALS SELECT tid, 0, 1, 1000, 250000, 90, 999, 128000, 3, 2, 4000, 0 FROM id WHERE name = 'main';
INSERT INTO SL_OSRT_TOTALS SELECT tid, 1, 1, 10, 3000, 100, 800, 40, 0, 0, 0, 0 FROM id WHERE name = 'main';
INSERT INTO SL_OSRT_TOTALS SELECT tid, 0, 5, 77, 0, 0, 0, 0, 0, 0, 0, 1 FROM id WHERE name = 'helper';
INSERT INTO SL_OSRT_TOTALS SELECT tid, 0, 7, 5, 500, 100, 100, 320, 0, 0, 0, 0 FROM id WHERE name = 'child';
-- main: runs 0..100k, preempted, waits, runs 150k..300k, blocks until woken at 400k, runs from 420k on.
-- helper: first row is an out (when it began to run is not known); child: runs once, ends.
INSERT INTO SCHED_EVENTS
SELECT start, cpu, isIn, tid, state, NULL
FROM id JOIN (
	SELECT 'main' AS who, 0 AS start, 0 AS cpu, 1 AS isIn, NULL AS state
	UNION ALL VALUES ('main', 100000, 0, 0, 1), ('main', 150000, 1, 1, NULL), ('main', 300000, 1, 0, 2), ('main', 420000, 1, 1, NULL),
		('helper', 10000, 1, 0, 3), ('helper', 20000, 0, 1, NULL), ('helper', 120000, 0, 0, 2),
		('child', 480000, 0, 1, NULL), ('child', 530000, 0, 0, 5)
) ON who = name;
INSERT INTO SL_SCHED_DETAIL SELECT 100000, tid, 1, NULL, NULL, 120 FROM id WHERE name = 'main';
INSERT INTO SL_SCHED_DETAIL SELECT 300000, tid, 0, NULL, NULL, 120 FROM id WHERE name = 'main';
INSERT INTO SL_SCHED_DETAIL SELECT 420000, tid, NULL, 400000, (1 << 48) + (100 << 24) + 101, 120 FROM id WHERE name = 'main';
INSERT INTO SL_PROCESS_TREE VALUES
	((1 << 48) + (100 << 24), NULL, 0, NULL, 0, 1, '/usr/bin/prog', 'prog --quiet "a b"', NULL),
	((1 << 48) + (200 << 24), (1 << 48) + (100 << 24), 450000, 490000, 1, 1, '/usr/bin/prog', 'prog --quiet "a b"', NULL),
	((1 << 48) + (200 << 24), (1 << 48) + (100 << 24), 490000, 531000, 2, 0, '/bin/sh', 'sh -c true', 11),
	((1 << 48) + (300 << 24), (1 << 48) + (100 << 24), 600000, 610000, 1, 1, NULL, NULL, 768),
	((1 << 48) + (201 << 24), (1 << 48) + (200 << 24), 500000, 520000, 1, 1, '/bin/true', 'true', 0);
INSERT INTO SL_LOST_EVENTS SELECT 700000, 750000, tid, 'calls: the ring was full', 42 FROM id WHERE name = 'helper';
INSERT INTO SL_LOST_EVENTS VALUES (800000, 800000, NULL, 'context switches: the kernel''s buffer was full', 7);
COMMIT;
