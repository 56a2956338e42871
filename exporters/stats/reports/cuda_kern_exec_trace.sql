-- title: CUDA Kernel Launch & Exec Time Trace
-- about: Every kernel with the call that launched it, in order of the calls.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- needs: CUPTI_ACTIVITY_KIND_RUNTIME = CUDA trace
-- alias: kernexectrace
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: API Start (ns) = entry of the call
-- column: API Dur (ns) = until it returned
-- column: Queue Start (ns) = return of the call, if the kernel had not started by then
-- column: Queue Dur (ns) = from then to the start of the kernel
-- column: Kernel Start (ns) = start on the GPU
-- column: Kernel Dur (ns) = until its end
-- column: Total Dur (ns) = from the entry of the call to the end of the kernel, or of the call if that is later
-- column: PID = process
-- column: TID = thread that made the call
-- column: DevId = number of the GPU
-- column: API Function = call
-- column: GridXYZ = blocks in the grid
-- column: BlockXYZ = threads in a block
-- column: Kernel Name = kernel
-- include: nvtx_name

-- include: calls_by_id
SELECT
	a.start AS "API Start (ns)",
	a.end - a.start AS "API Dur (ns)",
	CASE WHEN k.start > a.end THEN a.end END AS "Queue Start (ns)",
	CASE WHEN k.start > a.end THEN k.start - a.end END AS "Queue Dur (ns)",
	k.start AS "Kernel Start (ns)",
	k.end - k.start AS "Kernel Dur (ns)",
	max(a.end, k.end) - a.start AS "Total Dur (ns)",
	(a.thread >> 24) & 0xFFFFFF AS "PID",
	a.thread & 0xFFFFFF AS "TID",
	sl_gpu(a.thread, k.deviceId) AS "DevId",
	CASE WHEN f.value GLOB '*_v[0-9][0-9][0-9][0-9]' THEN substr(f.value, 1, length(f.value) - 6)
		ELSE coalesce(f.value, '[unknown ' || a.nameId || ']') END AS "API Function",
	printf('%4d %4d %4d', gridX, gridY, gridZ) AS "GridXYZ",
	printf('%4d %4d %4d', blockX, blockY, blockZ) AS "BlockXYZ",
	coalesce(l.text || '/', '') || coalesce(n.value, '[unknown ' || k.name || ']') AS "Kernel Name"
FROM (
	SELECT *, coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END, demangledName) AS name
	FROM SL_GPU_KERNELS
) AS k
	JOIN api AS a ON a.process = k.process AND a.correlationId = k.correlationId
	LEFT JOIN launch AS l ON l.process = a.process AND l.correlationId = a.correlationId
	LEFT JOIN StringIds AS f ON f.id = a.nameId
	LEFT JOIN StringIds AS n ON n.id = k.name
WHERE k.end IS NOT NULL
ORDER BY a.start, a.thread, k.start, k.deviceId, k.streamId, k.correlationId;
