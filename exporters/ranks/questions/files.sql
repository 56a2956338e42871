-- title: Which files and mounts take time?
-- about: Calls that have a row in the reports, of all ranks.
-- column: mount = file system
-- column: path = file
-- column: op = open, read, write
-- column: calls = how many
-- column: mb = bytes moved, MB
-- column: s = time in the calls, s
-- column: slowestMs = the longest call, ms
-- column: ranks = how many ranks use it
-- column: slowestRank = the rank with most time
WITH r AS (
	SELECT mount, path, op, "rank", sum(n) AS n, sum(bytes) AS bytes, sum(ns) AS ns, max(maxNs) AS most
	FROM SL_FILES WHERE run = :run GROUP BY mount, path, op, "rank"
), m AS (
	SELECT r.*, max(ns) OVER (PARTITION BY mount, path, op) AS largest FROM r
)
SELECT mount, path, op, CAST(sum(n) AS BIGINT) AS calls, sum(bytes) / 1e6 AS mb, sum(ns) / 1e9 AS s, max(most) / 1e6 AS slowestMs,
	count(*) AS ranks, min(CASE WHEN ns = largest THEN "rank" END) AS slowestRank
FROM m
GROUP BY mount, path, op
ORDER BY s DESC, path, op
LIMIT :top;
