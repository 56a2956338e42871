-- api(process, correlationId, start, end, thread, nameId): SL_LAUNCH_CALLS that returned, for a search by process and id.
DROP TABLE IF EXISTS temp.api;
CREATE TEMP TABLE api (process INTEGER, correlationId INTEGER, start INTEGER, end INTEGER, thread INTEGER,
	nameId INTEGER, PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO api SELECT * FROM SL_LAUNCH_CALLS WHERE end IS NOT NULL ORDER BY process, correlationId, start;
