#!/bin/sh
# Stacks of calls, compared with programs that know where they are (tests/prog/shadow.h): C without frame pointers, C++,
# libraries that come and go, every installed Python, one through the other; and what may be the matter with a stack.
# shellcheck disable=SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

stacks() { # REPORT PROGRAM...: every call has a row and a stack
	stacks_to=$1
	shift
	profile "$stacks_to" -t osrt --osrt-threshold=0 --osrt-backtrace-threshold=0 --cpuctxsw=none "$@" >out 2>err
}
# The share of calls whose stack is the truth, frame by frame.
agrees() { # NAME REPORT PERCENT [FLAG]
	agrees_name=$1 agrees_to=$2 agrees_least=$3
	shift 3
	"$PY" "$E2E/trace/stack_truth.py" "$W/$agrees_to.sqlite" truth "$agrees_least" "$@" >said 2>&1
	agrees_status=$?
	result $agrees_status "$agrees_name: stacks are the truth, $(tail -1 said)" || { cat said err; } | diag
}
# Frames of the calls that the program prints, by name: in how many calls are they?
frames() { # REPORT CONDITION...
	frames_of=$W/$1.sqlite
	shift
	sqlite3 -readonly "$frames_of" "SELECT n.value, count(DISTINCT a.rowid) FROM OSRT_API a JOIN StringIds c ON c.id = a.nameId
		JOIN SL_STACKS s ON s.id = a.callchainId JOIN SL_FRAMES f ON f.id = s.frameId JOIN StringIds n ON n.id = f.symbol
		WHERE c.value LIKE 'pread%' AND $* GROUP BY 1 ORDER BY 1" 2>&1
}
remarks() { frames "$1" specialEntry; }

# ---- C and C++ ----
truth() { # NAME PROGRAM [WORD...]
	truth_name=$1 program=$2
	shift 2
	rm -f truth
	stacks c "$program" truth "$@"
	is $? 0 "$truth_name: the program runs"
	agrees "$truth_name" c 99
}
LIB=$PROG/lib
truth 'C' "$PROG/stack_c" calls 400
is "$(remarks c)" '' 'C: nothing is the matter with its stacks'
truth 'threads that end' "$PROG/stack_c" threads 100
truth 'another program by exec' "$PROG/stack_c" exec 50
truth 'libraries that come and go' "$PROG/stack_c" library 60 "$LIB/stack_one.so" "$LIB/stack_two.so"
truth 'C++' "$PROG/stack_cxx" 200
is "$(remarks c)" '' 'C++: nothing is the matter with its stacks'
check 'the same stack is stored once' [ "$(q "$R" 'SELECT count(*) FROM OSRT_API')" -gt "$(sqlite3 -readonly "$R" 'SELECT 10 * count(DISTINCT id) FROM SL_STACKS')" ]
is "$(q "$R" "SELECT count(*) FROM OSRT_API WHERE callchainId <> 0 AND callchainId NOT IN (SELECT id FROM SL_STACKS)")" 0 'every callchainId leads to a stack'
is "$(sqlite3 -readonly "$R" 'SELECT count(*) FROM (SELECT DISTINCT id FROM OSRT_CALLCHAINS EXCEPT SELECT callchainId FROM OSRT_API)')" 0 'OSRT_CALLCHAINS has only stacks of calls'

# ---- what the file does not contain ----
cp "$PROG/stack_c" plain
if command -v objcopy >/dev/null; then
	objcopy --strip-debug plain nodebug
	objcopy --strip-all plain stripped
	rm -f truth
	stacks nodebug ./nodebug truth calls 50
	is "$(sqlite3 -readonly "$R" "SELECT count(*) > 0, sum(line IS NOT NULL), count(DISTINCT value) FROM SL_FRAMES JOIN StringIds s ON s.id = symbol
		WHERE value IN ('leaf', 'recursive', 'by_pointer', 'main')")" '1|0|4' 'a program without debug information: functions have names, no lines'
	rm -f truth
	stacks stripped ./stripped truth calls 50
	is "$(remarks stripped)" '' 'a stripped program: stacks reach all the way up'
	is "$(sqlite3 -readonly "$R" "SELECT count(*) > 0, min(unresolved), max(n.value LIKE '0x%') FROM SL_FRAMES JOIN StringIds m ON m.id = module JOIN StringIds n ON n.id = symbol
		WHERE m.value LIKE '%/stripped'")" '1|1|1' 'a stripped program: frames are addresses'
	is "$(sqlite3 -readonly "$R" 'SELECT max(depth) > 20 FROM SL_STACKS')" 1 'a stripped program: stacks are deep'
