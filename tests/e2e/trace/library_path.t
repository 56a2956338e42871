#!/bin/sh
# Paths of libtrace.so that LD_PRELOAD cannot have: a space and a colon end one, a dollar sign begins what the loader replaces.
# shellcheck disable=SC2016
. tests/lib.sh

cat >program.sh <<'END'
cat "$W/program.sh" >/dev/null
env -i cat "$W/program.sh" >/dev/null
echo output
END
export W
opens() { q "$1" "SELECT count(*) FROM call WHERE path = '$W/program.sh' AND name LIKE 'open%'" 2>&1; }
for name in 'with space' 'with:colon' 'with$ORIGIN' 'libother.so:more'; do
	mkdir "$name"
	cp "$B/sightline" "$B/libtrace.so" "$B/libtrace-cuda.so" "$name/"
	# Before the colon stands a library that must not be loaded.
	[ "$name" = libother.so:more ] && cp "$PROG/lib/other.so" libother.so
	"$name/sightline" profile -f true -o run --osrt-threshold=0 sh "$W/program.sh" >got 2>err
	is "$?$(cat got)" 0output "$name, profile: the program runs"
	is "$(grep -v '^sightline: report: ' err)" '' "$name, profile: nothing on standard error"
	is "$(opens run.sqlite)" 3 "$name, profile: the calls are recorded, also below an empty environment"
	"$name/sightline" status >got 2>&1
	check "$name: status says by which way programs are traced" grep -q "Library calls *limited" got
	# Loaded by a relative path.
	(cd "$name" && SIGHTLINE_OPTIONS=--osrt-threshold=0 SIGHTLINE_OUTPUT=$W/bare.sqlite LD_PRELOAD=./libtrace.so sh "$W/program.sh" >"$W/got" 2>"$W/err")
	is "$(cat got err)" output "$name, bare: the output is that of the program"
	wait_for 20 finished bare.sqlite
	result $? "$name, bare: the report is finished"
	is "$(opens bare.sqlite)" 3 "$name, bare: the calls are recorded, also below an empty environment"
	rm -f bare.sqlite
	is "$(find "$SIGHTLINE_SESSIONS" -name 'libtrace*')" '' "$name: no link is left behind"
done

# A program that outlives the session: the link has gone.
'with space/sightline' profile -f true -o late --wait=primary sh -c 'setsid sh -c ": >started; until test -e ended; do :; done; cat program.sh >/dev/null; echo done" >late.out 2>&1 &
	until test -e started; do :; done' >/dev/null 2>err
: >ended
wait_for 20 grep -q 'done' late.out
is "$(cat late.out)" 'done' 'a program that starts another one after the end of the session: nothing on standard error'

# The folder of sessions, too, has a space.
mkdir -m 1777 'all sessions'
SIGHTLINE_SESSIONS=$W/'all sessions' 'with space/sightline' profile -f true -o none sh -c 'echo output' >got 2>err
is "$?$(cat got)" 0output 'a program runs without a path for the link'
check 'no path for the link: the reason is on standard error' grep -q 'LD_PRELOAD cannot have the path' err
is "$(grep -c 'ld.so' err)" 0 'no path for the link: the loader says nothing'
SIGHTLINE_SESSIONS=$W/'all sessions' 'with space/sightline' status >got 2>&1
check 'no path for the link: status does not say ok' grep -q 'Library calls *no' got

# Libraries of the program's that have the names of those that the command needs.
if command -v gcc >/dev/null; then
	mkdir foreign
	for library in libz.so.1 libelf.so.1 libdw.so.1 libbpf.so.1 libsqlite3.so.0 libzstd.so.1 liblzma.so.5; do
		echo 'int foreign;' | gcc -shared -fPIC -x c - -Wl,-soname,$library -o foreign/$library
	done
	LD_LIBRARY_PATH=$W/foreign "$BIN" profile -f true -o foreign sh -c 'echo output' >got 2>err
	is "$?$(cat got) $(wc -l <err)" '0output 1' 'LD_LIBRARY_PATH has libraries with names of those that the command needs: the program runs'
	is "$(q foreign.sqlite 'SELECT max(traced) FROM SL_PROCESS_TREE')" 1 'LD_LIBRARY_PATH has libraries with names of those that the command needs: the program is traced'
else
	skip 'LD_LIBRARY_PATH has libraries with names of those that the command needs: the program runs' 'gcc is not installed (package gcc)'
fi
done_testing
