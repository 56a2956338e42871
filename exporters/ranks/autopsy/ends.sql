-- How each rank of a report ended: rank, restart, and the rest as a JSON object. Times: ns since 1970; stacks: frames of function, file, line,
-- module and rank (frame.h), the innermost first. here.sql has made rank and rank_process; :deep 0: no rank ended badly, and stacks are left out.
CREATE TEMP TABLE end_rank AS
SELECT r.rank, r.restart, r.pid, (r.pid << 24) + (r.pid & 0xffffff) AS main,
	(SELECT max(end) FROM SL_PROCESS_TREE AS t WHERE t.globalPid >> 24 = r.pid) AS till,
	(SELECT exitStatus FROM SL_PROCESS_TREE AS t WHERE t.globalPid >> 24 = r.pid ORDER BY start DESC LIMIT 1) AS status,
	(SELECT commandLine FROM SL_PROCESS_TREE AS t WHERE t.globalPid >> 24 = r.pid ORDER BY start DESC LIMIT 1) AS command
FROM rank AS r;
CREATE TEMP TABLE end_thread AS
SELECT DISTINCT t.globalTid AS tid, e.rank, e.restart, t.globalTid = e.main AS is_main FROM ThreadNames AS t
	JOIN rank_process AS p ON p.pid = t.globalTid >> 24 JOIN end_rank AS e ON e.rank = p.rank AND e.restart = p.restart;
CREATE TEMP TABLE end_call AS
SELECT * FROM (
	SELECT globalTid AS tid, start, end, (SELECT value FROM StringIds WHERE id = nameId) AS name, callchainId AS stack FROM OSRT_API
	WHERE :deep AND globalTid IN (SELECT main FROM end_rank) AND end > :from
	UNION ALL
	SELECT globalTid, start, end, (SELECT value FROM StringIds WHERE id = nameId), callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME
	WHERE :deep AND globalTid IN (SELECT main FROM end_rank) AND end > :from
	UNION ALL
	SELECT globalTid, start, end, (SELECT value FROM StringIds WHERE id = nameId), callchainId FROM SL_LIBRARY_API
	WHERE :deep AND globalTid IN (SELECT main FROM end_rank) AND end > :from
);
CREATE TEMP TABLE end_range AS
SELECT globalTid AS tid, start, end, coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) AS name FROM NVTX_EVENTS
WHERE :deep AND eventType IN (59, 60) AND globalTid IN (SELECT main FROM end_rank) AND (end IS NULL OR end > :from);
CREATE TEMP TABLE end_death AS
SELECT d.timestamp AS time, d.globalTid AS tid, d.stackId AS stack, t.rank, t.restart, t.is_main FROM SL_DEATHS AS d
	JOIN end_thread AS t ON t.tid = d.globalTid WHERE :deep;
CREATE TEMP TABLE end_wait AS
SELECT w.timestamp AS time, w.globalTid AS tid, w.nameId, w.pathId, w.ownerTid, w.stackId AS stack, w.state, w.peer, t.rank, t.restart, t.is_main
FROM SL_OPEN_WAITS AS w JOIN (SELECT max(rowid) AS last FROM SL_OPEN_WAITS GROUP BY globalTid) AS l ON w.rowid = l.last
	JOIN end_thread AS t ON t.tid = w.globalTid WHERE :deep;
