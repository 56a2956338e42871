WITH op AS (
	SELECT globalTid, start, end, nameId, 'libc' AS library FROM OSRT_API WHERE eventClass IS NULL OR eventClass NOT IN (31, 32)
	UNION ALL
	SELECT globalTid, start, end, nameId, 'cuda' FROM CUPTI_ACTIVITY_KIND_RUNTIME
	UNION ALL
	SELECT globalTid, start, end, nameId, library FROM SL_LIBRARY_API
	UNION ALL
	SELECT globalTid, start, end, nameId, 'cublas' FROM CUBLAS_EVENTS
	UNION ALL
	SELECT globalTid, start, end, nameId, 'cudnn' FROM CUDNN_EVENTS
	UNION ALL
	SELECT globalTid, start, end, textId, 'mpi' FROM MPI_COLLECTIVES_EVENTS
	UNION ALL
	-- One row of a call that sends and receives.
	SELECT globalTid, start, max(end), textId, 'mpi' FROM MPI_P2P_EVENTS GROUP BY globalTid, start, textId
	UNION ALL
	SELECT globalTid, start, end, textId, 'mpi' FROM MPI_START_WAIT_EVENTS
	UNION ALL
	SELECT globalTid, start, end, textId, 'mpi' FROM MPI_OTHER_EVENTS
), sums AS (
	SELECT k0 AS pid, k1 AS minute, CASE typeof(k2) WHEN 'text' THEN k2 ELSE (SELECT value FROM StringIds WHERE id = k2) END AS library,
		k3 AS nameId, n, total, most
	FROM sl_hist_rows((
		SELECT sl_sums(globalTid >> 24, (start + :epoch) / 60000000000, library, nameId, end - start, NULL) FROM op WHERE end >= start))
)
SELECT p.rank, minute, library, value, sum(n), sum(total), max(most), restart
FROM sums JOIN rank_process AS p USING (pid) JOIN StringIds ON id = nameId
WHERE library IS NOT NULL
GROUP BY 1, restart, 2, library, nameId;
