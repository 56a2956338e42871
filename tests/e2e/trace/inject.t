#!/bin/sh
# attach --inject: libtrace.so in a running process, and out of it again. Counts are exact in between, slots of the loaded objects
# equal afterwards, and where the collector is killed at any moment, the program goes on as if nothing had been.
. tests/lib.sh

[ "$(uname -m)" = x86_64 ] || skip_all '--inject is for x86-64'
sleep 60 &
probe=$!
"$BIN" attach --inject -p $probe -d 1 -f true -o probe --cpuctxsw=none --sample=none >/dev/null 2>err
rc=$?
kill $probe
[ $rc -ne 0 ] && grep -q 'not permitted' err && skip_all "$(cat err)"

"$PY" "$TOP/tests/e2e/trace/inject.py" "$BIN" "$PROG/entered" "$PROG/lib/late_calls.so" 20 20 >lines 2>lines.err
is $? 0 'the driver of entered programs runs to its end'
diag <lines.err
while IFS='|' read -r rc name details; do
	result "$rc" "$name"
	[ "$rc" -eq 0 ] || echo "$details" | diag
done <lines

# ---- what cannot be entered: one line, before anything is touched ----
refused() { # TEXT PID NAME
	sort "/proc/$2/maps" >maps.before
	"$BIN" attach --inject -p "$2" -o bad 2>err
	is $? 1 "attach --inject to $3 is refused"
	check "attach --inject to $3 is refused in one line" sh -c "cat err; [ \$(wc -l <err) -eq 1 ] && grep -q '$1' err"
	sort "/proc/$2/maps" >maps.after
	check "attach --inject to $3 changes none of its mappings" diff maps.before maps.after
}
asleep() { grep -q "^State:.*$2" "/proc/$1/status"; }
in_sleep() { grep -q '^230 ' "/proc/$1/syscall"; } # clock_nanosleep: the program has begun in full

cat >waits.c <<'END'
#include <unistd.h>
int main(void) { pause(); return 0; }
END
if gcc -static -o static waits.c 2>/dev/null; then
	./static &
	wait_for 20 asleep $! S
	refused 'linked statically' $! 'a static program'
	kill $!
else
	skip 'attach --inject to a static program is refused' 'gcc cannot link one'
fi
if command -v musl-gcc >/dev/null && musl-gcc -o musl waits.c 2>/dev/null && { ./musl & } && wait_for 5 asleep $! S; then
	refused 'musl' $! 'a program with musl'
	kill $!
else
	skip 'attach --inject to a program with musl is refused' 'no musl-gcc'
fi
cat >filtered.py <<'END'
"""filtered.py [NUMBER]: a program with a seccomp filter that forbids system call NUMBER; reads a byte every 10 ms until "filtered" goes."""
import ctypes, os, struct, sys, time
forbidden = [(0x15, 0, 1, int(n)), (0x06, 0, 0, 0x80000000)] if (n := "".join(sys.argv[1:])) else []
code = [(0x20, 0, 0, 0)] + forbidden + [(0x06, 0, 0, 0x7fff0000)]
steps = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(steps)))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
libc.prctl(22, 2, prog)
zero = os.open("/dev/zero", os.O_RDONLY)
open("filtered", "w").close()
while os.path.exists("filtered"):
    os.pread(zero, 1, 0)
    time.sleep(0.01)
sys.exit(7)
END
filtered() { # NUMBER...
	rm -f filtered
	"$PY" -S -E filtered.py "$@" &
	P=$!
	wait_for 20 test -e filtered
}
if [ "$(id -u)" = 0 ]; then
	filtered 319
	refused 'forbids memfd_create' $P 'a program whose seccomp filter forbids what is needed'
	kill $P
	filtered
	"$BIN" attach --inject -p $P -d 1 -f true -o filtered --cpuctxsw=none --sample=none 2>err
	is $? 0 'attach --inject to a program with a seccomp filter that allows it ends with status 0'
	diag <err
	check 'a program with a seccomp filter has its calls in the report' [ "$(q filtered.sqlite "SELECT count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE value LIKE 'clock_nanosleep'")" -gt 10 ]
	rm -f filtered
	wait $P
	is $? 7 'a program with a seccomp filter that was entered ends with its own status'
	if command -v setpriv >/dev/null; then
		chmod 777 .
		rm -f filtered
		setpriv --reuid=65534 --regid=65534 --clear-groups "$PY" -S -E filtered.py &
		P=$!
		wait_for 20 test -e filtered
		setpriv --reuid=65534 --regid=65534 --clear-groups "$(nobody_bin)" attach --inject -p $P -o theirs 2>err
		is $? 1 'a user who cannot read a seccomp filter does not enter the program'
		check 'a user who cannot read a seccomp filter gets the remedy in one line' sh -c '[ "$(wc -l <err)" -eq 1 ] && grep -q "use sudo" err'
		kill $P
	fi
