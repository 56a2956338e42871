-- title: NVTX Push/Pop Range Trace
-- about: Every push/pop range with its place among the others, in order of time. Ranges nest per thread and
-- about: domain: each domain has a stack of its own, as in NVTX itself.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- alias: nvtxpptrace
-- column: Start (ns) = pushed, since the start of the session
-- column: End (ns) = popped; empty when the range was never closed
-- column: Duration (ns) = from Start to End
-- column: DurChild (ns) = time of the ranges directly inside
-- column: DurNonChild (ns) = the rest of Duration
-- column: Name = domain:text; the default domain has no name
-- column: PID = process
-- column: TID = thread
-- column: Lvl = ranges around it
-- column: NumChild = ranges directly inside
-- column: RangeId = number of the range in this table
-- column: ParentId = RangeId of the range directly around it
-- column: RangeStack = RangeIds from the outermost range to this one
-- column: NameTree = Name, after "--" per level
SELECT
	start AS "Start (ns)",
	end AS "End (ns)",
	end - start AS "Duration (ns)",
	n AS "DurChild (ns)",
	end - start - n AS "DurNonChild (ns)",
	coalesce(d.name, '') || ':' || coalesce(text, value, '') AS "Name",
	tid >> 24 & 0xFFFFFF AS "PID",
	tid & 0xFFFFFF AS "TID",
	lvl AS "Lvl",
	children AS "NumChild",
	number AS "RangeId",
	above AS "ParentId",
	path AS "RangeStack",
	replace(hex(zeroblob(lvl)), '00', '--') || coalesce(d.name, '') || ':' || coalesce(text, value, '') AS "NameTree"
FROM sl_range_stacks AS p
	LEFT JOIN SL_NVTX_DOMAINS AS d ON d.process = tid >> 24 AND d.domain = p.domain
	LEFT JOIN StringIds ON StringIds.id = textId
ORDER BY number;
