-- gpu_device(globalPid, deviceId, gpuId): which GPU a process means by a device number.
CREATE TEMP TABLE gpu_device AS
SELECT globalPid, deviceId, sl_gpu(globalPid, deviceId) AS gpuId
FROM (SELECT DISTINCT globalPid, deviceId FROM sl_gpu_sums);
