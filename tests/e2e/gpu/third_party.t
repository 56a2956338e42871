#!/bin/sh
# third_party.t - a report, read as tools for nsys's databases read theirs (third_party.py), on the stand-ins.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 # whatever toolkit is installed here
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

check 'a program of two threads is traced' profile steps -t cuda,nvtx,osrt --osrt-threshold=0 "$B/tests/gpu/steps" 5
cp "$W/steps.sqlite" before.sqlite
for reader in chrome timeline labels analysis system tables; do
	check "$(sed -n "/^def $reader(/{n;s/^ *\"\"\"//;s/:.*//;p;}" "$E2E/gpu/third_party.py"): finds what it looks for" \
		"$PY" "$E2E/gpu/third_party.py" "$W/steps.sqlite" $reader 5 "$BIN"
done

# The readers do look: without a column, a row or a label each of them fails.
spoilt() { # READER SQL
	cp before.sqlite spoilt.sqlite
	sqlite3 spoilt.sqlite "$2"
	check "$1 notices: $2" sh -c '! "$@"' - "$PY" "$E2E/gpu/third_party.py" "$W/spoilt.sqlite" "$1" 5 "$BIN"
}
if command -v sqlite3 >/dev/null; then
	spoilt chrome 'UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = correlationId + 1'
	spoilt timeline 'ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN registersPerThread'
	spoilt labels 'DELETE FROM ENUM_CUDA_MEM_KIND WHERE id = 2'
	spoilt analysis 'DELETE FROM TARGET_INFO_CUDA_DEVICE'
	spoilt system 'DELETE FROM DIAGNOSTIC_EVENT'
	spoilt tables 'DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET'
fi
check 'reading changed nothing' cmp before.sqlite "$W/steps.sqlite"
done_testing
