#!/bin/sh
# Files are opened for names while the program runs, and one needs a server that never answers: whatever happens meanwhile
# to the collector, to the files, or is asked of a session, all ends, and the report has its stacks.
# shellcheck disable=SC2086,SC2016
. tests/lib.sh
command -v cc >/dev/null || skip_all 'no C compiler'
command -v objcopy >/dev/null || skip_all 'objcopy is not installed (package binutils)'

# Naps until "go" is there, often: what comes seldom is read seldom.
cat >nap.c <<'END_OF_C'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) int nap_a_bit(int n)
{
	struct timespec t = {0, 100000};
	nanosleep(&t, 0);
	return n + 1;
}
int main(int argc, char **argv)
{
	int n = 0;
	do {
		n = nap_a_bit(n);
		for (int i = 0; i < 300; i++)
			access("nowhere", F_OK);
	} while (argc > 1 && access(argv[1], F_OK) != 0);
	return n < 0;
}
END_OF_C
mkdir bin
cat >bin/debuginfod-find <<END_OF_SH
#!/bin/sh
[ -e '$W/silent' ] || exit 1
echo \$\$ >'$W/asking'
mv '$W/asking' '$W/asked'
exec sleep 1000
END_OF_SH
chmod +x bin/debuginfod-find
check 'cc builds a program without debug information' sh -c 'cc -O1 -g -Wl,--build-id -o nap nap.c && objcopy --strip-debug nap && cp nap kept'
PATH=$W/bin:$PATH
DEBUGINFOD_URLS=http://localhost:1 DEBUGINFOD_CACHE_PATH=$W/cache
export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH

asked() { [ -s asked ]; }
gone() { # PID
	[ ! -e "/proc/$1" ] || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"
}
chain() { # of the first nanosleep: the innermost first, up to main
	sqlite3 "$R" "SELECT group_concat(value, ' ') FROM (SELECT n.value FROM OSRT_CALLCHAINS c JOIN StringIds n ON n.id = c.symbol
		WHERE c.id = (SELECT min(callchainId) FROM OSRT_API o JOIN StringIds a ON a.id = o.nameId AND a.value LIKE '%nanosleep')
		AND n.value IN ('nap_a_bit', 'main') ORDER BY c.stackDepth)"
}
begin() { # REPORT: traced until the server is asked for something
	rm -f go asked
	cp kept nap
	: >silent
	R=$W/$1.sqlite
	"$BIN" profile -f true -o "$W/$1" ./nap go >out 2>err &
	job=$!
	wait_for 20 asked
	result $? "$1: the server is asked while the program runs" || diag <err
}
whole() { # NAME STACK
	check "$1: the report is whole" intact "$R"
	is "$(sqlite3 "$R" "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'")" 1 "$1: the report is complete"
	is "$(chain)" "$2" "$1: stacks have names"
	wait_for 20 gone "$(cat asked)"
	result $? "$1: nothing is looked up any more"
}
named='nap_a_bit main'

# ---- the collector is killed, and another process completes the report ----
begin killed
send KILL $job
wait $job 2>/dev/null
wait_for 20 gone "$(cat asked)"
result $? 'killed: the lookup at the server ends with the collector'
: >go
rm -f silent
check 'killed: recover succeeds' "$BIN" recover "$R"
whole killed "$named"

# ---- signals while the server is waited for ----
for signal in INT TERM; do
	begin $signal
	: >go
	# The first may still be for the program.
	while kill -$signal $job 2>/dev/null; do sleep 0.05; done
	wait $job 2>/dev/null
	whole $signal "$named"
done

# ---- files change while one is opened; a lookup is cancelled, as by a server that refuses ----
changed() { # NAME COMMAND STACK
	begin "$1"
	sh -c "$2"
	rm -f silent
	kill "$(cat asked)"
	: >go
	wait $job
	is $? 0 "$1: the program ends well"
	whole "$1" "$3"
}
changed replaced 'rm nap; cp /bin/true nap' "$named"
changed removed 'rm nap' "$named"

