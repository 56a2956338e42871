-- title: Block I/O Summary
-- about: Requests to block devices of the program and of the kernel's own threads, which write back and keep journals (with
-- about: --cpuctxsw=system-wide, of all), per device and kind. Their time is that from being made to being done, as in /proc/diskstats;
-- about: Device is the part after the driver got them. SL_LOST_EVENTS counts those that are missing.
-- needs: SL_BLOCK_IO = block I/O
-- default: 916 quiet
-- arg: thread, a row per thread that made them, too
-- column: Busy (%) = share of the session in which at least one of them was with the device
-- column: Requests = how many are done
-- column: Bytes = that they moved
-- column: Total Time (ns) = from being made to being done, of all together
-- column: Med (ns) = half of them took so long, or less
-- column: P99 (ns) = 99 % of them
-- column: Max (ns) = longest of them
-- column: Queued (ns) = part of Total Time before the driver got them
-- column: Device Med (ns) = half of them took the device so long, or less
-- column: Device P99 (ns) = 99 % of them
-- column: Device Max (ns) = longest of them
-- column: Failed = those that ended with an error
-- column: Device = name of the disk
-- column: Operation = read, write, flush, discard, or the kernel's number; a write of 0 bytes waits for a flush
-- column: Made By = thread of the program by its name, or the kernel's; all: all of them
WITH io AS MATERIALIZED (
	SELECT rowid AS id, start, issued, end, end - start AS ns, end - issued AS device_ns, bytes, operation, failed,
		coalesce((SELECT value FROM StringIds WHERE id = diskId), (device >> 20) || ':' || (device & 0xFFFFF)) AS disk,
		iif(coalesce(:thread, 0), coalesce((SELECT value FROM StringIds WHERE id = nameId), ''), 'all') AS made_by
	FROM SL_BLOCK_IO
), ranked AS (
	SELECT *, count(*) OVER grp AS n, count(device_ns) OVER grp AS device_n,
		row_number() OVER (PARTITION BY disk, operation, made_by ORDER BY ns) AS nr,
		row_number() OVER (PARTITION BY disk, operation, made_by ORDER BY device_ns NULLS LAST) AS device_nr,
		max(iif(issued IS NULL, NULL, end)) OVER (PARTITION BY disk, operation, made_by ORDER BY issued ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM io
	WINDOW grp AS (PARTITION BY disk, operation, made_by)
)
SELECT
	round(100.0 * sum(CASE WHEN issued IS NOT NULL THEN max(0, end - max(issued, coalesce(before, issued))) END)
		/ nullif((SELECT max(duration) FROM ANALYSIS_DETAILS), 0), 1) AS "Busy (%)",
	count(*) AS "Requests",
	sum(bytes) AS "Bytes",
	sum(ns) AS "Total Time (ns)",
	min(ns) FILTER (WHERE 2 * nr >= n) AS "Med (ns)",
	min(ns) FILTER (WHERE 100 * nr >= 99 * n) AS "P99 (ns)",
	max(ns) AS "Max (ns)",
	sum(issued - start) AS "Queued (ns)",
	min(device_ns) FILTER (WHERE 2 * device_nr >= device_n) AS "Device Med (ns)",
	min(device_ns) FILTER (WHERE 100 * device_nr >= 99 * device_n) AS "Device P99 (ns)",
	max(device_ns) AS "Device Max (ns)",
	sum(failed) AS "Failed",
	disk AS "Device",
	CASE operation WHEN 0 THEN 'read' WHEN 1 THEN 'write' WHEN 2 THEN 'flush' WHEN 3 THEN 'discard' ELSE operation END AS "Operation",
	made_by AS "Made By"
FROM ranked
GROUP BY disk, operation, made_by
ORDER BY sum(ns) DESC, disk, operation, made_by;
