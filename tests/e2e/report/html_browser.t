#!/bin/sh
# html_browser.t - the HTML summary as people see it: in a headless Chromium, light and dark, wide and narrow.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
"$PY" -c 'import sys; sys.path.insert(0, sys.argv[1]); import browser; sys.exit(not browser.find())' "$TOP/tests/web" ||
	skip_all 'chromium is not installed (package chromium)'
[ -s "$B/html/uplot.js" ] || skip_all 'built without charts'

"$PY" "$E2E/report/html_make.py" "$TOP/collector/schema.sql" all.sqlite || exit 1
sqlite3 empty.sqlite <"$TOP/collector/schema.sql"
# Two seconds; a GPU that works in the first one, memory that is taken in the third half-second, two processes.
cp empty.sqlite known.sqlite
sqlite3 known.sqlite "
	INSERT INTO StringIds VALUES (1, 'k');
	INSERT INTO ANALYSIS_DETAILS VALUES (1 << 48, 2000000000, 0, 2000000000);
	INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1 << 48, '', 'CpuCores', 4, '2');
	INSERT INTO PROCESSES VALUES ((1 << 48) + (1 << 24), 1, 'one'), ((1 << 48) + (2 << 24), 2, 'two');
	INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, globalPid, bytes, copyKind)
		VALUES (0, 1000, 0, 1, 7, (1 << 48) + (1 << 24), 4, 1);
	INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, globalPid, value, bytes, memKind)
		VALUES (0, 1000, 0, 1, 7, (1 << 48) + (1 << 24), 0, 4, 2);
	INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, contextId, streamId, globalPid, graphId, graphExecId)
		VALUES (0, 1000000000, 0, 1, 7, (1 << 48) + (1 << 24), 1, 1);
	INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, pc, bytes, memKind, memoryOperationType)
		VALUES (1000000000, (1 << 48) + (1 << 24), 0, 1, 1, 0, 1073741824, 2, 0), (1500000000, (1 << 48) + (1 << 24), 0, 1, 1, 0, 1073741824, 2, 1);
	INSERT INTO SCHED_EVENTS VALUES (0, 0, 1, (1 << 48) + (1 << 24) + 1, NULL, NULL), (1600000000, 0, 0, (1 << 48) + (1 << 24) + 1, 2, NULL),
		(1000000000, 1, 1, (1 << 48) + (2 << 24) + 2, NULL, NULL), (1400000000, 1, 0, (1 << 48) + (2 << 24) + 2, 2, NULL)" || exit 1
for d in all known empty; do
	"$BIN" report -q "$d.sqlite" || exit 1
done
"$PY" "$E2E/report/html_browser.py" "$TOP/tests/web" "$W"
