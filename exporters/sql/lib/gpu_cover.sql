-- gpu_cover(ns, start, end): of each process and GPU, the time in which the GPU did something for it, its first start, its last end.
CREATE TEMP TABLE IF NOT EXISTS gpu_cover AS
SELECT total AS ns, least AS start, most AS end
FROM sl_hist_rows((
	SELECT sl_cover(globalPid, deviceId, start, end)
	FROM (SELECT globalPid, deviceId, start, end FROM SL_GPU_WORK LIMIT -1)
));
