-- title: GPU idle
-- about: Time between the first and the last that a GPU did for a process in which it did nothing, all GPUs together.
-- needs: SL_GPU_WORK = GPU
-- unit: ns
-- default: 40 single
-- include: gpu_cover
SELECT '', NULL, sum(end - start - ns), 1
FROM gpu_cover
HAVING count(*) > 0;
