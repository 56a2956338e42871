-- title: Uneven Load of Streams
-- about: Streams that share out the same kernels, of which one gets far more than another.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- gain: own
-- default: 120
-- arg: ratio=0.5, least busy by most busy below which the load is uneven
-- arg: part=5, per cent of the most such kernels that any ran, or twice as many of its time; with less of both, a stream has another job
-- advice: Hand out the next part to the stream that is done first, or cut the work into more and smaller parts.
-- column: Busy (%) = share of the wall time
-- column: Busy Time (ns) = time of the kernels that other streams run, too
-- column: Kernels = how many
-- column: PID = process
-- column: Device ID = number of the GPU
-- column: Stream ID = CUDA stream
CREATE TEMP TABLE load AS
WITH part AS MATERIALIZED (
	SELECT globalPid, deviceId, streamId, detail AS shortName, sum(n) AS n, sum(ns) AS ns, min(first) AS first,
		max(last) AS last
	FROM sl_gpu_sums
	WHERE what = 'kernel'
	GROUP BY 1, 2, 3, 4
), shared AS (
	SELECT globalPid, deviceId, shortName FROM part GROUP BY 1, 2, 3 HAVING count(*) > 1
)
SELECT *, (SELECT wall.ns FROM wall) AS wall
FROM (
	SELECT *, first_value(first) OVER busiest AS from_time, first_value(last) OVER busiest AS to_time
	FROM (
		SELECT part.globalPid, part.deviceId, streamId, sum(n) AS n, sum(ns) AS ns, min(first) AS first,
			max(last) AS last
		FROM part JOIN shared ON shared.globalPid IS part.globalPid AND shared.deviceId = part.deviceId
			AND shared.shortName = part.shortName
		GROUP BY 1, 2, 3
	)
	WINDOW busiest AS (PARTITION BY globalPid, deviceId ORDER BY ns DESC, streamId)
)
-- Streams of another part of the program (training, then testing) share no job with the busiest one.
WHERE 2 * (min(last, to_time) - max(first, from_time)) > min(last - first, to_time - from_time);

-- Evenly spread, the busiest would have the mean.
SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' ELSE 'bad' END AS severity,
	cost,
	'Of {' || n || '} streams of GPU ' || gpuId || ' that share kernels the least busy ran them for {' || least
		|| ' ns}, the busiest for {' || most || ' ns}: a ratio of ' || printf('%.2f', 1.0 * least / most) || '.' AS finding
FROM (
	SELECT sl_gpu(globalPid, deviceId) AS gpuId, count(*) AS n, min(ns) AS least, max(ns) AS most,
		CAST(max(ns) - 1.0 * sum(ns) / count(*) AS INTEGER) AS cost, max(wall) AS wall
	-- a few large kernels are as much of a share as many small ones
	FROM (SELECT *, max(n) OVER each AS most_n, max(ns) OVER each AS most_ns FROM load WINDOW each AS (PARTITION BY globalPid, deviceId))
	WHERE 100 * n >= :part * most_n OR 50 * ns >= :part * most_ns
	GROUP BY globalPid, deviceId
)
WHERE n > 1 AND least < :ratio * most AND 50 * cost > wall
ORDER BY cost DESC
LIMIT 1;

SELECT
	round(100.0 * ns / wall, 1) AS "Busy (%)",
	ns AS "Busy Time (ns)",
	n AS "Kernels",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID",
	streamId AS "Stream ID"
FROM load
ORDER BY ns DESC, globalPid, deviceId, streamId
LIMIT :rows;
