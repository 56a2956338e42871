#!/bin/sh
# The command line as a user meets it: help, misspellings, refusals before anything runs, manuals that agree
# with the tables, completion.
. tests/lib.sh

says() { # STATUS PATTERN COMMAND...: exit status and one line on stderr
	want=$1 pattern=$2
	shift 2
	"$@" >out 2>err </dev/null
	got=$?
	cat err
	[ "$got" -eq "$want" ] && [ "$(wc -l <err)" -eq 1 ] && grep -Fq -- "$pattern" err
}
prints() { # PATTERN COMMAND...: status 0, the pattern on stdout, nothing on stderr
	pattern=$1
	shift
	"$@" >out 2>err </dev/null || return 1
	[ ! -s err ] && grep -Fq -- "$pattern" out
}
commands=$("$BIN" --completion-data)

# ---- help and version ----
is "$("$BIN" --version)" "$("$BIN" version)" '--version and version print the same'
check 'the output of -v has the number of the version' prints 'sightline 0.' "$BIN" -v
check 'the output of --help begins with the usage' prints 'usage: sightline COMMAND' "$BIN" --help
"$BIN" >out 2>err
is "$? $(head -1 out)" '2 usage: sightline COMMAND [options]' 'sightline without a command prints the help and fails with status 2'
for c in $commands; do
	[ "$c" = help ] || check "$c --help prints its usage" prints "usage: sightline $c" "$BIN" "$c" --help
	check "help $c prints its usage" prints 'usage: sightline ' "$BIN" help "$c"
	check "the help lists $c" prints "  $c " "$BIN" --help
done
check 'sightline --help onto a full disk fails' says 1 'No space left' sh -c "'$BIN' --help >/dev/full"

# ---- misspellings ----
check 'a misspelt command is refused with the right one' says 2 "unknown command 'porfile'; did you mean 'profile'?" "$BIN" porfile
check 'an unknown command is refused' says 2 "unknown command 'xyzzy' (see 'sightline --help')" "$BIN" xyzzy
check 'a command of nsys that is missing is refused as such' says 2 "'recipe' of nsys does not exist here yet" "$BIN" recipe
check 'a misspelt option of sightline is refused with the right one' says 2 "did you mean '--version'?" "$BIN" --verison
check 'the help of an unknown command is refused' says 2 "unknown command 'nope'" "$BIN" help nope
check 'a misspelt option of profile is refused with the right one' says 2 \
	"profile: unknown option '--outptu'; did you mean '--output'? (see 'sightline profile --help')" \
	"$BIN" profile --outptu=x true
for c in $commands; do
	case $c in help) continue ;; esac
	check "$c refuses an unknown option" says 2 "unknown option '--no-such-thing'" "$BIN" "$c" --no-such-thing
done

# ---- refusals before anything runs ----
check 'profile without a program is refused' says 2 'profile' "$BIN" profile
echo precious >old.sqlite
check 'profile refuses to replace an existing report' says 1 "'old.sqlite' exists (replace it with --force-overwrite=true" \
	"$BIN" profile -o old touch ran
is "$(cat old.sqlite)" precious 'a refused profile leaves the existing report as it is'
check 'profile refuses a report in a folder that does not exist' says 1 "'no/such' for the report does not exist" "$BIN" profile -o no/such/x touch ran
check 'profile refuses a variable that is not set in the name of the report' says 1 'SIGHTLINE_NOT_SET' "$BIN" profile -o 'x%q{SIGHTLINE_NOT_SET}' touch ran
check 'profile refuses a wrong value and names the nearest' says 2 "did you mean 'block'?" "$BIN" profile --on-full=blck touch ran
is "$(ls ran 2>/dev/null)" '' 'a refused profile does not run the program'

# ---- command lines of nsys ----
"$BIN" profile -t cuda,nvtx,osrt,opengl -s none --cpuctxsw=none -o rep.nsys-rep --force-overwrite=true \
	--cuda-memory-usage=true --capture-range cudaProfilerApi --trace-fork-before-exec true sh -c 'exit 7' >out 2>err
is $? 7 'a command line of nsys runs, and the status is the program'"'"'s'
check 'the report of a command line of nsys is where it was asked for' test -s rep.sqlite
is "$(grep -c 'not yet' err)" 2 'options without effect are named, in a line for options and one for kinds'
check "the change of the report's name from .nsys-rep is reported" grep -Fq "it will be 'rep.sqlite'" err

# ---- ranks that share a name: one is recorded, the others are refused, with -f true, too ----
echo old >ranks.sqlite
for i in 1 2 3; do
	"$BIN" profile -f true -t osrt -o ranks sh -c "echo \$\$ >began.$i; while [ ! -e go ]; do sleep 0.01; done" >out.$i 2>err.$i &
