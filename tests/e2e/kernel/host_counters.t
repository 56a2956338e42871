#!/bin/sh
# Counters of the machine (--host-counters): each sample against an independent reader of the same files, which are those of a fake
# root that goes through known steps (with wraps, restarts, processors that go away, damaged lines), and this machine's.
# shellcheck disable=SC2016
. tests/lib.sh

truth() { $PY "$E2E/kernel/host_truth.py" "$@"; }
counters() { sql_shell "$1" "SELECT count(*) FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId WHERE $2" 2>/dev/null || echo 0; }

# ---- values ----

check 'a program is profiled on a fake root' \
	truth run "$W/fake" 0 2 profiled -- "$BIN" profile -f true -t none --host-counters=20 -o one sleep 2.5
check 'each sample is what the files had at that moment' truth check "$W/fake" one.sqlite cgroup
is "$(counters one.sqlite "name = 'Network Received' AND scopeName = 'down0'")" 0 'an interface that is not used has no rows'
# The last reading, at the end, may come soon after the one before, or half a second later.
is "$(sql_shell one.sqlite "SELECT count(*) <= 1 FROM (SELECT timestamp - lag(timestamp) OVER (ORDER BY timestamp) AS ns
	FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId WHERE scope = 'core' AND scopeId = 0 AND name = 'CPU Busy')
	WHERE ns < 400000000")" 1 'processors are read twice a second at most (and once more at the end)'

"$BIN" attach -p $$ -f true -d 1 -s none -o probe >err 2>&1
if [ -e probe.sqlite ]; then
	for version in 1 2; do
		check "attach follows a cgroup of version $version" truth run "$W/fake$version" 2.5 $version attached -- \
			"$BIN" attach -p PID -f true -s none --host-counters=20 -o attached$version
		without=
		[ $version = 1 ] && without='Memory Pressure Full' # has none
		check "its samples are what the files of version $version had" \
			truth check "$W/fake$version" attached$version.sqlite "$without"
	done
else
	skip 'attach follows cgroups' "$(tail -n 1 err)"
fi

check 'sums of this machine lie between what was read before and after' truth real real.sqlite -- \
	"$BIN" profile -f true -t none --host-counters=10 -o real sleep 2
is "$(sql_shell real.sqlite "SELECT count(*) FROM SL_COUNTER_SAMPLES WHERE timestamp < 0 OR timestamp > (SELECT duration FROM ANALYSIS_DETAILS)")" \
	0 'samples lie within the recording'

# ---- processes ----

# A child holds 8 MB more each 0.1 s, 240 MB in all; its parent waits.
cat >grow.py <<'END'
import time
parts = []
for _ in range(30):
    parts.append(bytearray(8 << 20))
    time.sleep(0.1)
END
profile grow -t none --host-counters=10 sh -c '"$1" grow.py; exit' sh "$PY" 2>err
is "$(sql_shell "$R" "SELECT count(*), max(n) >= 4 FROM (SELECT count(*) AS n, max(value) AS most FROM SL_COUNTER_SAMPLES JOIN SL_COUNTERS ON id = counterId
	WHERE scope = 'process' AND name = 'Memory Resident' GROUP BY counterId) WHERE most >= 200 << 20")" '1|1' 'resident memory of a child is read while it grows'
is "$("$BIN" analyze -q -f json -r memory_growth:readings=4 "$R" | "$PY" -c 'import json, sys; print([f["severity"] for f in json.load(sys.stdin)["findings"]])')" \
	"['bad']" 'a process whose memory grows is a finding'

# ---- when ----

cat >program <<'END'
#!/bin/sh
sleep 0.6
END
chmod +x program
profile without -t none ./program 2>err
is "$(sql_shell "$R" "SELECT count(*) FROM sqlite_master WHERE name LIKE 'SL_COUNTER%'")" 0 'there are no counters where the option is not given'
profile env -t none --host-counters=10 sh -c 'env >env; ls -l /proc/self/fd >fds' 2>err
check 'the program has nothing of it' sh -c '! grep LD_PRELOAD env && ! grep -E "/sys/|/proc/(stat|press|net)" fds'
for hz in 101 -1 x; do
	"$BIN" profile -t none --host-counters=$hz -o bad true 2>err
	is $? 2 "--host-counters=$hz is refused"
done

