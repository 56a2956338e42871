-- title: OpenMP Summary
-- about: Time of OpenMP events, per name. Events that have no duration (a lock released, ...) count with none.
-- about: Events nest: a region contains its tasks and waits.
-- needs: OPENMP_EVENT_KIND_THREAD or OPENMP_EVENT_KIND_PARALLEL or OPENMP_EVENT_KIND_SYNC_REGION_WAIT or OPENMP_EVENT_KIND_SYNC_REGION or OPENMP_EVENT_KIND_TASK or OPENMP_EVENT_KIND_MASTER or OPENMP_EVENT_KIND_REDUCTION or OPENMP_EVENT_KIND_TASK_CREATE or OPENMP_EVENT_KIND_TASK_SCHEDULE or OPENMP_EVENT_KIND_CANCEL or OPENMP_EVENT_KIND_MUTEX_WAIT or OPENMP_EVENT_KIND_CRITICAL_SECTION or OPENMP_EVENT_KIND_MUTEX_RELEASED or OPENMP_EVENT_KIND_LOCK_INIT or OPENMP_EVENT_KIND_LOCK_DESTROY or OPENMP_EVENT_KIND_WORKSHARE or OPENMP_EVENT_KIND_DISPATCH or OPENMP_EVENT_KIND_FLUSH = OpenMP event
-- default: 100 quiet
-- alias: openmpevtsum
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time of all events of the name
-- column: Count = how many
-- include: stats_heads
-- column: Name = event
WITH stats AS (
	SELECT * FROM sl_stats_rows((
		SELECT sl_stats(coalesce(value, '[unknown ' || nameId || ']'), end - start)
		FROM (
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_THREAD
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_PARALLEL
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_SYNC_REGION_WAIT
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_SYNC_REGION
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_TASK
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_MASTER
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_REDUCTION
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_TASK_CREATE
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_TASK_SCHEDULE
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_CANCEL
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_MUTEX_WAIT
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_CRITICAL_SECTION
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_MUTEX_RELEASED
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_LOCK_INIT
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_LOCK_DESTROY
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_WORKSHARE
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_DISPATCH
			UNION ALL
			SELECT nameId, start, end FROM OPENMP_EVENT_KIND_FLUSH
		) LEFT JOIN StringIds ON StringIds.id = nameId
	))
	WHERE key IS NOT NULL
)
SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Count",
	-- include: stats_columns
	key AS "Name"
FROM stats
ORDER BY total DESC, key;
