SELECT p.rank, what, sum(count)
FROM SL_LOST_EVENTS LEFT JOIN rank_process AS p ON p.pid = globalTid >> 24
GROUP BY 1, 2;
