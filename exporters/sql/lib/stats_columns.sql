-- Columns of sl_stats_rows() as reports of times show them.
	round(mean, 1) AS "Avg (ns)",
	round(median, 1) AS "Med (ns)",
	min AS "Min (ns)",
	max AS "Max (ns)",
	round(stddev, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
