-- title: Step Trace
-- about: Every step of a program (of a training, a solver, ...), in order of time.
-- about: Steps are the ranges that range= names, or else what looks most like steps: of the outermost push/pop
-- about: ranges of main threads whose names, apart from digits, repeat, those called step, iteration or batch (else epoch) that
-- about: take most time; else the times from the end of an optimizer's step to the end of its next; else those
-- about: outermost ranges that take most time; else the times between cudaProfilerStart and cudaProfilerStop.
-- needs: NVTX_EVENTS or CUPTI_ACTIVITY_KIND_RUNTIME = NV Tools Extension (NVTX) or CUDA trace
-- arg: range=<name>, the ranges that are steps: text or domain:text, % stands for anything
-- column: Step = its number on the thread
-- column: Start (ns) = since the start of the session
-- column: Duration (ns) = until its end
-- column: Of Median (%) = Duration in per cent of the thread's median step
-- column: GPU Busy (ns) = time in which a GPU worked for the process; empty without GPU trace
-- column: GPU Idle (%) = share of the time in which none did
-- column: Outlier = slow: longer than the median + 3 * 1.4826 * the median distance from it
-- column: PID = process
-- column: TID = thread
-- column: Range = domain:text; the default domain has no name
-- include: steps

SELECT
	no AS "Step",
	start AS "Start (ns)",
	dur AS "Duration (ns)",
	round(100.0 * dur / nullif(med, 0), 1) AS "Of Median (%)",
	busy AS "GPU Busy (ns)",
	round(100.0 - 100.0 * busy / nullif(dur, 0), 1) AS "GPU Idle (%)",
	CASE WHEN dur > least THEN 'slow' END AS "Outlier",
	tid >> 24 & 0xFFFFFF AS "PID",
	tid & 0xFFFFFF AS "TID",
	name AS "Range"
FROM timed JOIN slow USING (tid, stem)
ORDER BY start, tid, no;
