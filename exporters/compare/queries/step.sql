-- title: Steps
-- about: The outermost NVTX ranges that repeat: of those whose names differ in numbers only, and that came at least
-- about: three times on one thread, the ones that are called step, iteration or batch, else those with most time if
-- about: that is a tenth at least of what NVTX covers. With profile --python-step: what that marks.
-- needs: NVTX_EVENTS = NVTX
-- unit: ns
-- default: 100
WITH domain AS MATERIALIZED (
	SELECT globalTid >> 24 AS process, domainId, coalesce(text, value) AS name
	FROM NVTX_EVENTS LEFT JOIN StringIds ON StringIds.id = textId
	WHERE eventType = 75 AND coalesce(text, value) IN ('python-step', 'pytorch')
), range AS (
	SELECT globalTid, start, end, coalesce(text, (SELECT value FROM StringIds WHERE id = textId), '') AS name,
		max(end) OVER (PARTITION BY globalTid ORDER BY start, end DESC
			ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM NVTX_EVENTS
	WHERE eventType = 59 AND end > start
		-- ranges of PyTorch's operators are no steps
		AND name NOT LIKE 'aten::%' AND name NOT LIKE '%, op_id = %'
		-- steps marked by --python-step, and in PyTorch
		AND CASE WHEN EXISTS (SELECT 1 FROM domain WHERE name = 'python-step') THEN 'python-step' ELSE '' END =
			coalesce((SELECT d.name FROM domain AS d WHERE d.process = NVTX_EVENTS.globalTid >> 24
				AND d.domainId = NVTX_EVENTS.domainId), '')
), outer_range AS (
	SELECT globalTid, end - start AS dur,
		-- numbers as '#': digits first, then runs of them
		replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
			name, '0', '#'), '1', '#'), '2', '#'), '3', '#'), '4', '#'), '5', '#'), '6', '#'),
			'7', '#'), '8', '#'), '9', '#'), '####', '#'), '##', '#'), '##', '#') AS name
	FROM range
	WHERE before IS NULL OR start >= before
), best AS (
	SELECT globalTid, name
	FROM outer_range
	GROUP BY globalTid, name
	HAVING count(*) >= 3 AND (name LIKE '%step%' OR name LIKE '%iter%' OR name LIKE '%batch%'
		OR EXISTS (SELECT 1 FROM domain WHERE name = 'python-step')
		OR 10 * sum(dur) >= (SELECT max(end) - min(start) FROM range))
	ORDER BY name LIKE '%step%' OR name LIKE '%iter%' OR name LIKE '%batch%' DESC, sum(dur) DESC
	LIMIT 1
)
SELECT name, name, dur, count(*)
FROM outer_range JOIN best USING (globalTid, name)
GROUP BY dur
ORDER BY dur;
