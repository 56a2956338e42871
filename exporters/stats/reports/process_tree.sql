-- title: Process Tree
-- about: Processes with their parents, programs and ends, one row per program image (a start, or an exec),
-- about: each below its parent.
-- needs: SL_PROCESS_TREE = process tree
-- column: Start (ns) = start of the image, since the start of the session
-- column: Duration (ns) = until its exec or end; empty when that was not seen
-- column: Pid = process
-- column: PPid = parent
-- column: Kind = first seen, fork or exec
-- column: Traced = whether its library calls are in the report, or only what the kernel saw
-- column: Exit = exit code, or the signal that ended it
-- column: Process = name, set in by depth
-- column: Command = command line, or the executable
WITH RECURSIVE process AS MATERIALIZED (
	SELECT globalPid, min(start) AS born, max(parentGlobalPid) AS parent
	FROM SL_PROCESS_TREE
	GROUP BY globalPid
), walk(globalPid, depth, place) AS (
	-- place sorts children below their parent in order of birth; the depth bounds loops of reused pids
	SELECT globalPid, 0, printf('%020d.%015d', born, globalPid)
	FROM process AS p
	WHERE parent IS NULL OR parent = globalPid OR NOT EXISTS (
		SELECT 1 FROM process AS q WHERE q.globalPid = p.parent)
	UNION ALL
	SELECT c.globalPid, depth + 1, place || '/' || printf('%020d.%015d', born, c.globalPid)
	FROM walk JOIN process AS c ON c.parent = walk.globalPid
	WHERE depth < 100 AND c.parent <> c.globalPid
), placed AS (
	-- a process that only a loop leads to has no place, and still gets its row
	SELECT globalPid, min(depth) AS depth, min(place) AS place
	FROM walk
	GROUP BY globalPid
)
SELECT
	start AS "Start (ns)",
	end - start AS "Duration (ns)",
	(t.globalPid >> 24) & 0xFFFFFF AS "Pid",
	(parentGlobalPid >> 24) & 0xFFFFFF AS "PPid",
	CASE kind WHEN 0 THEN 'first seen' WHEN 1 THEN 'fork' WHEN 2 THEN 'exec' ELSE kind END AS "Kind",
	CASE traced WHEN 1 THEN 'yes' ELSE 'no' END AS "Traced",
	CASE WHEN exitStatus IS NULL THEN NULL
		WHEN exitStatus & 0x7F THEN 'signal ' || (exitStatus & 0x7F)
		ELSE CAST((exitStatus >> 8) & 0xFF AS TEXT) END AS "Exit",
	printf('%*s', 2 * coalesce(depth, 0), '') || coalesce(
		(SELECT max(name) FROM PROCESSES AS p WHERE p.globalPid = t.globalPid), '?') AS "Process",
	coalesce(commandLine, exe) AS "Command"
FROM SL_PROCESS_TREE AS t LEFT JOIN placed USING (globalPid)
ORDER BY place IS NULL, place, start, kind;
