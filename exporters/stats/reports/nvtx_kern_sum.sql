-- title: NVTX Range Kernel Summary
-- about: Time of CUDA kernels on the GPU, per NVTX range that they were launched in, per thread. A kernel counts
-- about: for every range around its launch. Ranges that end on another thread are left out.
-- needs: NVTX_EVENTS = NV Tools Extension (NVTX)
-- needs: CUPTI_ACTIVITY_KIND_KERNEL = CUDA kernel
-- alias: nvtxkernsum
-- arg: base, sum up by the bare function name instead of the whole signature
-- arg: mangled, sum up by the symbol
-- column: NVTX Range = domain:text; the default domain has no name
-- column: Style = PushPop or StartEnd
-- column: PID = process
-- column: TID = thread
-- column: NVTX Inst = ranges of the name that launched the kernel
-- column: Kern Inst = runs of the kernel that they launched
-- column: Total Time (ns) = time of these runs
-- include: stats_heads
-- column: Kernel Name = kernel
--
-- sl_range_kernels() reads domain, numbers thread, style and name of ranges in title, and counts by that number and, in
-- the lower 32 bits, the kernel's name.
CREATE TEMP TABLE domain(process INTEGER, domain INTEGER, name TEXT, PRIMARY KEY (process, domain));
INSERT INTO domain SELECT * FROM SL_NVTX_DOMAINS;
CREATE TEMP TABLE title(id INTEGER PRIMARY KEY, tid INTEGER, style INTEGER, name TEXT, UNIQUE (name, style, tid));

CREATE TEMP TABLE stats AS
SELECT * FROM sl_stats_rows(sl_range_kernels(CASE WHEN :base THEN 'shortName' WHEN :mangled THEN 'mangledName'
	ELSE 'demangledName' END));

SELECT
	name AS "NVTX Range",
	CASE style WHEN 59 THEN 'PushPop' ELSE 'StartEnd' END AS "Style",
	tid >> 24 & 0xFFFFFF AS "PID",
	tid & 0xFFFFFF AS "TID",
	extra AS "NVTX Inst",
	n AS "Kern Inst",
	total AS "Total Time (ns)",
	-- include: stats_columns
	coalesce(value, '[unknown ' || (key & 0xFFFFFFFF) || ']') AS "Kernel Name"
FROM stats JOIN title ON title.id = key >> 32
	LEFT JOIN StringIds ON StringIds.id = key & 0xFFFFFFFF
ORDER BY total DESC, name, style, tid, "Kernel Name";
