#!/bin/sh
# analyze_pairs.t - each problem that `analyze` knows, in a program that has it and in its twin that does the same work
# well (tests/gpu/pair.c, tests/prog/pair_host.c), traced as a user would: the rule finds it in the one, and nothing of
# the kind in the other.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
GPU=$B/tests/gpu/pair HOST=$PROG/pair_host
STANDIN=$B/tests/standin
if [ ! -x "$GPU" ] || [ ! -f "$STANDIN/libcupti.so.13" ]; then skip_all 'the stand-ins are not built'; fi
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 # whatever toolkit is installed here
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

found() { # REPORT: "RULE SEVERITY" of each finding
	"$BIN" analyze -q -f json "$1" >"$1.json" 2>&1
	"$PY" -c 'import json, sys
for f in json.load(open(sys.argv[1]))["findings"]:
    print(f["rule"], f["severity"])' "$1.json"
}
# Each rule fires on bad, none on good. What is bad may be a mere remark where it is one of several things. A finding is a share of
# the time, so there is none of a program that hardly ran: where the report itself states that (cpu_taken), there is no verdict.
pair() { # PROGRAM PROBLEM RULE...
	problem=$2
	severity='\(bad\|severe\)'
	[ $# -le 3 ] || severity='.*'
	trace "$1" "$2"
	shift 2
	for rule; do
		verdict "$problem-bad" "$rule: finds $problem" finds "$problem-bad" "$rule $severity"
		verdict "$problem-good" "$rule: finds no $problem where it is done well" finds_not "$problem-good" "$rule \(bad\|severe\)"
	done
}
trace() { # PROGRAM PROBLEM
	for how in bad good; do
		profile "$2-$how" -t cuda,nvtx,osrt "$1" "$2" $how >log 2>&1 || result 1 "$2 $how: runs" || diag <log
		found "$R" >"$2-$how.found" 2>&1
	done
}
verdict() { # RUN NAME COMMAND...
	verdict_run=$1 verdict_name=$2
	shift 2
	if grep -q '^cpu_taken ' "$verdict_run.found" && ! "$@" >/dev/null; then
		skip "$verdict_name" 'other programs had the CPUs, as the report states'
	else
		check "$verdict_name" "$@"
	fi
}
finds() { # NAME PATTERN
	grep -qx "$2" "$1.found" || explain "$1"
}
finds_not() {
	! grep -qx "$2" "$1.found" || explain "$1"
}
explain() { # what it said, as a failure
	"$PY" -c 'import json, sys
report = json.load(open(sys.argv[1]))
print("wall", [r["wall_ns"] for r in report["reports"]])
for f in report["findings"]:
    print(f["rule"], f["severity"], f["time_percent"], f["finding"])' "$1.sqlite.json"
	return 1
}

pair "$HOST" reads io_small_reads
pair "$HOST" locks lock_contention
# Four threads that compute in Python, or one.
{
	echo "#!$PY"
	cat <<'END'
import sys, threading
def count():
    for i in range(1000000): "%d" % i
threads = [threading.Thread(target=count) for _ in range(4 if sys.argv[2] == "bad" else 1)]
for t in threads: t.start()
for t in threads: t.join()
END
} >gil.py
chmod +x gil.py
if ! "$PY" -c 'import sys; sys.exit(not getattr(sys, "_is_gil_enabled", lambda: True)())'; then
	skip 'gil: the pair is told apart' "$PY has no such lock"
else
	pair ./gil.py gil python_gil
fi
pair "$HOST" processes cpu_short_processes
pair "$HOST" threads cpu_short_threads
if [ "$(sqlite3 -readonly "$R" 'SELECT count(*) > 0 FROM SCHED_EVENTS' 2>&1)" = 1 ]; then
	pair "$HOST" crowd cpu_oversubscribed
	pair "$HOST" imbalance cpu_imbalance
else
	skip 'crowd, imbalance' 'no context switches are recorded here'
fi
case $(stat -f -c %T .) in
tmpfs | ramfs) skip 'syncs and cold: the pairs are told apart' "there is no disk behind $W" ;;
*)
	pair "$HOST" syncs io_syncs
	pair "$HOST" cold io_cold_reads
	;;
esac
pair "$GPU" allocation cuda_alloc
pair "$GPU" transfer cuda_small_copies
pair "$GPU" synchronisation cuda_sync_idle
pair "$GPU" kernels cuda_small_kernels
pair "$GPU" imbalance stream_imbalance
pair "$GPU" access cuda_copy_bandwidth
pair "$GPU" combined cuda_alloc cuda_small_copies cuda_sync_idle cuda_small_kernels stream_imbalance cuda_copy_bandwidth
pair "$GPU" pageable cuda_memcpy_async
pair "$GPU" default-stream cuda_default_stream
pair "$GPU" blocking cuda_memcpy_sync
pair "$GPU" devices gpu_imbalance
pair "$GPU" compiling cuda_module_load
pair "$GPU" loader data_loading
done_testing
