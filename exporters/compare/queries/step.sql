-- title: Steps
-- about: The ranges that are the steps of the program, by name with # for numbers, as report step_sum finds them, of all
-- about: threads that have them together.
-- needs: NVTX_EVENTS = NVTX
-- unit: ns
-- default: 100
WITH named AS (
	-- of the domain without a name the range's name alone
	SELECT CASE WHEN stem GLOB ':*' THEN substr(stem, 2) ELSE stem END AS name, end - start AS dur
	FROM sl_steps(NULL)
	WHERE end > start
)
SELECT name, name, dur, count(*)
FROM named
GROUP BY name, dur
ORDER BY name, dur;

SELECT CASE WHEN stem GLOB ':*' THEN substr(stem, 2) ELSE stem END AS worst, NULL, start, end, tid & 0xFFFFFF
FROM sl_steps(NULL)
WHERE end > start AND end - start IN wanted;
