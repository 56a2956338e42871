#!/bin/sh
# ncu.t - sightline ncu: the number of a launch on reports where it is known (ncu_make.py), and of all launches in real reports
# against one counted another way (ncu_truth.py); a stand-in for ncu that counts must stop at the launch; what is not known has a note.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
umask 022
"$PY" "$E2E/report/ncu_make.py" "$TOP/collector/schema.sql" "$W" || exit 1
md5sum ./*.sqlite >before.md5
truth() { mode=$1 db=$2; shift 2; "$PY" "$E2E/report/ncu_truth.py" "$mode" "$db" "$BIN" "$@"; }
ncu() { "$BIN" ncu "$@"; }

# ---- numbers ----
is "$(truth list two.sqlite)" '40 launches of 2 kernels' '--list counts launches of overtaking streams and equal ids in two processes'
is "$(ncu --kernel step --pid 100 --list -f json two.sqlite | "$PY" -c '
import json, sys
print([r["skip"] for r in sorted(json.load(sys.stdin), key=lambda r: r["start"])][:6])')" '[1, 2, 3, 0, 4, 5]' \
	'--list counts launches by the call, not by the GPU'
for which in median longest shortest first last 3; do
	is "$(truth play two.sqlite --top 5 --instance $which)" '4 commands' "the stand-in for ncu stops at the launch: $which"
done
is "$(truth play two.sqlite --kernel step --nvtx phase --instance last)" '1 commands' 'the stand-in for ncu stops in a range of a thread'
is "$(truth play two.sqlite --kernel step --nvtx phase@a/b --instance 0)" '1 commands' 'the stand-in for ncu stops in a range of a domain'
is "$(truth play two.sqlite --kernel step --nvtx 'all of it' --instance last)" '1 commands' 'the stand-in for ncu stops in a range that any thread may end'
skips() { ncu -f json "$@" | "$PY" -c '
import json, sys
print([(c["launches"], c["launch"]["skip"], c["ncu"][c["ncu"].index("--nvtx-include") + 1]) for c in json.load(sys.stdin)["commands"]])'; }
is "$(skips --kernel step --nvtx phase --instance last two.sqlite)" "[(3, 2, 'phase/')]" 'nested ranges count once, and one without an end counts to the end'
is "$(skips --kernel step --nvtx phase@a/b --instance last two.sqlite)" "[(1, 0, 'a\\\\/b@phase/')]" 'characters that ncu takes for operators are escaped in a range'
is "$(skips --kernel step --nvtx 'all of it' --instance last two.sqlite)" "[(4, 3, 'all of it')]" 'a start/end range counts launches of all threads of the process'

# ---- what is not known ----
notes() { ncu -f json "$@" | "$PY" -c '
import json, sys
for c in json.load(sys.stdin)["commands"]: print(c["launch"]["skip"], c["sure"], c["replay"], *[n["kind"] for n in c["notes"]])'; }
is "$(notes --instance last cuts.sqlite)" '5 False kernel late lost missing graphs nodes calls program' 'notes name all that may be missing before the last launch'
is "$(notes --instance first cuts.sqlite)" '0 False kernel late lost calls program' 'notes name only what may be missing before the first launch'
is "$(ncu --instance last cuts.sqlite | grep -c '^# note: 1 launches before it have no kernel')" 1 'a call that failed is no launch'
is "$(notes --kernel plain ask.sqlite)" '0 True kernel' 'notes are empty where nothing is missing'
is "$(notes --kernel gemm ask.sqlite)" '0 True kernel chosen' 'a note names that a library may choose another kernel'
is "$(notes --kernel ncclDevKernel_AllReduce ask.sqlite)" '0 True application replay' 'a kernel of NCCL alone is replayed as an application'
is "$(notes --kernel coop ask.sqlite)" '0 True application replay' 'a cooperative launch is replayed as an application'
is "$(notes --kernel full ask.sqlite)" '0 True application replay' 'a launch with nearly full memory is replayed as an application'
is "$(notes --kernel full --replay-mode kernel ask.sqlite)" '0 True kernel' 'a replay mode that is named stands'
is "$(notes --kernel nccl ranks.sqlite; ncu --kernel nccl ranks.sqlite >out; echo $? "$(grep -vc '^#' out)" "$(grep -c lockstep out)")" \
	'0 True None rank waits
0 True None rank waits
1 1 2' 'NCCL of several processes has no command, with the reason'
is "$(notes --kernel nccl --replay-mode range ranks.sqlite | cut -d' ' -f3 | tr '\n' ' ')" 'range range ' 'NCCL of several processes has a command with a named replay mode'
is "$(notes range.sqlite)" '0 True kernel range masked' 'launches count from the beginning of a capture range'
is "$(ncu range.sqlite | grep -c -e '--profile-from-start off')" 1 'the command for a capture range makes ncu count from the same beginning'

# ---- for sh ----
mkdir bin
cat >bin/ncu <<'EOP'
#!/usr/bin/env python3
import json, os, sys
with open(os.environ['NCU_OUT'], 'a') as f: f.write(json.dumps([os.getcwd(), sys.argv[1:]]) + '\n')
sys.exit(int(os.environ.get('NCU_STATUS', 0)))
EOP
chmod +x bin/ncu
PATH_WITHOUT=$PATH PATH=$W/bin:$PATH
NCU_OUT=$W/ran
export NCU_OUT
ncu --kernel plain ask.sqlite >script
check 'the output of ncu is a shell script' sh -e script
check '--run runs the same command as the script' sh -c '"$1" ncu --kernel plain --run ask.sqlite >out' - "$BIN"
is "$("$PY" -c '
import json
(at, script), (there, run) = map(json.loads, open("ran"))
print(script == run, at, there, run[-7:], run[:-7])' | sed "s|$W|W|g")" "True W W/work dir ['./a program', \"it's\", '', '\$HOME', 'two\\nlines', 'a\\x1b[31mb', 'x=1'] \
['--target-processes', 'all', '--kernel-name-base', 'mangled', '--kernel-name', '_Z5plainv', '--launch-skip', '0', '--launch-count', '1', \
'--set', 'full', '--replay-mode', 'kernel', '--clock-control', 'none', '-o', 'ncu-plain-0']" 'the script passes arguments as they were, in the folder'
is "$(tr -d '\n' <script | tr -cd '\001-\037' | wc -c)" 0 'names in the script cannot steer a terminal'
is "$(NCU_STATUS=7 ncu --kernel plain --run ask.sqlite >out; echo $?)" 7 '--run passes on the status of ncu'
is "$(ncu --kernel plain --run ranks.sqlite 2>&1 >out | head -n 1)" \
	'sightline: ncu: not run: it is for a rank of a job: let the launcher run the command above' '--run refuses a report of ranks'
is "$(ncu --run range.sqlite 2>&1 >out; echo $?)" 'sightline: ncu: not run: an argument of the program was hidden when it was recorded
1' '--run refuses a program whose argument was hidden'
rm ran
# A report names the program: of one that another user may have written nothing runs.
mkdir shared && cp ask.sqlite shared
refused() { ncu --kernel plain --run "$@" 2>&1 >out | sed 's|'"$W"'|W|g' | cut -d: -f2-3; test -e ran && echo ran; grep -c '^ncu ' out; }
chmod 666 shared/ask.sqlite
is "$(refused shared/ask.sqlite)" ' ncu: not run
1' '--run refuses a report that others may write, and prints the command'
chmod 644 shared/ask.sqlite && chmod 777 shared
is "$(refused shared/ask.sqlite)" ' ncu: not run
1' '--run refuses a report in a folder that others may write'
ln -s shared/ask.sqlite link.sqlite
is "$(refused link.sqlite)" ' ncu: not run
1' '--run refuses a report that a link leads to in such a folder'
chmod 1777 shared
is "$(refused shared/ask.sqlite)" 'ran
1' '--run takes an own report in a sticky folder'
rm ran
if [ "$(id -u)" = 0 ]; then
	chown 65534 shared/ask.sqlite
	is "$(refused shared/ask.sqlite)" ' ncu: not run
1' '--run refuses the report of another user'
	is "$(refused --trust shared/ask.sqlite)" 'ran
1' '--trust runs the program of the report of another user'
	rm ran
else
	skip '--run of the report of another user' 'needs root'
	skip '--trust of the report of another user' 'needs root'
fi
cp ask.sqlite option.sqlite
sqlite3 option.sqlite "UPDATE META_DATA_CAPTURE SET value = '--config-file-path=/x' WHERE name = 'PROCESS_0:COMMAND'"
is "$(ncu --kernel plain option.sqlite | grep -c -e '--config-file-path')" 0 'a program of which ncu would make an option is not in the command'
cp ask.sqlite hidden.sqlite
sqlite3 hidden.sqlite "UPDATE META_DATA_CAPTURE SET value = 'a' || char(8238) || 'b' || char(917569) WHERE name = 'PROCESS_0:ARGUMENT_0'"
ncu --kernel plain hidden.sqlite >script
is "$(sh script; "$PY" -c '
import json
print(ascii(json.loads(open("ran").read())[1][-6]))'; grep -c "$(printf '\342\200\256')" script)" "'a\\u202eb\\U000e0041'
0" 'the script passes characters that cannot be seen, and does not show them'
rm ran
ncu --kernel plain ranks.sqlite | sed 's/PROGRAM ARGUMENTS[.]*/echo other/' >ranks
is "$(RANK=1 sh ranks)" 'other' 'ncu runs on one of the ranks, the program on the others'
is "$("$PY" -c '
import json
print(*[json.loads(x)[1][-3:] for x in open("ran")])')" "['ncu-plain-0-rank1', 'echo', 'other']" 'ncu gets the program of its rank'
is "$(notes --kernel plain job.sqlite; ncu --kernel plain job.sqlite | grep -o ' = [0-9]* \]')" '0 True kernel
0 True kernel
 = 1 ]
 = 0 ]' 'the script knows its rank by the environment of the processes'
