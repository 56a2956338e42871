-- gpu_device(globalPid, deviceId, gpuId): which GPU a process means by a device number.
CREATE TEMP TABLE gpu_device AS
SELECT globalPid, deviceId, coalesce((SELECT min(gpuId) FROM TARGET_INFO_CUDA_DEVICE
	WHERE pid = (globalPid >> 24 & 0xFFFFFF) AND cudaId = deviceId), deviceId) AS gpuId
FROM (SELECT DISTINCT globalPid, deviceId FROM sl_gpu_sums);
