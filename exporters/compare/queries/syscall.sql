-- title: System calls
-- needs: SYSCALL = system call
-- unit: ns
-- default: 170
WITH hist AS MATERIALIZED (
	SELECT nameId, end - start AS dur, count(*) AS n
	FROM SYSCALL
	WHERE end >= start
	GROUP BY 1, 2
)
SELECT coalesce(value, '[unknown]'), NULL, dur, sum(n)
FROM hist LEFT JOIN StringIds ON id = nameId
GROUP BY 1, dur
ORDER BY 1, dur;
