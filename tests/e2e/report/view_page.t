#!/bin/sh
# view_page.t - the page of `sightline view` in a headless Chromium: each thing that can be done with it once, held against SQL on
# the same report. view_page.mjs, view_others.mjs and view_far.mjs have the tests, tests/web/page.mjs what drives the browser, view_make.py the report.
. tests/lib.sh
. "$TOP/tests/web/driver.sh"
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -s "$B/view/index.html" ] || skip_all 'built without the page of sightline view: the npm registry could not be reached (package npm)'
"$BIN" view --help >/dev/null 2>&1 || skip_all 'built without sightline view (package libevent-dev)'

web_driver "$E2E"/report/view_*.mjs || exit 1

schema=$TOP/collector/schema.sql
"$PY" "$E2E/report/view_make.py" "$schema" train.sqlite 20 && "$PY" "$E2E/report/view_make.py" "$schema" slow.sqlite 20 40 &&
	"$PY" "$E2E/report/view_faults_make.py" "$schema" odd.sqlite && "$PY" "$E2E/report/html_make.py" "$schema" hostile.sqlite && sqlite3 empty.sqlite <"$schema" || exit 1
# Of two GPUs, one has a long name.
cp train.sqlite noted.sqlite && cp train.sqlite named.sqlite && sqlite3 named.sqlite "INSERT INTO TARGET_INFO_GPU(vmId, id, name) SELECT vmId, 1, 'NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition' FROM TARGET_INFO_GPU;
	INSERT INTO TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid, uuid, numMultiprocessors) VALUES (1, 1, 4711, '', 188);
	UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1 WHERE rowid % 2" || exit 1
# Many streams with little on each.
cp train.sqlite streams.sqlite && sqlite3 streams.sqlite "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid > 80;
	UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 100 + rowid % 40" || exit 1
timeout 900 node run/view_page.mjs "$BIN" "$W" "$browser"
status=$?
[ -z "${VIEW_PICTURES-}" ] || cp ./*.png "$VIEW_PICTURES"
exit $status