else
	filtered
	refused 'use sudo' $P 'a program with a seccomp filter that cannot be read'
	kill $P
fi
sleep 60 &
wait_for 20 in_sleep $!
kill -STOP $!
wait_for 20 asleep $! T
refused 'is stopped' $! 'a stopped program'
kill -CONT $!
kill $!
if command -v strace >/dev/null; then
	strace -o /dev/null sleep 60 &
	S=$!
	traced() { child=$(pgrep -P $S) && grep -q '^TracerPid:.*[1-9]' "/proc/$child/status" && in_sleep "$child"; }
	if wait_for 20 traced; then
		refused 'is traced by' "$child" 'a program under a debugger'
		kill "$child"
	fi
	wait $S
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 .
	cp "$(command -v sleep)" setuid && chmod 4755 setuid
	setpriv --reuid=65534 --regid=65534 --clear-groups ./setuid 60 &
	wait_for 20 in_sleep $!
	refused 'other rights' $! 'a setuid program'
	kill $!
	sleep 60 &
	chmod 777 .
	setpriv --reuid=65534 --regid=65534 --clear-groups "$(nobody_bin)" attach --inject -p $! -o theirs 2>err
	is $? 1 'attach --inject to a process of another user is refused'
	kill $!
	# ---- an ordinary user's own ----
	: >own.runs
	rm -f err
	setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "while [ -e own.runs ]; do sleep 0.05; done & exec '$(nobody_bin)' attach --inject -p \$! -o own" 2>err &
	A=$!
	wait_for 20 grep -q 'attached to' err
	sleep 1
	rm own.runs
	wait $A
	is $? 0 'a user without rights enters a process of its own'
	check 'the report of a user without rights has the calls of its process' [ "$(q own.sqlite 'SELECT count(*) FROM OSRT_API')" -gt 0 ]
else
	skip 'attach --inject to a setuid program is refused' 'needs root and setpriv (package util-linux)'
fi
check 'refused attaches leave no report' [ ! -e bad.sqlite ]

# ---- programs of others ----
if command -v redis-server >/dev/null; then
	redis-server --port 0 --unixsocket "$W/redis.sock" --save '' >redis.log 2>&1 &
	D=$!
	wait_for 20 test -S redis.sock
	"$BIN" attach --inject -p $D -f true -o redis --cpuctxsw=none --sample=none 2>err &
	A=$!
	wait_for 20 grep -q 'attached to' err
	redis-benchmark -s "$W/redis.sock" -n 2000 -c 10 -q -t set >bench.log 2>&1
	kill -INT $A
	wait $A
	is $? 0 'attach --inject to redis-server ends with status 0'
	check 'redis-server has its reads in the report' [ "$(q redis.sqlite "SELECT total(n) FROM (SELECT count(*) AS n, nameId FROM OSRT_API GROUP BY 2 UNION ALL SELECT sum(count), nameId FROM SL_OSRT_TOTALS GROUP BY 2) JOIN StringIds ON id = nameId WHERE value = 'read'" | cut -d. -f1)" -ge 2000 ]
	check 'redis-server answers after it has been left' redis-cli -s "$W/redis.sock" ping
	kill $D
	wait $D
else
	skip 'attach --inject to redis-server' 'redis-server is not installed'
fi
for runtime in node java; do
	command -v $runtime >/dev/null || continue
	case $runtime in
	node)
		node -e 'const fs = require("fs"); setInterval(() => { fs.readFileSync("/dev/null"); if (fs.existsSync("end")) process.exit(5) }, 20)' &
		;;
	java)
		cat >Reads.java <<'END'
public class Reads {
	public static void main(String[] a) throws Exception {
		while (!new java.io.File("end").exists()) { new java.io.FileInputStream("/dev/null").close(); Thread.sleep(20); }
		System.exit(5);
	}
}
END
		java Reads.java >java.log 2>&1 &
		;;
	esac
	P=$!
	wait_for 20 sh -c "[ \$(ls /proc/$P/task | wc -l) -gt 4 ]"
	"$BIN" attach --inject -p $P -d 2 -f true -o runtime --cpuctxsw=none --sample=none 2>err
	is $? 0 "attach --inject to $runtime ends with status 0"
	diag <err
	check "$runtime has its calls in the report" [ "$(q runtime.sqlite 'SELECT count(*) FROM OSRT_API')" -gt 0 ]
	: >end
	wait $P
	is $? 5 "$runtime ends with its own status after it has been left"
	rm -f end
done
done_testing
