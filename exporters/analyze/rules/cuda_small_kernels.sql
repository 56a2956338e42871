-- title: Many Small Kernels
-- about: Kernels that run for less time than it takes to launch one: the GPU waits between them for the next.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- default: 100
-- arg: share=50, per cent of the kernels that must be small
-- arg: gap=50, microseconds; a pause of the GPU up to so long counts as waiting for a launch
-- advice: Do more in one launch: fuse kernels (torch.compile, XLA), make batches larger, or record the steps into a CUDA
-- advice: graph and launch that.
-- column: Kernels = how many ran
-- column: Small = how many of them took less time than a launch
-- column: Avg (ns) = mean duration of all
-- column: Launch (ns) = what a launch takes in this process, on average
-- column: Total Time (ns) = time of all
-- column: PID = process
-- column: Kernel = its name
CREATE TEMP TABLE kernel AS
SELECT globalPid, detail AS shortName, launch.ns AS launch, sum(n) AS n, sum(small) AS small, sum(sl_gpu_sums.ns) AS ns
FROM sl_gpu_sums JOIN sl_cuda_launch AS launch ON launch.pid = globalPid >> 24
WHERE what = 'kernel'
GROUP BY globalPid, detail;

SELECT
	CASE WHEN 10 * pause > wall THEN 'severe' ELSE 'bad' END AS severity,
	pause AS cost,
	'{' || small || '} of {' || n || '} kernels ran for less time than their launch took ({' || CAST(launch AS INTEGER)
		|| ' ns}); GPU ' || sl_gpu(globalPid, deviceId) || ' waited {' || pause || ' ns} in {' || pauses
		|| ' pause|pauses} between kernels.' AS finding,
	(SELECT end || ' ' || next || ' GPU ' || sl_gpu(b.globalPid, b.deviceId) FROM sl_gpu_busy AS b WHERE b.gpu = waiter.gpu
		AND idle BETWEEN 1 AND :gap * 1000 ORDER BY idle DESC, end LIMIT 1) AS worst
FROM (
	SELECT gpu, globalPid, deviceId, sum(idle) AS pause, count(*) AS pauses, (SELECT wall.ns FROM wall) AS wall
	FROM sl_gpu_busy
	WHERE idle BETWEEN 1 AND :gap * 1000
	GROUP BY gpu
) AS waiter JOIN (
	SELECT globalPid AS kernelPid, sum(small) AS small, sum(n) AS n, max(launch) AS launch FROM kernel GROUP BY 1
) ON kernelPid = globalPid
WHERE 100 * small >= :share * n AND 50 * pause > wall
ORDER BY pause DESC
LIMIT 1;

SELECT
	n AS "Kernels",
	small AS "Small",
	round(1.0 * ns / n, 1) AS "Avg (ns)",
	round(launch, 1) AS "Launch (ns)",
	ns AS "Total Time (ns)",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	coalesce(value, '[unknown ' || shortName || ']') AS "Kernel"
FROM kernel LEFT JOIN StringIds ON StringIds.id = shortName
WHERE small > 0
ORDER BY small DESC, n DESC, "Kernel"
LIMIT :rows;
