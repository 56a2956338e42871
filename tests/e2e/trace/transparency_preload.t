#!/bin/sh
# Other preloads, allocators, sanitizers, static and privileged programs, deep binding.
# shellcheck disable=SC2016,SC2086,SC1010
. tests/lib.sh

lib() { # NAME: path of an installed library
	/sbin/ldconfig -p 2>/dev/null | sed -n "s/^[[:space:]]*$1 .*x86-64.* => //p;s/^[[:space:]]*$1 .*AArch64.* => //p" | head -1
}
# The program prints what it must print, and its open of /etc/passwd is in the report exactly once.
run_no=0
works() { # NAME PRELOADS
	run_no=$((run_no + 1))
	R=$W/p$run_no.sqlite
	SIGHTLINE_OUTPUT=$R LD_PRELOAD=$2 "$PROG/procs" child >got 2>err
	is "$?" 7 "$1: the program ends with status 7"
	is "$(grep -v '^env' got)$(cat err)" "arg $PROG/procs
arg child" "$1: the output is that of the program"
	check "$1: the report is sound" intact "$R"
	is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'open' AND path = '/etc/passwd'" 2>&1)" 1 "$1: one call has one row"
	wait_for 10 finished "$R"
	result $? "$1: the report is finished soon after"
}
is "$(objdump -p "$SHIM" | sed -n 's/^ *NEEDED *//p')" libc.so.6 'the library needs nothing but libc'
works 'libtrace.so alone' "$SHIM"
works 'preloaded twice' "$SHIM:$SHIM"
ln -s "$SHIM" again.so
cp "$SHIM" copy.so
works 'preloaded twice by another name' "$SHIM:$W/again.so"
works 'another preload before' "$PROG/lib/other.so:$SHIM"
works 'another preload after' "$SHIM:$PROG/lib/other.so"
profile twice --osrt-threshold=0 env LD_PRELOAD="$SHIM:$SHIM" "$PROG/procs" child >got 2>err
is "$?" 7 'profile of a program that is given a preload twice ends with status 7'
is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'open' AND path = '/etc/passwd'")" 1 'profile of a program that is given a preload twice: one call has one row'
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0 libmimalloc.so.3; do
	path=$(lib $name)
	if [ ! "$path" ]; then
		skip "$name before: the program ends with status 7" 'not installed'
		continue
	fi
	works "$name before" "$path:$SHIM"
	works "$name after" "$SHIM:$path"
	for order in "$path:$SHIM" "$SHIM:$path"; do
		run_no=$((run_no + 1))
		SIGHTLINE_OUTPUT=$W/m$run_no.sqlite LD_PRELOAD=$order "$PY" -c '
import threading, json
def f():
    for i in range(200): json.loads(open("/proc/self/status").read() and "{}")
t = [threading.Thread(target=f) for _ in range(8)]
[x.start() for x in t]; [x.join() for x in t]; print("done")' >got 2>&1
		is "$(cat got)" done "threads of Python work with $name, $order"
	done
done
# Another library whose name begins or ends like that of the tracer.
for name in libtrace.so.4 mylibtrace.so; do
	cp "$PROG/lib/other.so" "$name"
	profile named --osrt-threshold=0 sh -c 'LD_PRELOAD=$0 "$1" child; exit $?' "$W/$name" "$PROG/procs" >got 2>err
	is "$?" 7 "$name of another: the program ends with status 7"
	is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'open' AND path = '/etc/passwd'")" 1 "$name of another: the call of the program is recorded"
done

# The command is started in a preload: the traced program runs in it, the command does not.
in_preload() { # NAME LIBRARY
	LD_PRELOAD=$2 profile in_preload --osrt-threshold=0 "$PROG/procs" child >got 2>err
	is "$?" 7 "profile started in $1: the program ends with status 7"
	is "$(q "$R" "SELECT count(*) FROM call WHERE name = 'open' AND path = '/etc/passwd'")" 1 "profile started in $1: the call of the program is recorded"
	LD_PRELOAD=$2 profile in_preload cat /proc/self/maps /proc/self/environ >got 2>err
	is "$?$(grep -c SIGHTLINE_PRELOADED got)" 00 "profile started in $1: the program has no variable of the command"
	check "profile started in $1: the program is in the preload" grep -q "$(basename "$(realpath "$2")")" got
}
in_preload 'a preload without descriptors and memory' "$PROG/lib/narrow.so"
for name in libsocket_wrapper.so libefence.so.0; do
	path=$(lib $name)
	if [ "$path" ]; then in_preload $name "$path"; else skip "profile started in $name: the program ends with status 7" 'not installed'; fi
