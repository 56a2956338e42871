-- title: Vulkan API Trace
-- about: Every Vulkan call, in order of time.
-- needs: VULKAN_API = Vulkan API
-- alias: vulkanapitrace
-- column: Start (ns) = entry, since the start of the session
-- column: Duration (ns) = until return
-- column: Name = function
-- column: Event Class = kind of event
-- column: Context = interface object it was called on, by number
-- column: CorrID = joins the call to the work it gave the GPU
-- column: Pid = process
-- column: Tid = thread
-- column: T-Pri = priority of the thread
-- column: Thread Name = last name of the thread
SELECT
	start AS "Start (ns)",
	end - start AS "Duration (ns)",
	coalesce(name.value, '[unknown ' || c.nameId || ']') AS "Name",
	coalesce(class.label, class.name, eventClass) AS "Event Class",
	contextId AS "Context",
	correlationId AS "CorrID",
	c.globalTid >> 24 & 0xFFFFFF AS "Pid",
	c.globalTid & 0xFFFFFF AS "Tid",
	t.priority AS "T-Pri",
	thread.value AS "Thread Name"
FROM VULKAN_API AS c
	LEFT JOIN StringIds AS name ON name.id = c.nameId
	LEFT JOIN ENUM_NSYS_EVENT_CLASS AS class ON class.id = eventClass
	LEFT JOIN (SELECT globalTid, max(nameId) AS nameId, priority FROM ThreadNames GROUP BY globalTid) AS t
		ON t.globalTid = c.globalTid
	LEFT JOIN StringIds AS thread ON thread.id = t.nameId
ORDER BY start, c.globalTid, end DESC;
