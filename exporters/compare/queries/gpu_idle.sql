-- title: GPU idle
-- about: Time between the first and the last that a GPU did for a process in which it did nothing, all GPUs together.
-- needs: SL_GPU_WORK = GPU
-- unit: ns
-- default: 40 single
SELECT '', NULL, sum(end - start - ns), 1
FROM sl_gpu_cover
WHERE what = 'all'
HAVING count(*) > 0;