done
LD_PRELOAD=$PROG/lib/other.so SIGHTLINE_OUTPUT=$W/of_command.sqlite profile in_other env >got 2>err
is "$(grep ^LD_PRELOAD got)" "LD_PRELOAD=$SHIM:$PROG/lib/other.so" 'profile started in a preload: LD_PRELOAD of the program has both'
LD_PRELOAD=$SHIM SIGHTLINE_OUTPUT=$W/of_command.sqlite "$BIN" --version >got 2>err
check 'the command itself can be traced' test "$(q "$W/of_command.sqlite" "SELECT count(*) FROM SL_PROCESS_TREE WHERE traced AND exe LIKE '%/sightline'")" = 1

if [ -x "$PROG/asan" ] && "$PROG/asan" >plain.out 2>&1; then
	asan=$(ldd "$PROG/asan" | sed -n 's/.*=> \(.*libasan[^ ]*\) .*/\1/p')
	profile a "$PROG/asan" >got 2>err
	is "$?" 0 'a program with AddressSanitizer ends with status 0, profile'
	check 'a program with AddressSanitizer: the output is that untraced, profile' diff plain.out got
	R=$W/a2.sqlite
	SIGHTLINE_OUTPUT=$R LD_PRELOAD=$asan:$SHIM "$PROG/asan" >got 2>err
	is "$?" 0 'a program with AddressSanitizer ends with status 0, libasan first'
	is "$(cat got err)" "$(cat plain.out)" 'a program with AddressSanitizer: the output is that untraced, libasan first'
	"$PROG/asan" bad >plain.out 2>plain.err
	want=$?
	SIGHTLINE_OUTPUT=$R.2 LD_PRELOAD=$asan:$SHIM "$PROG/asan" bad >got 2>err
	is "$?" "$want" 'AddressSanitizer finds a fault: the exit status is that untraced'
	check 'AddressSanitizer finds a fault: heap-use-after-free is printed' grep -q heap-use-after-free err
else
	skip 'a program with AddressSanitizer ends with status 0, profile' 'does not work here'
fi

profile deep --osrt-threshold=0 "$PROG/deepbind" "$PROG/lib/plugin.so" >got 2>err
is "$?$(cat got)" "0plugin read 50" 'a library with RTLD_DEEPBIND works'
is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%DEEPBIND%'" 2>&1)" 1 'a library with RTLD_DEEPBIND is named in the report'

"$PROG/static" want.txt
profile static "$PROG/static" got.txt 2>err
is "$?" 0 'a static program runs'
check 'a static program works as before' diff want.txt got.txt
is "$(q "$R" "SELECT count(*) FROM SL_PROCESS_TREE WHERE traced = 0 AND exe LIKE '%/static' AND commandLine LIKE '%/static got.txt' AND end >= start" 2>&1)" 1 \
	'a static program is in the report as untraced'

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$PROG/around" suid
	chown daemon suid 2>/dev/null && chmod 4755 suid
	as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	mkdir open
	chmod 777 open
	$as "$W/suid" >want 2>&1
	if grep -q 'secure 1' want; then
		chmod 755 "$W"
		SIGHTLINE_OUTPUT=$W/open/s.sqlite $as env LD_PRELOAD="$SHIM" "$W/suid" >got 2>err
		is "$?" 0 'a setuid program ends with status 0, bare'
		check 'a setuid program prints the same, bare' diff want got
		is "$(grep -v 'object .* from LD_PRELOAD cannot be preloaded' err)" '' 'a setuid program: nothing on stderr but the loader, bare'
		profile suid $as "$W/suid" >got 2>err
		is "$?" 0 'a setuid program ends with status 0, profile'
		check 'a setuid program prints the same, profile' diff want got
	else
		skip 'a setuid program ends with status 0, bare' 'this file system does not honour them'
	fi
else
	skip 'a setuid program ends with status 0, bare' 'needs root and setpriv (package util-linux)'
fi
done_testing
