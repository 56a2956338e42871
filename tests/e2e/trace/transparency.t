#!/bin/sh
# A program is the same traced as untraced: output, status, errno, descriptors, surroundings, processes.
# shellcheck disable=SC2016,SC2086,SC3045
. tests/lib.sh

# Runs a program untraced, under the bare preload and under profile, each in the same fresh folder with
# the same input, and compares standard output, standard error, exit status and the files it left.
# SEEN (optional): a function's name that both reports must hold at least once.
one_run() { # HOW COMMAND...
	run=$1
	shift
	rm -rf "$W/here"
	mkdir "$W/here"
	chmod 777 "$W/here"
	(
		cd "$W/here" || exit
		case $run in
		plain) exec "$@" ;;
		bare)
			R=$W/bare$case_no.sqlite
			SIGHTLINE_OUTPUT=$R LD_PRELOAD=$SHIM${ALSO:+:$ALSO} exec "$@"
			;;
		profile) exec "$BIN" profile -f true -o "$W/profile$case_no" $PROFILE_OPTS "$@" ;;
		esac
	) <"${INPUT:-/dev/null}" >"$W/$run.out" 2>"$W/$run.err"
	echo "exit status $?" >"$W/$run.status"
	[ "$run" != profile ] || sed -i '/^sightline: /d' "$W/$run.err"
	(cd "$W/here" && find . -type f -exec cksum {} + | sort) >"$W/$run.files"
}
same() { # NAME COMMAND...
	same_name=$1
	shift
	# A new name each time: the collector of the bare run before may still be finishing its report.
	case_no=$((case_no + 1))
	one_run plain "$@" 2>/dev/null
	for way in bare profile; do
		one_run $way "$@" 2>/dev/null # the shell would name signals
		: >"$W/diff"
		for what in out err status files; do
			cmp -s "$W/plain.$what" "$W/$way.$what" || {
				echo "$what differs:"
				diff -a "$W/plain.$what" "$W/$way.$what" | head -8
			} >>"$W/diff"
		done
		[ "${NO_REPORT:-}" ] || intact "$W/$way$case_no.sqlite" >>"$W/diff" 2>&1 || echo "no sound report" >>"$W/diff"
		if [ "${SEEN:-}" ]; then
			seen=$(q "$W/$way$case_no.sqlite" "SELECT (SELECT count(*) FROM call WHERE name = '$SEEN') +
				coalesce((SELECT sum(count) FROM total WHERE name = '$SEEN'), 0)" 2>&1)
			case $seen in '' | 0 | *[!0-9]*) echo "no $SEEN in the report: $seen" >>"$W/diff" ;; esac
		fi
		[ ! -s "$W/diff" ]
		result $? "$same_name, $way: all is as untraced" || diag <"$W/diff"
	done
}
PROFILE_OPTS=--osrt-threshold=0
case_no=0

# ---- output, status ----
echo 'from standard input' >"$W/input"
INPUT=$W/input same 'standard input reaches the program' cat
same 'output to both streams keeps its bytes' sh -c 'printf "a\0b\n"; printf "x\0y\n" >&2; printf c'
for n in 0 1 2 3 42 77 124 125 126 127 128 129 137 200 254 255; do
	same "exit status $n" "$PROG/leave" exit $n
done
same 'status of _exit, without exit handlers' "$PROG/leave" _exit 9
same 'status of quick_exit' "$PROG/leave" quick_exit 8
same 'return from main runs exit handlers' "$PROG/leave" return 6
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 24 25 26 27 29 30 31 34 64; do
	same "death by signal $n" sh -c 'ulimit -c 0; exec "$0" raise "$1"' "$PROG/leave" $n
done
same 'abort' sh -c 'ulimit -c 0; exec "$0" abort' "$PROG/leave"
same 'a crash' sh -c 'ulimit -c 0; exec "$0" crash' "$PROG/leave"
same 'a program that is not there' sh -c 'surely-no-such-program; echo $?'

# ---- what a process is given ----
SEEN=open same 'errno after failing calls' "$PROG/errors"
SEEN=open same 'surroundings of a process' "$PROG/around" one 'two three'
SEEN=open same 'surroundings with descriptors, masks and limits of its own' sh -c '
	exec 3</etc/passwd 7>side.txt
	umask 027; ulimit -n 500; ulimit -S -s 4096; trap "" USR1 PIPE; cd /usr; exec "$0"' "$PROG/around"
SEEN=open same 'surroundings as a session leader' setsid -w "$PROG/around"
SEEN=open same 'closed standard streams' "$PROG/closed" out.txt
same 'closed standard streams from the start' sh -c '"$0" seen.txt <&- >&- 2>&-; cat seen.txt' "$PROG/closed"
same 'core is dumped' sh -c 'ulimit -c unlimited; "$0" raise 11; s=$?; ls | sed s/core.*/core/; rm -f core*; echo $s' "$PROG/leave"
# The loop ends when the collector has chosen its policy.
profile policy sh -c 'n=0
	until chrt -p $PPID | grep -q BATCH || [ $n -gt 2000 ]; do n=$((n + 1)); done
	chrt -p $PPID; chrt -p $$' >got 2>err
is "$(sed -n 's/.* policy: //p' got)" 'SCHED_BATCH
SCHED_OTHER' 'the scheduling policy of the parent has no flag; the program has the usual one'

# ---- children ----
for how in spawn spawn_empty spawn_own clone_vm clone_vfork clone_fork raw_fork vfork_exec vfork_exit vfork_fail \
	vfork_work execve_null execve_empty execve_own execle execle_empty execl execv execvpe fexecve execveat \
	exec_cleared exec_unset; do
	same "child by $how" "$PROG/procs" "$how" "$PROG/procs"
	case $how in
	clone_vm | vfork_exit | vfork_fail | raw_fork) continue ;;
	esac
	for way2 in bare profile; do
		is "$(q "$W/$way2$case_no.sqlite" "SELECT count(*) > 0 FROM call WHERE path = '/etc/passwd' AND name = 'open'" 2>&1)" \
			1 "child by $how is traced, $way2"
	done
done
same '500 short-lived processes' "$PROG/procs" many
for way2 in bare profile; do
	is "$(q "$W/$way2$case_no.sqlite" "SELECT count(DISTINCT pid) FROM call WHERE name = 'open' AND path = '/dev/zero'")" 500 \
		"500 short-lived processes left their calls, $way2"
done
SEEN=open same 'a program that env turns into' env ONE=1 "$PROG/around"
same 'env -i' env -i A=1 "$PROG/around"
SEEN=open same 'python subprocess' "$PY" -c '
import subprocess, os
print(subprocess.run(["cat", "/etc/hostname"], capture_output=True).stdout)
print(subprocess.run("echo $((6 * 7)); exit 3", shell=True, close_fds=True, env={"A": "1"}).returncode, flush=True)
print(subprocess.run(["env"], env={}, capture_output=True).stdout)
print(os.popen("echo hello").read(), os.system("exit 4"))'
done_testing
