-- title: NvVideo API Summary
-- about: Time in calls of the video encoder, decoder and JPEG libraries, per function.
-- needs: NVVIDEO_ENCODER_API or NVVIDEO_DECODER_API or NVVIDEO_JPEG_API = NvVideo API
-- alias: nvvideoapisum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all calls of the function
-- column: Num Calls = how many
-- include: stats_heads
-- column: Event Type = NVENC, NVDEC or NVJPEG (the words nsys writes here are not documented)
-- column: Name = function
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(json_array(type, coalesce(value, '[unknown ' || nameId || ']')), end - start)
		FROM (
			SELECT 'NVENC' AS type, nameId, start, end FROM NVVIDEO_ENCODER_API
			UNION ALL
			SELECT 'NVDEC' AS type, nameId, start, end FROM NVVIDEO_DECODER_API
			UNION ALL
			SELECT 'NVJPEG' AS type, nameId, start, end FROM NVVIDEO_JPEG_API
		) LEFT JOIN StringIds ON StringIds.id = nameId
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Num Calls",
	-- include: stats_columns
	json_extract(key, '$[0]') AS "Event Type",
	json_extract(key, '$[1]') AS "Name"
FROM stats
ORDER BY total DESC, "Event Type", "Name";
