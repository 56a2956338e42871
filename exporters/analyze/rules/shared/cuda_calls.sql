-- cuda_calls(what, nameId, start, end, globalTid, correlationId): calls of CUDA that rules look for, in the order of the report
-- within each kind: 'sync', 'alloc', 'load', 'copy', 'set'; names of each: exporters/sql/calls_sweep.c. One pass over all
-- calls finds them, and fills cuda_launch.
-- uses: event_spans
CREATE TEMP TABLE cuda_launch(pid INTEGER PRIMARY KEY, ns REAL);
CREATE VIRTUAL TABLE temp.cuda_calls USING sl_cuda_calls;
SELECT sl_cuda_sweep();
