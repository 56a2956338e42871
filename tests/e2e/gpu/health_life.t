#!/bin/sh
# sl-gpu is killed, crashes or hangs at random moments: the program's status is kept, the trace is whole, one line states it, and the
# gap is marked.
. tests/lib.sh

NVML=$B/tests/standin/nvml
[ -e "$NVML/libnvidia-ml.so.1" ] || skip_all 'the stand-in for NVML is not built'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
LD_LIBRARY_PATH=$NVML
export LD_LIBRARY_PATH
SEED=${SEED:-$$}
echo "# SEED=$SEED"
random() { # N MOST
	awk -v seed="$SEED" -v n="$1" -v most="$2" 'BEGIN { srand(seed + n * 7919); rand(); print int(rand() * most) }'
}
# The program writes a file of its own, by which the trace is judged; it knows nothing of GPUs. It goes on after sl-gpu has ended,
# whose PID stands in the log.
cat >program.py <<'END'
import os, re, time
os.dup2(os.open("out", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
def writes():
    for i in range(20):
        os.write(1, b"%d\n" % i)
        time.sleep(0.04)
def is_there():
    try:
        with open("log") as log:
            os.kill(int(re.search("^init (.*)", log.read(), re.M).group(1)), 0)
    except OSError:
        return False
    return True
writes()
while is_there(): time.sleep(0.02)
writes()
os._exit(7)
END

# One recording; $2: what the stand-in does, or kill: SIGKILL after so many ms.
one() { # NUMBER WAY MS
	mkdir -p "$1" && cd "$1" || exit
	way=$2=$3
	[ "$2" = kill ] && way=
	SL_STANDIN_NVML_LOG=$PWD/log SL_STANDIN_NVML=$way "$BIN" profile -f true -o r -t osrt --osrt-threshold=0 --gpu-metrics-devices=all \
		"$PY" -S ../program.py 2>err &
	one_pid=$!
	if [ "$2" = kill ]; then
		wait_for 10 test -s log
		sleep "$(awk "BEGIN { print $3 / 1000 }")"
		kill -KILL "$(sed -n 's/^init //p' log)"
	fi
	wait $one_pid
	echo $? >status
}
judge() { # NUMBER NAME LINE
	is "$(cat "$1/status") $(grep -c "$3" "$1/err") $(grep -vc 'report:\|come from GPM\|context-switch' "$1/err")" '7 1 1' "$2: the program's status, one line" || diag <"$1/err"
	check "$2: the trace is whole, the gap is marked" sh -c "
		[ \$(sqlite3 $1/r.sqlite \"SELECT count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE value LIKE 'write%' AND fd = 1\") -ge 40 ] &&
		$PY '$E2E/gpu/health_truth.py' gap $1/log $1/r.sqlite && $PY '$E2E/gpu/health_truth.py' order $1/r.sqlite"
}

n=0
while [ $n -lt 12 ]; do
	for k in $n $((n + 1)) $((n + 2)) $((n + 3)); do
		one $k kill "$(random $k 1200)" &
	done
	wait
	for k in $n $((n + 1)) $((n + 2)) $((n + 3)); do
		judge $k "killed after $(random $k 1200) ms" 'no longer sampled: sl-gpu was killed by signal 9'
	done
	n=$((n + 4))
done
for k in 20 21 22 23; do
	one $k crash "$(random $k 1200)" &
done
for k in 30 31 32 33; do
	one $k hang "$(random $k 1200)" &
done
wait
for k in 20 21 22 23; do
	judge $k "crashed after $(random $k 1200) ms" 'no longer sampled: sl-gpu was killed by signal'
done
for k in 30 31 32 33; do
	judge $k "hung after $(random $k 1200) ms" 'no longer sampled: sl-gpu gave no sign of life for .* s and was ended'
	is "$(kill -0 "$(sed -n 's/^init //p' $k/log)" 2>&1 | grep -c .)" 1 "hung after $(random $k 1200) ms: sl-gpu is gone"
done

# The collector is killed: sl-gpu does not stay.
mkdir -p last && cd last || exit
SL_STANDIN_NVML_LOG=$PWD/log "$BIN" profile -f true -o r -t none --gpu-metrics-devices=all sleep 5 2>err &
last=$!
wait_for 10 test -s log
kill -KILL $last
wait $last 2>/dev/null
gone() { ! kill -0 "$(sed -n 's/^init //p' log)" 2>/dev/null; }
check 'sl-gpu ends with the collector' wait_for 5 gone
cd ..

done_testing
