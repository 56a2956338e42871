-- title: CUDA Memory at its Peak
-- about: When most memory of a GPU was allocated: the call that made it so much, with its stack (--cudabacktrace=memory or all), and the
-- about: largest pieces that were allocated then. Memory of the host does not count; unified memory counts as of its GPU.
-- needs: CUDA_GPU_MEMORY_USAGE_EVENTS = CUDA memory usage (--cuda-memory-usage=true)
-- default: 250 quiet
-- arg: rows=10, pieces to list for each GPU
-- arg: frames=6, frames of a stack to show, from the innermost of the program on
-- column: GPU = number of the GPU; the same for all processes
-- column: Rank = 0: the peak itself; of the pieces, by size
-- column: Size (B) = all that was allocated; of a piece
-- column: Share (%) = of the peak
-- column: Memory (%) = share of the GPU's memory; empty where that is not known
-- column: At (ns) = when the peak was reached; when the piece was allocated, empty: before the recording
-- column: PID = process that allocated it; that reached the peak
-- column: Kind = of memory
-- column: Address = of the piece
-- column: API Name = call that allocated it
-- column: Stack = of that call, innermost frame first
-- include: cuda_mem
DROP TABLE IF EXISTS temp.mem_peak;
DROP TABLE IF EXISTS temp.mem_then;
DROP TABLE IF EXISTS temp.mem_wanted;
CREATE TEMP TABLE mem_peak AS
WITH level AS (
	SELECT gpu, at, step, block, sum(delta) OVER (PARTITION BY gpu ORDER BY at, step, block ROWS UNBOUNDED PRECEDING) AS bytes
	FROM mem_edge
)
SELECT gpu, at, block, bytes
FROM (SELECT *, row_number() OVER (PARTITION BY gpu ORDER BY bytes DESC, at, step, block) AS nr FROM level)
WHERE nr = 1 AND bytes > 0;
CREATE TEMP TABLE mem_then AS
SELECT p.gpu, b.id, row_number() OVER (PARTITION BY p.gpu ORDER BY b.bytes DESC, b.start, b.id) AS rank
FROM mem_peak AS p JOIN mem_device AS d ON d.gpu = p.gpu
	JOIN mem_block AS b ON b.globalPid = d.globalPid AND b.deviceId = d.deviceId
WHERE kind NOT IN (0, 1) AND ending <> 'unmatched' AND (start IS NULL OR gone IS NULL OR gone > start)
	AND (start IS NULL OR start < p.at OR start = p.at AND b.id <= p.block) AND (gone IS NULL OR gone > p.at);
CREATE TEMP TABLE mem_wanted AS
SELECT id FROM mem_then WHERE rank <= :rows UNION SELECT block FROM mem_peak;
-- include: cuda_mem_stacks
WITH line AS (
	SELECT gpu, 0 AS rank, block AS id, bytes, nullif(at, -9223372036854775807) AS at FROM mem_peak
	UNION ALL
	SELECT gpu, rank, t.id, bytes, start FROM mem_then AS t JOIN mem_block AS b ON b.id = t.id WHERE rank <= :rows
)
SELECT
	line.gpu AS "GPU",
	rank AS "Rank",
	line.bytes AS "Size (B)",
	round(100.0 * line.bytes / p.bytes, 1) AS "Share (%)",
	round(100.0 * line.bytes / nullif(g.totalMemory, 0), 1) AS "Memory (%)",
	line.at AS "At (ns)",
	b.globalPid >> 24 & 0xFFFFFF AS "PID",
	coalesce(label, b.kind) AS "Kind",
	printf('0x%llX', b.address) AS "Address",
	c.api AS "API Name",
	coalesce(c.place, CASE WHEN b.name <> '' THEN 'variable ' || b.name END, '[no call]') AS "Stack"
FROM line JOIN mem_peak AS p ON p.gpu = line.gpu JOIN mem_block AS b ON b.id = line.id
	LEFT JOIN TARGET_INFO_GPU AS g ON g.id = line.gpu LEFT JOIN ENUM_CUDA_MEM_KIND AS k ON k.id = b.kind
	LEFT JOIN mem_place AS c ON c.globalPid = b.globalPid AND c.correlationId = b.correlationId
ORDER BY line.gpu, rank;
