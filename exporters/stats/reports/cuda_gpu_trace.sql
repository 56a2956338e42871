-- title: CUDA GPU Trace
-- about: Kernels, copies and sets of memory on the GPU, in order of time. 1 MB is 1,000,000 bytes.
-- needs: SL_GPU_WORK.kind=kernel or SL_GPU_WORK.kind=memcpy or SL_GPU_WORK.kind=memset = CUDA GPU
-- alias: gputrace
-- arg: nvtx-name, put the innermost NVTX push/pop range that the launch was in before the name: range/kernel
-- arg: base, take the bare function name instead of the whole signature
-- arg: mangled, take the symbol
-- column: Start (ns) = start on the GPU, since the start of the session
-- column: Duration (ns) = until its end
-- column: CorrId = number of the call that started it, within the process
-- column: GrdX = blocks in the grid, x
-- column: GrdY = the same, y
-- column: GrdZ = the same, z
-- column: BlkX = threads in a block, x
-- column: BlkY = the same, y
-- column: BlkZ = the same, z
-- column: Reg/Trd = registers per thread
-- column: StcSMem (MB) = static shared memory
-- column: DymSMem (MB) = dynamic shared memory
-- column: Bytes (MB) = bytes copied or set
-- column: Throughput (MB/s) = Bytes / Duration
-- column: SrcMemKd = kind of memory copied from, or set
-- column: DstMemKd = kind of memory copied to
-- column: Device = name of the GPU, and the number the process gives it
-- column: Ctx = CUDA context
-- column: GreenCtx = green context, if any
-- column: Strm = CUDA stream
-- column: Name = kernel, or kind of copy, or set
-- include: nvtx_name

WITH device AS MATERIALIZED (
	-- A process numbers the devices it may use: TARGET_INFO_CUDA_DEVICE, where it is there, maps them to GPUs.
	SELECT process, deviceId, coalesce((
		SELECT max(g.name) FROM TARGET_INFO_CUDA_DEVICE AS d JOIN TARGET_INFO_GPU AS g ON g.id = d.gpuId
		WHERE d.pid = process AND d.cudaId = deviceId
	), (SELECT max(g.name) FROM TARGET_INFO_GPU AS g WHERE g.id = deviceId)) AS name
	FROM (SELECT DISTINCT (globalPid >> 24) & 0xFFFFFF AS process, deviceId FROM SL_GPU_WORK WHERE kind <> 'graph')
), op AS (
	SELECT start, end, correlationId, globalPid, deviceId, contextId, greenContextId, streamId,
		gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory,
		NULL AS bytes, NULL AS srcKind, NULL AS dstKind, 1 AS category,
		coalesce(CASE WHEN :base THEN shortName WHEN :mangled THEN mangledName END, demangledName) AS name, process
	FROM SL_GPU_KERNELS
	UNION ALL
	SELECT start, end, correlationId, globalPid, deviceId, contextId, greenContextId, streamId,
		NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, bytes, srcKind, dstKind, iif(kind = 'memcpy', 2, 3), copyKind, process
	FROM SL_GPU_WORK
	WHERE kind IN ('memcpy', 'memset')
)
SELECT
	start AS "Start (ns)",
	end - start AS "Duration (ns)",
	op.correlationId AS "CorrId",
	gridX AS "GrdX",
	gridY AS "GrdY",
	gridZ AS "GrdZ",
	blockX AS "BlkX",
	blockY AS "BlkY",
	blockZ AS "BlkZ",
	registersPerThread AS "Reg/Trd",
	round(staticSharedMemory / 1e6, 3) AS "StcSMem (MB)",
	round(dynamicSharedMemory / 1e6, 3) AS "DymSMem (MB)",
	round(bytes / 1e6, 3) AS "Bytes (MB)",
	round(1000.0 * bytes / (end - start), 3) AS "Throughput (MB/s)",
	coalesce(src.label, srcKind) AS "SrcMemKd",
	coalesce(dst.label, dstKind) AS "DstMemKd",
	coalesce(device.name || ' ', '') || '(' || sl_gpu(op.globalPid, op.deviceId) || ')' AS "Device",
	contextId AS "Ctx",
	nullif(greenContextId, 0) AS "GreenCtx",
	streamId AS "Strm",
	CASE category WHEN 1 THEN coalesce(l.text || '/', '') || coalesce(s.value, '[unknown ' || op.name || ']')
		WHEN 2 THEN '[CUDA memcpy ' || coalesce(o.label, op.name) || ']' ELSE '[CUDA memset]' END AS "Name"
FROM op
	LEFT JOIN device ON device.process = (op.globalPid >> 24) & 0xFFFFFF AND device.deviceId = op.deviceId
	LEFT JOIN ENUM_CUDA_MEM_KIND AS src ON src.id = srcKind
	LEFT JOIN ENUM_CUDA_MEM_KIND AS dst ON dst.id = dstKind
	LEFT JOIN StringIds AS s ON category = 1 AND s.id = op.name
	LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS o ON category = 2 AND o.id = op.name
	LEFT JOIN launch AS l ON category = 1 AND l.process = op.process AND l.correlationId = op.correlationId
ORDER BY start, op.globalPid, op.deviceId, streamId, category, op.correlationId;
