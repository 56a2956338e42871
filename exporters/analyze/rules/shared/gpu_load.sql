-- gpu_load(globalPid, deviceId, n, ns, wall): how many kernels a process ran on a GPU, and the time in which at least one
-- ran; without those of NCCL, in which ranks wait for each other.
CREATE TEMP TABLE gpu_load AS
SELECT globalPid, deviceId, n, ns, (SELECT wall.ns FROM wall) AS wall
FROM sl_gpu_cover
WHERE what = 'compute';
