-- mem_place(globalPid, correlationId, api, stack, place): who allocated each mem_block that is in mem_wanted(id): the call, and up
-- to :frames frames from the innermost on that is neither in CUDA nor in a library of the system.
DROP TABLE IF EXISTS temp.mem_call;
DROP TABLE IF EXISTS temp.mem_frame;
DROP TABLE IF EXISTS temp.mem_place;
CREATE TEMP TABLE mem_call AS
SELECT b.globalPid, b.correlationId, c.nameId, c.stack, min(c.start)
FROM (SELECT DISTINCT globalPid, correlationId FROM mem_block WHERE id IN mem_wanted AND correlationId IS NOT NULL) AS b
	JOIN SL_LAUNCH_STACKS AS c ON c.correlationId = b.correlationId AND c.process = b.globalPid >> 24
GROUP BY 1, 2;
CREATE TEMP TABLE mem_frame AS
SELECT f.stack, f.depth, f.symbol, f.module, f.file, f.line, f.unresolved, f.kind = 1 OR NOT coalesce(sl_is_library(m.value), 0) AS own
FROM SL_CHAIN_FRAMES AS f LEFT JOIN StringIds AS m ON m.id = f.module
WHERE f.stack IN (SELECT stack FROM mem_call WHERE stack IS NOT NULL);
CREATE TEMP TABLE mem_place AS
WITH named AS (
	SELECT f.stack, f.depth, row_number() OVER (PARTITION BY f.stack ORDER BY f.depth) AS nr,
		CASE WHEN f.unresolved = 1 OR coalesce(s.value, '') = ''
			THEN '[' || trim(coalesce(replace(m.value, rtrim(m.value, replace(m.value, '/', '')), ''), '?'), '[]') || ']'
		WHEN f.line IS NULL OR w.value IS NULL THEN s.value
		ELSE s.value || ' (' || replace(w.value, rtrim(w.value, replace(w.value, '/', '')), '') || ':' || f.line || ')' END AS text
	FROM mem_frame AS f LEFT JOIN StringIds AS s ON s.id = f.symbol LEFT JOIN StringIds AS m ON m.id = f.module
		LEFT JOIN StringIds AS w ON w.id = f.file
	WHERE f.depth >= coalesce((SELECT min(depth) FROM mem_frame AS o WHERE o.stack = f.stack AND own), 0)
), line AS (
	SELECT stack, group_concat(text, ' <- ') AS place
	FROM (SELECT * FROM named WHERE nr <= coalesce(:frames, 6) ORDER BY stack, depth)
	GROUP BY stack
)
SELECT c.globalPid, c.correlationId, c.stack, coalesce(place, '[no stack]') AS place,
	CASE WHEN value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 6)
		WHEN value GLOB '*_v[0-9][0-9][0-9][0-9][0-9]' THEN substr(value, 1, length(value) - 7) ELSE value END AS api
FROM mem_call AS c LEFT JOIN line ON line.stack = c.stack LEFT JOIN StringIds ON id = c.nameId;
