-- os_calls(globalTid, start, end, nameId, returnValue, pathId): calls into the C library that more than one rule looks for among
-- all others: for locks, conditions, barriers, syncs, threads and libraries. A rule that looks for another name adds it here.
CREATE TEMP TABLE os_calls AS
SELECT globalTid, start, end, nameId, returnValue, pathId
FROM OSRT_API
WHERE nameId IN (
	SELECT id FROM StringIds
	WHERE value IN ('pthread_mutex_lock', 'pthread_mutex_timedlock', 'pthread_mutex_clocklock', 'pthread_rwlock_rdlock',
		'pthread_rwlock_wrlock', 'pthread_rwlock_timedrdlock', 'pthread_rwlock_timedwrlock', 'pthread_rwlock_clockrdlock',
		'pthread_rwlock_clockwrlock', 'pthread_spin_lock', 'mtx_lock', 'mtx_timedlock', 'flockfile', 'flock', 'lockf',
		'lockf64', 'pthread_cond_timedwait', 'pthread_barrier_wait', 'pthread_join', 'pthread_timedjoin_np',
		'pthread_clockjoin_np', 'thrd_join', 'pthread_create', 'thrd_create', 'dlopen', 'dlmopen')
	OR (value GLOB '*sync*' AND length(value) < 24));
