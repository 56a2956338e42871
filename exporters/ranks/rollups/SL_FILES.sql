-- Calls that have a row (longer than --osrt-threshold).
WITH
-- include: io_functions
, op AS (
	SELECT p.rank, (start + :epoch) / 60000000000 AS minute, pathId,
		CASE kind.type WHEN 1 THEN 'open' WHEN 3 THEN 'read' ELSE 'write' END AS what, end - start AS ns, bytesDone AS bytes
	FROM OSRT_API JOIN kind ON kind.id = nameId JOIN rank_process AS p ON p.pid = globalTid >> 24
	WHERE end >= start AND pathId IS NOT NULL
)
SELECT rank, minute, sl_mount(value), value, what, count(*), sum(bytes), sum(ns), max(ns)
FROM op JOIN StringIds ON id = pathId
WHERE value LIKE '/_%' AND value NOT GLOB '/dev/*' AND value NOT GLOB '/proc/*' AND value NOT GLOB '/sys/*'
GROUP BY rank, minute, pathId, what;