# ---- a file that cannot be opened, as of a file system whose server is gone: each open() of it waits ----
cat >hold.py <<'END_OF_PY'
import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None)
fd = libc.fanotify_init(4 | 1, os.O_RDONLY) # FAN_CLASS_CONTENT, FAN_CLOEXEC
if fd < 0 or libc.fanotify_mark(fd, 1, ctypes.c_uint64(0x10000), -100, sys.argv[1].encode()) < 0: # FAN_MARK_ADD, FAN_OPEN_PERM
    sys.exit("no fanotify")
open(sys.argv[2] + ".ready", "w").close()
os.read(fd, 4096)
open(sys.argv[2], "w").write("held")
time.sleep(1000)
END_OF_PY
holder=
at_exit='[ -z "$holder" ] || kill "$holder" 2>/dev/null'
hold() {
	rm -f held held.ready
	"$PY" hold.py "$W/nap.debug" held 2>hold.err &
	holder=$!
	wait_for 20 sh -c '[ -e held.ready ] || [ -s hold.err ]'
	[ -e held.ready ]
}
# The holder is to answer no more, but not to be there either: open() goes on.
release() {
	kill "$holder"
	wait "$holder" 2>/dev/null
	holder=
}
linked() { # REPORT: traced until the file is opened
	rm -f go
	cp linked nap
	R=$W/$1.sqlite
	"$BIN" profile -f true -o "$W/$1" ./nap go >out 2>err &
	job=$!
	wait_for 20 test -s held
	result $? "$1: the file is opened while the program runs" || diag <err
}
check 'cc builds a program with debug information beside it' sh -c 'cc -O1 -g -Wl,--build-id=none -o linked nap.c && objcopy --only-keep-debug linked nap.debug &&
	objcopy --strip-debug linked && objcopy --add-gnu-debuglink=nap.debug linked'
if hold; then
	linked 'held, Ctrl-C'
	: >go
	while kill -INT $job 2>/dev/null; do sleep 0.05; done
	wait $job 2>/dev/null
	check 'held, Ctrl-C: stderr names recover' grep -q "could not be completed: .*recover" err
	is "$(sqlite3 "$R" "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'")" 0 'held, Ctrl-C: the report is not complete'
	release
	check 'held, Ctrl-C: recover succeeds' "$BIN" recover "$R"
	check 'held, Ctrl-C: the report is whole' intact "$R"
	is "$(chain)" "$named" 'held, Ctrl-C: stacks have names'
	hold
	linked 'held, killed'
	send KILL $job
	wait $job 2>/dev/null
	release
	: >go
	check 'held, killed: recover succeeds' "$BIN" recover "$R"
	check 'held, killed: the report is whole' intact "$R"
	is "$(chain)" "$named" 'held, killed: stacks have names'
	hold
	linked 'held for a while'
	: >go
	release
	wait $job
	is $? 0 'held for a while: the program ends well'
	is "$(chain)" "$named" 'held for a while: stacks have names'
else
	skip 'held, Ctrl-C: the file is opened while the program runs' 'needs root and fanotify'
fi

# ---- a session goes on while what was begun for its report is not needed any more ----
rm -f go asked
cp kept nap
: >silent
"$BIN" launch --session-new=ahead-$$ ./nap go >out 2>err &
job=$!
sl() { sl_verb=$1; shift; "$BIN" $sl_verb --session=ahead-$$ "$@"; }
wait_for 20 sl start -o first
wait_for 20 asked
result $? 'session: the server is asked' || diag <err
check 'session: cancel succeeds' sl cancel
wait_for 20 gone "$(cat asked)"
result $? 'session: nothing is looked up any more'
rm -f asked
check 'session: start again succeeds' sl start -o second
wait_for 20 asked
result $? 'session: the server is asked again' || diag <err
rm -f silent
check 'session: stop, and the report is completed by another process' sl stop
R=$W/second.sqlite
whole session "$named"
: >go
wait $job
is $? 0 'session: the program ends well'
done_testing
