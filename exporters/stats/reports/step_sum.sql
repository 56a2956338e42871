-- title: Step Summary
-- about: Time of the steps of a program (of a training, a solver, ...), per thread that makes them.
-- about: Steps are the ranges that range= names, or else what profile --python-step marked, or what looks most like steps: of the outermost push/pop
-- about: ranges of main threads whose names, apart from digits, repeat, those called step, iteration or batch (else epoch) that
-- about: take most time; else the times from the end of an optimizer's step to the end of its next; else those
-- about: outermost ranges that take most time; else the same of start/end ranges; else the times between cudaProfilerStart and cudaProfilerStop.
-- about: A slow step takes longer than the median + 3 * 1.4826 * the median distance from it; step_trace has each.
-- needs: NVTX_EVENTS or CUPTI_ACTIVITY_KIND_RUNTIME = NV Tools Extension (NVTX) or CUDA trace
-- arg: range=<name>, the ranges that are steps: text or domain:text, % stands for anything
-- column: Steps = how many
-- column: Total (ns) = time of all
-- column: Avg (ns) = mean duration
-- column: Med (ns) = median duration
-- column: P90 (ns) = 90 % of the steps take as long or less
-- column: P99 (ns) = 99 % do
-- column: Min (ns) = shortest
-- column: Max (ns) = longest
-- column: StdDev (ns) = sample standard deviation (n - 1); 0 for a single one
-- column: GPU Busy (ns) = time within the steps in which a GPU worked for the process; empty without GPU trace
-- column: GPU Idle (%) = share of the steps' time in which none did
-- column: Outliers = how many steps were slow
-- column: PID = process
-- column: TID = thread
-- column: Range = name of the steps, # stands for numbers
-- column: Slow Steps = their numbers, from 1 on; the slowest 20
-- include: steps

SELECT
	n AS "Steps",
	sum(dur) AS "Total (ns)",
	round(avg(dur), 1) AS "Avg (ns)",
	round(med, 1) AS "Med (ns)",
	min(dur) FILTER (WHERE 10 * rank >= 9 * n) AS "P90 (ns)",
	min(dur) FILTER (WHERE 100 * rank >= 99 * n) AS "P99 (ns)",
	min(dur) AS "Min (ns)",
	max(dur) AS "Max (ns)",
	round(CASE WHEN n > 1 THEN sqrt(sum((dur - mean) * (dur - mean)) / (n - 1)) ELSE 0 END, 1) AS "StdDev (ns)",
	sum(busy) AS "GPU Busy (ns)",
	round(100.0 - 100.0 * sum(busy) / nullif(sum(dur), 0), 1) AS "GPU Idle (%)",
	sum(dur > least) AS "Outliers",
	tid >> 24 & 0xFFFFFF AS "PID",
	tid & 0xFFFFFF AS "TID",
	CASE WHEN min(name) = max(name) THEN min(name) ELSE stem END AS "Range",
	group_concat(no, ', ') FILTER (WHERE dur > least AND rank > n - 20) AS "Slow Steps"
FROM (
	SELECT no, tid, stem, name, dur, busy, n, med, least, rank, avg(dur) OVER (PARTITION BY tid, stem) AS mean
	FROM (
		SELECT no, tid, stem, name, dur, busy, n, med, least,
			row_number() OVER (PARTITION BY tid, stem ORDER BY dur, no) AS rank
		FROM timed JOIN slow USING (tid, stem)
	)
	ORDER BY tid, stem, no
)
GROUP BY tid, stem
ORDER BY sum(dur) DESC, tid, stem;
