#!/bin/sh
# Containers below and above the collector: runs end, every process has the pid that the collector sees, the tree is that
# of strace, nothing is left.
# shellcheck disable=SC2086
. tests/lib.sh
command -v strace >/dev/null || skip_all 'no strace'
strace -f --pidns-translation -o /dev/null true 2>/dev/null || skip_all 'strace cannot trace here, or knows no --pidns-translation'

CNT=${BROOD:-14} # processes of a run: a multiple of seven
WAYS='fork vfork clone clone3 spawn thread nested'
OPENED=$((CNT * 6 / 7 + 1)) # vfork and spawn execute true; nested starts two
cp "$PROG/brood" "$BIN" "$B"/libtrace*.so .
cp -r "$B/python" . 2>/dev/null
chmod -R a+rX .
chmod 1777 .
BIN=$W/sightline SHIM=$W/libtrace.so
NONE='--cpuctxsw=none --sample=none'

stray() { # what still runs of this script's processes
	find /proc -maxdepth 2 -name exe \( -lname "$W/brood" -o -lname "$W/sightline" \) 2>/dev/null
}
gone() {
	wait_for 5 eval '[ -z "$(stray)" ]' && return
	stray
	return 1
}
# Whether COMMAND works here without the tracer: namespaces may be forbidden.
can() { $user timeout 20 "$@" true >/dev/null 2>&1; }
compare() { # NAME STATUS OPENED
	is "$2" 0 "$1: the run ends with status 0"
	check "$1: the tree and its ids are those of strace" /usr/bin/env python3 "$E2E/trace/containers.py" witness "$R" $3
	check "$1: no process is left" gone
}
witness() { # COMMAND...
	rm -f witness
	$user timeout 60 strace -f --pidns-translation -e trace=clone,clone3,fork,vfork,execve -e signal=none -o witness "$@" >/dev/null 2>&1
}
# With the events of the kernel, without, and ($bare) as a bare preload.
below() { # NAME OPENED COMMAND...: the program has containers of its own
	below_name=$1 below_opened=$2
	shift 2
	witness "$@"
	R=$W/below.sqlite
	for options in '' "$NONE"; do
		rm -f below.sqlite
		$user timeout 60 $inside "$BIN" profile -f true --osrt-threshold=0 --osrt-file-access=true $options -o below "$@" >log 2>&1
		compare "$below_name${options:+, no events}" $? $below_opened
	done
	[ -n "$bare" ] && [ -z "$inside" ] || return 0
	rm -f below.sqlite
	SIGHTLINE_OUTPUT=$R SIGHTLINE_OPTIONS="--osrt-threshold=0 --osrt-file-access=true $NONE" LD_PRELOAD=$SHIM \
		$user timeout 60 "$@" >log 2>&1
	is $? 0 "$below_name, bare: the run ends with status 0"
	check "$below_name, bare: no process is left" gone
	[ -n "$user" ] || check "$below_name, bare: all pids are those of the collector" [ "$(q "$R" "SELECT count(*) FROM SL_PROCESS_TREE WHERE (globalPid >> 24 & 0xffffff) NOT BETWEEN 300 AND 4194304")" = 0 ]
}
unless() { skip "$1: the run ends with status 0" 'not permitted here'; }

user='' inside='' bare=1
below 'no container' $OPENED ./brood $CNT $WAYS
if [ "$(id -u)" = 0 ]; then
	# Root's session takes processes of another user that are of its tree, also if they have ended by then.
	other="setpriv --reuid=65534 --regid=65534 --clear-groups ./brood $CNT spawn"
	profile other --osrt-threshold=0 --osrt-file-access=true $other >log 2>&1
	is $? 0 'another user: the run ends with status 0'
	case $("$BIN" status -e) in
	*'eBPF                 ok'*)
		is "$(q "$R" "SELECT sum(traced) FROM SL_PROCESS_TREE WHERE exe LIKE '%/true'")" $CNT 'another user: all its processes are traced'
		;;
	*) skip 'another user: all its processes are traced' 'no eBPF: what has ended cannot be shown to be of the tree' ;;
	esac
fi
if [ "$(id -u)" = 0 ] && can unshare -pf; then
	below 'clone3 into a namespace' $((CNT + 1)) ./brood $CNT newpid
	below setns $((CNT + 1)) ./brood $CNT setns
	below 'unshare -p' $OPENED unshare -pf ./brood $CNT $WAYS
	below 'unshare -p twice' $OPENED unshare -pf unshare -pf --mount-proc ./brood $CNT $WAYS
	bare=''
	for flag in U m i n u C T; do
		if can unshare -f -$flag; then below "unshare -$flag" $OPENED unshare -f -$flag ./brood $CNT $WAYS; else unless "unshare -$flag"; fi
	done
	if can unshare -fpUmrinuCT; then
		below 'all namespaces' $OPENED unshare -fpUmrinuCT ./brood $CNT $WAYS
	else
		unless 'all namespaces'
	fi
	bare=1
	# The program's first child begins the namespace, and must not be the collector.
	first() { unshare -p env "$@" sh -c '/bin/echo first; exit 5' 2>/dev/null; }
	first A=1 >plain
	first_status=$?
	first LD_PRELOAD="$SHIM" SIGHTLINE_OUTPUT="$W/first.sqlite" >traced
	is $? $first_status 'unshare -p without a fork, bare: the status is that untraced'
	check 'unshare -p without a fork, bare: the output is that untraced' diff plain traced
	for outer in 'unshare -pf --mount-proc' 'unshare -pf'; do
		inside=$outer
		below "collector in $outer" $OPENED ./brood $CNT $WAYS
		below "collector in $outer, unshare -p in it" $OPENED unshare -pf ./brood $CNT $WAYS
	done
	inside=''
else
	unless 'unshare as root'
fi
if command -v bwrap >/dev/null && can bwrap --dev-bind / / --unshare-pid; then
	below bwrap $OPENED bwrap --dev-bind / / --unshare-pid ./brood $CNT $WAYS
	below 'bwrap, all namespaces' $OPENED bwrap --dev-bind / / --unshare-all ./brood $CNT $WAYS
else
	skip 'bwrap: the run ends with status 0' 'there is none, or it is not permitted'
fi
[ "$(id -u)" != 0 ] || user='setpriv --reuid=65534 --regid=65534 --clear-groups'
if can unshare -Urpf; then
	below 'rootless' $OPENED unshare -Urpf --mount-proc ./brood $CNT $WAYS
	inside='unshare -Urpf'
	below 'a rootless collector in its own namespaces' $OPENED ./brood $CNT $WAYS
else
	unless rootless
fi
done_testing
