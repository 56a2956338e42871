-- title: WDDM Queue Utilization Summary
-- about: How much of the time the queues of Windows' display driver model had work, per process, GPU and queue.
-- needs: WDDM_QUEUE_PACKET_START_EVENTS or WDDM_DMA_PACKET_START_EVENTS or WDDM_PAGING_QUEUE_PACKET_START_EVENTS = WDDM context
-- default: 180 quiet
-- alias: wddmqueuesdetails
-- column: Utilization (%) = share of the time from the process's first to its last packet in which the queue had one
-- column: Instances = packets
-- column: Avg (ns) = mean time of a packet in the queue
-- column: Med (ns) = median time
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: Name = name of the queue's context
-- column: Q Type = number of the queue's type (nsys's own numbers are not documented)
-- column: Q Name = the type: queue, dma or paging
-- column: PID = process
-- column: GPU ID = index of the GPU
-- column: Context = WDDM context of the queue; of a paging queue, its address
-- column: Engine = engine type
-- column: Node Ord = ordinal of the node
--
-- A packet lies in its queue from its start event to the first stop event of the same number that follows; numbers
-- are used again. So starts and stops are put in order of time and each stop closes the start in front of it.
WITH mark AS (
	SELECT 1 AS type, start AS at, 1 AS opens, gpu, context, submitSequence AS number, engineType, globalTid
	FROM WDDM_QUEUE_PACKET_START_EVENTS
	UNION ALL
	SELECT 1, start, 0, gpu, context, submitSequence, engineType, globalTid FROM WDDM_QUEUE_PACKET_STOP_EVENTS
	UNION ALL
	SELECT 2, start, 1, gpu, context, uliSubmissionId, engineType, globalTid FROM WDDM_DMA_PACKET_START_EVENTS
	UNION ALL
	SELECT 2, start, 0, gpu, context, uliCompletionId, engineType, globalTid FROM WDDM_DMA_PACKET_STOP_EVENTS
	UNION ALL
	SELECT 3, start, 1, gpu, pagingQueue, sequenceId, NULL, globalTid FROM WDDM_PAGING_QUEUE_PACKET_START_EVENTS
	UNION ALL
	SELECT 3, start, 0, gpu, pagingQueue, sequenceId, NULL, globalTid FROM WDDM_PAGING_QUEUE_PACKET_STOP_EVENTS
), paired AS (
	SELECT type, at AS start, opens, gpu, context, engineType, globalTid >> 24 & 0xFFFFFF AS pid,
		lead(at) OVER next AS end, lead(opens) OVER next AS opensNext
	FROM mark
	WINDOW next AS (PARTITION BY type, gpu, context, number ORDER BY at, opens DESC)
), packet AS MATERIALIZED (
	SELECT pid, gpu, type, context, engineType AS engine, start, end, end - start AS dur
	FROM paired
	WHERE opens = 1 AND opensNext = 0
), fresh AS (
	SELECT *, end - max(start, coalesce(max(end) OVER (PARTITION BY pid, gpu, type, context, engine ORDER BY start, end
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), start)) AS more,
		row_number() OVER (PARTITION BY pid, gpu, type, context, engine ORDER BY dur) AS at,
		count(*) OVER (PARTITION BY pid, gpu, type, context, engine) AS cnt,
		avg(dur) OVER (PARTITION BY pid, gpu, type, context, engine) AS mean
	FROM packet
), whole AS MATERIALIZED (
	SELECT pid, max(end) - min(start) AS dur FROM packet GROUP BY pid
)
SELECT
	round(100.0 * sum(max(more, 0)) / nullif(whole.dur, 0), 1) AS "Utilization (%)",
	count(*) AS "Instances",
	round(avg(f.dur), 1) AS "Avg (ns)",
	round(avg(f.dur) FILTER (WHERE 2 * at - cnt BETWEEN 0 AND 2), 1) AS "Med (ns)",
	min(f.dur) AS "Min (ns)",
	max(f.dur) AS "Max (ns)",
	round(CASE WHEN count(*) > 1 THEN sqrt(sum((f.dur - mean) * (f.dur - mean)) / (count(*) - 1)) ELSE 0 END, 1)
		AS "StdDev (ns)",
	/* percentiles: min(f.dur) FILTER (WHERE at * {den} >= cnt * {num}) AS "P{p} (ns)", */
	c.friendlyName AS "Name",
	type AS "Q Type",
	CASE type WHEN 1 THEN 'queue' WHEN 2 THEN 'dma' ELSE 'paging' END AS "Q Name",
	f.pid AS "PID",
	gpu AS "GPU ID",
	f.context AS "Context",
	engine AS "Engine",
	c.nodeOrdinal AS "Node Ord"
FROM fresh AS f JOIN whole ON whole.pid = f.pid
	LEFT JOIN (SELECT context, min(friendlyName) AS friendlyName, min(nodeOrdinal) AS nodeOrdinal
		FROM TARGET_INFO_WDDM_CONTEXTS GROUP BY 1) AS c ON c.context = f.context AND type < 3
GROUP BY f.pid, gpu, type, f.context, engine
ORDER BY 1 DESC, f.pid, gpu, type, f.context, engine;
