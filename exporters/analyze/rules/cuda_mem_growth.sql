-- title: GPU Memory that grows
-- about: Memory that is allocated in each step of the program and not given back by its end, step after step. The first third of the
-- about: steps does not count, in which caches and pools fill. Steps: NVTX ranges that repeat, as in report step_sum.
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS = CUDA memory usage (--cuda-memory-usage=true)
-- lines: --cudabacktrace=all
-- default: 74
-- arg: range=<pattern>, these NVTX ranges are the steps; % for anything
-- arg: steps=10, fewer steps say nothing
-- arg: frames=3, frames of a stack to show
-- advice: Free what a step allocates, or allocate it once. In PyTorch what is kept keeps memory: loss.item() or .detach() into lists of
-- advice: losses, outputs to the CPU, no reference to a graph beyond its step. Report cuda_mem_leaks has the rest.
-- column: Per Step (B) = bytes by which it grew with each step, on the mean
-- column: Bytes (B) = bytes from there that were allocated in the steps and are still there
-- column: Count = in so many allocations
-- column: PID = process
-- column: GPU = number of the GPU
-- column: API Name = call that allocated it
-- column: Place = its stack
-- include: cuda_mem
-- include: step_ranges
CREATE TEMP TABLE mem_level (process INTEGER, gpu INTEGER, at INTEGER, bytes INTEGER);
INSERT INTO mem_level
SELECT globalPid >> 24, gpu, at, sum(delta) OVER (PARTITION BY globalPid, gpu ORDER BY at, step, block ROWS UNBOUNDED PRECEDING)
FROM mem_edge;
CREATE INDEX temp.mem_level_at ON mem_level(process, gpu, at);

-- The memory allocated at the end of each step. Of several edges at one time the last row has the level.
CREATE TEMP TABLE mem_curve AS
SELECT tid, stem, gpu, no, end, max(no) OVER (PARTITION BY tid, stem, gpu) AS steps, coalesce((SELECT bytes FROM mem_level AS l
	WHERE l.process = tid >> 24 AND l.gpu = d.gpu AND l.at <= s.end ORDER BY l.at DESC, l.rowid DESC LIMIT 1), 0) AS bytes
FROM step AS s JOIN (SELECT DISTINCT process, gpu FROM mem_level) AS d ON d.process = tid >> 24;

CREATE TEMP TABLE grown AS
SELECT tid, gpu, min(end) AS start, max(end) AS end, min(no) AS since, max(no) AS until, max(steps) AS steps,
	max(bytes) FILTER (WHERE no = steps) AS last, max(bytes) FILTER (WHERE no = least) AS first,
	1.0 * (max(bytes) FILTER (WHERE no = steps) - max(bytes) FILTER (WHERE no = least)) / (max(no) - min(no)) AS each
FROM (
	SELECT *, bytes - lag(bytes) OVER each AS change, min(no) OVER (PARTITION BY tid, stem, gpu) AS least
	FROM mem_curve
	WHERE 3 * no >= steps
	WINDOW each AS (PARTITION BY tid, stem, gpu ORDER BY no)
)
GROUP BY tid, stem, gpu
-- in most steps, and it hardly ever falls
HAVING max(steps) >= :steps AND 2 * count(*) FILTER (WHERE change > 0) >= count(change) AND 10 * count(*) FILTER (WHERE change < 0)
	<= count(change) AND last > first;
CREATE TEMP TABLE mem_kept AS
SELECT tid, g.gpu, b.id, b.bytes, b.globalPid, b.correlationId, g.each
FROM grown AS g JOIN mem_block AS b ON b.globalPid >> 24 = tid >> 24
	JOIN mem_device AS d ON d.globalPid = b.globalPid AND d.deviceId = b.deviceId AND d.gpu = g.gpu
WHERE b.kind NOT IN (0, 1) AND b.start > g.start AND b.start <= g.end AND (b.gone IS NULL OR b.gone > g.end);
CREATE TEMP TABLE mem_wanted AS SELECT id FROM mem_kept;
-- include: cuda_mem_stacks
CREATE TEMP TABLE mem_site AS
SELECT tid, gpu, api, coalesce(place, '[no call]') AS place, sum(bytes) AS bytes, count(*) AS n, max(each) AS each,
	row_number() OVER (PARTITION BY tid, gpu ORDER BY sum(bytes) DESC, place) AS nr
FROM mem_kept AS k LEFT JOIN mem_place AS p ON p.globalPid = k.globalPid AND p.correlationId = k.correlationId
GROUP BY tid, gpu, api, place;

SELECT CASE WHEN (memory - last) < 100 * steps * each THEN 'bad' ELSE 'info' END AS severity, NULL AS cost,
	'Allocated memory of GPU ' || gpu || ' grew by {' || CAST(each AS INTEGER) || ' B} per step: {' || first || ' B} at the end of step ' || since
		|| ', {' || last || ' B} at the end of step ' || until
		|| coalesce('; at that rate it is full after {' || CAST((memory - last) / each AS INTEGER) || '} more steps', '')
		|| coalesce('. Most of it is allocated by ' || made_at, '') || '.' AS finding, made_at,
	start || ' ' || end || ' ' || (tid & 0xFFFFFF) AS worst
FROM (
	SELECT g.*, (SELECT nullif(totalMemory, 0) FROM TARGET_INFO_GPU AS t WHERE t.id = g.gpu) AS memory,
		(SELECT nullif(nullif(place, '[no stack]'), '[no call]') FROM mem_site AS s WHERE s.tid = g.tid AND s.gpu = g.gpu AND nr = 1) AS made_at
	FROM grown AS g
)
ORDER BY each DESC;

SELECT
	CAST(each AS INTEGER) AS "Per Step (B)",
	bytes AS "Bytes (B)",
	n AS "Count",
	tid >> 24 & 0xFFFFFF AS "PID",
	gpu AS "GPU",
	api AS "API Name",
	place AS "Place"
FROM mem_site
ORDER BY bytes DESC, place
LIMIT :rows;
