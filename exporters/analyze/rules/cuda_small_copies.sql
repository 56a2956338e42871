-- title: Frequent Small Copies
-- about: Copies between host and device that are so small that they take far longer than their bytes would.
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY = CUDA memcpy
-- default: 80
-- arg: size=1000000, bytes below which a copy is small
-- arg: rate=10, small copies per second above which they are frequent
-- arg: bad=10, per cent of the time above which they are bad
-- arg: severe=30, per cent of the time above which they are severe
-- arg: link=12000000000, bytes per second that the link does at least; more where larger copies did more
-- advice: Put the data together into one buffer and copy that, in pinned memory; keep on the device what is needed
-- advice: there again; let several steps share one copy.
-- column: Time (%) = share of the wall time
-- column: Total Time (ns) = time of the calls, or of the copies where these took longer
-- column: Copies = small ones
-- column: Copies/s = per second between the first and the last of them
-- column: Avg Size (B) = mean size
-- column: Efficiency (%) = time that the bytes would take at the speed of the link, as share of the total time
-- column: Saved (ns) = the rest
-- column: Direction = between host and device
-- column: PID = process
-- column: Device ID = number of the GPU
CREATE TEMP TABLE found AS
WITH link AS (
	-- the best that copies of full size did, each way
	SELECT globalPid AS linkPid, deviceId AS linkDevice, kind AS linkKind, max(1e9 * bytes / (end - start)) AS speed
	FROM sl_copies
	WHERE bytes >= :size AND end > start AND kind IN (1, 2)
	GROUP BY 1, 2, 3
), small AS (
	SELECT globalPid, deviceId, kind, count(*) AS n, sum(bytes) AS bytes,
		sum(max(end - start, coalesce(callEnd - callStart, 0))) AS ns, max(end) - min(start) AS span
	FROM sl_copies
	WHERE bytes < :size AND kind IN (1, 2)
	GROUP BY 1, 2, 3
)
SELECT globalPid, deviceId, kind, n, bytes, ns, span,
	min(1e9 * bytes / max(coalesce(speed, 0), :link), ns) AS useful, (SELECT wall.ns FROM wall) AS wall
FROM small LEFT JOIN link ON linkPid IS globalPid AND linkDevice = deviceId AND linkKind = kind
WHERE n > 1 AND 1e9 * n > :rate * span;

SELECT
	CASE WHEN 100.0 * ns > :severe * wall THEN 'severe' WHEN 100.0 * ns > :bad * wall THEN 'bad' ELSE 'info' END AS severity,
	CAST(ns - useful AS INTEGER) AS cost,
	'{' || n || ' copy|copies} ' || CASE kind WHEN 1 THEN 'to' ELSE 'from' END || ' GPU ' || sl_gpu(globalPid, deviceId) || ' of less than {'
		|| :size || ' B} ({' || (bytes / n) || ' B} on average, ' || printf('%.0f', 1e9 * n / span)
		|| ' per second) took {' || ns || ' ns}, ' || printf('%.1f', 100.0 * ns / wall)
		|| ' % of the time; the bytes alone would take {' || CAST(useful AS INTEGER) || ' ns}.' AS finding,
	(SELECT start || ' ' || end || ' GPU ' || sl_gpu(c.globalPid, c.deviceId) FROM sl_copies AS c WHERE c.globalPid IS f.globalPid
		AND c.deviceId IS f.deviceId AND c.kind = f.kind AND c.bytes < :size AND c.end >= c.start ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM (
	SELECT * FROM found ORDER BY ns - useful DESC LIMIT 1
) AS f
WHERE 50 * ns > wall;

SELECT
	round(100.0 * ns / wall, 1) AS "Time (%)",
	ns AS "Total Time (ns)",
	n AS "Copies",
	round(1e9 * n / span, 1) AS "Copies/s",
	round(1.0 * bytes / n, 1) AS "Avg Size (B)",
	round(100.0 * useful / ns, 1) AS "Efficiency (%)",
	CAST(ns - useful AS INTEGER) AS "Saved (ns)",
	CASE kind WHEN 1 THEN 'Host-to-Device' ELSE 'Device-to-Host' END AS "Direction",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID"
FROM found
ORDER BY ns - useful DESC
LIMIT :rows;
