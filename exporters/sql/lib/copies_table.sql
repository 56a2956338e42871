-- The table of a rule about copies: found(...), the columns of copies with ns.
SELECT
	ns AS "Duration (ns)",
	start AS "Start (ns)",
	coalesce(src.label, srcKind) AS "Src Kind",
	coalesce(dst.label, dstKind) AS "Dst Kind",
	round(bytes / 1e6, 3) AS "Bytes (MB)",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID",
	contextId AS "Context ID",
	greenContextId AS "Green Context ID",
	streamId AS "Stream ID",
	s.value AS "API Name"
FROM found
	LEFT JOIN mem_kind AS src ON src.id = srcKind
	LEFT JOIN mem_kind AS dst ON dst.id = dstKind
	LEFT JOIN StringIds AS s ON s.id = nameId
ORDER BY ns DESC, start
LIMIT :rows;