done
wait_for 20 eval '[ "$(cat err.* | grep -c "began with this one")" = 2 ]'
touch go
wait
is "$(ls began.* | wc -l) $(cat err.* | grep -c 'report: ')" '1 1' 'three ranks with one name and -f true: one is recorded, the programs of the others are not started'
is "$(q ranks.sqlite "SELECT count(*) > 0 FROM SL_PROCESS_TREE")" 1 'three ranks with one name and -f true: the report is whole'
"$BIN" profile -f true -t osrt -o ranks true >out 2>err
is $? 0 'a report of an earlier run is replaced with -f true'

# ---- called nsys, as launchers call it: Ray's nsight plugin tries the options first, and removes the trial's report ----
ln -s "$BIN" nsys
for try in 1 2; do
	./nsys profile -t osrt -o empty --stop-on-exit=true "$PY" -c '' >out 2>err
	is "$? $(ls empty.*)" '0 empty.nsys-rep' "called nsys: profile -o writes the report to .nsys-rep alone, try $try"
	is "$(./nsys stats -q -r osrt_sum -f csv empty.nsys-rep 2>&1 | grep -c ,)" "$(q empty.nsys-rep 'SELECT 1 + count(*) FROM (SELECT nameId FROM OSRT_API UNION SELECT nameId FROM SL_OSRT_TOTALS)')" \
		"called nsys: stats reads that report, try $try"
	check "called nsys: export reads that report, try $try" ./nsys export -t json -f true -o empty.json empty.nsys-rep
	rm empty.json
	rm empty.nsys-rep
done
./nsys profile -t osrt -o rep2.nsys-rep true >out 2>err
is "$? $(ls rep2.*) $(grep -c 'it will be' err)" '0 rep2.nsys-rep 0' 'called nsys: a name with the extension is kept'
./nsys profile -t osrt -o rep2 true >out 2>err
is "$? $(grep -c "'rep2.nsys-rep' exists" err)" '1 1' 'called nsys: an existing report is refused'
rm -f nsys

