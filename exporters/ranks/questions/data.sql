-- title: Is the data whole?
-- about: What 'sightline ranks check' shows, for an engine.
-- column: ranks = how many there are
-- column: missing = ranks that are not there
-- column: firstMissing = the first of them
-- column: cut = reports that were cut off
-- column: lost = events, of all reports
-- column: versions = of Sightline
-- column: clockMs = largest bound of a clock's error, ms
WITH k AS (
	SELECT "rank", coalesce(lag("rank") OVER (ORDER BY "rank"), -1) + 1 AS due FROM (SELECT DISTINCT "rank" FROM SL_RANKS WHERE run = :run) AS one
), gap AS (
	SELECT coalesce(min(CASE WHEN due < "rank" THEN due END), max("rank") + 1) AS due FROM k
), report AS (
	SELECT sum(lost) AS lost FROM (SELECT DISTINCT node, report, lost FROM SL_RANKS WHERE run = :run) AS one
)
SELECT count(DISTINCT "rank") AS ranks, max(worldSize) - count(DISTINCT "rank") AS missing,
	CASE WHEN max(worldSize) > count(DISTINCT "rank") THEN max(gap.due) END AS firstMissing, sum(CASE WHEN complete = 0 THEN 1 ELSE 0 END) AS cut,
	max(report.lost) AS lost, count(DISTINCT version) AS versions, max(clockErrorNs) / 1e6 AS clockMs
FROM SL_RANKS CROSS JOIN gap CROSS JOIN report
WHERE run = :run
LIMIT :top;
