#!/bin/sh
# No room, no permission, no privileges, no collector: the program works, the user gets one line.
# shellcheck disable=SC2016,SC2046,SC2086,SC2094,SC3045
. tests/lib.sh

head -c 100 /dev/zero >data
N=2000
export W BIN SHIM
works() { # STATUS NAME: the program did its work
	is "$1 $(cat out)" "0 bytes $((64 * N))" "$2"
}
lines() { # FILE WANT NAME
	is "$(wc -l <"$1" | tr -d ' ')" "$2" "$3" || diag <"$1"
}
root=
[ "$(id -u)" = 0 ] && root=1

# ---- no collector ----
SIGHTLINE_COLLECTOR=/nonexistent bare n1 "$PROG/repeat" "$W/data" $N >out 2>err
works $? 'no collector: the program works'
lines err 1 'no collector: stderr has one line'
check 'no collector: no report is written' test ! -e "$R"
SIGHTLINE_COLLECTOR=/nonexistent bare n2 sh -c 'true; /bin/true; (/bin/true); exec "$0" "$@"' "$PROG/repeat" "$W/data" $N >out 2>err
works $? 'no collector, a tree of processes: it works'
lines err 1 'no collector, a tree of processes: stderr has one line'
SIGHTLINE_COLLECTOR=/etc/passwd bare n3 "$PROG/repeat" "$W/data" $N >out 2>err
works $? 'a collector that cannot be executed: the program works'
lines err 1 'a collector that cannot be executed: stderr has one line'
SIGHTLINE_COLLECTOR=/bin/false bare n4 "$PROG/repeat" "$W/data" $N >out 2>err
works $? 'a collector that is none: the program works'
mkdir alone
cp "$SHIM" alone/
LD_PRELOAD=$W/alone/libtrace.so SIGHTLINE_OUTPUT=$W/al.sqlite PATH=/usr/bin:/bin "$PROG/repeat" "$W/data" $N >out 2>err
works $? 'a library without its collector: the program works'
SIGHTLINE_OPTIONS=--nonsense bare n5 "$PROG/repeat" "$W/data" $N >out 2>err
works $? 'SIGHTLINE_OPTIONS that are wrong: the program works'
lines err 1 'SIGHTLINE_OPTIONS that are wrong: stderr has one line'
SIGHTLINE_SESSION=/nonexistent LD_PRELOAD=$SHIM "$PROG/repeat" "$W/data" $N >out 2>err
works $? 'a session that is gone: the program works'

# ---- reports that cannot be written ----
"$BIN" profile -o /nonexistent/x "$PROG/repeat" "$W/data" $N >out 2>err
is "$? $(cat out)" '1 ' 'no such folder: the program does not start'
lines err 1 'no such folder: stderr has one line'
echo mine >exists.sqlite
"$BIN" profile -o exists "$PROG/repeat" "$W/data" $N >out 2>err
is "$? $(cat out) $(cat exists.sqlite)" '1  mine' 'an existing report is not touched'
lines err 1 'an existing report: stderr has one line'
mkdir folder.sqlite
"$BIN" profile -f true -o folder.sqlite "$PROG/repeat" "$W/data" $N >out 2>err
is "$? $(cat out)" '1 ' 'a report that is a folder: the program does not start'
SIGHTLINE_OUTPUT=/nonexistent/x.sqlite LD_PRELOAD=$SHIM "$PROG/repeat" "$W/data" $N >out 2>err
works $? 'no such folder, bare: the program works'
lines err 1 'no such folder, bare: stderr has one line'

