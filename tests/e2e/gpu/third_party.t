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

# Several GPU processes, whose CUPTIs all count from 1; also as children of children, and one after the other.
converted() { # PROCESSES NAME COMMAND...
	n=$1 name=$2
	shift 2
	profile many -t cuda,nvtx,osrt --osrt-threshold=0 --cudabacktrace=all "$@" >said 2>err || diag <err
	check "$name: ids are unique and below 2^31, and kernels find their calls by them" "$PY" "$E2E/gpu/third_party.py" "$W/many.sqlite" converter "$n" "$BIN"
}
converted 1 'one process' "$B/tests/gpu/steps" 20
converted 2 'two processes' sh -c '"$0" 20 & "$0" 30; wait' "$B/tests/gpu/steps"
converted 4 'four ranks below their launchers' sh -c 'for rank in 0 1 2 3; do (RANK=$rank WORLD_SIZE=4 sh -c "\"$0\" 2$rank; :") & done; wait' "$B/tests/gpu/steps"
converted 9 'nine processes, one after the other' sh -c 'for i in 1 2 3 4 5 6 7 8 9; do "$0" 3; done' "$B/tests/gpu/steps"

# The readers do look: without a column, a row or a label each of them fails.
spoilt() { # READER SQL
	cp before.sqlite spoilt.sqlite
	sqlite3 spoilt.sqlite "$2"
	check "$1 notices: $2" sh -c '! "$@"' - "$PY" "$E2E/gpu/third_party.py" "$W/spoilt.sqlite" "$1" 5 "$BIN"
}
if command -v sqlite3 >/dev/null; then
	cp "$W/many.sqlite" kept.sqlite
	for sql in 'UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = correlationId + (1 << 32)' 'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = NULL' \
		'UPDATE OSRT_API SET callchainId = callchainId + (1 << 32)' 'UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = 1'; do
		cp kept.sqlite spoilt.sqlite && sqlite3 spoilt.sqlite "$sql"
		check "converter notices: $sql" sh -c '! "$@"' - "$PY" "$E2E/gpu/third_party.py" "$W/spoilt.sqlite" converter 9 "$BIN"
	done
	spoilt chrome 'UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = correlationId + 1'
	spoilt timeline 'ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN registersPerThread'
	spoilt labels 'DELETE FROM ENUM_CUDA_MEM_KIND WHERE id = 2'
	spoilt analysis 'DELETE FROM TARGET_INFO_CUDA_DEVICE'
	spoilt system 'DELETE FROM DIAGNOSTIC_EVENT'
	spoilt tables 'DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET'
fi
check 'reading changed nothing' cmp before.sqlite "$W/steps.sqlite"
done_testing
