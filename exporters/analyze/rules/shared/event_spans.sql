-- event_spans(name, first, last): the first start and the last end in a table of events that was read, for the wall time.
-- thread_calls(name, globalTid, n): how many rows of such a table are of a thread. Passes over calls and GPU work fill them.
CREATE TEMP TABLE event_spans(name TEXT, first INTEGER, last INTEGER);
CREATE TEMP TABLE thread_calls(name TEXT, globalTid INTEGER, n INTEGER);
