#!/bin/sh
# stats_library.t - calls into GPU libraries and the kernels launched in them: a database written by hand.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
GOLD=$TOP/tests/golden/reports
cat "$TOP/collector/schema.sql" "$GOLD/library.sql" | sqlite3 run.sqlite || exit 1
says() { # NAME WANT REPORT [SQL]
	cp run.sqlite it.sqlite
	sqlite3 it.sqlite "${4-}"
	is "$("$BIN" stats -q -r "$3" -f csv:nohdr it.sqlite 2>&1 | sed '/^$/d')" "$2" "$1"
}

# 2 * 64 * 32 * 16 operations in 1,000 ns are 0.07 TFLOP/s; 8 * 8 * 8 * 8 * 4 in 4,096 ns 0.004
says 'gpu_library_sum has a row for each function' "$(cat "$GOLD/library-gpu_library_sum.csv")" gpu_library_sum
says 'gpu_library_sum:sizes has a row for each size' "$(cat "$GOLD/library-gpu_library_sum+sizes.csv")" gpu_library_sum:sizes
# 8 * 160 * 160 * 80 * 4 operations in 4,096 ns are 16 TFLOP/s; of numbers that are not complex 4
for type in 4=16.0 0=4.0; do
	says "type ${type%=*}" "100.0,500,1,500.0,500.0,500,500,0.0,1,4096,${type#*=},cublas,cublasGemmStridedBatchedEx," gpu_library_sum "
		UPDATE SL_GPU_ARGUMENTS SET value = 160 WHERE callId = 1005 AND role IN (33, 34);
		UPDATE SL_GPU_ARGUMENTS SET value = 80 WHERE callId = 1005 AND role = 35;
		UPDATE SL_GPU_ARGUMENTS SET value = ${type%=*} WHERE callId = 1005 AND role = 37;
		DELETE FROM CUDNN_EVENTS; DELETE FROM SL_LIBRARY_API; DELETE FROM CUBLAS_EVENTS WHERE callId <> 1005"
done
says "gpu_library_sum has the host's times where there is no GPU trace" '52.6,8000,1,8000.0,8000.0,8000,8000,0.0,,,,cudnn,cudnnBackendExecute,
46.1,7000,3,2333.3,2000.0,1000,4000,1527.5,,,,cublas,cublasSgemm_v2,
0.7,100,1,100.0,100.0,100,100,0.0,,,,cublas,cublasCreate_v2,
0.7,100,1,100.0,100.0,100,100,0.0,,,,nccl,ncclAllReduce,' gpu_library_sum \
	'DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; DROP TABLE SL_GPU_ARGUMENTS; DELETE FROM CUBLAS_EVENTS WHERE callId = 1005'
says 'gpu_library_sum has one library alone' '100.0,100,1,100.0,100.0,100,100,0.0,,,,nccl,ncclAllReduce,' gpu_library_sum 'DROP TABLE CUBLAS_EVENTS; DROP TABLE CUDNN_EVENTS'
sqlite3 none.sqlite 'CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)'
is "$("$BIN" stats -r gpu_library_sum none.sqlite 2>&1 | grep SKIPPED)" 'SKIPPED: none.sqlite does not contain calls into GPU libraries data.' 'gpu_library_sum says that there are no calls into libraries'
check 'gpu_library_sum runs in the sqlite3 shell' sh -c '"$1" stats --show-sql=gpu_library_sum | sqlite3 -cmd ".load $2" run.sqlite | grep -q ncclAllReduce' - "$BIN" "$B/libsightline_sql"
done_testing
