-- Calls that have a row (longer than --osrt-threshold).
WITH
-- include: io_functions
, sums AS (
	SELECT k0 AS pid, k1 AS minute, k2 AS pathId, k3 AS what, n, others AS bytes, total, most
	FROM sl_hist_rows((
		SELECT sl_sums(globalTid >> 24, (start + :epoch) / 60000000000, pathId, CASE kind.type WHEN 1 THEN 'open' WHEN 3 THEN 'read'
			ELSE 'write' END, end - start, bytesDone)
		FROM OSRT_API JOIN kind ON kind.id = nameId
		WHERE end >= start AND pathId IS NOT NULL))
)
SELECT rank, minute, sl_mount(value), value, what, sum(n), sum(bytes), sum(total), max(most), restart
FROM sums JOIN rank_process AS p USING (pid) JOIN StringIds ON id = pathId
WHERE value LIKE '/_%' AND value NOT GLOB '/dev/*' AND value NOT GLOB '/proc/*' AND value NOT GLOB '/sys/*'
GROUP BY rank, restart, minute, pathId, what;