is "$(notes --kernel nccl one.sqlite)" '0 True None waits' 'one rank of a job: NCCL waits for ranks without a report, too'
is "$(ncu --kernel plain one.sqlite | tail -n 1 | grep -o ' = 3 .*' | sed 's/exec ncu.*exec/exec/')" ' = 3 ]; then exec "$@"'"' sh ./solver -n 5" \
	'one rank of a job: the script has the program of the report'
PATH=$PATH_WITHOUT
is "$(ncu --kernel plain --run ask.sqlite 2>&1 >out | cut -c1-40; ncu --kernel plain --run ask.sqlite >out 2>&1; echo $?)" \
	'sightline: ncu: no ncu in PATH: it comes
1' '--run without ncu in PATH fails'

# ---- copies ----
is "$(ncu --kernel '[CUDA memcpy Host-to-Device]' ask.sqlite)" '# ncu profiles kernels, not copies; this is how fast they were:
# [CUDA memcpy Host-to-Device]
# process 60, GPU 0: 2 copies, 6000000 bytes in 6.00 us: 1000.00 GB/s; the fastest of at least 1 MB 1000.00 GB/s' 'copies are listed with their speed in place of a command'
is "$(ncu --kernel '[CUDA memcpy Device-to-Device' ask.sqlite | tail -n 1)" \
	"# each byte is read and written: 2000.00 of the 1000.00 GB/s of the GPU's memory" "a copy within a GPU is compared with the bandwidth of its memory"

