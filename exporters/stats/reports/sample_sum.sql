-- title: CPU Sample Summary
-- about: Where processors were, per function, by samples of the stack: in the function itself, and also in what it called.
-- needs: COMPOSITE_EVENTS = CPU samples
-- arg: module, sum up by library or file instead of function
-- column: Self (%) = share of all samples
-- column: Self = samples in the function itself
-- column: Total (%) = share of all samples
-- column: Total = samples with it anywhere in the stack; one that calls itself counts once
-- column: Kind = native, Python, kernel, JIT (made at run time)
-- column: Function = name; of addresses without one, their library
-- column: Module = library, or source file of Python
--
-- Stacks are few, samples many: they are counted by stack first. The views SL_CHAIN_* are the same for all reports that
-- have stacks (exporters/read/stack_views.c).
DROP TABLE IF EXISTS temp.sampled;
CREATE TEMP TABLE sampled (stack INTEGER PRIMARY KEY, n INTEGER);
INSERT INTO sampled
SELECT stack, count(*) FROM SL_CHAIN_SAMPLES WHERE periodic AND stack IS NOT NULL GROUP BY 1;
DROP TABLE IF EXISTS temp.spot;
CREATE TEMP TABLE spot AS
SELECT stack, CASE WHEN coalesce(:module, 0) OR unresolved = 1 THEN -1 ELSE symbol END AS symbol, module,
	CASE WHEN :module AND kind = 3 THEN 0 ELSE kind END AS kind, min(depth) AS depth, n
FROM SL_CHAIN_FRAMES JOIN sampled USING (stack)
GROUP BY 1, 2, 3, 4;

-- Where each stack ended.
DROP TABLE IF EXISTS temp.spot_top;
CREATE TEMP TABLE spot_top (stack INTEGER PRIMARY KEY, depth INTEGER, n INTEGER);
INSERT INTO spot_top SELECT stack, min(depth), n FROM spot GROUP BY stack;

WITH everything AS MATERIALIZED (
	SELECT count(*) AS n, count(*) - (SELECT coalesce(sum(n), 0) FROM spot_top) AS lost
	FROM SL_CHAIN_SAMPLES
	WHERE periodic
), total AS MATERIALIZED (
	SELECT symbol, module, kind, sum(s.n) AS total, sum(iif(s.depth = t.depth, s.n, 0)) AS self
	FROM spot AS s CROSS JOIN spot_top AS t ON t.stack = s.stack
	GROUP BY 1, 2, 3
	UNION ALL
	SELECT NULL, NULL, 4, lost, lost FROM everything WHERE lost > 0
)
SELECT
	round(100.0 * self / e.n, 1) AS "Self (%)",
	self AS "Self",
	round(100.0 * total / e.n, 1) AS "Total (%)",
	total AS "Total",
	CASE kind WHEN 1 THEN 'Python' WHEN 2 THEN 'kernel' WHEN 3 THEN 'JIT' WHEN 4 THEN '' ELSE 'native' END AS "Kind",
	CASE WHEN symbol IS NULL THEN '[no stack]'
		WHEN symbol = -1 OR coalesce(f.value, '') = ''
			THEN '[' || trim(replace(m.value, rtrim(m.value, replace(m.value, '/', '')), ''), '[]') || ']'
		ELSE f.value END AS "Function",
	coalesce(m.value, '') AS "Module"
FROM total AS t CROSS JOIN everything AS e LEFT JOIN StringIds AS f ON f.id = t.symbol
	LEFT JOIN StringIds AS m ON m.id = t.module
ORDER BY self DESC, total DESC, "Function", "Module", "Kind";
