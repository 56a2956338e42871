-- sane.sql - what must hold in every report; each row is a violation.
SELECT 'OSRT_API.nameId ' || nameId FROM OSRT_API WHERE nameId NOT IN (SELECT id FROM StringIds) LIMIT 5;
SELECT 'OSRT_API.pathId ' || pathId FROM OSRT_API WHERE pathId NOT IN (SELECT id FROM StringIds) LIMIT 5;
SELECT 'OSRT_API.globalTid without a process ' || globalTid FROM OSRT_API
 WHERE globalTid & ~0xffffff NOT IN (SELECT globalPid FROM PROCESSES) LIMIT 5;
SELECT 'OSRT_API.globalTid without a name ' || globalTid FROM OSRT_API
 WHERE globalTid NOT IN (SELECT globalTid FROM ThreadNames) LIMIT 5;
SELECT 'OSRT_API.fileAccessId ' || fileAccessId FROM OSRT_API
 WHERE fileAccessId IS NOT NULL AND fileAccessId NOT IN (SELECT fileAccessId FROM OSRT_FILE_ACCESS_DESCRIPTORS) LIMIT 5;
SELECT 'OSRT_API ends before it starts ' || start FROM OSRT_API WHERE end < start LIMIT 5;
SELECT 'OSRT_API before the session ' || start FROM OSRT_API WHERE start < 0 LIMIT 5;
SELECT 'OSRT_API after the session ' || end FROM OSRT_API WHERE end > (SELECT duration FROM ANALYSIS_DETAILS) LIMIT 5;
SELECT 'OSRT_API.eventClass ' || eventClass FROM OSRT_API WHERE eventClass <> 27 LIMIT 5;
SELECT 'globalTid without its thread ' || globalTid FROM OSRT_API WHERE globalTid & 0xffffff = 0 LIMIT 5;
SELECT 'ThreadNames.nameId ' || nameId FROM ThreadNames WHERE nameId NOT IN (SELECT id FROM StringIds) LIMIT 5;
SELECT 'process without an image ' || globalTid FROM OSRT_API
 WHERE globalTid & ~0xffffff NOT IN (SELECT globalPid FROM SL_PROCESS_TREE) LIMIT 5;
SELECT 'image without its parent ' || globalPid FROM SL_PROCESS_TREE
 WHERE parentGlobalPid NOT IN (SELECT globalPid FROM SL_PROCESS_TREE) AND kind = 1 LIMIT 5;
SELECT 'calls in an untraced process ' || globalTid FROM OSRT_API
 WHERE globalTid & ~0xffffff NOT IN (SELECT globalPid FROM SL_PROCESS_TREE WHERE traced = 1) LIMIT 5;
SELECT 'rows in ANALYSIS_DETAILS: ' || n FROM (SELECT count(*) AS n FROM ANALYSIS_DETAILS) WHERE n <> 1;
SELECT 'two strings are one: ' || value FROM StringIds GROUP BY value HAVING count(*) > 1 LIMIT 5;
SELECT 'PROFILER_OVERHEAD outside the session ' || start FROM PROFILER_OVERHEAD
 WHERE start < 0 OR end < start OR end > (SELECT duration FROM ANALYSIS_DETAILS) LIMIT 5;