# ---- a report that lacks names ----
sqlite3 names.sqlite <"$TOP/tests/golden/reports/cuda.sql"
check 'a kernel whose name the report lacks is left out' sh -c '"$1" ncu --top 9 -f json names.sqlite >names.json' - "$BIN"
sqlite3 names.sqlite "DELETE FROM StringIds"
is "$(ncu names.sqlite 2>&1)" 'sightline: ncu: names.sqlite: the report has no kernels' 'a report without names has no kernels for ncu'

# ---- wrong use ----
refused() { # STATUS TEXT OPTION...
	refused_rc=$1 refused_text=$2
	shift 2
	is "$(ncu "$@" 2>&1 >out; echo $?)" "sightline: ncu: $refused_text
$refused_rc" "ncu $* is refused"
}
refused 1 "two.sqlite: no kernel is called 'nix'; those that took most time: step, init" --kernel nix two.sqlite
refused 1 "two.sqlite: 'step' has no such launch" --kernel step --instance 99 two.sqlite
refused 1 "two.sqlite: 'step' was not launched by that process" --kernel step --pid 4 two.sqlite
refused 1 "two.sqlite: there is no NVTX range 'nix' in the default domain" --nvtx nix two.sqlite
refused 2 '--kernel and --top cannot stand together' --kernel step --top 2 two.sqlite
refused 2 '--instance=often: it takes median, longest, shortest, first, last or a number from 0' --instance often two.sqlite
refused 2 '--nvtx=phase/2: ncu takes RANGE or RANGE@DOMAIN, neither a number nor any domain' --nvtx phase/2 two.sqlite
refused 2 'no report is named: sightline ncu [options] REPORT.sqlite' --kernel step
check 'ncu does not change a report' md5sum -c before.md5

# ---- real reports ----
real=$TOP/../shared/data/nsys
[ -d "$real" ] || skip 'real databases: --list has all launches' 'they are not here'
for db in "$real"/*.sqlite; do
	[ -f "$db" ] || continue
	cp "$db" real.sqlite
	chmod u+w real.sqlite
	check "$(basename "$db"): --list has all launches" truth list real.sqlite
	diag <check.log
	check "$(basename "$db"): all kernels have a command" truth play real.sqlite --top 1000
done
done_testing
