-- title: NvVideo API Summary
-- about: Time in calls of the video encoder, decoder and JPEG libraries, per function.
-- needs: NVVIDEO_ENCODER_API or NVVIDEO_DECODER_API or NVVIDEO_JPEG_API = NvVideo API
-- alias: nvvideoapisum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all calls of the function
-- column: Num Calls = how many
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Event Type = NVENC, NVDEC or NVJPEG (the words nsys writes here are not documented)
-- column: Name = function
--
-- The first step sorts all rows once into a histogram (key, value, how many), from which all figures follow.
WITH hist AS MATERIALIZED (
	SELECT json_array(type, coalesce(value, '[unknown ' || nameId || ']')) AS name, end - start AS dur, count(*) AS n
	FROM (
		SELECT 'NVENC' AS type, nameId, start, end FROM NVVIDEO_ENCODER_API
		UNION ALL
		SELECT 'NVDEC' AS type, nameId, start, end FROM NVVIDEO_DECODER_API
		UNION ALL
		SELECT 'NVJPEG' AS type, nameId, start, end FROM NVVIDEO_JPEG_API
	) LEFT JOIN StringIds ON StringIds.id = nameId
	GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT name, sum(n) AS calls, sum(n * dur) AS time, min(dur) AS least, max(dur) AS most,
		1.0 * sum(n * dur) / sum(n) AS mean
	FROM hist
	GROUP BY name
), ranked AS (
	SELECT name, dur, n, sum(n) OVER (PARTITION BY name ORDER BY dur) AS upto
	FROM hist
), spread AS (
	SELECT t.name, sum(n * (dur - mean) * (dur - mean)) AS squares,
		(min(dur) FILTER (WHERE 2 * upto >= calls) + min(dur) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(dur) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.name = r.name
	GROUP BY t.name
)
SELECT
	round(100.0 * time / sum(time) OVER (), 1) AS "Time (%)",
	time AS "Total Time (ns)",
	calls AS "Num Calls",
	round(mean, 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	least AS "Min (ns)",
	most AS "Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
	json_extract(name, '$[0]') AS "Event Type",
	json_extract(name, '$[1]') AS "Name"
FROM total JOIN spread USING (name)
ORDER BY time DESC, "Event Type", "Name";
