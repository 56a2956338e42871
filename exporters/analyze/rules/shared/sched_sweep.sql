-- One pass over all context switches fills the tables that sched_threads describes.
CREATE TEMP TABLE sched_threads(globalTid INTEGER PRIMARY KEY, runs INTEGER, ran INTEGER, waited INTEGER, preempted INTEGER,
	first INTEGER, last INTEGER);
CREATE TEMP TABLE sched_level(threads INTEGER, running INTEGER, ns INTEGER);
CREATE TEMP TABLE sched_disk(globalTid INTEGER, start INTEGER, end INTEGER);
CREATE TEMP TABLE sched_cpus(cpu INTEGER);
SELECT sl_sched_sweep();