CREATE TEMP TABLE end_stack AS
SELECT f.stack AS id, json_group_array(json_array(substr(s, 1, 300), substr(p, 1, 300), f.line, substr(m, 1, 300), f.rank)) AS frames FROM (
	SELECT f.stack, f.depth, s.value AS s, p.value AS p, f.line, m.value AS m, sl_frame_rank(f.kind, f.symbol, f.module, f.file, f.line, f.unresolved) AS rank
	FROM SL_CHAIN_FRAMES AS f LEFT JOIN StringIds AS s ON s.id = f.symbol LEFT JOIN StringIds AS p ON p.id = f.file
		LEFT JOIN StringIds AS m ON m.id = f.module
	WHERE f.depth < 64 AND f.stack IN (
		SELECT stack FROM end_death UNION SELECT stack FROM end_wait
		UNION SELECT (SELECT stack FROM end_call WHERE tid = main ORDER BY start DESC LIMIT 1) FROM end_rank
		UNION SELECT (SELECT stack FROM SL_CHAIN_SAMPLES WHERE globalTid = main AND periodic ORDER BY start DESC LIMIT 1) FROM end_rank WHERE :deep)
	ORDER BY f.stack, f.depth
) AS f GROUP BY f.stack;
CREATE TEMP TABLE end_kind AS
SELECT *, (SELECT frames FROM end_stack WHERE id = stack) AS frames FROM (
	SELECT rank, restart, 'waits' AS kind, tid, time, stack, (SELECT value FROM StringIds WHERE id = nameId) AS name,
		(SELECT value FROM StringIds WHERE id = pathId) AS path, ownerTid AS owner, state, peer, is_main FROM end_wait
	UNION ALL SELECT rank, restart, 'deaths', tid, time, stack, NULL, NULL, NULL, NULL, NULL, is_main FROM end_death
);
SELECT e.rank, e.restart, json_object('pid', e.pid & 0xffffff, 'status', e.status, 'end', e.till + :epoch, 'command', substr(e.command, 1, 400),
	'deaths', json((SELECT json_group_array(json_object('tid', tid & 0xffffff, 'time', time + :epoch, 'stack', json(frames))) FROM
		(SELECT * FROM end_kind AS k WHERE k.kind = 'deaths' AND k.rank = e.rank AND k.restart = e.restart ORDER BY time LIMIT 64))),
	'waits', json((SELECT json_group_array(json_object('tid', tid & 0xffffff, 'time', time + :epoch, 'call', name, 'path', substr(path, 1, 300),
			'owner', owner & 0xffffff, 'ownerPid', owner >> 24 & 0xffffff, 'state', state, 'peer', substr(peer, 1, 300), 'stack', json(frames))) FROM
		(SELECT * FROM end_kind AS k WHERE k.kind = 'waits' AND k.rank = e.rank AND k.restart = e.restart ORDER BY is_main DESC, owner IS NULL, tid LIMIT 32))),
	'sample', json((SELECT json_object('time', start + :epoch, 'stack', json((SELECT frames FROM end_stack WHERE id = s.stack)))
		FROM SL_CHAIN_SAMPLES AS s WHERE :deep AND globalTid = e.main AND periodic ORDER BY start DESC LIMIT 1)),
	'call', json((SELECT json_object('name', name, 'start', start + :epoch, 'end', end + :epoch, 'stack', json((SELECT frames FROM end_stack WHERE id = c.stack)))
		FROM end_call AS c WHERE tid = e.main ORDER BY start DESC LIMIT 1)),
	'calls', json((SELECT json_group_array(json_array(name, n, ns)) FROM (SELECT substr(name, 1, 100) AS name, count(*) AS n, sum(end - start) AS ns
		FROM end_call WHERE tid = e.main GROUP BY 1 ORDER BY ns DESC LIMIT 10))),
	'ranges', json((SELECT json_group_array(json_array(start + :epoch, end + :epoch, name)) FROM (SELECT start, end, substr(name, 1, 60) AS name
		FROM end_range WHERE tid = e.main ORDER BY start DESC LIMIT 300))),
	'notes', json((SELECT json_group_array(text) FROM (SELECT DISTINCT substr(text, 1, 500) AS text FROM DIAGNOSTIC_EVENT
		WHERE (text LIKE 'kernel:%' AND globalPid >> 24 IN (SELECT pid FROM rank_process AS p WHERE p.rank = e.rank AND p.restart = e.restart))
			OR text LIKE '%: XID %' OR (text LIKE '%OOM killer%' AND globalPid >> 24 = e.pid) LIMIT 20))),
	'comms', json((SELECT json_group_array(json_array(commHash, nRanks, rank)) FROM (SELECT commHash, max(nRanks) AS nRanks, max(rank) AS rank
		FROM SL_NCCL_COMMUNICATORS WHERE globalPid >> 24 = e.pid AND commHash IS NOT NULL AND end IS NULL GROUP BY commHash LIMIT 256))),
	'children', json((SELECT json_group_array(json_array(globalPid & 0xffffff, substr(commandLine, 1, 200), exitStatus, end + :epoch)) FROM (
		SELECT globalPid >> 24 AS globalPid, commandLine, exitStatus, end FROM SL_PROCESS_TREE WHERE exitStatus <> 0 AND globalPid >> 24 <> e.pid
			AND globalPid >> 24 IN (SELECT pid FROM rank_process AS p WHERE p.rank = e.rank AND p.restart = e.restart) ORDER BY end LIMIT 8)))
) FROM end_rank AS e ORDER BY e.rank, e.restart;
