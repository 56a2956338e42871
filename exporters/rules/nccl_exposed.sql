-- title: Communication that Nothing Hides
-- about: Time in which a GPU ran nothing but NCCL kernels.
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- default: 160
-- advice: Start the communication of what is ready while the rest is computed (DDP's buckets, FSDP's prefetch); a rank
-- advice: that arrives late makes the others wait in such kernels: see rule gpu_imbalance.
-- column: Time (%) = share of the wall time
-- column: Exposed (ns) = time without any other kernel or copy on the GPU
-- column: NCCL Time (ns) = time with at least one NCCL kernel
-- column: Hidden (%) = share of NCCL Time with other work beside it
-- column: Kernels = NCCL kernels
-- column: PID = process
-- column: Device ID = CUDA ordinal in the process
CREATE TEMP TABLE op AS
SELECT globalPid, deviceId, start, end, shortName IN (SELECT id FROM StringIds WHERE value GLOB 'nccl*') AS nccl
FROM CUPTI_ACTIVITY_KIND_KERNEL
WHERE end >= start AND EXISTS (SELECT 1 FROM StringIds WHERE value GLOB 'nccl*')
UNION ALL
SELECT globalPid, deviceId, start, end, 0
FROM CUPTI_ACTIVITY_KIND_MEMCPY
WHERE end >= start AND EXISTS (SELECT 1 FROM StringIds WHERE value GLOB 'nccl*');

-- What a union gains by another row is what none before it covers; exposed = all - other.
CREATE TEMP TABLE load AS
WITH fresh AS (
	SELECT globalPid, deviceId, nccl,
		max(0, end - max(start, coalesce(max(end) OVER (PARTITION BY globalPid, deviceId
			ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start))) AS of_all,
		max(0, end - max(start, coalesce(max(end) OVER (PARTITION BY globalPid, deviceId, nccl
			ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start))) AS of_kind
	FROM op
)
SELECT globalPid, deviceId, sum(nccl) AS n, sum(of_all) - sum(of_kind) FILTER (WHERE NOT nccl) AS exposed,
	sum(of_kind) FILTER (WHERE nccl) AS ns, (SELECT wall.ns FROM wall) AS wall
FROM fresh
GROUP BY globalPid, deviceId
HAVING sum(nccl) > 0;

SELECT
	CASE WHEN 10 * exposed > wall THEN 'severe' ELSE 'bad' END AS severity,
	exposed AS cost,
	'GPU ' || deviceId || ' ran nothing but {' || n || ' NCCL kernel|NCCL kernels} for {' || exposed || ' ns}; '
		|| printf('%.0f', 100 - 100.0 * exposed / ns) || ' % of their time was hidden behind other work.' AS finding
FROM load
WHERE 50 * exposed > wall
ORDER BY exposed DESC
LIMIT 1;

SELECT
	round(100.0 * exposed / wall, 1) AS "Time (%)",
	exposed AS "Exposed (ns)",
	ns AS "NCCL Time (ns)",
	round(100 - 100.0 * exposed / ns, 1) AS "Hidden (%)",
	n AS "Kernels",
	globalPid / 0x1000000 % 0x1000000 AS "PID",
	deviceId AS "Device ID"
FROM load
ORDER BY exposed DESC
LIMIT :rows;
