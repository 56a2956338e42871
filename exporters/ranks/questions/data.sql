-- title: Is the data whole?
-- about: What 'sightline ranks check' shows, for an engine.
-- column: ranks = how many there are
-- column: missing = ranks that are not there
-- column: cut = reports that were cut off
-- column: lost = events
-- column: versions = of Sightline
-- column: clockMs = largest bound of a clock's error, ms
SELECT count(DISTINCT "rank") AS ranks, max(worldSize) - count(DISTINCT "rank") AS missing, sum(CASE WHEN complete = 0 THEN 1 ELSE 0 END) AS cut,
	sum(lost) AS lost, count(DISTINCT version) AS versions, max(clockErrorNs) / 1e6 AS clockMs
FROM SL_RANKS
WHERE run = :run
LIMIT :top;
