-- title: CUDA Async Memcpy with Pageable Memory
-- about: Copies that were asked for asynchronously but from or to pageable memory: such a call stages the data and
-- about: does not return at once.
-- needs: CUPTI_ACTIVITY_KIND_MEMCPY = CUDA memcpy
-- uses: mem_kind, call_places
-- lines: --cudabacktrace=all
-- default: 10
-- advice: Use pinned memory: cudaMallocHost(), cudaHostRegister(), pin_memory=True in PyTorch.
-- column: Duration (ns) = time of the copy on the GPU
-- column: Start (ns) = when it began
-- column: Src Kind = memory it came from
-- column: Dst Kind = memory it went to
-- column: Bytes (MB) = size, 10^6 bytes
-- column: PID = process
-- column: Device ID = number of the GPU
-- column: Context ID = CUDA context
-- column: Green Context ID = green context; empty: none
-- column: Stream ID = CUDA stream
-- column: API Name = call that asked for it
CREATE TEMP TABLE found AS
SELECT *, end - start AS ns
FROM sl_copies
WHERE (srcKind = 0 OR dstKind = 0) AND NOT blocking;

-- A thread could go on during the copy, or during the call where that is shorter.
SELECT
	CASE WHEN 10 * cost > wall THEN 'severe' WHEN 50 * cost > wall THEN 'bad' ELSE 'info' END AS severity,
	cost,
	'{' || n || ' copy|copies} of {' || bytes || ' B} altogether, asked for asynchronously, used pageable memory: the '
		|| 'calls took {' || calls || ' ns}' || coalesce(made_at, '') || '.' AS finding, made_at,
	(SELECT callStart || ' ' || callEnd || ' ' || (globalTid & 0xFFFFFF) FROM found WHERE callEnd > callStart
		ORDER BY callEnd - callStart DESC, callStart LIMIT 1) AS worst
FROM (
	SELECT max(cost) AS cost, sum(n) AS n, sum(bytes) AS bytes, sum(calls) AS calls, (SELECT ns FROM wall) AS wall,
		(SELECT '; the longest calls are made at ' || place FROM call_places AS c
			WHERE c.globalTid IN (SELECT globalTid FROM found)
				AND c.nameId IN (SELECT nameId FROM found)
			GROUP BY place ORDER BY sum(c.ns) DESC, place LIMIT 1) AS made_at
	FROM (
		SELECT sum(min(ns, callEnd - callStart)) AS cost, count(*) AS n, sum(bytes) AS bytes,
			sum(callEnd - callStart) AS calls
		FROM found
		GROUP BY globalTid
	)
)
WHERE n > 0;

-- include: copies_table
