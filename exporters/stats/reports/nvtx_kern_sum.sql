-- title: NVTX Range Kernel Summary
-- about: Time of CUDA kernels on the GPU, per NVTX range that they were launched in, per thread. A kernel counts
-- about: for every range around its launch. Ranges that end on another thread are left out.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- alias: nvtxkernsum
-- arg: base, sum up by the bare function name instead of the whole signature
-- arg: mangled, sum up by the symbol
-- column: NVTX Range = domain:text; the default domain has no name
-- column: Style = PushPop or StartEnd
-- column: PID = process
-- column: TID = thread
-- column: NVTX Inst = ranges of the name that launched the kernel
-- column: Kern Inst = runs of the kernel that they launched
-- column: Total Time (ns) = time of these runs
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Kernel Name = kernel
--
-- Thread, style and name become a number, and with the kernel one key: what is sorted below is small. A kernel's id
-- is below 2^32.
CREATE TEMP TABLE domain(process INTEGER, domain INTEGER, name TEXT, PRIMARY KEY (process, domain));
INSERT INTO domain
SELECT globalTid >> 24, domainId, min(coalesce(text, value))
FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId
WHERE eventType = 75
GROUP BY 1, 2;
CREATE TEMP TABLE title(id INTEGER PRIMARY KEY, tid INTEGER, style INTEGER, name TEXT, UNIQUE (name, style, tid));

-- [range-kernels] Where these lines are, sightline has functions of its own stand in for them
-- (exporters/sql/range_kernels.c).
-- Nothing here compares ranges with calls pair by pair: a range is two places in the order of its thread's
-- calls, found through an index.
CREATE TEMP TABLE launch(process INTEGER, correlationId INTEGER, tid INTEGER, start INTEGER, end INTEGER,
	PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO launch
SELECT globalTid >> 24, correlationId, globalTid, start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME
WHERE correlationId IS NOT NULL;

-- before: where the thread launched the kernel the last time. The first launch in a range is one whose "before" is
-- in front of the range: these count the ranges.
CREATE TEMP TABLE call AS
SELECT tid, start, end, kernel, dur, lag(at) OVER (PARTITION BY tid, kernel ORDER BY at) AS before
FROM (
	SELECT l.tid, l.start, l.end, k.end - k.start AS dur,
		CASE WHEN :base THEN shortName WHEN :mangled THEN coalesce(mangledName, demangledName)
			ELSE demangledName END AS kernel,
		row_number() OVER (ORDER BY l.tid, l.start, l.end) AS at
	FROM CUPTI_ACTIVITY_KIND_KERNEL AS k CROSS JOIN (SELECT min(globalTid) AS lone FROM CUPTI_ACTIVITY_KIND_RUNTIME)
		CROSS JOIN launch AS l ON l.process = coalesce(globalPid, lone) >> 24 AND l.correlationId = k.correlationId
)
ORDER BY at;
CREATE INDEX temp.call_start ON call(tid, start, end);

CREATE TEMP TABLE closed AS
SELECT eventType AS style, globalTid AS tid, coalesce(domainId, 0) AS domain, start, end, text, textId
FROM NVTX_EVENTS
WHERE eventType IN (59, 60) AND end IS NOT NULL
	AND (eventType = 59 OR endGlobalTid IS NULL OR endGlobalTid = globalTid)
ORDER BY tid, domain, style, start, end DESC;

CREATE TEMP TABLE span AS
SELECT id, lo, hi
FROM (
	SELECT r.rowid AS id,
		(SELECT c.rowid FROM call AS c WHERE c.tid = r.tid AND c.start >= r.start ORDER BY c.start LIMIT 1) AS lo,
		(SELECT c.rowid FROM call AS c WHERE c.tid = r.tid AND c.start <= r.end AND c.end <= r.end
			ORDER BY c.start DESC LIMIT 1) AS hi
	FROM closed AS r
)
WHERE lo <= hi;

CREATE TEMP TABLE name AS
SELECT s.id, tid, style, coalesce(d.name, '') || ':' || coalesce(text, value, '') AS name
FROM span AS s JOIN closed AS c ON c.rowid = s.id
	LEFT JOIN domain AS d ON d.process = tid >> 24 AND d.domain = c.domain
	LEFT JOIN StringIds ON StringIds.id = textId;
INSERT OR IGNORE INTO title(tid, style, name) SELECT tid, style, name FROM name;

CREATE TEMP VIEW contained AS
SELECT t.id << 32 | kernel AS key, dur, before IS NULL OR before < lo AS fresh
FROM name AS n CROSS JOIN title AS t ON t.name = n.name AND t.style = n.style AND t.tid = n.tid
	CROSS JOIN span AS s ON s.rowid = n.rowid
	CROSS JOIN call AS c ON c.rowid BETWEEN lo AND hi;

CREATE TEMP TABLE figure AS
WITH instances AS MATERIALIZED (
	SELECT key, count(*) AS ranges FROM contained WHERE fresh GROUP BY key
), hist AS MATERIALIZED (
	SELECT key, dur, count(*) AS n FROM contained GROUP BY 1, 2
), total AS MATERIALIZED (
	SELECT key, sum(n) AS calls, sum(n * dur) AS time, min(dur) AS least, max(dur) AS most,
		1.0 * sum(n * dur) / sum(n) AS mean
	FROM hist
	GROUP BY key
), ranked AS (
	SELECT key, dur, n, sum(n) OVER (PARTITION BY key ORDER BY dur) AS upto
	FROM hist
), spread AS (
	SELECT t.key, sum(n * (dur - mean) * (dur - mean)) AS squares,
		(min(dur) FILTER (WHERE 2 * upto >= calls) + min(dur) FILTER (WHERE 2 * upto > calls)) / 2.0 AS med
		/* percentiles: , min(dur) FILTER (WHERE upto * {den} >= calls * {num}) AS p{i} */
	FROM ranked AS r JOIN total AS t ON t.key = r.key
	GROUP BY t.key
)
SELECT key, ranges, calls, time, mean, med, least, most, squares/* percentiles: , p{i} */
FROM total JOIN spread USING (key) JOIN instances USING (key);
-- [end]

SELECT
	name AS "NVTX Range",
	CASE style WHEN 59 THEN 'PushPop' ELSE 'StartEnd' END AS "Style",
	tid >> 24 & 0xFFFFFF AS "PID",
	tid & 0xFFFFFF AS "TID",
	ranges AS "NVTX Inst",
	calls AS "Kern Inst",
	time AS "Total Time (ns)",
	round(mean, 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	least AS "Min (ns)",
	most AS "Max (ns)",
	round(CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	/* percentiles: p{i} AS "P{p} (ns)", */
	coalesce(value, '[unknown ' || (key & 0xFFFFFFFF) || ']') AS "Kernel Name"
FROM figure JOIN title ON title.id = key >> 32
	LEFT JOIN StringIds ON StringIds.id = key & 0xFFFFFFFF
ORDER BY time DESC, name, style, tid, "Kernel Name";
