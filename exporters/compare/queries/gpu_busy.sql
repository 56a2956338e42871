-- title: GPU busy
-- about: Time in which a GPU did something for a process, all GPUs together.
-- needs: SL_GPU_WORK = GPU
-- unit: ns
-- default: 30 single
SELECT '', NULL, sum(ns), 1
FROM sl_gpu_cover
WHERE what = 'all'
HAVING count(*) > 0;
