#!/bin/sh
# Stacks of a real run have the functions, files and lines that the source has, wherever the debug information is.
# shellcheck disable=SC2016
. tests/lib.sh
command -v g++ >/dev/null || skip_all 'no C++ compiler'

cat >nap.cc <<'END'
#include <ctime>
namespace app {
template <int N> struct Clock {
	__attribute__((always_inline)) void nap() const
	{
		timespec t = {0, N};
		nanosleep(&t, nullptr); // NAP
	}
};
namespace {
__attribute__((noinline)) int work(int n)
{
	Clock<20000000>().nap(); // WORK
	return n + 1;
}
} // namespace
} // namespace app
int main()
{
	int n = app::work(0); // MAIN
	return n - 1;
}
END
line() { grep -n "// $1" nap.cc | cut -d: -f1; }
chain() { # of the only nanosleep: "function file:line", the innermost first, up to main
	sqlite3 "$R" "SELECT n.value || ifnull(' ' || f.value || ':' || c.line, '') FROM OSRT_API o
		JOIN StringIds a ON a.id = o.nameId AND a.value LIKE '%nanosleep'
		JOIN OSRT_CALLCHAINS c ON c.id = o.callchainId JOIN StringIds n ON n.id = c.symbol
		LEFT JOIN StringIds f ON f.id = c.file
		WHERE c.stackDepth <= (SELECT min(d.stackDepth) FROM OSRT_CALLCHAINS d JOIN StringIds m ON m.id = d.symbol
			WHERE d.id = c.id AND m.value = 'main') ORDER BY c.stackDepth"
}
whole="app::Clock<20000000>::nap $W/nap.cc:$(line NAP)
app::(anonymous namespace)::work $W/nap.cc:$(line WORK)
main $W/nap.cc:$(line MAIN)"
names='app::(anonymous namespace)::work
main'
# Built without libdw there are names alone.
check 'g++ builds the program' sh -c 'g++ -O2 -g -o nap nap.cc'
check 'profile of the program succeeds' profile nap ./nap
[ "$(chain)" = "$names" ] && whole=$names
is "$(chain)" "$whole" 'the stack has functions, also inlined, files and lines'
is "$(sqlite3 "$R" "SELECT group_concat(inlined, '') FROM (SELECT inlined FROM OSRT_API o JOIN StringIds a ON a.id = o.nameId
	JOIN SL_STACKS s ON s.id = o.callchainId JOIN SL_FRAMES f ON f.id = s.frameId
	WHERE a.value LIKE '%nanosleep' ORDER BY depth LIMIT 3)")" "$([ "$whole" = "$names" ] && echo 000 || echo 100)" 'frames that are inlined are marked'
is "$(sqlite3 "$R" "SELECT DISTINCT m.value FROM OSRT_CALLCHAINS c JOIN StringIds n ON n.id = c.symbol AND n.value = 'main'
	JOIN StringIds m ON m.id = c.module")" "$W/nap" 'the module of a frame is the file of the program'
is "$(sqlite3 "$R" "SELECT count(*) FROM sqlite_schema WHERE name IN ('SL_RAW_STACKS', 'SL_CODES')")" 0 'a finished report has no raw stacks'
check 'the program runs under LD_PRELOAD alone' bare bare "$W/nap"
wait_for 20 finished "$R"
is "$(chain)" "$whole" 'the stack under LD_PRELOAD alone is the same'

# The debug information goes elsewhere while the program is as it was.
check 'objcopy splits off the debug information' sh -c 'objcopy --only-keep-debug nap nap.debug && strip nap && objcopy --add-gnu-debuglink=nap.debug nap'
check 'profile of a program with split debug information succeeds' profile split ./nap
is "$(chain)" "$whole" 'debug information beside the file: the stack is the same'
check 'the debug information moves to .debug' sh -c 'mkdir .debug && mv nap.debug .debug'
check 'profile of a program with debug information in .debug succeeds' profile moved ./nap
is "$(chain)" "$whole" 'debug information in .debug: the stack is the same'
check 'g++ builds the program without debug information' sh -c 'g++ -O2 -o nap nap.cc'
check 'profile of a program without debug information succeeds' profile names ./nap
is "$(chain)" "$names" 'a program without debug information: frames have names alone'

