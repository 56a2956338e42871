-- title: Errors of GPUs
-- about: What the driver reports of a GPU: XID errors, memory errors (ECC), resets, a GPU that was lost. An XID error of a program's own
-- about: making (13, 31, 43) ends its CUDA context; others are the machine's.
-- needs: SL_COUNTERS.gpuId or SL_GPU_EVENTS = events of GPUs: --gpu-health=10
-- default: 178
-- advice: XID 13, 31, 43: run the program under compute-sanitizer. 48, 63, 64, 94, 95: memory of the GPU, see nvidia-smi -q -d
-- advice: ECC,ROW_REMAPPER; 74: NVLink; 79: the GPU has fallen off the bus. Take a machine with these out of use, and look into dmesg.
-- column: Time (ns) = of the first one, since the start of the session
-- column: Events = how many
-- column: GPU = number of the GPU
-- column: Kind = xid, ecc, recovery, lost; counter: by the driver's counter
-- column: Code = number of the XID error; of ecc: errors so far
CREATE TEMP TABLE trouble AS
SELECT min(timestamp) AS at, count(*) AS n, gpuId, kind, CASE kind WHEN 'xid' THEN code ELSE max(code) END AS code
FROM SL_GPU_EVENTS
WHERE kind IN ('xid', 'ecc', 'recovery', 'lost')
GROUP BY gpuId, kind, CASE kind WHEN 'xid' THEN code END
UNION ALL
SELECT min(timestamp) FILTER (WHERE value > 0), CAST(sum(value) AS INTEGER), c.gpuId, 'counter: ' || name, NULL
FROM SL_COUNTERS AS c JOIN SL_COUNTER_SAMPLES ON counterId = c.id
WHERE scope = 'gpu' AND name = 'ECC Uncorrected' AND isSum
GROUP BY c.id
HAVING sum(value) > 0;

SELECT
	'severe' AS severity,
	NULL AS cost,
	'GPU ' || gpuId || ' had ' || group_concat(CASE
		WHEN kind = 'xid' THEN 'XID error ' || coalesce(code, 'of unknown number') || iif(n > 1, ' ({' || n || ' time|times})', '')
		WHEN kind = 'ecc' THEN '{' || n || ' report|reports} of memory errors (ECC)'
		WHEN kind = 'recovery' THEN 'to be recovered'
		WHEN kind = 'lost' THEN 'been lost: the driver could not reach it any more'
		ELSE '{' || n || ' memory error|memory errors} that could not be corrected' END, ', ')
		|| ', the first at {' || min(at) || ' ns}.' AS finding,
	min(at) || ' ' || min(at) || ' GPU ' || gpuId AS worst
FROM (SELECT * FROM trouble ORDER BY at)
GROUP BY gpuId
ORDER BY min(at)
LIMIT 1;

SELECT
	at AS "Time (ns)",
	n AS "Events",
	gpuId AS "GPU",
	kind AS "Kind",
	code AS "Code"
FROM trouble
ORDER BY at, gpuId, kind
LIMIT :rows;
