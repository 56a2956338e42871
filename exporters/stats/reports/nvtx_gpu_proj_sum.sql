-- title: NVTX GPU Projection Summary
-- about: NVTX ranges as the GPU saw them, per name. A range holds the work whose CUDA
-- about: call lies within it, on its thread; it reaches from the first start to the last end on the GPU.
-- about: Ranges without work on the GPU, and those that end on another thread, are left out.
-- about: A range inside another one of the same name counts twice.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- needs: SL_GPU_WORK = CUDA GPU
-- alias: nvtxgpuprojsum
-- column: Range = domain:text; the default domain has no name
-- column: Style = PushPop or StartEnd
-- column: Total Proj Time (ns) = time on the GPU of all ranges of the name
-- column: Total Range Time (ns) = their time on the CPU
-- column: Range Instances = how many
-- column: Proj Avg (ns) = mean duration on the GPU
-- column: Proj Med (ns) = median duration
-- column: Proj Min (ns) = shortest
-- column: Proj Max (ns) = longest
-- column: Proj StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Total GPU Ops = kernels, copies, sets and graphs they gave the GPU
-- column: Avg GPU Ops = the same per range
-- column: Avg Range Lvl = push/pop ranges around one, of its domain
-- column: Avg Num Child = ranges with work on the GPU directly inside one
WITH one AS MATERIALIZED (
	SELECT kind, style, tid >> 24 AS process, domain, text, textId, last - first AS dur, end - start AS orig, n AS ops,
		lvl, children
	FROM sl_projection
), kinds AS MATERIALIZED (
	SELECT kind, json_array(style, coalesce(d.name, '') || ':' || coalesce(text, value, '')) AS name, ranges, orig, ops,
		lvls, children
	FROM (
			SELECT kind, style, process, domain, text, textId, count(*) AS ranges, sum(orig) AS orig, sum(ops) AS ops,
				sum(lvl) AS lvls, sum(children) AS children
			FROM one
			GROUP BY kind
		) AS k
		LEFT JOIN SL_NVTX_DOMAINS AS d ON d.process = k.process AND d.domain = k.domain
		LEFT JOIN StringIds ON StringIds.id = textId
), more AS MATERIALIZED (
	SELECT name, min(kind) AS key, sum(orig) AS orig, sum(ops) AS ops, 1.0 * sum(lvls) / sum(ranges) AS lvl,
		1.0 * sum(children) / sum(ranges) AS children
	FROM kinds
	GROUP BY name
), keys AS MATERIALIZED (
	SELECT kind, key FROM kinds JOIN more USING (name)
), stats AS (
	SELECT * FROM sl_stats_rows((SELECT sl_stats(key, dur) FROM one CROSS JOIN keys USING (kind)))
	WHERE key IS NOT NULL
)
SELECT
	json_extract(name, '$[1]') AS "Range",
	CASE json_extract(name, '$[0]') WHEN 59 THEN 'PushPop' ELSE 'StartEnd' END AS "Style",
	total AS "Total Proj Time (ns)",
	orig AS "Total Range Time (ns)",
	stats.n AS "Range Instances",
	round(mean, 1) AS "Proj Avg (ns)",
	round(median, 1) AS "Proj Med (ns)",
	min AS "Proj Min (ns)",
	max AS "Proj Max (ns)",
	round(stddev, 1) AS "Proj StdDev (ns)",
	/* percentiles: p{i} AS "Proj P{p} (ns)", */
	ops AS "Total GPU Ops",
	round(1.0 * ops / stats.n, 1) AS "Avg GPU Ops",
	round(lvl, 1) AS "Avg Range Lvl",
	round(children, 1) AS "Avg Num Child"
FROM stats JOIN more USING (key)
ORDER BY total DESC, name;
