-- title: Copies below the Bandwidth
-- about: Copies that are slow for their size: of memory with gaps between rows (2D, 3D), in pageable memory, over a
-- about: detour. Measured against the best that copies the same way did.
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY = CUDA memcpy
-- uses: mem_kind
-- default: 130
-- arg: size=1000000, bytes from which on a copy is looked at (2D and 3D copies from a sixteenth of that)
-- arg: efficiency=50, per cent of the bandwidth below which they are slow
-- arg: link=6000000000, bytes per second between host and device that any link does
-- advice: Keep what is copied together in memory, or pack it on the device first; pad rows to the pitch that
-- advice: cudaMallocPitch() gives; use pinned memory.
-- column: Saved (ns) = time beyond what the bandwidth would need
-- column: Total Time (ns) = time of the copies
-- column: Copies = how many
-- column: Bytes (MB) = together, 10^6 bytes
-- column: GB/s = 10^9 bytes per second
-- column: Best GB/s = of any such copy in this direction
-- column: Efficiency (%) = GB/s by Best GB/s
-- column: Direction = from where to where
-- column: Src Kind = memory it came from
-- column: Dst Kind = memory it went to
-- column: PID = process
-- column: Device ID = number of the GPU
-- column: API Name = call that asked for it
CREATE TEMP TABLE found AS
WITH big AS MATERIALIZED (
	SELECT globalPid, deviceId, kind, srcKind, dstKind, nameId, count(*) AS n, sum(bytes) AS bytes, sum(end - start) AS ns,
		max(1e9 * bytes / (end - start)) AS best
	FROM sl_copies
	WHERE bytes >= :size / 16 AND kind IN (1, 2, 8, 10) AND end > start
		AND (bytes >= :size OR nameId IN (SELECT id FROM StringIds WHERE value GLOB '*[23]D*'))
	GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT b.*, (SELECT value FROM StringIds WHERE id = nameId) AS name, 1e9 * bytes / speed AS useful, speed, (SELECT wall.ns FROM wall) AS wall
FROM (
	SELECT *, max(max(best) OVER (PARTITION BY globalPid, deviceId, kind), CASE WHEN kind IN (1, 2) THEN :link ELSE 0 END) AS speed
	FROM big
) AS b;

SELECT
	CASE WHEN 10 * ns - 10 * useful > wall THEN 'severe' WHEN 50 * ns - 50 * useful > wall THEN 'bad' ELSE 'info' END AS severity,
	CAST(ns - useful AS INTEGER) AS cost,
	'{' || n || ' copy|copies} ' || CASE kind WHEN 1 THEN 'to' WHEN 2 THEN 'from' WHEN 8 THEN 'within' ELSE 'between GPUs, on' END
		|| ' GPU ' || sl_gpu(globalPid, deviceId) || coalesce(' by ' || name, '') || ' moved ' || printf('%.2f', 1.0 * bytes / ns)
		|| ' GB/s, ' || printf('%.0f', 100.0 * useful / ns) || ' % of the ' || printf('%.2f', speed / 1e9)
		|| ' GB/s that the way allows.' AS finding,
	(SELECT start || ' ' || end || ' GPU ' || sl_gpu(c.globalPid, c.deviceId) FROM sl_copies AS c WHERE c.globalPid IS f.globalPid
		AND c.deviceId IS f.deviceId AND c.kind = f.kind AND c.srcKind IS f.srcKind AND c.dstKind IS f.dstKind AND c.nameId IS f.nameId
		AND c.bytes >= :size / 16 AND c.end > c.start ORDER BY end - start DESC, start LIMIT 1) AS worst
FROM found AS f
WHERE 100.0 * useful < :efficiency * ns AND 100 * (ns - useful) > wall
ORDER BY ns - useful DESC
LIMIT 1;

SELECT
	CAST(ns - useful AS INTEGER) AS "Saved (ns)",
	ns AS "Total Time (ns)",
	n AS "Copies",
	round(bytes / 1e6, 3) AS "Bytes (MB)",
	round(1.0 * bytes / ns, 2) AS "GB/s",
	round(speed / 1e9, 2) AS "Best GB/s",
	round(100.0 * useful / ns, 1) AS "Efficiency (%)",
	CASE kind WHEN 1 THEN 'Host-to-Device' WHEN 2 THEN 'Device-to-Host' WHEN 8 THEN 'Device-to-Device' ELSE 'Peer-to-Peer' END
		AS "Direction",
	coalesce(src.label, srcKind) AS "Src Kind",
	coalesce(dst.label, dstKind) AS "Dst Kind",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID",
	name AS "API Name"
FROM found
	LEFT JOIN mem_kind AS src ON src.id = srcKind
	LEFT JOIN mem_kind AS dst ON dst.id = dstKind
WHERE 100.0 * useful < :efficiency * ns
ORDER BY ns - useful DESC
LIMIT :rows;
