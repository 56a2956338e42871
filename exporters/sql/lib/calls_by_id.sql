-- api(process, correlationId, start, end, thread, nameId): CUDA calls by their ids.
-- Correlation ids repeat between processes; a launch of a graph has many kernels.
DROP TABLE IF EXISTS temp.api;
CREATE TEMP TABLE api (process INTEGER, correlationId INTEGER, start INTEGER, end INTEGER, thread INTEGER,
	nameId INTEGER, PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO api
SELECT globalTid >> 24, correlationId, start, end, globalTid, nameId
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE correlationId IS NOT NULL AND globalTid IS NOT NULL AND end IS NOT NULL
ORDER BY 1, 2, start;
