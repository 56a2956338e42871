-- title: Lost Events
-- about: Spans of time in which events could not be recorded, worst first. No data means nothing was lost.
-- needs: SL_LOST_EVENTS = lost-event
-- column: Count = events lost
-- column: Start (ns) = first loss, since the start of the session
-- column: Duration (ns) = until the last loss
-- column: Pid = process; empty when not known
-- column: Tid = thread
-- column: Thread Name = last name of the thread
-- column: What = what was lost, and why
SELECT
	count AS "Count",
	start AS "Start (ns)",
	end - start AS "Duration (ns)",
	(l.globalTid >> 24) & 0xFFFFFF AS "Pid",
	l.globalTid & 0xFFFFFF AS "Tid",
	(SELECT max(value) FROM ThreadNames AS t JOIN StringIds ON StringIds.id = t.nameId
		WHERE t.globalTid = l.globalTid) AS "Thread Name",
	what AS "What"
FROM SL_LOST_EVENTS AS l
ORDER BY count DESC, start, l.globalTid;
