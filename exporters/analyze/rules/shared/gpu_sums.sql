-- gpu_sums(globalPid, deviceId, contextId, streamId, what, detail, n, ns, bytes, first, last, small): the operations
-- of gpu_ops by stream, kind and detail: how many, their time and bytes, the first start, the last end; of kernels also how
-- many took less time than it takes to launch one in their process.
-- uses: gpu_ops, cuda_launch
CREATE TEMP TABLE gpu_sums AS
SELECT globalPid, deviceId, contextId, streamId, what, detail, count(*) AS n, sum(end - start) AS ns, sum(bytes) AS bytes,
	min(start) AS first, max(end) AS last,
	CASE WHEN what = 'kernel' THEN sum(end - start < (SELECT l.ns FROM cuda_launch AS l WHERE pid = globalPid >> 24)) END AS small
FROM gpu_ops
GROUP BY globalPid, deviceId, contextId, streamId, what, detail;
