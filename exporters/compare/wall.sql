-- title: Wall time
-- about: From the start of the program to the end of its last process; of a report that does not tell, its length.
-- unit: ns
-- default: 10 single
WITH lives AS (
	SELECT max(end) - min(start) AS ns
	FROM SL_PROCESS_TREE
	WHERE end IS NOT NULL AND (traced = 1 OR kind <> 0)
), said AS (
	SELECT max(duration) AS ns FROM ANALYSIS_DETAILS
)
SELECT '', NULL, coalesce(nullif(lives.ns, 0), said.ns), 1
FROM lives, said
WHERE coalesce(nullif(lives.ns, 0), said.ns) IS NOT NULL;
