-- title: PCIe Link Below Its Maximum
-- about: GPUs whose PCIe link never reached the generation or the width that GPU and slot allow, though the GPU worked: at rest links
-- about: are slow to save power, under load they are not.
-- needs: SL_COUNTERS.gpuId = counters of GPUs: --gpu-health=10
-- default: 177
-- arg: load=50, per cent of GPU Utilization that must have been reached: else the link had no reason to
-- advice: Look at the slot, the riser and the settings of the firmware; lanes may be shared with other devices
-- advice: (nvidia-smi -q -d PCIE, lspci -vv: LnkSta).
-- column: GPU = number of the GPU
-- column: Highest = generation or lanes in the recording
-- column: Maximum = what GPU and slot allow
-- column: Of = generation or lanes
CREATE TEMP TABLE level AS
SELECT c.gpuId, name, max(value) AS most
FROM SL_COUNTERS AS c JOIN SL_COUNTER_SAMPLES ON counterId = c.id
WHERE scope = 'gpu' AND (name LIKE 'PCIe Link %' OR name = 'GPU Utilization')
GROUP BY c.gpuId, name;

CREATE TEMP TABLE slow AS
SELECT l.gpuId, CAST(l.most AS INTEGER) AS highest, CAST(m.most AS INTEGER) AS maximum,
	CASE l.name WHEN 'PCIe Link Width' THEN 'lanes' ELSE 'generation' END AS what
FROM level AS l JOIN level AS m ON m.gpuId = l.gpuId AND m.name = l.name || ' Maximum'
	JOIN level AS u ON u.gpuId = l.gpuId AND u.name = 'GPU Utilization' AND u.most >= :load
WHERE l.name IN ('PCIe Link Width', 'PCIe Link Generation') AND l.most < m.most;

SELECT
	'bad' AS severity,
	NULL AS cost,
	'The PCIe link of GPU ' || gpuId || ' had ' || CASE what WHEN 'lanes' THEN highest || ' lanes of ' || maximum
		ELSE 'generation ' || highest || ' instead of ' || maximum END || ' at most, under load too'
		|| CASE WHEN count(*) > 1 THEN '; its other figure is low as well' ELSE '' END || '.' AS finding
FROM (SELECT * FROM slow ORDER BY what DESC)
GROUP BY gpuId
ORDER BY min(1.0 * highest / maximum)
LIMIT 1;

SELECT
	gpuId AS "GPU",
	highest AS "Highest",
	maximum AS "Maximum",
	what AS "Of"
FROM slow
ORDER BY 1.0 * highest / maximum, gpuId, what
LIMIT :rows;
