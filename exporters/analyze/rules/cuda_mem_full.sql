-- title: Memory of the GPU nearly full
-- about: GPUs of which nearly all memory was allocated at some time, and allocations that failed because none was left. (What the
-- about: driver takes for itself, contexts and code, is not part of it: report cuda_mem_driver_sum.)
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS or CUPTI_ACTIVITY_KIND_RUNTIME.returnValue = CUDA trace
-- lines: --cudabacktrace=all
-- default: 72
-- arg: full=90, per cent of the GPU's memory above which it is worth a word
-- arg: frames=3, frames of a stack to show
-- advice: What is largest then: report cuda_mem_peak. Smaller batches, checkpoints of activations, less precision; memory that a pool
-- advice: or a caching allocator holds unused (report cuda_mem_pool_sum) is not there for others. Allocators that meet a failure free
-- advice: what they hold and try again, which waits for the device each time.
-- column: Full (%) = peak by the GPU's memory
-- column: Peak (B) = most that was allocated at a time, by all processes
-- column: Memory (B) = what the GPU has
-- column: At (ns) = when the peak was reached
-- column: Failed = allocations that failed for lack of memory, in the whole report
-- column: GPU = number of the GPU
-- column: Place = stack of the call that reached the peak
-- include: cuda_mem
CREATE TEMP TABLE mem_peak AS
SELECT gpu, at, block, bytes, totalMemory AS memory
FROM (
	SELECT *, row_number() OVER (PARTITION BY gpu ORDER BY bytes DESC, at, step, block) AS nr
	FROM (
		SELECT gpu, at, step, block, sum(delta) OVER (PARTITION BY gpu ORDER BY at, step, block ROWS UNBOUNDED PRECEDING) AS bytes
		FROM mem_edge
	)
) JOIN TARGET_INFO_GPU AS g ON g.id = gpu
WHERE nr = 1 AND bytes > 0 AND totalMemory > 0;
CREATE TEMP TABLE mem_wanted AS SELECT block AS id FROM mem_peak;
-- include: cuda_mem_stacks
CREATE TEMP TABLE failed AS
SELECT count(*) AS n, total(end - start) AS ns, min(start) || ' ' || end || ' ' || (globalTid & 0xFFFFFF) AS worst
FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE returnValue = 2 AND nameId IN (SELECT id FROM StringIds WHERE value GLOB 'cudaMalloc*' OR value GLOB 'cuMemAlloc*'
	OR value GLOB 'cuMemCreate*');
CREATE TEMP TABLE full AS
SELECT p.*, nullif(c.place, '[no stack]') AS place
FROM mem_peak AS p JOIN mem_block AS b ON b.id = p.block
	LEFT JOIN mem_place AS c ON c.globalPid = b.globalPid AND c.correlationId = b.correlationId;

SELECT 'bad' AS severity, NULL AS cost,
	'{' || n || ' allocation|allocations} failed because no memory was left on the GPU.' AS finding, worst
FROM failed
WHERE n > 0;
SELECT 'info' AS severity, NULL AS cost,
	printf('%.1f', 100.0 * bytes / memory) || ' % of the memory of GPU ' || gpu || ' was allocated at its peak: {' || bytes || ' B} of {'
		|| memory || ' B}' || coalesce('; it was reached by ' || place, '') || '.' AS finding, place AS made_at,
	nullif(at, -9223372036854775807) || ' ' || at || ' GPU ' || gpu AS worst
FROM full
WHERE 100.0 * bytes > :full * memory
ORDER BY 1.0 * bytes / memory DESC;

SELECT
	round(100.0 * bytes / memory, 1) AS "Full (%)",
	bytes AS "Peak (B)",
	memory AS "Memory (B)",
	nullif(at, -9223372036854775807) AS "At (ns)",
	(SELECT n FROM failed) AS "Failed",
	gpu AS "GPU",
	coalesce(place, '[no stack]') AS "Place"
FROM full
ORDER BY "Full (%)" DESC, gpu
LIMIT :rows;