# ---- status ----
check 'status -e prints the check of library calls' prints 'Library calls' "$BIN" status -e
check 'status finds this libtrace.so' prints "$SHIM" "$BIN" status
check 'status without a terminal has no colours' sh -c "! '$BIN' status | grep -q '$(printf '\033')'"
check 'status as JSON is JSON' sh -c "'$BIN' status --format json | '$PY' -c '
import json, sys
report = json.load(sys.stdin)
names = [c[\"name\"] for c in report[\"checks\"]]
assert {\"shim\", \"clock\", \"ebpf\", \"perf\", \"samples\", \"session\"} <= set(names), names
for c in report[\"checks\"]:
    assert c[\"state\"] in (\"ok\", \"limited\", \"no\") and c[\"detail\"], c
'"
mkdir lonely && cp "$BIN" lonely/
check 'status without libtrace.so says so and fails' sh -c \
	'lonely/sightline status >out; [ $? -eq 1 ] && grep -q "Library calls *no " out'
check 'status leaves nothing behind' sh -c \
	'mkdir tmp; env -u SIGHTLINE_SESSIONS XDG_RUNTIME_DIR=$PWD/tmp "$0" status >/dev/null; [ -z "$(ls -A tmp)" ]' "$BIN"

# ---- manuals say what the tables say ----
options_of() { # COMMAND KIND...: long names in the table
	"$BIN" "$1" --completion-data | awk -F '\t' -v kinds=" $2 " '$2 != "-" && index(kinds, " " $5 " ") { print $2 }' | sort -u
}
for c in profile attach stats status recover stop cancel shutdown dump sessions; do
	page=$TOP/scripts/man/sightline-$c.1
	sed -n 's/^\.It .*Fl -\([a-z0-9-]*\).*/\1/p' "$page" | sort -u >documented
	{
		options_of "$c" listed
		echo help
	} | sort -u >listed
	check "options of $c: the manual is the table" diff listed documented
	options_of "$c" later >later
	sed -n 's/^\.Fl -\([a-z0-9-]*\).*/\1/p' "$page" | sort -u >mentioned
	check "options of $c without effect yet are in the manual" sh -c '! comm -23 later mentioned | grep .'
done
options_of start listed >listed
sed -n 's/^\..*Fl -\([a-z0-9-]*\).*/\1/p' "$TOP/scripts/man/sightline-start.1" | sort -u >mentioned
check 'options of start: the manual names each' sh -c '! comm -23 listed mentioned | grep .'
for c in $commands; do
	check "sightline(1) has $c" grep -q "^\\.It Ic $c\\b" "$TOP/scripts/man/sightline.1"
done
fits() { # PAGE: no line of it is wider than a terminal
	mandoc -T utf8 -O width=80 "$1" 2>/dev/null | col -bx >page.txt
	[ "$(wc -l <page.txt)" -gt 10 ] && ! LC_ALL=C.UTF-8 grep -E '^.{81}' page.txt
}
if command -v mandoc >/dev/null; then
	for page in "$TOP"/scripts/man/*.[1-8]; do
		check "${page##*/} is good mdoc" mandoc -Tlint -W error "$page"
		check "${page##*/} fits 80 columns" fits "$page"
	done
	sh "$TOP/scripts/schema-man" "$TOP/collector/schema.sql" "$TOP/scripts/man/sightline-schema.5.in" >schema.5
	check 'sightline-schema.5 is good mdoc' mandoc -Tlint -W error schema.5
	check 'sightline-schema.5 fits 80 columns' fits schema.5
	sh "$TOP/scripts/hook-man" "$SHIM" "$TOP/scripts/man/libtrace.7.in" "$TOP"/preload/libc/*.def >libtrace.7
	check 'libtrace.7 is good mdoc' mandoc -Tlint -W error libtrace.7
	check 'libtrace.7 fits 80 columns' fits libtrace.7
	check 'libtrace.7 names hooked functions' sh -c 'grep -q "^.Fn pread64$" libtrace.7 && grep -q "^.Fn sem_wait$" libtrace.7'
else
	skip 'manuals are good mdoc' 'mandoc is not installed (package mandoc)'
fi
sed -n 's/^CREATE TABLE \([A-Za-z0-9_]*\).*/\1/p' "$TOP/collector/schema.sql" | grep -v '^SL_STATE$' >tables
sh "$TOP/scripts/schema-man" "$TOP/collector/schema.sql" "$TOP/scripts/man/sightline-schema.5.in" >schema.5
check 'sightline-schema.5 has every table' sh -c 'while read -r t; do grep -Eq "^\.(Ss|It Va) $t$" schema.5 || { echo $t; exit 1; }; done <tables'

# ---- completion ----
if command -v bash >/dev/null; then
	cat >complete.bash <<-'END'
		source "$1"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		compopt() { :; }
		_sightline
		printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
	END
	completes() { # WANT WORD...
		want=$1
		shift
		is "$(bash complete.bash "$TOP/scripts/completion.bash" "$BIN" "$@")" "$want " "bash completes sightline $*"
	}
	completes 'start stats status' sta
	completes '--version' --v
	completes 'recover' help rec
	completes '--osrt-backtrace-depth --osrt-backtrace-stack-size --osrt-backtrace-threshold --osrt-file-access --osrt-threshold' profile --osrt
	completes 'process-tree' profile --cpuctxsw p
	completes 'system-wide' profile --cpuctxsw = sys
	completes 'block drop wait' profile --on-full = ''
	completes 'false' profile -f fa
	completes 'osrt,nvtx' profile -t osrt,nvt
	completes '--output' profile -f true --outp
	completes 'json text' status --format ''
	completes 'cuda_gpu_kern_gb_sum cuda_gpu_kern_sum' stats -r cuda_gpu_kern
	completes 'osrt_sum,nvtx_kern_sum' stats --report = osrt_sum,nvtx_k
	completes '--filter-nvtx --filter-pid --filter-time' stats run.sqlite --filter
	completes 'gpu_gaps' analyze run.sqlite -q -r gpu_ga
	completes 'hdoc htable' analyze -f h
	completes 'kernel' compare a.sqlite b.sqlite -k ker
	completes 'perfetto' export run.sqlite -t perf
else
	skip 'bash completes command lines' 'bash is not installed (package bash)'
fi
if command -v zsh >/dev/null; then
	# The shell's side: what it would offer, one word a line; files and commands by a word of their own.
	cat >complete.zsh <<-'END'
		compdef() { :; }
		compset() { PREFIX=${PREFIX##${~2}}; }
		compadd() {
			while [[ $1 == -* && $1 != -- && $1 != --* ]]; do [[ $1 == -S ]] && shift; shift; done
			[[ $1 == -- ]] && shift
			for word; do [[ $word == "$PREFIX"* ]] && print -r -- "$word"; done
		}
		_files() { print FILES; }
		_command_names() { print COMMANDS; }
		_normal() { print "PROGRAM $words[1] $CURRENT"; }
		source "$1"
		shift
		words=("$@") CURRENT=$# PREFIX=${@[-1]}
		_sightline | sort | tr '\n' ' '
	END
	completes() { # WANT WORD...
		want=$1
		shift
		is "$(zsh -f complete.zsh "$TOP/scripts/completion.zsh" "$BIN" "$@")" "$want " "zsh completes sightline $*"
	}
	completes 'start stats status' sta
	completes '--version' --v
	completes 'recover' help rec
	completes '--osrt-backtrace-depth --osrt-backtrace-stack-size --osrt-backtrace-threshold --osrt-file-access --osrt-threshold' profile --osrt
	completes 'process-tree' profile --cpuctxsw p
	completes 'system-wide' profile --cpuctxsw=sys
	completes 'nvtx' profile -t osrt,nvt
	completes '--output' profile -f true --outp
	completes 'COMMANDS FILES false true' profile -f ''
	completes 'FILES' profile -o ''
	completes 'PROGRAM python3 2' profile -o x python3 --py
	completes 'json text' status --format ''
	completes 'cuda_gpu_kern_gb_sum cuda_gpu_kern_sum' stats -r cuda_gpu_kern
	completes '--filter-nvtx --filter-pid --filter-time' stats run.sqlite --filter
	completes 'FILES' stats r
	completes 'list' sessions l
else
	skip 'zsh completes command lines' 'it is not installed'
fi
done_testing
