-- metric_load(gpuId, typeId, metric, n, mean, most): the metrics of GPU_METRICS while the GPU worked: from its first kernel to the end
-- of its last, of all processes; without any CUDA trace the whole time. metric is the name without its unit.
-- metric_window(typeId, gpuId, start, end): that time.
-- uses: gpu_device
CREATE TEMP TABLE metric_window(typeId INTEGER PRIMARY KEY, gpuId INTEGER, start INTEGER, end INTEGER);
INSERT INTO metric_window
WITH work AS (
	SELECT gpuId, min(first) AS start, max(last) AS end FROM sl_gpu_sums JOIN gpu_device USING (globalPid, deviceId)
	WHERE what IN ('kernel', 'graph') GROUP BY gpuId
)
SELECT DISTINCT t.typeId, t.typeId & 0xFF, iif(start IS NULL, -9223372036854775807, start), iif(end IS NULL, 9223372036854775807, end)
FROM TARGET_INFO_GPU_METRICS AS t LEFT JOIN work ON gpuId = t.typeId & 0xFF
WHERE gpuId IS NOT NULL OR NOT EXISTS (SELECT 1 FROM work);

CREATE TEMP TABLE metric_load AS
WITH name AS MATERIALIZED (
	SELECT typeId, metricId, max(iif(instr(metricName, ' ['), substr(metricName, 1, instr(metricName, ' [') - 1), metricName)) AS metric
	FROM TARGET_INFO_GPU_METRICS
	GROUP BY 1, 2
), load AS (
	SELECT key / 65536 AS nr, key % 65536 AS metricId, n, mean, max AS most
	FROM sl_stats_rows((
		SELECT sl_stats(w.rowid % 0x1000000 * 65536 + metricId % 65536, coalesce(exact, value))
		FROM GPU_METRICS AS g CROSS JOIN metric_window AS w ON w.typeId = g.typeId
		WHERE timestamp BETWEEN w.start AND w.end
	))
)
SELECT gpuId, w.typeId, metric, n, mean, most
FROM load JOIN metric_window AS w ON w.typeId % 0x1000000 = nr JOIN name ON name.typeId = w.typeId AND name.metricId % 65536 = load.metricId;
