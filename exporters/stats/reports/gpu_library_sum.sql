-- title: GPU Library Summary
-- about: Time in calls into cuBLAS, cuDNN, NCCL, cuFFT, cuSPARSE, cuSOLVER and cuFile, per function, and the kernels that were
-- about: launched in them. Work that is launched later (CUDA graphs) is not theirs.
-- needs: CUBLAS_EVENTS.callId or CUDNN_EVENTS.callId or SL_LIBRARY_API = calls into GPU libraries
-- arg: sizes, one row for each size: rows x columns x length of the sum of a product of matrices (* how many), else bytes or elements
-- column: Time (%) = share of the Total Time of all listed rows
-- column: Total Time (ns) = time in all calls of the function; one that another of them makes counts in both
-- column: Num Calls = how many
-- include: stats_heads
-- column: Kernels = kernels launched in outermost calls
-- column: GPU Time (ns) = how long these ran; empty without GPU trace
-- column: TFLOP/s = 10^12 operations on numbers per second of GPU time, of products of matrices
-- column: Library = library
-- column: Name = function
-- column: Size = size, with the argument sizes
DROP TABLE IF EXISTS temp.library_key;
DROP TABLE IF EXISTS temp.stats;
-- sl_library_calls() fills library_key and counts by its ids.
CREATE TEMP TABLE library_key(id INTEGER PRIMARY KEY, kernels, gpu, work, library, name, size);
CREATE TEMP TABLE stats AS SELECT * FROM sl_stats_rows(sl_library_calls(:sizes));

SELECT
	round(100.0 * total / sum(total) OVER (), 1) AS "Time (%)",
	total AS "Total Time (ns)",
	n AS "Num Calls",
	-- include: stats_columns
	CASE WHEN kernels > 0 THEN kernels END AS "Kernels",
	CASE WHEN kernels > 0 THEN gpu END AS "GPU Time (ns)",
	round(work / gpu / 1000, 2) AS "TFLOP/s",
	library AS "Library",
	name AS "Name",
	size AS "Size"
FROM stats CROSS JOIN library_key ON id = key
ORDER BY total DESC, library, name, size;
