-- title: NVTX GPU Projection Trace
-- about: NVTX ranges as the GPU saw them, in order of time. A range holds the work whose CUDA
-- about: call lies within it, on its thread; it reaches from the first start to the last end on the GPU.
-- about: Ranges without work on the GPU, and those that end on another thread, are left out.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- needs: SL_GPU_WORK = CUDA GPU
-- alias: nvtxgpuproj
-- column: Name = domain:text; the default domain has no name
-- column: Projected Start (ns) = start of the first work on the GPU
-- column: Projected Duration (ns) = until the end of the last
-- column: Orig Start (ns) = start of the range on the CPU
-- column: Orig Duration (ns) = its duration there
-- column: Style = PushPop or StartEnd
-- column: PID = process
-- column: TID = thread
-- column: NumGPUOps = kernels, copies, sets and graphs it gave the GPU
-- column: Lvl = push/pop ranges around it, of its domain; 0 for StartEnd
-- column: NumChild = ranges of this table directly inside
-- column: RangeId = number of the range in this table
-- column: ParentId = RangeId of the range directly around it
-- column: RangeStack = RangeIds from the outermost range to this one
SELECT
	coalesce(d.name, '') || ':' || coalesce(text, value, '') AS "Name",
	first AS "Projected Start (ns)",
	last - first AS "Projected Duration (ns)",
	start AS "Orig Start (ns)",
	end - start AS "Orig Duration (ns)",
	CASE style WHEN 59 THEN 'PushPop' ELSE 'StartEnd' END AS "Style",
	tid >> 24 & 0xFFFFFF AS "PID",
	tid & 0xFFFFFF AS "TID",
	n AS "NumGPUOps",
	lvl AS "Lvl",
	children AS "NumChild",
	number AS "RangeId",
	above AS "ParentId",
	path AS "RangeStack"
FROM sl_projection AS r
	LEFT JOIN SL_NVTX_DOMAINS AS d ON d.process = tid >> 24 AND d.domain = r.domain
	LEFT JOIN StringIds ON StringIds.id = textId
ORDER BY number;