else
	skip 'a program without debug information: functions have names, no lines' 'objcopy is not installed (package binutils)'
fi

# ---- Python, and C between ----
for python in $(pythons 'sys.version_info >= (3, 8)'); do
	"$python" -c 'import ctypes' 2>/dev/null || continue
	version="Python ${python##*/python}"
	rm -f truth
	stacks py "$python" "$E2E/trace/stack_python.py" "$LIB/stack_one.so" truth 20
	is $? 0 "$version: the program runs"
	agrees "$version, with C between" py 99
	is "$(frames py "n.value LIKE '%EvalFrameDefault%'")" '' \
		"$version: the interpreter's loop is in no stack"
	is "$(remarks py)" '' "$version: nothing is the matter with its stacks"
done
for old in $(pythons 'sys.version_info < (3, 8)'); do
	stacks old "$old" -c 'import os; os.pread(os.open("/dev/null", 0), 1, 7)'
	is "$? $(grep -c 'where its stacks lie is not known' err)" '0 1' 'an unknown Python runs, with one message'
	check 'an unknown Python has native stacks' [ "$(q "$R" "SELECT count(*) FROM OSRT_API o JOIN OSRT_CALLCHAINS c ON c.id = o.callchainId WHERE fileOffset = 7")" -gt 3 ]
	break
done

# ---- what may be the matter ----
same() { # NAME HOW...: prints and ends as without us
	same_name=$1
	shift
	"$PROG/stack_fault" "$@" >plain.out 2>&1
	same_plain=$?
	stacks fault "$PROG/stack_fault" "$@"
	is "$? $(cat out)" "$same_plain $(cat plain.out)" "$same_name: the program's output and status are those untraced"
	check "$same_name: the report is sound" intact "$R"
	is "$(said err | grep -v '^sightline: report:')" '' "$same_name: stderr has no message"
}
for how in damaged noncanonical nonsense; do
	same "$how stack" $how
	is "$(q "$R" "SELECT count(*) FROM OSRT_API o JOIN SL_STACKS s ON s.id = callchainId JOIN SL_FRAMES f ON f.id = frameId WHERE fileOffset = 1 AND specialEntry")" 1 \
		"$how stack: each stack ends with a remark"
done
same 'code made at run time' jit
is "$(frames fault "n.value LIKE 'jit/_%' ESCAPE '/'")" 'jit_with_fp|100
jit_without|100' 'code made at run time: functions are named by its map'
is "$(frames fault "fileOffset < 1000 AND n.value IN ('jit', '_start')")" '_start|100
jit|100' 'code made at run time: frames go on by its frame pointer'
is "$(frames fault 'fileOffset BETWEEN 1000 AND 1999 AND specialEntry')" '[No unwind table]|100' 'code made at run time: stacks without an unwind table are marked'
same 'alternate stack' signal
is "$(q "$R" "SELECT count(DISTINCT a.rowid) FROM OSRT_API a JOIN SL_STACKS s ON s.id = a.callchainId WHERE fileOffset >= 100 AND s.depth >= 0")" 20 'alternate stack: each call has a stack, or a remark'
same 'alternate stack with room' signal 32768
is "$(frames fault "fileOffset >= 100 AND n.value IN ('handler', 'on_alternate_stack', '_start')")" '_start|20
handler|20
on_alternate_stack|20' 'alternate stack with room: stacks go through the signal to the beginning'
for how in guard small; do
	same "at the end of the stack, $how" $how
	is "$(q "$R" "SELECT count(*) FROM OSRT_API a WHERE fileOffset IS NOT NULL AND callchainId = 0")" 0 "at the end of the stack, $how: each call has a stack, or a remark"
	is "$(q "$R" "SELECT count(*) FROM OSRT_API a WHERE fileOffset > 6000 AND NOT EXISTS (SELECT 1 FROM SL_STACKS s JOIN SL_FRAMES f ON f.id = frameId
		JOIN StringIds n ON n.id = f.symbol WHERE s.id = callchainId AND (n.value = 'with_little_left' OR s.depth > 10))")" 0 "at the end of the stack, $how: the stack is whole where there is room"
done
same 'stacks of its own making' handmade
is "$(frames fault "fileOffset < 3 AND n.value = 'handmade_entry'")" 'handmade_entry|100'  'stacks of its own making: frames go to their beginning'
same 'threads that die' dies
done_testing
