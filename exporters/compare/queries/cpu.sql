-- title: CPU time
-- about: Time that threads ran on a CPU, from context switches; of a machine recorded as a whole, those of the program.
-- needs: SCHED_EVENTS = context switch
-- unit: ns
-- default: 5 single steady
SELECT '', NULL, sum(end - start), 1
FROM sl_thread_states(1)
WHERE state = 'running'
HAVING count(end) > 0;
