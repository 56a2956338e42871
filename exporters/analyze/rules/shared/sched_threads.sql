-- sched_threads(globalTid, runs, ran, waited, preempted, first, last): of sched_spans, for each thread: how often it ran, for
-- how long; how long it was able to run but had no CPU, and how often because it had to give it up; when it first ran or
-- was able to, and when it last was.
-- sched_level(threads, running, ns): for how long so many threads were able to run, and so many of them ran.
-- sched_disk(globalTid, start, end): what is 'disk' in sched_spans.
-- uses: sched_spans
CREATE TEMP TABLE sched_threads(globalTid INTEGER PRIMARY KEY, runs INTEGER, ran INTEGER, waited INTEGER, preempted INTEGER,
	first INTEGER, last INTEGER);
INSERT INTO sched_threads
SELECT globalTid, count(*) FILTER (WHERE what = 'run'),
	coalesce(sum(end - start) FILTER (WHERE what = 'run'), 0),
	coalesce(sum(end - start) FILTER (WHERE what = 'wait'), 0),
	count(*) FILTER (WHERE what = 'wait' AND preempted), min(start) FILTER (WHERE what IN ('run', 'wait')),
	max(end) FILTER (WHERE what IN ('run', 'wait'))
FROM sched_spans
WHERE globalTid IS NOT NULL
GROUP BY globalTid;

CREATE TEMP TABLE sched_level AS
WITH edge AS (
	SELECT start AS time, 1 AS wants, what = 'run' AS runs FROM sched_spans WHERE what IN ('run', 'wait') AND end > start
	UNION ALL
	SELECT end, -1, -(what = 'run') FROM sched_spans WHERE what IN ('run', 'wait') AND end > start
), moment AS (
	SELECT time, sum(wants) AS wants, sum(runs) AS runs FROM edge GROUP BY time
), level AS (
	SELECT lead(time) OVER (ORDER BY time) - time AS ns,
		sum(wants) OVER (ORDER BY time ROWS UNBOUNDED PRECEDING) AS threads,
		sum(runs) OVER (ORDER BY time ROWS UNBOUNDED PRECEDING) AS running
	FROM moment
)
SELECT threads, running, sum(ns) AS ns
FROM level
WHERE ns IS NOT NULL AND threads > 0
GROUP BY threads, running;

CREATE TEMP TABLE sched_disk AS
SELECT globalTid, start, end FROM sched_spans WHERE what = 'disk';
