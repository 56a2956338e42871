-- title: Uneven Load of GPUs
-- about: GPUs (or processes on them, as of an MPI or torchrun job) of which one works far less than another: the others
-- about: wait for the slowest.
-- needs: SL_GPU_WORK.kind=kernel or SL_GPU_WORK.kind=graph = CUDA kernel
-- uses: gpu_load
-- gain: own
-- default: 110
-- arg: ratio=0.5, least busy by most busy below which the load is uneven
-- arg: part=5, per cent of the most kernels that any ran; with fewer, a process has another job
-- advice: Cut the work into parts of equal time rather than equal size: balance long and short inputs between ranks,
-- advice: give slower devices less, hand out small parts on demand.
-- column: Busy (%) = share of the wall time that its kernels ran
-- column: Busy Time (ns) = time with at least one kernel that is no communication (NCCL kernels wait for other ranks)
-- column: Behind (ns) = above the mean of all
-- column: Kernels = how many
-- column: PID = process
-- column: Device ID = number of the GPU
-- Evenly spread, the busiest would have the mean.
SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' WHEN 50 * cost > wall THEN 'bad' ELSE 'info' END AS severity,
	cost,
	'Of {' || n || '} GPUs (or processes on them) the least busy ran kernels for {' || least || ' ns}, the busiest for {'
		|| most || ' ns}: a ratio of ' || printf('%.2f', 1.0 * least / most) || '.' AS finding
FROM (
	SELECT count(*) AS n, min(ns) AS least, max(ns) AS most, CAST(max(ns) - 1.0 * sum(ns) / count(*) AS INTEGER) AS cost,
		max(wall) AS wall
	FROM gpu_load
	WHERE 100 * n >= :part * (SELECT max(n) FROM gpu_load)
)
WHERE n > 1 AND least < :ratio * most AND 100 * cost > wall;

SELECT
	round(100.0 * ns / wall, 1) AS "Busy (%)",
	ns AS "Busy Time (ns)",
	CAST(ns - (SELECT 1.0 * sum(ns) / count(*) FROM gpu_load) AS INTEGER) AS "Behind (ns)",
	n AS "Kernels",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID"
FROM gpu_load
ORDER BY ns DESC, globalPid, deviceId
LIMIT :rows;
