-- The work of GPUs: operations are kernels, copies, sets and graphs that have an end. One pass over all fills the tables that
-- gpu_busy, gpu_cover and gpu_sums describe.
-- uses: cuda_launch, event_spans
CREATE VIRTUAL TABLE temp.gpu_busy USING sl_gpu_busy;
CREATE TEMP TABLE gpu_life(gpu INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, start INTEGER, end INTEGER);
CREATE TEMP TABLE gpu_cover(what TEXT, globalPid INTEGER, deviceId INTEGER, n INTEGER, ns INTEGER, total INTEGER,
	start INTEGER, end INTEGER);
CREATE TEMP TABLE gpu_sums(globalPid INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, what TEXT, detail INTEGER,
	n INTEGER, ns INTEGER, bytes INTEGER, first INTEGER, last INTEGER, small INTEGER);
SELECT sl_gpu_sweep();
