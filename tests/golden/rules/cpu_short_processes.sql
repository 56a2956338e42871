-- /bin/sed every 10 ms, 50 times, for 2 ms (0 to 9) or 4 ms: there for 180 ms. A tenth of them (5) live for 2 ms: that will
-- do for starting and ending: cost 50 * 2 = 100 ms. /bin/cc is started as often, side by side, for 60 ms each: no short life.
-- /bin/awk 49 times. The shell that starts them is not counted, nor what sed was before its exec.
INSERT INTO StringIds VALUES(1,'nanosleep');
INSERT INTO OSRT_API VALUES(0,1000000000,27,(1<<48)+(100<<24)+100,1,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO SL_PROCESS_TREE VALUES((1<<48)+(100<<24),NULL,0,1000000000,0,1,'/bin/sh','sh configure',0);
WITH RECURSIVE i(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 49)
INSERT INTO SL_PROCESS_TREE
SELECT (1<<48)+((1000+i)<<24), (1<<48)+(100<<24), i * 10000000 - 1000000, i * 10000000, 1, 1, '/bin/sh', 'sh configure', NULL FROM i
UNION ALL
SELECT (1<<48)+((1000+i)<<24), (1<<48)+(100<<24), i * 10000000, i * 10000000 + CASE WHEN i < 10 THEN 2000000 ELSE 4000000 END, 2, 1, '/bin/sed', 'sed s/a/b/', 0 FROM i
UNION ALL
SELECT (1<<48)+((2000+i)<<24), (1<<48)+(100<<24), i * 10000000, i * 10000000 + 60000000, 2, 1, '/bin/cc', 'cc', 0 FROM i
UNION ALL
SELECT (1<<48)+((3000+i)<<24), (1<<48)+(100<<24), i * 10000000, i * 10000000 + 4000000, 2, 1, '/bin/awk', 'awk', 0 FROM i WHERE i < 49;
