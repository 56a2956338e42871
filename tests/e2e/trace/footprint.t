#!/bin/sh
# What a traced program has mapped, resident, locked and in a core dump, against the same program untraced; and that every
# call is recorded while the ring grows.
. tests/lib.sh

F=$PROG/footprint R=$W/fp.sqlite
head -c 64 /dev/zero >data
plain() { "$F" "$@" || echo "status $?"; }
traced() { profile fp --osrt-threshold=0 "$F" "$@" 2>err || echo "status $?"; }
field() { echo "$1" | cut -d' ' -f"$2"; }
more() { # FIELD: KiB that $t has more than $p
	echo $(($(field "$t" "$1") - $(field "$p" "$1")))
}
calls() { q "$R" "SELECT count(*) FROM call WHERE name LIKE 'pread%'"; }
lost() { q "$R" "SELECT CAST(total(count) AS INTEGER) FROM SL_LOST_EVENTS WHERE what LIKE 'calls:%'"; }

# ---- one process ----
p=$(plain idle)
for how in tsc monotonic bare; do
	case $how in
	bare) t=$(bare fp "$F" idle 2>err) ;;
	*) t=$(SIGHTLINE_CLOCK=$how traced idle) ;;
	esac
	check "idle, $how: at most 8 MiB more are mapped ($(more 2) KiB)" [ "$(more 2)" -le 8192 ]
	check "idle, $how: at most 1.5 MiB more are resident ($(more 3) KiB)" [ "$(more 3)" -le 1536 ]
done
p=$(plain future data 0)
case $p in
*status*) skip 'mlockall, future: every call is a row' 'not permitted' ;;
*)
	for how in future syscall; do
		t=$(traced $how data 400000)
		check "mlockall, $how: at most 2 MiB more are locked ($(more 4) KiB)" [ "$(more 4)" -le 2048 ]
		is "$(calls) $(lost)" '400000 0' "mlockall, $how: every call is a row"
	done
	t=$(SIGHTLINE_CLOCK=monotonic traced future data 2000000)
	is "$(calls) $(lost)" '2000000 0' 'mlockall, the other clock, a long run: every call is a row'
	;;
esac

# As a user without privileges: the limit counts everything that is mapped.
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
	mkdir -m 1777 theirs
	# shellcheck disable=SC3045
	as_user() { (
		ulimit -l 8192 && exec setpriv --reuid=65534 --regid=65534 --clear-groups env SIGHTLINE_SESSIONS="$W/theirs" "$@"
	); }
	R=$W/theirs/fp.sqlite
	for how in current future; do
		p=$(as_user "$F" $how data 0 || echo "status $?")
		t=$(as_user "$(nobody_bin)" profile -f true --osrt-threshold=0 -o theirs/fp "$F" $how data 400000 2>err || echo "status $?")
		case $p in
		*status*) skip "a user's mlockall, $how: at most 2 MiB more are locked" 'not permitted untraced' ;;
		*) check "a user's mlockall, $how: at most 2 MiB more are locked ($(more 4) KiB)" [ "$(more 4)" -le 2048 ] ;;
		esac
		case $how$p in current* | *status*) ;; *) is "$(calls) $(lost)" '400000 0' "a user's mlockall, $how: every call is a row" ;; esac
	done
	R=$W/fp.sqlite
else
	skip "a user's mlockall, current: at most 2 MiB more are locked" 'needs root and setpriv (package util-linux)'
fi

# ---- a core dump ----
case $(cat /proc/sys/kernel/core_pattern) in
core*)
	for how in plain traced; do
		mkdir $how.d
		# shellcheck disable=SC2016
		case $how in
		plain) sh -c 'cd "$1" && ulimit -c unlimited && exec "$2" core' sh $how.d "$F" ;;
		traced) profile core sh -c 'cd "$1" && ulimit -c unlimited && exec "$2" core' sh $how.d "$F" ;;
		esac >out 2>&1
	done
	if [ -n "$(ls plain.d)" ]; then
		d=$(($(stat -c %s traced.d/core*) - $(stat -c %s plain.d/core*)))
		check "a core dump is at most 64 KiB larger ($d bytes)" [ $d -le 65536 ]
	else
		skip 'a core dump is at most 64 KiB larger' 'none is made here'
	fi
	;;
*) skip 'a core dump is at most 64 KiB larger' 'another program gets them' ;;
esac

R=$W/fp.sqlite

