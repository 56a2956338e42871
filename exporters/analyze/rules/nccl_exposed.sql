-- title: Communication that Nothing Hides
-- about: Time in which a GPU ran nothing but NCCL kernels.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- default: 160
-- advice: Start the communication of what is ready while the rest is computed (DDP's buckets, FSDP's prefetch); a rank
-- advice: that arrives late makes the others wait in such kernels: see rule gpu_imbalance.
-- column: Time (%) = share of the wall time
-- column: Exposed (ns) = time without any other kernel or copy on the GPU
-- column: NCCL Time (ns) = time with at least one NCCL kernel
-- column: Hidden (%) = share of NCCL Time with other work at the same time
-- column: Kernels = NCCL kernels
-- column: PID = process
-- column: Device ID = number of the GPU
-- Exposed is the time in which the GPU did anything, less the time in which it did anything else.
CREATE TEMP TABLE load AS
SELECT nccl.globalPid, nccl.deviceId, nccl.n, nccl.ns, busy.ns - coalesce(other.ns, 0) AS exposed,
	(SELECT wall.ns FROM wall) AS wall
FROM sl_gpu_cover AS nccl
	JOIN sl_gpu_cover AS busy ON busy.what = 'all' AND busy.globalPid IS nccl.globalPid AND busy.deviceId = nccl.deviceId
	LEFT JOIN sl_gpu_cover AS other ON other.what = 'not nccl' AND other.globalPid IS nccl.globalPid
		AND other.deviceId = nccl.deviceId
WHERE nccl.what = 'nccl';

SELECT
	CASE WHEN 10 * exposed > wall THEN 'severe' ELSE 'bad' END AS severity,
	exposed AS cost,
	'GPU ' || sl_gpu(globalPid, deviceId) || ' ran nothing but {' || n || ' NCCL kernel|NCCL kernels} for {' || exposed || ' ns}; '
		|| printf('%.0f', 100 - 100.0 * exposed / ns) || ' % of their time was hidden behind other work.' AS finding
FROM load
WHERE 50 * exposed > wall
ORDER BY exposed DESC
LIMIT 1;

SELECT
	round(100.0 * exposed / wall, 1) AS "Time (%)",
	exposed AS "Exposed (ns)",
	ns AS "NCCL Time (ns)",
	round(100 - 100.0 * exposed / ns, 1) AS "Hidden (%)",
	n AS "Kernels",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID"
FROM load
ORDER BY exposed DESC
LIMIT :rows;