# Stripped, unwanted, gone, and another one by the time that names are looked for: addresses, never another's names.
addresses() {
	sqlite3 "$R" "SELECT count(*) || ' ' || sum(c.unresolved) || ' ' || sum(n.value LIKE '0x%') FROM OSRT_API o
		JOIN StringIds a ON a.id = o.nameId AND a.value LIKE '%nanosleep' JOIN OSRT_CALLCHAINS c ON c.id = o.callchainId
		JOIN StringIds n ON n.id = c.symbol JOIN StringIds m ON m.id = c.module WHERE m.value LIKE '$W/nap%'"
}
check 'strip removes the symbols' sh -c 'strip nap'
check 'profile of a stripped program succeeds' profile stripped ./nap
is "$(addresses | cut -d' ' -f2-)" "$(addresses | awk '{print $1, $1}')" 'a stripped program: frames are addresses'
check 'a stripped program: at least two frames are its own' test "$(addresses | cut -d' ' -f1)" -ge 2
check 'g++ builds the program with debug information again' sh -c 'g++ -O2 -g -o nap nap.cc && cp nap kept'
check 'profile --resolve-symbols=false succeeds' profile off --resolve-symbols=false ./nap
is "$(addresses | cut -d' ' -f2-)" "$(addresses | awk '{print $1, $1}')" '--resolve-symbols=false: frames are addresses'
check 'profile of a program that removes its file succeeds' profile gone sh -c './nap; rm nap'
is "$(addresses | cut -d' ' -f2-)" "$(addresses | awk '{print $1, $1}')" 'a file that is gone: frames are addresses'
cp kept nap
check 'profile of a program whose file becomes another one succeeds' profile another sh -c './nap; rm nap; cp /bin/true nap'
is "$(addresses | cut -d' ' -f2-)" "$(addresses | awk '{print $1, $1}')" 'another file of that name: frames are addresses'
cp kept nap
check 'profile of a program whose file becomes the same build succeeds' profile again sh -c './nap; rm nap; cp kept nap'
is "$(chain)" "$whole" 'the same build again: frames have names'
cp kept nap
check 'profile of a program whose file is emptied succeeds' profile shrunk sh -c './nap; : >nap'
check 'the report of a program whose file is emptied is sound' intact "$R"

# An entry of debug information within 400,000 others: more than libdw has stack for, were it asked what the entry stands in.
cp kept nap
cat >nest.py <<'END'
import struct, subprocess
at = {}
for line in subprocess.run(['nm', '-S', 'nap'], capture_output=True, text=True, check=True).stdout.splitlines():
    words = line.split()
    if len(words) == 4:
        at[words[3]] = struct.pack('<QQ', int(words[0], 16), int(words[1], 16))
# 1: a unit of C++; 2: a block with entries of its own; 3: a function, all three with what follows in the lists of attributes
with open('abbrev', 'wb') as f:
    f.write(bytes([1, 0x11, 1, 0x13, 0x0b, 0x11, 0x01, 0x12, 0x07, 0, 0, 2, 0x0b, 1, 0, 0, 3, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0, 0]))
info = struct.pack('<HIB', 4, 0, 8) + bytes([1, 4]) + at['main'] + bytes([2]) * 400000 + bytes(400000) + bytes([3]) + b'nested\0' + at['main'] + b'\0'
with open('info', 'wb') as f:
    f.write(struct.pack('<I', len(info)) + info)
END
check 'g++ and objcopy build a program with nested entries' sh -c "g++ -O2 -o nap nap.cc && '$PY' nest.py && objcopy --add-section .debug_info=info --add-section .debug_abbrev=abbrev nap nested"
check 'profile of a program with nested entries succeeds' profile nested ./nested
is "$(chain)" "$names" 'a program with nested entries: frames have names'

# The files of another user are read by a process that has this user's rights, and whose end costs their names alone.
AS='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ "$(id -u)" = 0 ] && $AS true 2>/dev/null; then
	mkdir theirs
	cp kept theirs/nap
	cat >twice.cc <<'END'
#include <cstdio>
#include <ctime>
#include <unistd.h>
__attribute__((noinline)) int nap(int n)
{
	timespec t = {0, 20000000};
	nanosleep(&t, nullptr);
	return n + 1;
}
__attribute__((noinline)) int later(int n)
{
	return nap(n) + 1;
}
int main()
{
	int n = nap(0);
	fclose(fopen("first", "w"));
	while (access("go", F_OK))
		nap(0);
	return later(n) - 3;
}
END
	check 'g++ builds a program that goes on when it is told to' g++ -O1 -g -fno-optimize-sibling-calls -o theirs/twice twice.cc
	chown -R 65534:65534 theirs
	# shellcheck disable=SC2086
	check "profile of another user's program succeeds" profile theirs $AS theirs/nap
	is "$(chain)" "$whole" "another user's program: the stack has the same functions, files and lines"
	is "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE what LIKE 'symbols of%'")" 0 "another user's program: nothing is lost"
	cd theirs || exit 1
	# shellcheck disable=SC2086
	"$BIN" profile -f true -o "$W/killed" $AS ./twice >"$W/out" 2>"$W/err" &
	job=$!
	reader() { pgrep -P $job -u 65534 -f '^sightline symbols 65534'; }
	wait_for 20 reader
	result $? "another user's program: a process with this user's rights reads its file"
	# shellcheck disable=SC2086,SC2046
	$AS kill -KILL $(reader)
	touch go
	wait $job
	is "$? $(cat "$W/err" | grep -vc '^sightline: report: ')" '0 0' 'the user kills the process that reads its files: the run ends with its status'
	cd ..
	R=$W/killed.sqlite
	check 'the user kills the process that reads its files: the report is sound' intact "$R"
	is "$(q "$R" "SELECT count FROM SL_LOST_EVENTS WHERE what = 'symbols of files of other users: the process that read them ended'")" 1 \
		'the user kills the process that reads its files: one file is lost, and counted'
	is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'Symbols of 1 files of other users were not read: % (the first: %/theirs/twice, of user 65534).'")" 1 \
		'the user kills the process that reads its files: a message names the file'
	check 'the user kills the process that reads its files: files of root have their names' sh -c "sqlite3 -readonly '$R' \"SELECT value FROM StringIds\" | grep -q '^__libc_start_main'"
else
	skip "another user's files" 'needs root'
fi
done_testing
