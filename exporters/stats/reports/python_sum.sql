-- title: Python Summary
-- about: What lines of Python cost: calls, time in the C library, time on GPUs, bytes read and written, samples. All but
-- about: the last column count for the innermost line of Python in a stack, so that they add up; what has no Python in
-- about: its stack, or no stack, is in one row of its own, and so is the import system. Sorted by time: on GPUs, in the
-- about: C library and, as far as samples have it, on CPUs.
-- needs: SL_STACKS or OSRT_CALLCHAINS or CUDA_CALLCHAINS or SAMPLING_CALLCHAINS = stacks
-- arg: function, sum up by function, whatever the line
-- column: Calls = calls of the C library, CUDA and its libraries
-- column: OS Time (ns) = time in calls of the C library
-- column: GPU Ops = kernels, copies, fills and graphs that were launched
-- column: GPU Time (ns) = time of these on the GPU
-- column: Read (bytes) = bytes read
-- column: Written (bytes) = bytes written
-- column: Self = samples with this as the innermost line of Python
-- column: Total = samples with this anywhere in the stack
-- column: Function = of Python
-- column: Line = file:line
--
-- The views SL_CHAIN_* are the same for all reports that have stacks (exporters/read/stack_views.c).
DROP TABLE IF EXISTS temp.py_frame;
CREATE TEMP TABLE py_frame AS
WITH importlib AS (
	SELECT id FROM StringIds
	WHERE value GLOB '<frozen importlib*' OR value GLOB '*/importlib/*.py'
), frame AS (
	SELECT *, coalesce(file, module) AS source, coalesce(file, module) IN importlib AS imports
	FROM SL_CHAIN_FRAMES
	WHERE kind = 1
)
-- All of the import system is one place: which of its functions reads or compiles a file is nothing to act on.
SELECT stack, depth, iif(imports, -1, symbol) AS symbol, iif(imports, NULL, source) AS file,
	CASE WHEN NOT imports AND NOT coalesce(:function, 0) THEN line END AS line
FROM frame;
DROP TABLE IF EXISTS temp.place;
CREATE TEMP TABLE place (id INTEGER PRIMARY KEY, symbol INTEGER, file INTEGER, line INTEGER);
INSERT INTO place (symbol, file, line) SELECT DISTINCT symbol, file, line FROM py_frame;
CREATE INDEX temp.place_of ON place(symbol, file, line);
-- The innermost line of each stack: SQLite takes the other columns from the row with the minimum.
DROP TABLE IF EXISTS temp.inner_place;
CREATE TEMP TABLE inner_place (stack INTEGER PRIMARY KEY, place INTEGER);
INSERT INTO inner_place
SELECT stack, id
FROM (SELECT stack, min(depth), symbol, file, line FROM py_frame GROUP BY stack) AS f
	JOIN place AS p ON p.symbol = f.symbol AND p.file IS f.file AND p.line IS f.line;

DROP TABLE IF EXISTS temp.py_launch;
CREATE TEMP TABLE py_launch (process INTEGER, correlationId INTEGER, stack INTEGER,
	PRIMARY KEY (process, correlationId)) WITHOUT ROWID;
INSERT OR IGNORE INTO py_launch SELECT process, correlationId, stack FROM SL_LAUNCH_STACKS ORDER BY process, correlationId, start;

DROP TABLE IF EXISTS temp.cost;
CREATE TEMP TABLE cost (place INTEGER, calls INTEGER, os INTEGER, ops INTEGER, gpu INTEGER, got INTEGER, put INTEGER,
	self INTEGER);
