#!/bin/sh
# first_env.t - programs that hand on the environment of their initial stack, as Go's run time does: below a bare preload it has no
# SIGHTLINE_SESSION, and what they start belongs to their session all the same. Programs that are not below it have their own.
. tests/lib.sh

echo "it's" >it
readelf -lW "$PROG/first_env" >interpreter
cat=$(command -v cat)

over() { [ -z "$(ls -A "$SIGHTLINE_SESSIONS")" ]; }
# Programs of a report by their names, with their opens of "it": in order of names, as folders sort by where the checkout is.
programs() { q "$1" "SELECT exe, (SELECT count(*) FROM call WHERE path LIKE '%/it' AND name LIKE 'open%'
	AND pid = t.globalPid >> 24 & 0xffffff) FROM SL_PROCESS_TREE t WHERE kind <> 1 AND (exe LIKE '%/cat' OR exe LIKE '%/first_env')" | sed 's,^.*/,,' | sort | tr '\n' ' '; }
tree() { # NAME WANT PROGRAM...
	name=$1 want=$2
	shift 2
	"$@" >plain 2>plain.err
	status=$?
	SIGHTLINE_OPTIONS=--osrt-threshold=0 bare "$name" "$@" >got 2>err
	is "$? $(cat got err)" "$status $(cat plain plain.err)" "$name: status and output are as without the tracer"
	check "$name: the session ends" wait_for 20 over
	is "$(programs "$R")" "$want" "$name: the report has each program with its calls"
	is "$(ls ./*.sqlite)" "./$name.sqlite" "$name: there is one report"
	rm -f "$R"
}

tree child 'cat|1 first_env|0 ' "$PROG/first_env" "$cat" it
tree status 'cat|0 first_env|0 ' "$PROG/first_env" "$cat" missing
tree grandchild 'cat|1 first_env|0 first_env|0 first_env|0 ' "$PROG/first_env" "$PROG/first_env" "$PROG/first_env" "$cat" it
tree shell 'cat|1 cat|1 first_env|0 first_env|0 ' sh -c '"$0" "$1" it; "$0" "$1" it; exit 3' "$PROG/first_env" "$cat"

# A program whose parent has ended before it loads the library has nothing above it that is traced; the kernel has reported its fork.
if "$BIN" status 2>/dev/null | grep -q '^eBPF *ok'; then
	SIGHTLINE_OPTIONS=--osrt-threshold=0 SIGHTLINE_OUTPUT=$W/orphan.sqlite LD_PRELOAD=$SHIM "$PROG/first_env" orphan /bin/sh -c '"$0" "$1"; echo >gone' "$cat" it >got 2>err
	check 'orphan: the program ends' wait_for 20 test -e gone
	check 'orphan: the session ends' wait_for 20 over
	is "$(cat got err)" "it's" 'orphan: the output is as without the tracer'
	is "$(programs "$W/orphan.sqlite")" 'cat|1 first_env|0 ' 'orphan: the report has each program with its calls'
	is "$(ls ./*.sqlite)" ./orphan.sqlite 'orphan: there is one report'
	rm -f orphan.sqlite
else
	skip 'orphan: the program ends' 'no eBPF here (sightline status)'
fi

# A session that does not begin is one message, not one of each program.
: >taken.sqlite
SIGHTLINE_OUTPUT=$W/taken.sqlite LD_PRELOAD=$SHIM "$PROG/first_env" "$PROG/first_env" "$cat" it >got 2>err
is "$(cat got) $(grep -c 'not tracing' err)" "it's 1" 'a root process that is not traced: its children run, without a message'
rm taken.sqlite

# Calls of a program's .preinit_array, before the C library is initialized: environ is not set then.
echo e >early
early() { # NAME
	is "$(q "$R" "SELECT name FROM call WHERE path LIKE '%/early' ORDER BY start" | tr '\n' ' ')" 'open read close ' "$1: calls before the constructors are recorded, once"
}
profile early --osrt-threshold=0 "$PROG/first_env" "$cat" it >got 2>err
is "$? $(cat got)" "0 it's" 'profile: the program with calls before the constructors runs'
early profile
SIGHTLINE_OPTIONS=--osrt-threshold=0 bare early_bare "$PROG/first_env" "$cat" it >got 2>err
is "$? $(cat got err)" "0 it's" 'bare: the program with calls before the constructors runs'
check 'bare: the session with calls before the constructors ends' wait_for 20 over
early bare
SIGHTLINE_OPTIONS=--osrt-threshold=0 bare early_loader "$(sed -n 's/.*interpreter: \(.*\)]/\1/p' interpreter)" "$PROG/first_env" "$cat" it >got 2>err
is "$? $(cat got err)" "0 it's" 'bare, the loader as a program: the program with calls before the constructors runs'

# Beside a live session.
SIGHTLINE_OUTPUT=$W/other.sqlite LD_PRELOAD=$SHIM sh -c 'echo >ready; while [ ! -e stop ]; do sleep 0.02; done' &
check 'another program is traced' wait_for 20 test -e ready
bare own "$cat" it >got 2>err
is "$(cat got err) $(programs "$W/own.sqlite")" "it's cat|1 " 'a program of no session has its own report'
"$BIN" attach -p "$$" -o attached >attach.log 2>&1 &
check 'a session that has attached is there' wait_for 20 grep -q 'attached to' attach.log
bare below "$cat" it >got 2>err
is "$(cat got err) $(programs "$W/below.sqlite")" "it's cat|1 " 'a program below attached processes has its own report'
: >stop
kill -INT $!
wait
done_testing
