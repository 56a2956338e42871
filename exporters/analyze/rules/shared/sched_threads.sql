-- sched_threads, sched_level, sched_disk, sched_cpus: the tables sl_sched_... (exporters/sql/sweeps.h) until the end of the wall time.
CREATE TEMP VIEW sched_threads AS SELECT * FROM sl_sched_threads((SELECT end FROM wall));
CREATE TEMP VIEW sched_level AS SELECT * FROM sl_sched_level((SELECT end FROM wall));
CREATE TEMP VIEW sched_disk AS SELECT * FROM sl_sched_disk((SELECT end FROM wall));
CREATE TEMP VIEW sched_cpus AS SELECT * FROM sl_sched_cpus((SELECT end FROM wall));