profile late -t none --host-counters=20 --delay=1 sleep 2 2>err
is "$(sql_shell "$R" "SELECT min(timestamp) >= 0 AND min(timestamp) < 5e8 FROM SL_COUNTER_SAMPLES")" 1 '--delay: samples begin with the recording'
is "$(sql_shell "$R" "SELECT sum(value IS NULL) = 1 AND min(timestamp) < 5e8 AND max(timestamp) > 5e8 FROM SL_COUNTER_SAMPLES
	JOIN SL_COUNTERS ON id = counterId WHERE name = 'CPU User'")" 1 'a sum begins with one value that is not known'

# The program outlives the commands, however long these take.
"$BIN" launch --session-new=host -t none sleep 1000 2>launch.err &
launched=$!
check 'the session is there' wait_for 20 sh -c "'$BIN' sessions list -p false | grep -q host"
has_samples() { [ "$(counters "$1" "name = 'Memory Free'")" -gt 5 ]; }
"$BIN" start --session=host --host-counters=20 -f true -o first 2>err
is "$? $(cat err)" '0 ' 'a start with counters is accepted'
check 'a start with counters has samples' wait_for 20 has_samples first.sqlite
"$BIN" stop --session=host 2>>err
"$BIN" start --session=host -f true -o second 2>>err
sleep 0.4
"$BIN" stop --session=host 2>>err
"$BIN" start --session=host --host-counters=20 -f true -o third 2>>err
check 'a start with counters after one without has samples' wait_for 20 has_samples third.sqlite
"$BIN" stop --session=host 2>>err
"$BIN" shutdown --session=host --kill=sigkill >>err 2>&1
wait $launched
is "$(counters second.sqlite 1)" 0 'a start without counters has no samples'
is "$(sql_shell third.sqlite "SELECT count(*) FROM (SELECT counterId, value, min(timestamp) FROM SL_COUNTER_SAMPLES GROUP BY 1)
	JOIN SL_COUNTERS ON id = counterId WHERE isSum AND value IS NOT NULL")" 0 'sums between two recordings are in neither'

profile flight -t none --host-counters=20 --flight=1s --trigger=exit sleep 3 2>err
is "$(sql_shell "$R" "SELECT count(*) BETWEEN 10 AND 25 AND max(timestamp) - min(timestamp) BETWEEN 5e8 AND 1.1e9 FROM SL_COUNTER_SAMPLES
	JOIN SL_COUNTERS ON id = counterId WHERE name = 'Memory Free'")" 1 'the flight recorder keeps the last second'

# ---- what is not there, or not as it should be ----

mkdir empty
SL_SYSROOT=$W/empty profile none -t none --host-counters=20 sh -c 'exit 3' 2>err
is $? 3 'no files of counters: the exit status is that of the program'
is "$(said err | grep -c 'no pressure')" 1 'no files of counters: one line names them'
is "$(said err | grep -vc 'report:')" 1 'no files of counters: no other line'

$PY - "$W/hostile" <<'END'
import os, random, sys
root, rng = sys.argv[1], random.Random(25)
names = ["proc/stat", "proc/meminfo", "proc/vmstat", "proc/diskstats", "proc/net/dev", "proc/pressure/cpu", "proc/pressure/io",
         "proc/self/mountinfo", "proc/self/cgroup"]
for name in names:
    os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
with open(f"{root}/proc/stat", "wb") as f:  # more than is read, and cut within a number
    f.write(b"cpu  18446744073709551616 99999999999999999999999999 1 1 1 1 1 1\n")
    for i in range(200000):
        f.write(b"cpu%d 1 2 3 4 5 6 7 8\n" % i)
with open(f"{root}/proc/diskstats", "w") as f:
    for i in range(5000):
        f.write(f"8 {i} sd{i} 9 9 9 9 9 9 9 9 9 9 9\n")
for name in ("proc/meminfo", "proc/vmstat", "proc/net/dev"):
    with open(f"{root}/{name}", "wb") as f:
        f.write(bytes(rng.choice(b"\0\n :0129cpu-x\xff") for _ in range(30000)))
os.mkfifo(f"{root}/proc/pressure/memory")
os.mkdir(f"{root}/proc/pressure/cpu")
os.symlink("/dev/zero", f"{root}/proc/pressure/io")
END
SL_SYSROOT=$W/hostile profile hostile -t none --host-counters=20 sh -c 'sleep 1; exit 4' 2>err
is $? 4 'damaged files do no harm'
is "$(sql_shell "$R" "SELECT count(*) > 0 AND max(abs(value)) <= 1e27 FROM SL_COUNTER_SAMPLES")" 1 'damaged files: readable values are in the report'
is "$(sql_shell "$R" "SELECT count(*) FROM SL_COUNTERS WHERE scope = 'core'" | awk '{ print ($1 <= 8192) }')" 1 'damaged files: no more cores than 8192'

done_testing