# ---- without privileges ----
if [ $root ] && command -v setpriv >/dev/null; then
	as='setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all'
	mkdir open closed
	chmod 777 open
	chmod 755 closed
	cp "$PROG/repeat" "$W/data" open/
	chmod 755 "$W"
	cp -r "$BIN" "$SHIM" open/ && chmod 755 open/sightline open/libtrace.so
	if $as "$W/open/repeat" "$W/data" $N >out 2>/dev/null; then
		$as "$W/open/sightline" profile -o "$W/open/u" --osrt-threshold=0 "$W/open/repeat" "$W/data" $N >out 2>err
		works $? 'no privileges: the program works'
		check 'no privileges: the report is sound' intact open/u.sqlite
		is "$(q open/u.sqlite "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" $N 'no privileges: every call is a row'
		(cd closed && exec $as env LD_PRELOAD="$W/open/libtrace.so" "$W/open/repeat" "$W/data" $N) >out 2>err
		works $? 'unwritable working folder, bare: the program works'
		lines err 1 'unwritable working folder, bare: stderr has one line'
		(cd closed && exec $as "$W/open/sightline" profile "$W/open/repeat" "$W/data" $N) >out 2>err
		is "$? $(cat out)" '1 ' 'unwritable working folder, profile: the program does not start'
		lines err 1 'unwritable working folder, profile: stderr has one line'
		# The program changes its user while traced (a daemon dropping root).
		# By the copy of the shim that others can read, wherever the tree lies.
		R=$W/drop.sqlite
		"$W/open/sightline" profile -f true -o drop --osrt-threshold=0 $as "$W/open/repeat" "$W/data" $N >out 2>err
		works $? 'root gives up its rights: the program works'
		is "$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" $N 'root gives up its rights: every call is a row'
	else
		skip 'no privileges: the program works' 'the user nobody cannot execute files here'
	fi
else
	skip 'no privileges: the program works' 'needs root and setpriv (package util-linux)'
fi

