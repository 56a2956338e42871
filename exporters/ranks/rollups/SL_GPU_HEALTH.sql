SELECT g.rank, (s.timestamp + :epoch) / 60000000000, c.name, c.unit, c.isSum, count(*), CAST(round(sum(s.value)) AS INTEGER),
	CAST(round(min(s.value)) AS INTEGER), CAST(round(max(s.value)) AS INTEGER), g.restart
FROM rank_gpu AS g JOIN SL_COUNTERS AS c ON c.scope = 'gpu' AND c.gpuId = g.gpuId JOIN SL_COUNTER_SAMPLES AS s ON s.counterId = c.id
WHERE s.value IS NOT NULL
GROUP BY g.rank, g.restart, 2, c.name, c.unit, c.isSum
UNION ALL
SELECT g.rank, (e.timestamp + :epoch) / 60000000000, kind || coalesce(' ' || code, ''), 'events', 1, count(*), count(*), 1, 1, g.restart
FROM rank_gpu AS g JOIN SL_GPU_EVENTS AS e ON e.gpuId = g.gpuId
GROUP BY g.rank, g.restart, 2, 3;
