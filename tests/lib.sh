# lib.sh - what the end-to-end scripts share: TAP, a scratch folder, traced runs, questions to a report.
# A script sources it from the top of the tree (. tests/lib.sh) and ends with done_testing.
# Everything a script makes lies in $W, which is also its working directory and goes away with it.
# shellcheck shell=sh disable=SC2034

TOP=$PWD
case ${B:=build} in /*) ;; *) B=$TOP/$B ;; esac
BIN=$B/sightline SHIM=$B/libtrace.so PROG=$B/tests/prog
E2E=$TOP/tests/e2e
KIT=${CUDA_HOME:-$B/toolkits/13.0}
NVCC=${NVCC:-$KIT/bin/nvcc}
PY=${PYTHON:-/usr/bin/python3}
W=$(mktemp -d "${TMPDIR:-/tmp}/sightline-test.XXXXXX") || exit 1
test_cnt=0 fail_cnt=0
# SIGHTLINE_CLOCK stays: the suite runs with either clock (tsc, monotonic).
unset LD_PRELOAD SIGHTLINE_SESSION SIGHTLINE_CLEAN SIGHTLINE_OUTPUT SIGHTLINE_OPTIONS SIGHTLINE_COLLECTOR
SIGHTLINE_SESSIONS=$W/.sessions  # no script sees the sessions of another
XDG_CACHE_HOME=$W/.cache         # nor the names that another has kept
PYTHONDONTWRITEBYTECODE=1
export SIGHTLINE_SESSIONS XDG_CACHE_HOME PYTHONDONTWRITEBYTECODE

at_exit=:
# The sqlite3 shell with the SQL functions of the reports.
sql_shell() { # OPTION... FILE
	sqlite3 -readonly -cmd ".load $B/libsightline_sql" "$@"
}

tidy() {
	cd "$TOP" || exit 1
	eval "$at_exit"
	rm -rf "$W"
}
trap tidy EXIT
trap 'exit 1' INT TERM HUP
chmod 755 "$W"
mkdir -m 1777 "$SIGHTLINE_SESSIONS"
cd "$W" || exit 1

# What sightline printed, in a file: without the lines on context switches that the kernel has dropped, which are counted.
said() { grep -v 'context-switch events were lost by the kernel' "$1"; }
# Lines of TAP that belong to the check before them.
diag() { sed 's/^/# /'; }
result() { # STATUS NAME
	test_cnt=$((test_cnt + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $test_cnt - $2"
	else
		fail_cnt=$((fail_cnt + 1))
		echo "not ok $test_cnt - $2"
	fi
	return "$1"
}
check() { # NAME COMMAND...: passes when the command does
	check_name=$1
	shift
	"$@" >"$W/check.log" 2>&1
	result $? "$check_name" && return
	diag <"$W/check.log"
	return 1
}
is() { # GOT WANT NAME
	if [ "$1" = "$2" ]; then
		result 0 "$3"
	else
		result 1 "$3"
		printf 'got:  %s\nwant: %s\n' "$1" "$2" | diag
		return 1
	fi
}
skip() { # NAME REASON
	test_cnt=$((test_cnt + 1))
	echo "ok $test_cnt - $1 # SKIP $2"
}
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}
# Reports whose process tree contradicts itself (collector/collect/checks.h), and what is wrong with it. A test whose program
# forges its rings sets FORGED.
contradictions() {
	for contradictory in "$W"/*.sqlite; do
		[ ! -s "$contradictory" ] || sqlite3 -readonly "$contradictory" "SELECT '${contradictory##*/}: ' || text FROM DIAGNOSTIC_EVENT
			WHERE text LIKE 'the process tree contradicts itself%'" 2>/dev/null
	done
}
done_testing() {
	[ "${FORGED-}" ] || is "$(contradictions)" '' 'no process tree contradicts itself'
	echo "1..$test_cnt"
	[ "$fail_cnt" -eq 0 ]
	exit
}

# Whether GOT of ALL can be chance where each counts with a probability of LEAST to MOST per cent: by the Chernoff bound of the
# binomial distribution, ALL * KL(GOT / ALL, p) <= ln 1e9. What is as it should be fails once in 1e9 times.
share_ok() { # GOT ALL LEAST [MOST]
	awk -v k="$1" -v n="$2" -v least="$3" -v most="${4:-100}" '
		function kl(q, p) { return (q > 0 ? q * log(q / p) : 0) + (q < 1 ? (1 - q) * log((1 - q) / (1 - p)) : 0) }
		BEGIN {
			if (n < 1) exit 1
			q = k / n; least /= 100; most /= 100
			if (q < least && (least >= 1 || n * kl(q, least) > log(1e9))) exit 1
			if (q > most && (most <= 0 || n * kl(q, most) > log(1e9))) exit 1
		}'
}

# Sends SIGNAL to processes of which there must be one: a list that is empty is a failure, not a usage message.
send() { # SIGNAL PID...
	send_signal=$1
	shift
	check "there is a process to send SIG$send_signal to" test -n "$*" && kill -"$send_signal" "$@"
}

# The command for an unprivileged user: a copy, where the tree lies in a folder that other users may not enter, as /root.
nobody_bin() {
	if ! setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$BIN" 2>/dev/null && [ ! -e "$W/for-nobody" ]; then
		mkdir "$W/for-nobody"
		cp -r "$BIN" "$B"/libtrace*.so "$B/python" "$W/for-nobody"
		chmod -R a+rX "$W/for-nobody"
	fi
	if [ -e "$W/for-nobody" ]; then echo "$W/for-nobody/sightline"; else echo "$BIN"; fi
}