# ---- many threads ----
p=$(plain threads data 100 1000)
t=$(traced threads data 100 1000)
check "1,000 threads: at most 128 KiB more a thread are mapped ($(more 2) KiB)" [ "$(more 2)" -le $((8192 + 128 * 1000)) ]
check "1,000 threads: at most 32 KiB more a thread are resident ($(more 3) KiB)" [ "$(more 3)" -le $((1536 + 32 * 1000)) ]
is "$(calls) $(lost)" '100000 0' '1,000 threads: every call is a row'
limited() { # PROGRAM [ARGUMENT...]
	# shellcheck disable=SC2016
	profile fp --osrt-threshold=0 sh -c 'ulimit -v 2097152; ulimit -l 8192; ulimit -n 64; exec "$@"' sh "$@" 2>err
}
limited "$F" threads data 100 1000 >out
is "$? $(calls) $(lost)" '0 100000 0' '1,000 threads, limits: every call is a row'
for cgroup in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	group=$cgroup/sightline-test.$$
	mkdir "$group" 2>/dev/null || continue
	at_exit="$at_exit; rmdir $group"
	echo 67108864 2>/dev/null >"$group/memory.limit_in_bytes" || echo 67108864 2>/dev/null >"$group/memory.max" || continue
	break
done 2>/dev/null
if [ -d "$group" ] && grep -qs 67108864 "$group/memory.limit_in_bytes" "$group/memory.max"; then
	# shellcheck disable=SC2016
	limited sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$F" threads data 100 1000 >out
	is "$? $(calls) $(lost)" '0 100000 0' '1,000 threads, a cgroup of 64 MiB: every call is a row'
else
	skip '1,000 threads, a cgroup of 64 MiB: every call is a row' 'no cgroup of memory can be made'
fi

# ---- growing ----
t=$(traced fork data 200000)
is "$(calls) $(lost)" '400000 0' 'forks while the ring grows: every call is a row'
t=$(traced burst data 800000)
is "$(calls) $(lost)" '800000 0' 'the collector is stopped: the ring grows, every call is a row'
for policy in drop wait block; do
	profile fp --osrt-threshold=0 --on-full=$policy "$F" space data 60000 >out 2>err
	status=$?
	total=$(q "$R" "SELECT sum(num) FROM (SELECT count(*) AS num FROM call WHERE name LIKE 'pread%' UNION ALL SELECT count + lostCount FROM SL_OSRT_TOTALS JOIN StringIds ON id = nameId WHERE value LIKE 'pread%')")
	is "$status $total" '0 60000' "no address space for more, $policy: the program works, every call is a row or lost"
	check "no address space for more, $policy: the report is sound" intact "$R"
done
if "$PROG/denied" mremap true 2>/dev/null; then
	profile fp --osrt-threshold=0 "$PROG/denied" mremap "$F" burst data 200000 >out 2>err
	is "$? $(calls) $(lost)" '0 200000 0' 'without mremap: every call is a row'
else
	skip 'without mremap: every call is a row' 'no filters here'
fi

# ---- in a cgroup with little memory, as a container is: records that wait are charged to it, and the program would be killed ----
if [ -d "$group" ] && { echo $((192 << 20)) >"$group/memory.limit_in_bytes" || echo $((192 << 20)) >"$group/memory.max"; } 2>/dev/null; then
	# The collector stands still meanwhile: 40 bytes for each call.
	cat >many.py <<'END'
import os, signal
os.kill(os.getppid(), signal.SIGSTOP)
fd = os.open("data", os.O_RDONLY)
for i in range(1000000):
    os.pread(fd, 10, 0)
os.kill(os.getppid(), signal.SIGCONT)
END
	many() { profile many -t osrt --osrt-threshold=0 --on-full=drop --cpuctxsw=none "$PY" -I -S many.py >out 2>err; }
	many
	is "$?$(lost)" 00 'without a limit, 40 MB of records wait in the ring'
	(sh -c 'echo $PPID' >"$group/cgroup.procs" && many)
	is "$?" 0 'in a cgroup with little memory: the program ends with status 0'
	check 'in a cgroup with little memory, less may wait' test "$(lost)" -gt 0
	all=$(($(calls) + $(lost))) # the losses have a few others
	check "in a cgroup with little memory, each call is a row or is counted ($all)" test "$all" -ge 1000000 -a "$all" -lt 1000100
else
	skip 'without a limit, 40 MB of records wait in the ring' 'no cgroup of memory can be made'
fi
done_testing
