-- title: Copied by GPUs
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY = copy
-- unit: bytes
-- default: 60 single
SELECT '', NULL, sum(bytes), 1
FROM CUPTI_ACTIVITY_KIND_MEMCPY
HAVING count(*) > 0;
