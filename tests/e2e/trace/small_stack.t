#!/bin/sh
# Calls on small stacks, of handlers and coroutines: how much more stack they need while they are traced; on misaligned ones.
. tests/lib.sh

PROGRAM=$PROG/small_stack
export LD_BIND_NOW=1
mkdir work
cd work || exit 1

# The calls are those of all hooks but these: not in every C library; wait for a signal or another thread; write all disks; end
# the process that measures.
cat >unmeasured <<'END'
__isoc23_fscanf
__isoc23_scanf
__isoc23_vfscanf
daemon
pause
pthread_cond_wait
sigsuspend
sync
END
awk -F '[(,][ \t]*' 'BEGIN { at["HAND"] = at["IO"] = at["STREAM"] = 5; at["CALL"] = at["ARG"] = at["FD"] = at["PATH"] = 6; at["VOID"] = 4; at["OPEN"] = at["NEWFD"] = at["COPY"] = 2 }
	/^HOOK_/ { kind = substr($1, 6); if (!(kind in at)) exit 1; sub(/[) \t]*$/, "", $at[kind]); print $at[kind] }' "$TOP"/preload/libc/*.def | sort >hooks
check 'the tables have more than 400 hooks' test "$(wc -l <hooks)" -gt 400
sed -n 's/^CALL[_APRT]*(\([A-Za-z0-9_]*\),.*/\1/p' "$TOP/tests/prog/small_stack.def" | sort - unmeasured | comm -23 hooks - >missing
is "$(cat missing)" '' 'each hook is measured, or has a reason why it is not'

# What a call of the program needs by itself, and with the tracer: both are measured on a stack that is large enough.
for when in warm thread process handler; do
	"$PROGRAM" measure $when >"$W/plain.$when"
	check "$when: each call is made, untraced" test -s "$W/plain.$when" -a ! "$(grep -c failed "$W/plain.$when")" -gt 0
	profile m$when --osrt-threshold=0 --osrt-backtrace-threshold=1000000000000 "$PROGRAM" measure $when >"$W/traced.$when" 2>err
	is "$(wc -l <"$W/traced.$when") $(grep -c failed "$W/traced.$when")" "$(wc -l <"$W/plain.$when") 0" "$when: each call is made, traced"
	is "$(paste -d ' ' "$W/plain.$when" "$W/traced.$when" | awk '$5 - $2 > 768 { print $1 ": " $5 - $2 " bytes" }')" '' \
		"$when: no call needs more than 768 bytes for the tracer"
done

# On a stack that is not aligned to 16 bytes, as assembly and JITs may leave it: most functions of the C library do not mind.
for when in warm thread process handler; do
	"$PROGRAM" measure $when shifted >"$W/plain.shifted"
	check "$when: calls are made on a misaligned stack, untraced" test "$(grep -vc failed "$W/plain.shifted")" -gt 300
	profile a$when --osrt-threshold=0 --osrt-backtrace-threshold=0 "$PROGRAM" measure $when shifted >"$W/traced.shifted" 2>err
	is "$?$(awk 'FNR == NR { bad[$1] = / failed /; next } / failed / && !bad[$1]' "$W/plain.shifted" "$W/traced.shifted")" 0 \
		"$when: no call fails on a misaligned stack that does not untraced"
done

# On a stack that ends so many bytes below what the program needs, with stacks of all calls, and with the default options.
for when in warm thread process handler; do
	profile s$when --osrt-threshold=0 --osrt-backtrace-threshold=0 "$PROGRAM" try $when 1024 <"$W/plain.$when" >got 2>err
	is "$?$(cat got)" 0 "$when: no call overflows a stack with 1,024 bytes more, with stacks of all calls"
	SIGHTLINE_OUTPUT=$W/b$when.sqlite LD_PRELOAD=$SHIM "$PROGRAM" try $when 768 <"$W/plain.$when" >got 2>err
	is "$?$(cat got)" 0 "$when: no call overflows a stack with 768 bytes more, bare"
done
is "$(q "$W/swarm.sqlite" "SELECT count(*) > 0 FROM OSRT_API WHERE callchainId > 0")" 1 'stacks are taken where there is room'
done_testing
