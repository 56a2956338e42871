#!/bin/sh
# Programs that were built with a sanitizer, of gcc and of clang, with its shared and its static runtime, behave as untraced:
# at the root, below a shell, and with a bare preload.
# shellcheck disable=SC2016
. tests/lib.sh

# Equal output, status and messages; and the report has the program's calls.
equal() { # NAME WAY COMMAND...
	equal_name="$1, $2" equal_way=$2
	shift 2
	"$@" >"$W/out" 2>"$W/err" </dev/null
	echo "exit status $?" >>"$W/out"
	grep -v '^sightline: ' "$W/err" >"$W/err.own"
	[ "$equal_way" != bare ] || wait_for 20 finished "$R"
	calls=$(q "$R" "SELECT count(*) FROM call WHERE path = '/etc/passwd' AND name LIKE '%open%'" 2>&1)
	cmp -s "$W/out" "$W/plain.out" && cmp -s "$W/err.own" "$W/plain.err" && [ "$calls" -ge 100 ]
	result $? "$equal_name: the program behaves as untraced" || { echo "calls: $calls"; diff "$W/plain.out" "$W/out"; diff "$W/plain.err" "$W/err.own"; } | head -20 | diag
}
row() { # COMPILER SANITIZER LINKAGE FLAG...
	row_name="$1, $2, $3 runtime" row_cc=$1 row_is=$2
	shift 3
	if ! command -v "$row_cc" >/dev/null; then
		skip "$row_name: the program behaves as untraced" "no $row_cc"
		return
	fi
	if ! "$row_cc" -g -O1 -fsanitize="$row_is" "$@" -o "$W/prog" "$TOP/tests/prog/sanitized.c" -lpthread -ldl 2>"$W/cc.err"; then
		skip "$row_name: the program behaves as untraced" "$row_cc cannot build it here"
		return
	fi
	"$W/prog" >"$W/plain.out" 2>"$W/plain.err" </dev/null
	echo "exit status $?" >>"$W/plain.out"
	if ! grep -q 'exit status 3' "$W/plain.out"; then
		skip "$row_name: the program behaves as untraced" 'it does not run here untraced'
		return
	fi
	R=$W/root.sqlite equal "$row_name" 'at the root' "$BIN" profile -f true --osrt-threshold=0 -o "$W/root" "$W/prog"
	R=$W/below.sqlite equal "$row_name" 'below a shell' "$BIN" profile -f true --osrt-threshold=0 -o "$W/below" \
		sh -c "'$W/prog'; exit \$?"
	case $* in *OWN_OPTIONS*) return ;; esac # it must be started by a wrapper
	rm -f "$W/bare.sqlite"
	R=$W/bare.sqlite equal "$row_name" bare env SIGHTLINE_OUTPUT="$W/bare.sqlite" SIGHTLINE_OPTIONS=--osrt-threshold=0 \
		LD_PRELOAD="$SHIM" "$W/prog"
}
clang_runtimes=$(dirname "$(clang -print-file-name=libclang_rt.asan-"$(uname -m)".so 2>/dev/null)" 2>/dev/null)
for is in thread undefined leak; do
	case $is in thread) name=tsan ;; undefined) name=ubsan ;; leak) name=lsan ;; esac
	row gcc $is shared
	row gcc $is static -static-lib$name
	row clang $is static
done
row gcc address static -static-libasan
row clang address static
row clang memory static
row clang address shared -shared-libsan -Wl,-rpath,"$clang_runtimes"
row gcc address 'shared, own options,' -DOWN_OPTIONS
row gcc address shared
if [ -x "$W/prog" ] && [ "$(tail -1 "$W/plain.out")" = 'exit status 3' ]; then
	is "$("$BIN" profile -f true -o "$W/child" "$W/prog" 'grep -c libasan /proc/$$/maps; echo "$LD_PRELOAD"; env | grep -c SIGHTLINE_RUNTIME' 2>/dev/null |
		sed "s|$SHIM|SHIM|")" "0
SHIM
0" 'the runtime is loaded into the program alone, not into its children'
fi
row clang undefined shared -shared-libsan -Wl,-rpath,"$clang_runtimes"
done_testing
