#!/bin/sh
# ended.t - processes that a signal ends: which, by which, and whether the kernel's OOM killer has sent it.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

ends() { q "$R" "SELECT text FROM DIAGNOSTIC_EVENT WHERE text LIKE '%was ended by signal%' ORDER BY text"; }

profile fine -t none -s none sh -c 'true; exit 3' 2>err
is "$?" 3 'profile passes on exit status 3'
is "$(ends)" '' 'an exit status leaves no message about a signal'
profile segv -t none -s none sh -c 'ulimit -c 0; echo $$ >pid; exec "$1" -c "import os; os.kill(os.getpid(), 11)"' sh "$PY" 2>err
is "$?" 139 'profile ends with 139 when the program crashes'
check 'the report names the process that crashed, and SIGSEGV' eval 'ends | grep -Eq "^process $(cat pid)( \([^)]*\))? was ended by signal 11 .SIGSEGV.$"' || ends | diag
check 'process_killed has a finding on the crash' eval '"$BIN" analyze -q -r process_killed "$R" | tr -s "\n " " " | grep -q "Process $(cat pid).* was ended by SIGSEGV at "' || "$BIN" analyze -q -r process_killed "$R" | diag
before=$(grep -s '^oom_kill ' /proc/vmstat)
profile killed -t none -s none sh -c 'sh -c "echo \$\$ >pid; kill -9 \$\$"; exit 4' 2>err
is "$?" 4 'profile passes on the status of a program whose child is killed'
if [ "$(grep -s '^oom_kill ' /proc/vmstat)" = "$before" ]; then
	check 'the report names the child killed by SIGKILL, without the OOM killer' eval 'ends | grep -Eq "^process $(cat pid)( \([^)]*\))? was ended by signal 9 .SIGKILL.$"' || ends | diag
else
	skip 'the report names the child killed by SIGKILL, without the OOM killer' 'the OOM killer has worked meanwhile'
fi

# ---- for want of memory ----
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
	group=/sys/fs/cgroup/sightline-test-$$ limit=memory.max events=memory.events
else
	group=/sys/fs/cgroup/memory/sightline-test-$$ limit=memory.limit_in_bytes events=memory.oom_control
fi
if [ -z "$before" ] || [ ! -e "${group%/*}/cgroup.procs" ] || ! mkdir $group 2>/dev/null || ! echo 96M >$group/$limit 2>/dev/null; then
	rmdir $group 2>/dev/null
	skip 'the report names the OOM killer beside SIGKILL' 'no cgroup with a limit can be made'
else
	at_exit="rmdir $group 2>/dev/null"
	[ ! -e $group/memory.swap.max ] || echo 0 >$group/memory.swap.max
	profile oom -t none -s none --host-counters=100 sh -c 'echo $$ >pid; echo $$ >"$1/cgroup.procs"; sleep 1.5; exec "$2" -c "x = bytearray(400 << 20); print(len(x))"' sh $group "$PY" >out 2>err
	status=$?
	killed=$(awk '$1 == "oom_kill" { print $2 }' $group/$events)
	if [ "$killed" = 0 ]; then
		skip 'the report names the OOM killer beside SIGKILL' "has not come: exit status $status"
	else
		is $status 137 "a program that the OOM killer ends has status 137 (oom_kill $killed in its cgroup)"
		"$BIN" analyze -q -f json -r process_killed "$R" >found.json
		check 'the finding on the OOM killer has the memory that was available' "$PY" -c '
import json
f = json.load(open("found.json"))["findings"][0]
assert f["severity"] == "severe" and "was ended by SIGKILL at " in f["finding"] and "(OOM killer)" in f["finding"], f
r = f["evidence"][0]
assert r["OOM"] == 1 and r["Available (bytes)"] > 0, r'
		check 'the finding on the OOM killer has the limit of the cgroup that the program moved to' "$PY" -c '
import json
f = json.load(open("found.json"))["findings"][0]
assert f["evidence"][0]["Cgroup Limit (bytes)"] == 96 << 20 and " of 101 MB" in f["finding"], f'
		check 'the report names the OOM killer beside SIGKILL' eval 'ends | grep -Eq "^process $(cat pid)( \([^)]*\))? was ended by signal 9 .SIGKILL.: the kernel has ended .* for want of memory meanwhile .OOM killer.$"' || ends | diag
	fi
fi
done_testing