# ---- mounts of our own ----
if [ $root ] && unshare -m true 2>/dev/null; then
	mkdir small full ro
	unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"' sh \
		"$BIN" profile -f true -o "$W/shm" --osrt-threshold=0 "$PROG/repeat" "$W/data" 200000 >out 2>err
	is "$? $(cat out)" "0 bytes $((64 * 200000))" '/dev/shm of 1 MB: the program works'
	check '/dev/shm of 1 MB: the report is sound' intact shm.sqlite
	is "$(q shm.sqlite "SELECT (SELECT count(*) FROM call WHERE name LIKE 'pread%')")" 200000 '/dev/shm of 1 MB: every call is a row'

	for where in profile bare; do
		unshare -m sh -c '
			mount -t tmpfs -o size=3m tmpfs "$1/full" || exit 99
			where=$2
			shift 2
			case $where in
			profile) "$BIN" profile -o "$W/full/r" --osrt-threshold=0 "$@" ;;
			bare) SIGHTLINE_OPTIONS=--osrt-threshold=0 SIGHTLINE_OUTPUT=$W/full/r.sqlite LD_PRELOAD=$SHIM "$@" ;;
			esac
			echo $? >"$W/status"
			for i in $(seq 100); do [ -e full/r.sqlite-wal ] || break; sleep 0.1; done
			cp full/* "$W/small/"' sh "$W" $where "$PROG/repeat" "$W/data" 300000 >out 2>err
		is "$(cat status) $(cat out)" "0 bytes $((64 * 300000))" "full disk, $where: the program works"
		check "full disk, $where: the report is sound" intact small/r.sqlite
		is "$(q small/r.sqlite "SELECT (SELECT count(*) FROM call WHERE name LIKE 'pread%') +
			(SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE $RECORDS)" 2>&1)" 300000 "full disk, $where: rows + lost = calls"
		[ $where = bare ] || check 'full disk: stderr has a message' grep -q '^sightline: .*' err
		rm -f small/*
	done
	unshare -m sh -c 'mount -t tmpfs tmpfs "$0/ro" && mount -o remount,ro "$0/ro" && cd "$0/ro" && shift && exec "$@"' \
		"$W" x "$BIN" profile "$PROG/repeat" "$W/data" $N >out 2>err
	is "$? $(cat out)" '1 ' 'read-only folder: the program does not start'
	lines err 1 'read-only folder: stderr has one line'
	unshare -m sh -c 'mount -t tmpfs tmpfs "$0/ro" && mount -o remount,ro "$0/ro" && cd "$0/ro" && LD_PRELOAD=$1 && export LD_PRELOAD && shift && exec "$@"' \
		"$W" "$SHIM" "$PROG/repeat" "$W/data" $N >out 2>err
	works $? 'read-only folder, bare: the program works'
	lines err 1 'read-only folder, bare: stderr has one line'
	unshare -m sh -c 'umount -l /proc && exec "$@"' sh env SIGHTLINE_OUTPUT="$W/np.sqlite" LD_PRELOAD="$SHIM" "$PROG/repeat" "$W/data" $N >out 2>err
	works $? 'no /proc, bare: the program works'
	unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$BIN" profile -f true -o "$W/np2" "$PROG/repeat" "$W/data" $N >out 2>err
	works $? 'no /proc, profile: the program works'
	[ ! -f np2.sqlite ] || check 'no /proc, profile: the report is sound' intact np2.sqlite
	# Own PID namespace: ids in the report are those of the collector.
	unshare -pf --mount-proc "$BIN" profile -f true -o "$W/ns" --osrt-threshold=0 "$PROG/repeat" "$W/data" $N >out 2>err
	works $? 'a PID namespace: the program works'
	is "$(q ns.sqlite "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" $N 'a PID namespace: every call is a row'
	profile ns2 --osrt-threshold=0 unshare -pf --mount-proc "$PROG/repeat" "$W/data" $N >out 2>err
	works $? 'a PID namespace below the collector: the program works'
	is "$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" $N 'a PID namespace below the collector: every call is a row'
	is "$(q "$R" "SELECT count(*) FROM SL_PROCESS_TREE t JOIN (SELECT DISTINCT pid FROM call WHERE name LIKE 'pread%') ON t.globalPid >> 24 & 0xffffff = pid
		WHERE t.exe LIKE '%/repeat'")" 1 'a PID namespace below the collector: its ids are those of the tree'
else
	skip '/dev/shm of 1 MB: the program works' 'needs root and mount namespaces'
fi

# ---- limits ----
n=0
for how in bare profile; do
	for limit in '-n 24' '-v 300000' '-v 60000' '-l 0' '-f 100000' '-f 8' '-t 20' '-s 64'; do
		n=$((n + 1))
		case $how in
		bare) (ulimit $limit && SIGHTLINE_OPTIONS=--osrt-threshold=0 bare l$n "$PROG/repeat" "$W/data" $N) >out 2>err ;;
		profile) profile l$n --osrt-threshold=0 sh -c 'ulimit $1; shift; exec "$@"' sh "$limit" "$PROG/repeat" "$W/data" $N >out 2>err ;;
		esac
		works $? "ulimit $limit, $how: the program works"
		R=$W/l$n.sqlite
		if [ $how = bare ] && [ -s err ]; then
			lines err 1 "ulimit $limit, bare: stderr has one line instead of a report"
			continue
		fi
		check "ulimit $limit, $how: the report is sound" intact "$R"
		case $limit in
		-v* | -f*) ;; # the rings may have no place: the program's calls are missing then
		*) is "$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" $N "ulimit $limit, $how: every call is a row" ;;
		esac
	done
done
# ---- limits of the collector, too ----
# Calls are recorded; or a message, once, on stderr or in the report, gives the reason why they are not.
why='not traced|not tracing|could not be entered|Cannot allocate memory'
for how in bare profile; do
	for limit in '-S -n 16' '-v 400000' '-v 200000'; do
		n=$((n + 1))
		R=$W/l$n.sqlite
		case $how in
		bare) (ulimit $limit && SIGHTLINE_OPTIONS=--osrt-threshold=0 bare l$n "$PROG/repeat" "$W/data" $N) >out 2>err ;;
		profile) (ulimit $limit && profile l$n --osrt-threshold=0 "$PROG/repeat" "$W/data" $N) >out 2>err ;;
		esac
		status=$?
		[ $how = bare ] && [ -s "$R" ] && wait_for 10 finished "$R"
		rows=$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'" 2>/dev/null)
		told=$(q "$R" 'SELECT text FROM DIAGNOSTIC_EVENT WHERE severity > 1' 2>/dev/null | cat - err | sort -u | grep -cE "$why")
		case $limit,$how,$status in
		-v*,profile,1) is "$(cat out) $(grep -cE "$why" err)" ' 1' "ulimit $limit, profile: does not start without memory, and says so" ;;
		-v*)
			works $status "ulimit $limit, $how: the program works"
			check "ulimit $limit, $how: ${rows:-0} calls are rows, or one line has the reason ($told)" [ "${rows:-0} $told" = "$N 0" -o "${rows:-0} $told" = '0 1' ]
			;;
		*)
			works $status "ulimit $limit, $how: the program works"
			is "${rows:-0} $told" "$N 0" "ulimit $limit, $how: a limit that can be raised does not matter"
			;;
		esac
	done
done
(ulimit -n 16 && profile few "$PROG/repeat" "$W/data" $N) >out 2>err
is "$? $(cat out)" '1 ' '16 descriptors, profile: the program does not start'
is "$(tail -n 1 err | grep -ciE 'too (many open files|few descriptors)')" 1 '16 descriptors, profile: the last line has what is missing' || diag <err
(ulimit -n 16 && bare few "$PROG/repeat" "$W/data" $N) >out 2>err
works $? '16 descriptors, bare: the program works'
lines err 1 '16 descriptors, bare: stderr has one line'
is "$(grep -ciE 'too (many open files|few descriptors)' err)" 1 '16 descriptors, bare: the line has what is missing' || diag <err
(
	ulimit -n 30
	profile crowd sh -c 'for i in $(seq 60); do sleep 0.5 & done; wait; echo done' >out 2>err
	echo $? >rc
)
is "$(cat rc out)" "0
done" '60 processes, 30 descriptors: the program works'
R=$W/crowd.sqlite
check '60 processes, 30 descriptors: the report is sound' intact "$R"
[ "$(q "$R" "SELECT count(*) FROM SL_PROCESS_TREE WHERE exe LIKE '%/sleep' AND traced")" = 60 ] ||
	grep -q 'programs were not traced: the collector had no descriptors left' err
result $? '60 processes, 30 descriptors: processes without a descriptor are counted, with a message'
"$PROG/closed" want.txt
profile fds --osrt-threshold=0 sh -c 'ulimit -n 4; exec "$@"' sh "$PROG/closed" "$W/got.txt"
is "$(cat got.txt)" "$(cat want.txt)" 'four descriptors are enough for a program that needs four'

# ---- without the processor's counter ----
# Every call is recorded or counted as lost; twelve of the program's and the C library's own may be among the latter.
head -c 100000 /dev/zero >data
for how in strict seccomp raw tsc rawtsc thread fork handler again vfork exec; do
	"$PROG/clockless" "$W/data" 1000 $how >want 2>&1
	want=$?
	if [ $want = 77 ]; then
		skip "without the counter, $how" 'this kernel does not take it from a thread'
		continue
	fi
	case $how in again | vfork) calls=2000 ;; *) calls=1000 ;; esac
	case $how in vfork | exec) uncounted=0 ;; *) uncounted=1000 ;; esac
	profile clockless --osrt-threshold=0 "$PROG/clockless" "$W/data" 1000 $how >out 2>err
	is $? $want "without the counter, $how: the program ends as it would have"
	check "without the counter, $how: the report is sound" intact "$R"
	is "$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" $calls "without the counter, $how: calls before it are rows"
	lost=$(q "$R" "SELECT CAST(total(count) AS INTEGER) FROM SL_LOST_EVENTS WHERE what LIKE '%that cannot be recorded'")
	check "without the counter, $how: $lost calls after it are counted" [ $((lost >= uncounted && lost <= uncounted + 12)) = 1 ]
	SIGHTLINE_OPTIONS=--osrt-threshold=0 bare clockless "$PROG/clockless" "$W/data" 1000 $how >out 2>err
	is $? $want "without the counter, $how, bare: the program ends as it would have"
done

# ---- seccomp ----
"$PROG/sandbox" "$W/data" 10 >out 2>&1
if [ $? != 77 ]; then
	for policy in wait drop block; do
		for n in 100 200000; do
			profile box --osrt-threshold=0 --on-full=$policy "$PROG/sandbox" "$W/data" $n >out 2>err
			is "$? $(cat out)" "0 bytes $((64 * n))" "a strict sandbox, $n calls, $policy: the program works"
			check "a strict sandbox, $n calls, $policy: the report is sound" intact "$R"
			is "$(q "$R" "SELECT (SELECT count(*) FROM call WHERE name LIKE 'pread%')")" "$n" "a strict sandbox, $n calls, $policy: every call is a row"
		done
	done
	SIGHTLINE_OPTIONS=--osrt-threshold=0 bare box "$PROG/sandbox" "$W/data" 1000 >out 2>err
	is "$? $(cat out)" "0 bytes 64000" 'a strict sandbox, bare: the program works'
	# Destructors run in there, threads begin, children are born and end.
	for how in exit exit,seccomp thread,exit fork,exit thread,fork pid,twice twice,seccomp,exit; do
		"$PROG/sandbox" "$W/data" 1000 $how >want 2>&1
		want="$? $(cat want)"
		profile box --osrt-threshold=0 "$PROG/sandbox" "$W/data" 1000 $how >out 2>err
		is "$? $(cat out)" "$want" "a strict sandbox, $how: the program works"
		is "$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" "$(grep -c bytes want)000" "a strict sandbox, $how: every call is a row"
		is "$(q "$R" "SELECT count(DISTINCT tid) FROM call WHERE name LIKE 'pread%'")" "$(grep -c bytes want)" "a strict sandbox, $how: each call has the thread that made it"
		SIGHTLINE_OPTIONS=--osrt-threshold=0 bare box "$PROG/sandbox" "$W/data" 1000 $how >out 2>err
		is "$? $(cat out)" "$want" "a strict sandbox, $how, bare: the program works"
	done
	# A process that calls vfork() there differs from its child where it may ask for its pid; else the child's calls are counted.
	for how in vfork vfork,pid mild,vfork; do
		"$PROG/sandbox" "$W/data" 1000 $how >want 2>&1
		want="$? $(cat want)"
		profile box --osrt-threshold=0 "$PROG/sandbox" "$W/data" 1000 $how >out 2>err
		is "$? $(cat out)" "$want" "vfork in a sandbox, $how: the program works"
		got=$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'") lost=$(q "$R" "SELECT CAST(total(count) AS INTEGER) FROM SL_LOST_EVENTS WHERE what LIKE '%that cannot be recorded'")
		case $how in
		vfork) check "vfork in a sandbox, $how: $got calls are rows, $lost are counted" [ $((got == 1000 && lost >= 1000 && lost < 1010)) = 1 ] ;;
		*) is "$got $lost" '2000 0' "vfork in a sandbox, $how: every call is a row" ;;
		esac
		SIGHTLINE_OPTIONS=--osrt-threshold=0 bare box "$PROG/sandbox" "$W/data" 1000 $how >out 2>err
		is "$? $(cat out)" "$want" "vfork in a sandbox, $how, bare: the program works"
	done
	profile box --osrt-threshold=0 "$PROG/sandbox" "$W/data" 1000 child >out 2>err
	is "$? $(cat out)" "0 program
bytes 64000
parent" 'the child of a vfork in a sandbox: the programs work'
	got=$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'") lost=$(q "$R" "SELECT CAST(total(count) AS INTEGER) FROM SL_LOST_EVENTS WHERE what LIKE '%that cannot be recorded'")
	check "the child of a vfork in a sandbox: every call is a row ($got) or counted ($lost)" [ $((got + lost >= 1000 && got + lost < 1010)) = 1 ]
	is "$(q "$R" "SELECT group_concat(traced) FROM (SELECT traced FROM SL_PROCESS_TREE WHERE exe LIKE '%sh' ORDER BY 1)")" '0,1' 'the child of a vfork in a sandbox: the process outside it is traced'
	# So do programs that are started in there: not traced where the filter would kill for that, and shown.
	for how in system exec execve,seccomp probe,exec; do
		LD_PRELOAD=libm.so.6 "$PROG/sandbox" "$W/data" 10 $how >want 2>&1
		want="$? $(cat want)"
		LD_PRELOAD=libm.so.6 profile box --osrt-threshold=0 "$PROG/sandbox" "$W/data" 10 $how >out 2>err
		is "$? $(cat out)" "$want" "a program in a strict sandbox works, $how"
		is "$(q "$R" "SELECT group_concat(traced) FROM (SELECT traced FROM SL_PROCESS_TREE WHERE exe LIKE '%sh' ORDER BY 1)")" "0" "a program in a strict sandbox is in the report as untraced, $how"
		SIGHTLINE_OPTIONS=--osrt-threshold=0 bare box "$PROG/sandbox" "$W/data" 10 $how >out 2>err
		is "$? $(cat out) libm.so.6" "$want" "a program in a strict sandbox works, $how, bare"
	done
	for how in mild,system mild,exec,probe probe,mild,execve,seccomp; do
		profile box --osrt-threshold=0 "$PROG/sandbox" "$W/data" 10 $how >out 2>err
		is "$? $(sed 's/ .*libtrace.so$//' out)" "0 bytes 640
program" "a program in a mild sandbox works, $how"
		is "$(q "$R" "SELECT count(*) FROM SL_PROCESS_TREE WHERE exe LIKE '%sh' AND traced")" 1 "a program in a mild sandbox is traced, $how"
	done
	# What containers refuse, and kernels that have no pidfd: the program's exit must not be seen before its status.
	for refused in bpf,perf_event_open,ptrace,kcmp,process_vm_readv bpf,perf_event_open,pidfd_open; do
		for i in 1 2 3 4 5; do
			profile box --osrt-threshold=0 "$PROG/denied" $refused "$PROG/repeat" "$W/data" $N >out 2>err
			works $? "without $refused, run $i: the program works"
			is "$(q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" $N "without $refused, run $i: every call is a row"
		done
		"$PROG/denied" $refused "$BIN" profile -f true -o box sh -c 'exit 4' >out 2>err
		is $? 4 "without $refused for the collector, too: the program's status is passed on"
		is "$(grep -c 'no context switches' err)$(grep -vc '^sightline: ' err)" 10 "without $refused for the collector, too: stderr has one message"
	done
	for i in 1 2 3 4 5 6 7 8 9 10; do
		"$PROG/denied" bpf,perf_event_open,pidfd_open "$BIN" profile -f true -o box sh -c 'sleep 0.0'$i'; exit 4' >out 2>err
		is $? 4 "without pidfd, run $i: the program's status is passed on"
	done
	"$PROG/denied" memfd_create "$BIN" profile -f true -o box "$PROG/repeat" "$W/data" $N >out 2>err
	works $? 'without memfd_create: the program works'
	is "$(grep -c 'could not be entered (memfd_create is refused: a container.s seccomp profile?)' err)" 1 'without memfd_create: stderr has the reason why there are no calls'
else
	skip 'a strict sandbox: the program works' 'not permitted'
fi
done_testing
