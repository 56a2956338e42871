-- event_spans, thread_calls, gpu_sums: sl_event_spans, sl_thread_calls, sl_gpu_sums (exporters/sql/sweeps.h). For the wall time
-- (exporters/read/wall.c) and why (exporters/why/model/model_near.c), which read all events where they are not there.
CREATE TEMP TABLE event_spans AS SELECT * FROM sl_event_spans;
CREATE TEMP TABLE thread_calls AS SELECT * FROM sl_thread_calls;
CREATE TEMP TABLE gpu_sums AS SELECT * FROM sl_gpu_sums;
