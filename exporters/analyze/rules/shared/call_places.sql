-- call_places(globalTid, nameId, place, own, n, ns): calls that have a stack: their caller, as "train.py:88 in collate": of
-- the frames the innermost that is neither of Python's library nor of an installed package; without, the innermost of Python;
-- without Python, the innermost that is not in libc, CUDA or PyTorch. own: 0 where it is of Python's library or a package.
-- (The views SL_CHAIN_* are the same for all reports: exporters/read/stack_views.c.)
CREATE TEMP TABLE place_part AS
SELECT globalTid, nameId, stack, count(*) AS n, sum(end - start) AS ns
FROM SL_CHAIN_CALLS
WHERE stack IS NOT NULL AND end >= start AND globalTid IS NOT NULL
GROUP BY 1, 2, 3
-- without stacks no call is looked at
LIMIT CASE WHEN EXISTS (SELECT 1 FROM SL_CHAIN_FRAMES) THEN -1 ELSE 0 END;

-- Stacks of samples are many more than those of calls.
CREATE TEMP TABLE place_stack(stack INTEGER PRIMARY KEY);
INSERT INTO place_stack SELECT DISTINCT stack FROM place_part;

CREATE TEMP TABLE place_library(id INTEGER PRIMARY KEY);
INSERT INTO place_library
SELECT id FROM (
	SELECT DISTINCT module FROM SL_CHAIN_FRAMES WHERE EXISTS (SELECT 1 FROM place_stack) AND stack IN place_stack
) JOIN StringIds ON id = module
WHERE sl_is_library(value);

-- The best frame of each stack; SQLite takes the other columns from that row.
CREATE TEMP TABLE place_of(stack INTEGER PRIMARY KEY, rank INTEGER, symbol INTEGER, module INTEGER, file INTEGER, line INTEGER,
	unresolved INTEGER);
INSERT INTO place_of
SELECT stack, min(CASE
		WHEN kind = 1 AND module NOT IN place_library THEN depth - 3000000
		WHEN kind = 1 THEN depth - 2000000
		WHEN kind NOT IN (2, 4) AND module NOT IN place_library THEN depth - 1000000
		ELSE depth
	END), symbol, module, file, line, unresolved
FROM SL_CHAIN_FRAMES
WHERE EXISTS (SELECT 1 FROM place_stack) AND stack IN place_stack
GROUP BY stack;

CREATE TEMP TABLE call_places AS
SELECT globalTid, nameId,
	CASE WHEN w.value IS NULL OR p.line IS NULL THEN coalesce(nullif(f.value, ''), '?') || ' in '
			|| coalesce(replace(m.value, rtrim(m.value, replace(m.value, '/', '')), ''), '?')
		ELSE replace(w.value, rtrim(w.value, replace(w.value, '/', '')), '') || ':' || p.line || ' in '
			|| coalesce(nullif(f.value, ''), '?') END AS place, max(p.rank < -2000000 OR p.rank >= -1000000) AS own, sum(n) AS n, sum(ns) AS ns
FROM place_part AS part JOIN place_of AS p ON p.stack = part.stack AND p.rank < 0 AND p.unresolved IS NOT 1
	LEFT JOIN StringIds AS f ON f.id = p.symbol LEFT JOIN StringIds AS w ON w.id = p.file LEFT JOIN StringIds AS m ON m.id = p.module
GROUP BY globalTid, nameId, place;
