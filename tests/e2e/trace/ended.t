#!/bin/sh
# ended.t - processes that a signal ends: which, by which, and whether the kernel's OOM killer has sent it.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'no python3'

ends() { q "$R" "SELECT text FROM DIAGNOSTIC_EVENT WHERE text LIKE '%was ended by signal%' ORDER BY text"; }

profile fine -t none -s none sh -c 'true; exit 3' 2>err
is "$?" 3 'an exit status is no signal'
is "$(ends)" '' 'so there is no word of one'
profile segv -t none -s none sh -c 'ulimit -c 0; echo $$ >pid; exec "$1" -c "import os; os.kill(os.getpid(), 11)"' sh "$PY" 2>err
is "$?" 139 'a crash'
check 'has its process, and the signal' eval 'ends | grep -Eq "^process $(cat pid)( \([^)]*\))? was ended by signal 11 .SIGSEGV.$"' || ends | diag
check 'is a finding of its own' eval '"$BIN" analyze -q -r process_killed "$R" | tr -s "\n " " " | grep -q "Process $(cat pid).* was ended by SIGSEGV at "' || "$BIN" analyze -q -r process_killed "$R" | diag
before=$(grep -s '^oom_kill ' /proc/vmstat)
profile killed -t none -s none sh -c 'sh -c "echo \$\$ >pid; kill -9 \$\$"; exit 4' 2>err
is "$?" 4 'a child that is killed'
if [ "$(grep -s '^oom_kill ' /proc/vmstat)" = "$before" ]; then
	check 'by SIGKILL, and not for want of memory' eval 'ends | grep -Eq "^process $(cat pid)( \([^)]*\))? was ended by signal 9 .SIGKILL.$"' || ends | diag
else
	skip 'by SIGKILL' 'the OOM killer has worked meanwhile'
fi

# ---- for want of memory ----
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
	group=/sys/fs/cgroup/sightline-test-$$ limit=memory.max events=memory.events
else
	group=/sys/fs/cgroup/memory/sightline-test-$$ limit=memory.limit_in_bytes events=memory.oom_control
fi
if [ -z "$before" ] || [ ! -e "${group%/*}/cgroup.procs" ] || ! mkdir $group 2>/dev/null || ! echo 96M >$group/$limit 2>/dev/null; then
	rmdir $group 2>/dev/null
	skip 'the OOM killer' 'no cgroup with a limit can be made'
else
	at_exit="rmdir $group 2>/dev/null"
	[ ! -e $group/memory.swap.max ] || echo 0 >$group/memory.swap.max
	profile oom -t none -s none --host-counters=100 sh -c 'echo $$ >pid; echo $$ >"$1/cgroup.procs"; exec "$2" -c "x = bytearray(400 << 20); print(len(x))"' sh $group "$PY" >out 2>err
	status=$?
	killed=$(awk '$1 == "oom_kill" { print $2 }' $group/$events)
	if [ "$killed" = 0 ]; then
		skip 'the OOM killer' "has not come: exit status $status"
	else
		is $status 137 "the kernel has counted $killed in this cgroup"
		"$BIN" analyze -q -f json -r process_killed "$R" >found.json
		check 'by a finding, too, with the memory there was' "$PY" -c '
import json
f = json.load(open("found.json"))["findings"][0]
assert f["severity"] == "severe" and "was ended by SIGKILL at " in f["finding"] and "(OOM killer)" in f["finding"], f
r = f["evidence"][0]
assert r["OOM"] == 1 and r["Available (bytes)"] > 0, r'
		check 'the OOM killer is named' eval 'ends | grep -Eq "^process $(cat pid)( \([^)]*\))? was ended by signal 9 .SIGKILL.: the kernel has ended .* for want of memory meanwhile .OOM killer.$"' || ends | diag
	fi
fi
done_testing
