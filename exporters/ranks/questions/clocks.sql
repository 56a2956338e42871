-- title: How far are the clocks of the nodes apart?
-- about: As 'sightline ranks clock' has found it, by the ends of collectives; no rows before that. No other question needs it.
-- column: node = the node
-- column: aheadUs = how far the clock of the reference is ahead, at first, us
-- column: lastUs = and at the last line's begin
-- column: ppm = drift, parts in a million
-- column: withinUs = three standard errors, us
-- column: ends = of so many collectives
-- column: source = collectives, reference (the node is it), kernel (too few collectives: not known)
SELECT node, min_by(offsetNs, "time") / 1e3 AS aheadUs, max_by(offsetNs, "time") / 1e3 AS lastUs, avg(driftPpb) / 1e3 AS ppm,
	max(errorNs) / 1e3 AS withinUs, CAST(sum(collectives) AS BIGINT) AS ends, max(source) AS source
FROM SL_CLOCK_FIT
WHERE run = :run
GROUP BY node
ORDER BY abs(min_by(offsetNs, "time")) DESC, node
LIMIT :top;
