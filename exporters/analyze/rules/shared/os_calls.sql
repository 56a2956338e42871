-- os_calls(what, nameId, start, end, globalTid, returnValue, pathId): calls into the C library that rules look for among all
-- others, in the order of the report within each what: 'lock', 'condition', 'barrier', 'join', 'create', 'library', 'sync', by
-- SL_FUNCTION_KINDS.
-- uses: event_spans
CREATE VIRTUAL TABLE temp.os_calls USING sl_os_calls;
SELECT sl_os_sweep();
