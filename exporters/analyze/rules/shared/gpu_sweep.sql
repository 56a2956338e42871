-- What GPUs did: operations are kernels, copies, sets and graphs that have an end. One pass over all fills the tables that
-- cuda_launch, gpu_busy, gpu_cover and gpu_sums describe.
CREATE TEMP TABLE cuda_launch(pid INTEGER PRIMARY KEY, ns REAL);
CREATE TEMP TABLE gpu_busy(gpu INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, start INTEGER, end INTEGER,
	next INTEGER, PRIMARY KEY (gpu, end)) WITHOUT ROWID;
CREATE TEMP TABLE gpu_cover(what TEXT, globalPid INTEGER, deviceId INTEGER, n INTEGER, ns INTEGER, total INTEGER,
	start INTEGER, end INTEGER);
CREATE TEMP TABLE gpu_sums(globalPid INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, what TEXT, detail INTEGER,
	n INTEGER, ns INTEGER, bytes INTEGER, first INTEGER, last INTEGER, small INTEGER);
SELECT sl_gpu_sweep();
