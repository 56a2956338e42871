-- title: Copies and Kernels in the Default Stream
-- about: A GPU whose kernels and copies could overlap, but do not, because they go through the default stream, which
-- about: does one thing at a time and makes other streams wait.
-- needs: SL_GPU_WORK.kind=kernel = CUDA kernel
-- needs: SL_GPU_WORK.kind=memcpy = CUDA memcpy
-- default: 150
-- arg: share=50, per cent of the GPU's work that must be in the default stream
-- advice: Use streams made with cudaStreamNonBlocking, one for the copies of the next step and one for the kernels of
-- advice: this one, with pinned memory and cudaMemcpyAsync(); or compile with --default-stream per-thread.
-- column: Could Overlap (ns) = the shorter of Kernels and Copies, without what did overlap
-- column: Busy (ns) = time in which the GPU did anything
-- column: Kernels (ns) = time of all kernels
-- column: Copies (ns) = time of all copies between host and device
-- column: Overlap (ns) = time in which more than one thing went on
-- column: Default (%) = share of the work that went through the default stream
-- column: PID = process
-- column: Device ID = number of the GPU
CREATE TEMP TABLE null_stream AS
SELECT processId AS pid, contextId, nullStreamId AS streamId FROM TARGET_INFO_CUDA_CONTEXT_INFO WHERE nullStreamId IS NOT NULL
UNION
SELECT processId, contextId, streamId FROM TARGET_INFO_CUDA_NULL_STREAM
UNION
SELECT processId, contextId, streamId FROM TARGET_INFO_CUDA_STREAM WHERE flag = 3;

-- Where a report lacks it, the usual one: 7 in context 1, 15 in context 2.
CREATE TEMP TABLE load AS
WITH part AS (
	SELECT globalPid, deviceId, contextId, streamId, sum(CASE WHEN what IN ('kernel', 'graph') THEN ns ELSE 0 END) AS kernels,
		sum(ns) FILTER (WHERE what = 'memcpy' AND detail IN (1, 2)) AS copies, sum(ns) AS ns
	FROM sl_gpu_sums
	GROUP BY 1, 2, 3, 4
), whole AS (
	SELECT globalPid, deviceId, sum(kernels) AS kernels, coalesce(sum(copies), 0) AS copies, sum(ns) AS ns,
		sum(ns * CASE WHEN EXISTS (SELECT 1 FROM null_stream WHERE pid = globalPid / 0x1000000 % 0x1000000)
			THEN EXISTS (SELECT 1 FROM null_stream AS s WHERE s.pid = globalPid / 0x1000000 % 0x1000000
				AND s.contextId = part.contextId AND s.streamId = part.streamId)
			ELSE streamId = 8 * contextId - 1 END) AS through
	FROM part
	GROUP BY globalPid, deviceId
)
SELECT w.*, busy, w.ns - busy AS overlap, max(0, min(kernels, copies) - (w.ns - busy)) AS could, (SELECT wall.ns FROM wall) AS wall
FROM whole AS w JOIN (
	SELECT globalPid AS busyPid, deviceId AS busyDevice, ns AS busy FROM sl_gpu_cover WHERE what = 'all'
) ON busyPid IS globalPid AND busyDevice = deviceId;

SELECT
	CASE WHEN 10 * could > wall THEN 'severe' ELSE 'bad' END AS severity,
	could AS cost,
	printf('%.0f', 100.0 * through / ns) || ' % of what GPU ' || sl_gpu(globalPid, deviceId) || ' did went through the default stream: {'
		|| kernels || ' ns} of kernels and {' || copies || ' ns} of copies, of which {' || overlap
		|| ' ns} overlapped.' AS finding
FROM load
WHERE 50 * could > wall AND 100 * through >= :share * ns
ORDER BY could DESC
LIMIT 1;

SELECT
	could AS "Could Overlap (ns)",
	busy AS "Busy (ns)",
	kernels AS "Kernels (ns)",
	copies AS "Copies (ns)",
	overlap AS "Overlap (ns)",
	round(100.0 * through / ns, 1) AS "Default (%)",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	sl_gpu(globalPid, deviceId) AS "Device ID"
FROM load
ORDER BY could DESC, globalPid, deviceId
LIMIT :rows;