INSERT INTO cost
WITH
-- include: io_functions
, called AS (
	-- A call within a call is part of it; where there are none of the C library, system calls stand for them.
	SELECT stack, nameId, count(*) AS calls, total(end - start) FILTER (WHERE source IN (1, 3)) AS os
	FROM SL_CHAIN_CALLS
	WHERE level = 0 AND (source <> 3 OR NOT EXISTS (SELECT 1 FROM OSRT_API))
	GROUP BY 1, 2
), moved AS (
	SELECT stack, type, sum(bytes) AS bytes
	FROM SL_CHAIN_CALLS JOIN kind ON kind.id = nameId
	WHERE source = 1 AND bytes > 0
	GROUP BY 1, 2
), launched AS (
	SELECT stack, count(*) AS ops, sum(end - start) AS gpu
	FROM SL_GPU_WORK AS w LEFT JOIN py_launch AS l ON l.correlationId = w.correlationId AND l.process = w.process
	GROUP BY 1
), sampled AS (
	SELECT stack, count(*) AS n FROM SL_CHAIN_SAMPLES WHERE periodic GROUP BY 1
), each AS (
	SELECT stack, calls, CAST(os AS INTEGER) AS os, 0 AS ops, 0 AS gpu, 0 AS got, 0 AS put, 0 AS self FROM called
	UNION ALL SELECT stack, 0, 0, 0, 0, iif(type = 3, bytes, 0), iif(type = 4, bytes, 0), 0 FROM moved
	UNION ALL SELECT stack, 0, 0, ops, gpu, 0, 0, 0 FROM launched
	UNION ALL SELECT stack, 0, 0, 0, 0, 0, 0, n FROM sampled
)
SELECT place, sum(calls), sum(os), sum(ops), sum(gpu), sum(got), sum(put), sum(self)
FROM each LEFT JOIN inner_place USING (stack)
GROUP BY place;

WITH period AS MATERIALIZED (
	-- ns of a thread's time on a CPU that one sample stands for; not known in reports of nsys
	SELECT coalesce((SELECT 1000000000 / nullif(CAST(value AS INTEGER), 0) FROM META_DATA_CAPTURE
		WHERE name = 'LINUX_PERF_OPTIONS:SAMPLING_FREQUENCY'), 0) AS ns
), sampled AS MATERIALIZED (
	SELECT stack, count(*) AS n FROM SL_CHAIN_SAMPLES WHERE periodic AND stack IS NOT NULL GROUP BY 1
), total AS MATERIALIZED (
	SELECT id AS place, sum(n) AS total
	FROM (SELECT DISTINCT stack, symbol, file, line FROM py_frame) AS f
		JOIN place AS p ON p.symbol = f.symbol AND p.file IS f.file AND p.line IS f.line
		JOIN sampled USING (stack)
	GROUP BY id
), listed AS (
	SELECT place FROM cost UNION SELECT place FROM total
)
SELECT
	coalesce(calls, 0) AS "Calls",
	coalesce(os, 0) AS "OS Time (ns)",
	coalesce(ops, 0) AS "GPU Ops",
	coalesce(gpu, 0) AS "GPU Time (ns)",
	coalesce(got, 0) AS "Read (bytes)",
	coalesce(put, 0) AS "Written (bytes)",
	coalesce(self, 0) AS "Self",
	coalesce(total, self, 0) AS "Total",
	CASE WHEN p.id IS NULL THEN '[no Python]' WHEN p.symbol = -1 THEN '[importlib]' ELSE coalesce(f.value, '[unknown]') END AS "Function",
	coalesce(w.value || coalesce(':' || p.line, ''), '') AS "Line"
FROM listed AS l LEFT JOIN cost AS c ON c.place IS l.place LEFT JOIN total AS t ON t.place = l.place
	LEFT JOIN place AS p ON p.id = l.place LEFT JOIN StringIds AS f ON f.id = p.symbol
	LEFT JOIN StringIds AS w ON w.id = p.file
WHERE EXISTS (SELECT 1 FROM py_frame)
ORDER BY p.id IS NULL, coalesce(gpu, 0) + coalesce(os, 0) + coalesce(self, 0) * (SELECT ns FROM period) DESC, "Total" DESC, "Calls" DESC, "Function", "Line";
