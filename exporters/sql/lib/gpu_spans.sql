-- gpu_span(kind, name, gpuId, no, start, end): spans of time of which something of a GPU is asked. kind 0: the whole recording, with
-- no name; 1: the steps; 2: push/pop and start/end ranges by name, where :ranges is set. Those of one name that overlap or touch are
-- one. Ranges of a process count for GPUs that it gave work to; where none is known, for all.
-- include: step_ranges

CREATE TEMP TABLE gpu_use AS
SELECT DISTINCT pid, gpuId
FROM (SELECT DISTINCT globalPid, deviceId FROM SL_GPU_WORK)
	JOIN TARGET_INFO_CUDA_DEVICE ON pid = (globalPid >> 24 & 0xFFFFFF) AND cudaId = deviceId;

-- GPUs of which anything was sampled.
CREATE TEMP TABLE gpu_sampled AS
SELECT DISTINCT typeId & 0xFF AS gpuId FROM TARGET_INFO_GPU_METRICS
UNION SELECT DISTINCT coalesce(gpuId, scopeId) FROM SL_COUNTERS WHERE scope = 'gpu' AND coalesce(gpuId, scopeId) IS NOT NULL;

CREATE TEMP TABLE recorded AS
SELECT min(start) AS start, max(end) AS end
FROM (
	SELECT 0 AS start, max(duration) AS end FROM ANALYSIS_DETAILS
	UNION ALL SELECT min(timestamp), max(timestamp) FROM GPU_METRICS
	UNION ALL SELECT min(timestamp), max(timestamp) FROM SL_COUNTER_SAMPLES
)
WHERE start IS NOT NULL AND end IS NOT NULL;

CREATE TEMP TABLE gpu_span AS
WITH one AS (
	SELECT 1 AS kind, stem AS name, tid, start, end FROM step WHERE end > start
	UNION ALL
	SELECT 2, coalesce(nullif(d.name, '') || ':', '') || coalesce(text, value, ''), globalTid, start, end
	FROM NVTX_EVENTS
		LEFT JOIN SL_NVTX_DOMAINS AS d ON d.process = globalTid >> 24 AND d.domain = domainId
		LEFT JOIN StringIds ON StringIds.id = textId
	WHERE :ranges AND eventType IN (59, 60) AND end > start
), mark AS (
	SELECT kind, name, gpuId, start, end, coalesce(start > max(end) OVER (PARTITION BY kind, name, gpuId ORDER BY start, end
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS fresh
	FROM one JOIN gpu_sampled AS g ON
		NOT EXISTS (SELECT 1 FROM gpu_use AS u WHERE u.pid = (tid >> 24 & 0xFFFFFF))
		OR EXISTS (SELECT 1 FROM gpu_use AS u WHERE u.pid = (tid >> 24 & 0xFFFFFF) AND u.gpuId = g.gpuId)
), island AS (
	SELECT *, sum(fresh) OVER (PARTITION BY kind, name, gpuId ORDER BY start, end ROWS UNBOUNDED PRECEDING) AS no FROM mark
)
SELECT kind, name, gpuId, no, min(start) AS start, max(end) AS end FROM island GROUP BY kind, name, gpuId, no
UNION ALL
SELECT 0, NULL, gpuId, 1, start, end FROM gpu_sampled CROSS JOIN recorded WHERE end > start;

-- gpu_name(gpuId, text)
CREATE TEMP TABLE gpu_name AS
SELECT gpuId, coalesce((SELECT max(name) FROM TARGET_INFO_GPU AS t WHERE t.id = gpuId),
	(SELECT max(scopeName) FROM SL_COUNTERS AS c WHERE c.scope = 'gpu' AND coalesce(c.gpuId, c.scopeId) = g.gpuId),
	(SELECT max(typeName) FROM TARGET_INFO_GPU_METRICS AS m WHERE m.typeId & 0xFF = gpuId)) AS text
FROM gpu_sampled AS g;
