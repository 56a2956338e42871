-- 3.25.0 with what no reader should trip over: ids without text, no ids, ends before starts, times before 0 and
-- far away, texts that are no UTF-8, upset terminals or look like formats
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.25.0');
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 999 WHERE rowid % 5 = 0;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = NULL, correlationId = NULL WHERE rowid % 7 = 0;
UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start WHERE rowid % 3 = 0;
UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 998, globalTid = NULL WHERE rowid % 9 = 0;
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 77, bytes = 0 WHERE rowid % 2 = 0;
UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = start WHERE rowid % 3 = 0;
UPDATE OSRT_API SET start = -5000, end = -6000 WHERE rowid % 6 = 0;
UPDATE OSRT_API SET end = start + 4000000000000000 WHERE rowid = 5;
UPDATE NVTX_EVENTS SET text = cast(x'ff00fe41' AS TEXT), textId = NULL WHERE rowid % 4 = 0;
UPDATE NVTX_EVENTS SET text = NULL, textId = NULL WHERE rowid % 5 = 0;
UPDATE NVTX_EVENTS SET end = start - 10 WHERE rowid % 11 = 0 AND end IS NOT NULL;
UPDATE StringIds SET value = 'rm -rf %s%n ' || char(27) || '[2J' || char(10) || '<script>alert("x")</script>,"' WHERE id = 8;
UPDATE SCHED_EVENTS SET isSchedIn = 1 WHERE rowid % 4 = 0;
UPDATE SCHED_EVENTS SET globalTid = NULL WHERE rowid % 13 = 0;
DELETE FROM ANALYSIS_DETAILS;
DELETE FROM PROCESSES;