# The two ways to trace. The report is $R; both set it from their first argument. Samples come by chance: a test has them where
# it asks for them, or has set SAMPLED (sample_default.t and others).
profile() { # REPORT [OPTION...] PROGRAM [ARG...]
	R=$W/$1.sqlite
	profile_to=$W/$1
	shift
	profile_sampled=${SAMPLED-}
	for profile_word; do
		case $profile_word in
		-s | -s[a-z]* | --sampl* | --python-sampl*) profile_sampled=1 ;; # not -s3, a number of a program
		esac
	done
	if [ "$profile_sampled" ]; then
		"$BIN" profile -f true -o "$profile_to" "$@"
	else
		"$BIN" profile -f true -o "$profile_to" -s none "$@"
	fi
}
bare() { # REPORT PROGRAM [ARG...]
	R=$W/$1.sqlite
	shift
	rm -f "$R"
	SIGHTLINE_OUTPUT=$R LD_PRELOAD=$SHIM "$@"
}

# Of every CPython 3 that is installed (the system's, what is called python3.x in PATH, pyenv's) and for which the expression of
# Python holds: the oldest, $PYTHON, the newest, and those that the words of $PYTHONS name; all of them where a word is "all"
# (make check-pythons). Each once, the oldest first. $PYTHON is the one for all else. pyenv's shims take a second each and lead
# to what is in its folder of versions.
pythons() { # CONDITION
	case " $PYTHONS " in *' all '*) pythons_all=1 ;; *) pythons_all=0 ;; esac
	for pythons_at in "$PY" $PYTHONS "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 $(IFS=:
		for d in /usr/bin:$PATH; do
			case $d in */shims) continue ;; esac
			ls "$d"/python3 "$d"/python3.[0-9] "$d"/python3.[0-9][0-9] "$d"/python3.[0-9][0-9][dt] 2>/dev/null
		done); do
		case " $PY $PYTHONS " in *" $pythons_at "*) pythons_named=1 ;; *) pythons_named=$pythons_all ;; esac
		[ -x "$pythons_at" ] && "$pythons_at" -c 'import os, platform, sys, sysconfig
is_free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
if sys.version_info[0] == 3 and platform.python_implementation() == "CPython" and '"$1"': print(sys.argv[1], sys.hexversion, os.path.realpath(sys.executable))' $pythons_named 2>/dev/null
	done | sort -k2,2n -k3 | awk '!($3 in named) { path[++cnt] = $3 } { named[$3] += $1 }
		END { for (i = 1; i <= cnt; i++) if (i == 1 || i == cnt || named[path[i]]) print path[i] }'
}

# A condition for pythons(): versions from 3.$1 on whose frames are read; the newest is that of the last line of pylayout.c.
pythons_read() { # MINOR
	pythons_newest=$(sed -n 's/^\t{0x03\([0-9a-f][0-9a-f]\),.*/\1/p' "$TOP/preload/unwind/pylayout.c" | tail -n 1)
	echo "(3, $1) <= sys.version_info[:2] <= (3, $((0x$pythons_newest)))"
}

# A condition on SL_LOST_EVENTS: records of what the program and its GPU did. Of the kernel's events a busy machine loses some.
RECORDS="what NOT LIKE 'context switches%' AND what NOT LIKE 'requests to block devices%' AND what NOT LIKE 'page faults%'
	AND (what NOT LIKE '%samples%' OR what LIKE '%NVTX%') AND what NOT LIKE '%threads without a CPU%'"

# Asks a report; the view "call" spells out names, paths and ids (see call.sql).
# Tables that have no rows are not there; here they are, empty.
q() { # REPORT SQL
	q_have=$(sqlite3 -batch -readonly -cmd '.timeout 10000' "$1" 'SELECT name FROM sqlite_master' | tr '\n' ' ') || return
	q_make=
	while read -r q_table q_columns; do
		case " $q_have" in
		*" $q_table "*) ;;
		*) q_make="$q_make CREATE TEMP TABLE $q_table ($q_columns);" ;;
		esac
	done <"$B/gen/report_tables.txt"
	sqlite3 -batch -bail -readonly -cmd '.timeout 10000' "$1" "$q_make" ".read $TOP/tests/e2e/lib/call.sql" "$2"
}
intact() { # REPORT
	[ -s "$1" ] || {
		echo "$1 is not there, or empty"
		return 1
	}
	intact_says=$(sqlite3 -cmd '.timeout 5000' "$1" 'pragma integrity_check' 2>&1 | head -3)
	[ "$intact_says" = ok ] || {
		echo "integrity_check of $1: $intact_says"
		return 1
	}
}
# A bare report is finished when its last process has ended: then there is no write-ahead log any more.
finished() { # REPORT
	[ -s "$1" ] && [ ! -e "$1-wal" ] && sqlite3 -readonly "$1" 'SELECT 1 FROM ANALYSIS_DETAILS' >/dev/null 2>&1
}
# Waits until the command succeeds. SECONDS are those of a quiet machine: a busy one is given six times as many, which costs
# nothing where all is well.
wait_for() { # SECONDS COMMAND...
	wait_end=$(($(date +%s) + $1 * 6))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt $wait_end ] || return 1
		sleep 0.05
	done
}

if [ ! -x "$BIN" ] || [ ! -f "$SHIM" ]; then
	skip_all "$B is not built"
fi
