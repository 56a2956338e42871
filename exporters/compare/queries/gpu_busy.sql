-- title: GPU busy
-- about: Time in which a GPU did something for a process, all GPUs together.
-- needs: SL_GPU_WORK = GPU
-- unit: ns
-- default: 30 single
-- include: gpu_cover
SELECT '', NULL, sum(ns), 1
FROM gpu_cover
HAVING count(*) > 0;
