-- title: Copies that Nothing Hides
-- about: Time in which a GPU did nothing but copy between its memory and the host's.
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY = CUDA memcpy
-- default: 155
-- arg: share=20, per cent of the wall time from which on it is a finding
-- advice: Leave on the GPU what is used there again: weights and optimizer states that are offloaded, intermediate
-- advice: results, inputs of every epoch. Copy less: the type that is computed in, only what changed. Copy what remains
-- advice: while kernels run: pinned memory, cudaMemcpyAsync(), a stream of its own, one step ahead.
-- column: Time (%) = share of the wall time
-- column: Exposed (ns) = time without any kernel, fill or other copy on the GPU
-- column: Copy Time (ns) = time with at least one copy from or to the host
-- column: Hidden (%) = share of Copy Time with other work at the same time
-- column: Kernel Time (ns) = time of all kernels
-- column: To Device (bytes) = copied from the host
-- column: To Host (bytes) = copied to the host
-- column: Copies = copies from or to the host
-- column: PID = process
-- column: Device ID = number of the GPU
-- Exposed is the time in which the GPU did anything, less the time in which it did anything else.
CREATE TEMP TABLE load AS
WITH bytes AS (
	SELECT globalPid, deviceId, sum(bytes) FILTER (WHERE detail IN (1, 3)) AS up,
		sum(bytes) FILTER (WHERE detail IN (2, 4)) AS down
	FROM sl_gpu_sums
	WHERE what = 'memcpy'
	GROUP BY globalPid, deviceId
)
SELECT moved.globalPid, moved.deviceId, moved.n, moved.ns, up, down, busy.ns - coalesce(other.ns, 0) AS exposed,
	coalesce(kernel.total, 0) AS kernels, (SELECT wall.ns FROM wall) AS wall
FROM sl_gpu_cover AS moved
	JOIN sl_gpu_cover AS busy ON busy.what = 'all' AND busy.globalPid IS moved.globalPid AND busy.deviceId = moved.deviceId
	LEFT JOIN sl_gpu_cover AS other ON other.what = 'not host copy' AND other.globalPid IS moved.globalPid
		AND other.deviceId = moved.deviceId
	LEFT JOIN sl_gpu_cover AS kernel ON kernel.what = 'kernel' AND kernel.globalPid IS moved.globalPid
		AND kernel.deviceId = moved.deviceId
	LEFT JOIN bytes ON bytes.globalPid IS moved.globalPid AND bytes.deviceId = moved.deviceId
WHERE moved.what = 'host copy';

SELECT
	CASE WHEN 100 * exposed > 30 * wall THEN 'severe' ELSE 'bad' END AS severity,
	exposed AS cost,
	'GPU ' || sl_gpu(globalPid, deviceId) || ' did nothing but copy from and to the host for {' || exposed || ' ns}, {' || n
		|| ' copy|copies} of {' || (coalesce(up, 0) + coalesce(down, 0)) || ' B}; kernels took {' || kernels || ' ns}.' AS finding
FROM load
WHERE 100 * exposed > :share * wall
ORDER BY exposed DESC
LIMIT 1;

SELECT
	round(100.0 * exposed / wall, 1) AS "Time (%)",
	exposed AS "Exposed (ns)",
	ns AS "Copy Time (ns)",
	round(100 - 100.0 * exposed / ns, 1) AS "Hidden (%)",
	kernels AS "Kernel Time (ns)",
	coalesce(up, 0) AS "To Device (bytes)",
	coalesce(down, 0) AS "To Host (bytes)",
	n AS "Copies",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID"
FROM load
WHERE exposed > 0
ORDER BY exposed DESC, globalPid, deviceId
LIMIT :rows;
