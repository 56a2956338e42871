#!/bin/sh
# Programs with musl as their C library run as untraced, and are traced: at the root, below a glibc program, as its parent.
. tests/lib.sh
command -v musl-gcc >/dev/null || skip_all 'no musl-gcc'
for name in sanitized threads leave; do
	musl-gcc -std=gnu11 -D_GNU_SOURCE -O1 -w -I"$TOP" -o "$W/$name" "$TOP/tests/prog/$name.c" -lpthread -ldl 2>"$W/cc.err" ||
		skip_all "musl-gcc cannot build $name.c: $(tail -1 "$W/cc.err")"
done
"$W/sanitized" >"$W/plain" 2>&1 </dev/null
[ $? -eq 3 ] || skip_all 'a musl program does not run here'

equal() { # NAME STATUS COMMAND...: the traced run; its report is $R
	equal_name=$1 equal_want=$2
	shift 2
	"$@" >"$W/traced" 2>"$W/traced.err" </dev/null
	is "$?" "$equal_want" "musl, $equal_name: the exit status is that untraced"
	grep -v '^sightline: ' "$W/traced.err" >>"$W/traced"
	check "musl, $equal_name: the output is that untraced" diff "$W/plain" "$W/traced"
}
opens() { q "$1" "SELECT count(*) FROM call WHERE name = 'open' AND path = '/etc/passwd'"; }
equal 'at the root' 3 profile root --osrt-threshold=0 "$W/sanitized"
is "$(opens "$R")" 150 'musl, at the root: the calls are recorded'
equal 'below a shell' 3 profile below --osrt-threshold=0 sh -c "'$W/sanitized'; exit \$?"
is "$(opens "$R")" 150 'musl, below a shell: the calls are recorded'
SIGHTLINE_CLOCK=monotonic equal 'the other clock' 3 profile clock --osrt-threshold=0 "$W/sanitized"
SIGHTLINE_OPTIONS=--osrt-threshold=0 equal bare 3 bare bare "$W/sanitized"
check 'musl, bare: the report is finished' wait_for 20 finished "$R"
is "$(opens "$R")" 150 'musl, bare: the calls are recorded'
"$W/sanitized" 'cat /etc/passwd' >"$W/plain"
equal 'as a parent' 3 profile parent --osrt-threshold=0 "$W/sanitized" 'cat /etc/passwd'
is "$(q "$R" "SELECT count(*) > 0 FROM call WHERE path = '/etc/passwd'")" 1 'musl, as a parent: calls of the child are recorded'

for how in 'fork 20' cancel 'at_once 100' 'key 20' 'sequence 500'; do
	# shellcheck disable=SC2086 # words
	"$W/threads" $how >"$W/plain" 2>&1
	# shellcheck disable=SC2086
	equal "threads $how" 0 profile threads --osrt-threshold=0 "$W/threads" $how
done
profile dead "$W/leave" raise 15 >"$W/traced" 2>&1
is "$?" 143 'musl: profile passes on the death by a signal'
done_testing
