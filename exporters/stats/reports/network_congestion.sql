-- title: Network Devices Congestion
-- about: Times in which a network card or an InfiniBand switch had data to send but could not, for want of credits or
-- about: of its turn. How long a tick is depends on the device: compare rates of one device only.
-- needs: NET_NIC_METRIC or NET_IB_SWITCH_METRIC = network device metrics
-- alias: networkcongestion
-- arg: ticks_threshold=10000, ticks per millisecond above which a time is listed
-- column: Start (ns) = since the start of the session
-- column: End (ns) = when the rate was no longer measured
-- column: Duration (ns) = until then
-- column: Send wait rate = ticks per millisecond in which data waited
-- column: GUID = of the device
-- column: Name = of the card; switches have none
--
-- The metric is the one called "Send waits". Where its names are worded otherwise is not known.
WITH metric AS MATERIALIZED (
	SELECT DISTINCT metricsListId, metricsIdx FROM TARGET_INFO_NETWORK_METRICS WHERE name LIKE '%send%wait%'
), sample AS (
	SELECT start, end, s.value, n.GUID AS guid, n.name
	FROM NET_NIC_METRIC AS s JOIN metric USING (metricsListId, metricsIdx)
		LEFT JOIN NIC_ID_MAP AS m ON m.globalId = s.globalId
		LEFT JOIN TARGET_INFO_NIC_INFO AS n ON n.nicId = m.nicId
	WHERE end > start
	UNION ALL
	SELECT start, end, s.value, globalId, NULL
	FROM NET_IB_SWITCH_METRIC AS s JOIN metric USING (metricsListId, metricsIdx)
	WHERE end > start
)
SELECT
	start AS "Start (ns)",
	end AS "End (ns)",
	end - start AS "Duration (ns)",
	round(1e6 * value / (end - start), 1) AS "Send wait rate",
	printf('0x%016x', guid) AS "GUID",
	name AS "Name"
FROM sample
WHERE 1e6 * value / (end - start) > coalesce(:ticks_threshold, 10000)
ORDER BY start, guid;
