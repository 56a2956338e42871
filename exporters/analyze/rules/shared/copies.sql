-- copies(globalPid, deviceId, contextId, greenContextId, streamId, start, end, bytes, kind, srcKind, dstKind,
-- srcDeviceId, dstDeviceId, callStart, callEnd, globalTid, nameId, blocking): the copies of GPUs ('kind' is copyKind), in the
-- order of the report, and the call that asked for it; migrations of unified memory and copies of graphs have no call.
-- correlation ids are unique within a process only. blocking: 1 the call returns when the copy is done, 0 it may return
-- before.
-- uses: cuda_calls
CREATE VIRTUAL TABLE temp.copies USING sl_copies;
SELECT sl_copies_sweep();
