WITH op AS (
	SELECT globalTid, start, end, nameId, 'libc' AS library FROM OSRT_API WHERE eventClass IS NULL OR eventClass NOT IN (31, 32)
	UNION ALL
	SELECT globalTid, start, end, nameId, 'cuda' FROM CUPTI_ACTIVITY_KIND_RUNTIME
	UNION ALL
	SELECT globalTid, start, end, nameId, l.value FROM SL_LIBRARY_API JOIN StringIds AS l ON l.id = library
	UNION ALL
	SELECT globalTid, start, end, nameId, 'cublas' FROM CUBLAS_EVENTS
	UNION ALL
	SELECT globalTid, start, end, nameId, 'cudnn' FROM CUDNN_EVENTS
)
SELECT p.rank, (start + :epoch) / 60000000000 AS minute, library, value, count(*), sum(end - start), max(end - start)
FROM op JOIN rank_process AS p ON p.pid = globalTid >> 24 JOIN StringIds ON id = nameId
WHERE end >= start
GROUP BY 1, 2, library, nameId;
