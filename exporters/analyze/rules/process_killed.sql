-- title: Killed Processes
-- about: Processes that a signal ended: by a fault of their own (SIGSEGV, SIGABRT and the like), or SIGKILL, which the kernel sends, too,
-- about: where there is no memory left (OOM killer). Signals by which programs ask each other to end (SIGTERM, SIGINT, SIGHUP, SIGPIPE,
-- about: SIGALRM) are no finding; they are in the evidence.
-- needs: SL_PROCESS_TREE.exitStatus = ends of processes
-- default: 446
-- advice: A program that was ended by a fault of its own: look at the core dump (coredumpctl, ulimit -c), or run it under gdb, python3 -X
-- advice: faulthandler or with -fsanitize=address. SIGKILL: its sender is not recorded; timeouts, schedulers and parents send it.
-- column: Time (ns) = when it ended, since the start of the session
-- column: Signal = by which
-- column: Core = 1: its memory was dumped
-- column: OOM = 1: the kernel has killed processes for want of memory since the process before
-- column: Available (bytes) = memory of the host that was available then (--host-counters)
-- column: Cgroup Used (bytes) = memory of the program's cgroup then
-- column: Cgroup Limit (bytes) = what it may use
-- column: Pid = process
-- column: Process = executable
-- column: Command = its arguments
CREATE TEMP TABLE ended AS
SELECT end AS at, exitStatus & 127 AS number, exitStatus >> 7 & 1 AS core, globalPid >> 24 & 0xFFFFFF AS pid,
	coalesce(replace(exe, rtrim(exe, replace(exe, '/', '')), ''), '') AS name, commandLine AS command,
	EXISTS (SELECT 1 FROM DIAGNOSTIC_EVENT AS d WHERE d.globalPid = t.globalPid AND d.timestamp >= t.start
		AND text LIKE '%was ended by signal 9 %OOM killer%') AS oom
FROM SL_PROCESS_TREE AS t
WHERE exitStatus & 127 BETWEEN 1 AND 126;

-- the last value of each counter before a process was killed
CREATE TEMP TABLE level AS
SELECT e.rowid AS ended, scope, scopeName, name, (SELECT CAST(value AS INTEGER) FROM SL_COUNTER_SAMPLES
	WHERE counterId = c.id AND timestamp <= e.at AND value IS NOT NULL ORDER BY timestamp DESC LIMIT 1) AS value,
	(SELECT max(timestamp) FROM SL_COUNTER_SAMPLES WHERE counterId = c.id AND timestamp <= e.at AND value IS NOT NULL) AS at
FROM (SELECT rowid, at FROM ended WHERE number = 9 ORDER BY at LIMIT 50) AS e CROSS JOIN SL_COUNTERS AS c
WHERE scope IN ('host', 'cgroup') AND name IN ('Memory Available', 'Memory Total', 'Memory Used', 'Memory Limit');

-- of several cgroups, the one that the program was in last
CREATE TEMP TABLE memory AS
SELECT l.ended, max(value) FILTER (WHERE scope = 'host' AND name = 'Memory Available') AS available,
	max(value) FILTER (WHERE scope = 'host' AND name = 'Memory Total') AS host,
	max(value) FILTER (WHERE scope = 'cgroup' AND scopeName IS last AND name = 'Memory Used') AS used,
	max(value) FILTER (WHERE scope = 'cgroup' AND scopeName IS last AND name = 'Memory Limit') AS most
FROM level AS l LEFT JOIN (SELECT ended, scopeName AS last, max(at) FROM level WHERE scope = 'cgroup' AND name = 'Memory Used' GROUP BY ended)
	AS c ON c.ended = l.ended
GROUP BY l.ended;

CREATE TEMP TABLE signal(number, name, is_fault);
INSERT INTO signal VALUES (1, 'HUP', NULL), (2, 'INT', NULL), (13, 'PIPE', NULL), (14, 'ALRM', NULL), (15, 'TERM', NULL), (3, 'QUIT', 0),
	(4, 'ILL', 1), (5, 'TRAP', 1), (6, 'ABRT', 1), (7, 'BUS', 1), (8, 'FPE', 1), (9, 'KILL', 0), (10, 'USR1', 0), (11, 'SEGV', 1),
	(12, 'USR2', 0), (16, 'STKFLT', 1), (24, 'XCPU', 1), (25, 'XFSZ', 1), (31, 'SYS', 1);

SELECT
	CASE WHEN is_fault OR oom THEN 'severe' ELSE 'bad' END AS severity,
	NULL AS cost,
	'Process ' || pid || iif(name <> '', ' (' || name || ')', '') || ' was ended by ' || signal || ' at {' || at || ' ns}'
		|| iif(oom, ', while the kernel killed processes for want of memory (OOM killer)', '')
		|| coalesce('; of {' || host || ' B} of memory {' || available || ' B} were available', '')
		|| coalesce('; its cgroup used {' || used || ' B}', '') || coalesce(' of {' || most || ' B}', '')
		|| iif(n > 1, '; so {' || (n - 1) || ' other process was|other processes were}, later', '') || '.' AS finding,
	CASE WHEN oom THEN 'Fewer or smaller workers, smaller batches, less read ahead; a higher limit (memory.max, the limit of the pod). Record '
		|| 'with --host-counters=10: it shows how memory goes down.' END AS advice,
	at || ' ' || at || ' ' || pid AS worst
FROM (
	SELECT e.*, coalesce('SIG' || s.name, 'signal ' || e.number) AS signal, coalesce(is_fault, 0) AS is_fault,
		row_number() OVER (PARTITION BY e.number, oom ORDER BY at, pid) AS nr, count(*) OVER (PARTITION BY e.number, oom) AS n,
		iif(e.number = 9, available, NULL) AS available, host, used, most
	FROM ended AS e LEFT JOIN signal AS s ON s.number = e.number LEFT JOIN memory AS m ON m.ended = e.rowid
	WHERE s.number IS NULL OR s.is_fault IS NOT NULL
)
WHERE nr = 1
ORDER BY at
LIMIT 3;

SELECT
	at AS "Time (ns)",
	coalesce('SIG' || s.name, 'signal ' || e.number) AS "Signal",
	core AS "Core",
	oom AS "OOM",
	available AS "Available (bytes)",
	used AS "Cgroup Used (bytes)",
	most AS "Cgroup Limit (bytes)",
	pid AS "Pid",
	e.name AS "Process",
	command AS "Command"
FROM ended AS e LEFT JOIN signal AS s ON s.number = e.number LEFT JOIN memory AS m ON m.ended = e.rowid
ORDER BY at, pid
LIMIT :rows;
