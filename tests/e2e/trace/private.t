#!/bin/sh
# What a report gives away: it is for its user alone, and has no secrets of command lines.
# shellcheck disable=SC2016
. tests/lib.sh

umask 0
profile p sh -c 'stat -c "%a %n" p.sqlite p.sqlite-wal p.sqlite-shm' >out 2>err
is "$? $(tr '\n' ' ' <out)" '0 600 p.sqlite 600 p.sqlite-wal 600 p.sqlite-shm ' 'files beside a report that grows: for the user alone'
is "$(stat -c %a p.sqlite)" 600 'a finished report is for the user alone'
bare b /bin/true
wait_for 20 finished b.sqlite
is "$(stat -c %a b.sqlite)" 600 'the report of a bare preload is for the user alone'

# Copies are for those with the right to read the report; without a mask of their own (umask 0).
copy() { # REPORT TYPE: modes of all copies that find -type TYPE finds
	rm -rf copies ranks && mkdir copies
	for type in sqlite json csv parquetdir perfetto; do "$BIN" export -t $type -o copies/$type "$1"; done >out 2>&1
	"$BIN" report -o copies/html "$1" >out 2>&1
	(umask 022 && "$BIN" ranks add -d ranks --run=r "$1=0") >out 2>&1
	"$BIN" ranks fetch -d ranks --run=r --rank=0 -o copies/fetched.sqlite "$1" >out 2>&1
	find copies -mindepth 1 -type "$2" -printf '%m\n' | sort -u | tr '\n' ' '
}
RANK=0 profile c true 2>err
is "$(copy c.sqlite f)" '600 ' 'copies of a report are for the user alone'
is "$(copy c.sqlite d)" '700 ' 'folders of copies of a report are for the user alone'
is "$(ls copies | tr '\n' ' ')" 'csv fetched.sqlite html.html json parquetdir perfetto sqlite ' 'all copies are there'
chmod 644 c.sqlite
is "$(copy c.sqlite d)" '777 ' 'a report that all may read has copies that all may read'

lines() { sqlite3 -readonly "$1" "SELECT group_concat(commandLine, '|') FROM SL_PROCESS_TREE WHERE commandLine LIKE 'true%' OR commandLine LIKE 'env%'"; }
for events in yes no; do
	# Without the kernel's events command lines come from the rings alone.
	opts='--cpuctxsw=process-tree -s process-tree'
	[ $events = yes ] || opts='--cpuctxsw=none -s none'
	# shellcheck disable=SC2086
	profile s $opts env API_KEY=hunter2 true --password=hunter2 --token 'hunter2 x' user=me >out 2>err
	is "$(grep -ac hunter2 s.sqlite)" 0 "no secret is in the report, kernel events: $events"
	check "the command line has *** in place of each secret, kernel events: $events" sh -c 'case $1 in *"true --password=*** --token *** user=me"*) ;; *) echo "$1"; exit 1 ;; esac' x "$(lines s.sqlite)"
done
profile a --mask-arguments=all env API_KEY=hunter2 true user=me >out 2>err
is "$(grep -ac 'user=me' a.sqlite) $(lines a.sqlite | tr '|' '\n' | sort -u | tr '\n' ' ')" '0 env *** *** *** true *** ' '--mask-arguments=all masks every argument'
profile n --mask-arguments=none true --password=hunter2 >out 2>err
check '--mask-arguments=none masks no argument' sh -c 'case $1 in *"true --password=hunter2"*) ;; *) exit 1 ;; esac' x "$(lines n.sqlite)"
"$BIN" profile --mask-arguments=some -o w true >out 2>err
is "$? $(wc -l <err)" '2 1' '--mask-arguments=some is refused with status 2'

# One of each kind of secret (tests/unit/mask/mask.c has all forms), on each way that a command line takes into a report.
cat >forms <<'X'
true -H "Authorization: Bearer hunter2"
true postgres://me:hunter2@host/db '{"password":"hunter2"}'
exec -a mysql true -phunter2 # a title, and the options of a program
X
printf '#!/usr/bin/env -S API_KEY=hunter2 bash\n. ./forms\n' >script
chmod +x script
profile f -e HF_TOKEN=hunter2 -s process-tree --cpuctxsw=process-tree ./script --pass hunter2 >out 2>err
is "$? $(grep -ac hunter2 f.sqlite) $(sqlite3 -readonly f.sqlite "SELECT group_concat(value, ' ') FROM META_DATA_CAPTURE WHERE name LIKE 'PROCESS_0:ARGUMENT_%'")" \
	'0 0 --pass ***' 'secrets of a script, its interpreter and its arguments are not in the report'
is "$(sqlite3 -readonly f.sqlite "SELECT DISTINCT commandLine FROM SL_PROCESS_TREE WHERE commandLine GLOB 'mysql*'")" 'mysql -p***' 'the options of a program that has given itself a title are masked'
"$BIN" report -o f.html f.sqlite >out 2>err
"$BIN" export -t json -o f.json f.sqlite >>out 2>>err
is "$(cat f.html f.json out err | grep -c hunter2)" 0 'copies of a report have no secret'
profile l --session-new=told sh -c 'touch told; while [ ! -e go ]; do sleep 0.05; done; exit 0 --token hunter2' >out 2>err &
job=$!
wait_for 20 test -e told
"$BIN" sessions list >listed 2>&1
is "$(grep -c told listed) $(cat listed .sessions/*/report* l.sqlite* 2>/dev/null | grep -ac hunter2)" '1 0' 'the list of sessions and files beside a report that grows have no secret'
touch go
wait $job

# The collector is killed, and recover reads the rings: as it was asked for.
head -c 100 /dev/zero >data
for how in secrets none; do
	rm -f data.done data.go out
	"$BIN" profile -f true -o r --mask-arguments=$how env API_KEY=hunter2 "$PROG/repeat" "$W/data" 10 wait >out 2>err &
	job=$!
	wait_for 20 test -f data.done
	kill -KILL $job
	wait $job 2>/dev/null
	touch data.go
	"$BIN" recover r.sqlite >out 2>err
	is "$? $([ "$(grep -ac hunter2 r.sqlite)" = 0 ] && echo masked)" "0 $([ $how = none ] || echo masked)" "recover obeys --mask-arguments=$how"
done

# Links that lead to a folder, or to an unfinished report, are the user's own: they work.
mkdir folder && ln -s folder link
profile link/l true
is "$? $(sqlite3 -readonly folder/l.sqlite "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'")" '0 1' 'profile writes a report into a folder that a link leads to'
"$BIN" profile -f true -o k sleep 30 >out 2>err &
job=$!
wait_for 20 eval '[ -n "$(ls .sessions)" ] && [ -e .sessions/*/command ]'
kill -KILL $(pgrep -P $job sleep) $job
wait $job 2>/dev/null
ln -s k.sqlite k-link.sqlite
check 'recover reads a report through a link' "$BIN" recover k-link.sqlite
is "$(sqlite3 -readonly k.sqlite "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'")" 1 'a report recovered through a link is complete'

# Another user exchanges files in a folder of its own while root opens a report there: refused or right, never another file.
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
	mkdir theirs && chown 65534:65534 theirs
	echo precious >precious && chmod 600 precious
	setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'cd theirs && while [ ! -e stop ]; do
		for f in x.sqlite-wal x.sqlite-shm x.sqlite; do ln -sf ../precious "$f" 2>/dev/null; rm -f "$f"; done
	done' 2>/dev/null &
	job=$!
	for try in 1 2 3 4 5 6; do
		timeout 60 "$BIN" profile -f true -o theirs/x true >out 2>"err.$try"
	done
	touch theirs/stop
	wait $job
	is "$(cat precious)" precious 'files that are exchanged while a report is opened: what a link leads to is as it was'
else
	skip 'files that are exchanged while a report is opened' 'needs root'
fi

# Capabilities of the file are for the user's own programs: no way into the collector follows another user's.
if [ "$(id -u)" = 0 ] && mkdir -m 755 cap && cp "$BIN" "$B"/libtrace*.so cap && setcap cap_perfmon,cap_bpf+ep cap/sightline 2>/dev/null &&
	setpriv --reuid=65534 --regid=65534 --clear-groups cap/sightline --version >/dev/null 2>&1; then
	mkdir -m 777 byp
	collect() { # PID: as `launch` and the bare preload start it
		rm -f byp/r.sqlite
		timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups env SIGHTLINE_OUTPUT="$W/byp/r" SIGHTLINE_OPTIONS='-s process-tree --cpuctxsw=process-tree' \
			"$W/cap/sightline" collect --root "$1" --ready-fd 1
	}
	sleep 1000 &
	victim=$!
	collect $victim >out 2>err
	is "$? $(grep -c "^!process $victim: not permitted" out) $(ls byp)" '1 1 ' 'capabilities of the file: collect follows no process of another user'
	kill $victim
	wait $victim 2>/dev/null
	setpriv --reuid=65534 --regid=65534 --clear-groups sleep 1000 &
	own=$!
	wait_for 20 eval '[ "$(stat -c %u /proc/$own)" = 65534 ]'
	collect $own >out 2>err &
	job=$!
	wait_for 20 grep -q . out
	kill $own
	wait $own 2>/dev/null
	wait $job
	is "$(cut -c1 out) $(ls byp)" '/ r.sqlite' 'capabilities of the file: collect follows a process of its user' || diag <out

	# A set-user-id program runs another program, and one that is the user's again.
	cp "$(readlink -f "$(command -v env)")" cap/as_root && chmod 4755 cap/as_root
	nobody() { (cd byp && timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups "$@"); }
	if [ "$(nobody ../cap/as_root id -un)" = root ] && nobody ../cap/sightline status -e | grep -q '^eBPF *ok'; then
		nobody ../cap/sightline profile -f true -o s --syscall=process-tree -s process-tree --cpuctxsw=process-tree --off-cpu-threshold=0 sh -c \
			'../cap/as_root sh -pc "dd if=/dev/zero of=/dev/null bs=1 count=150000 status=none; sleep 0.1; exit 7"
			../cap/as_root setpriv --reuid=65534 --regid=65534 --clear-groups dd if=/dev/zero of=/dev/null bs=1 count=150001 status=none' >out 2>err
		lives() { sqlite3 -readonly byp/s.sqlite "$1"; }
		is "$(lives "SELECT exe || ' ' || ifnull(commandLine, '-') || ' ' || ifnull(exitStatus >> 8, '-') FROM SL_PROCESS_TREE WHERE kind = 2
			AND (commandLine IS NULL OR commandLine LIKE '%150001%') ORDER BY start, globalPid" | sed 's|^/[^ ]*/||' | tr '\n' ',')" \
			'as_root - -,sh - 7,dd - 0,sleep - 0,as_root - -,setpriv - -,dd dd if=/dev/zero of=/dev/null bs=1 count=150001 status=none 0,' \
			'capabilities of the file: of set-user-id programs and what they start there is name, time and status, no argument'
		for table in SYSCALL COMPOSITE_EVENTS SCHED_EVENTS SL_SYSCALL_TOTALS; do
			# A row of an exec's or exit's moment is the edge of a life.
			is "$(lives "SELECT count(*) FROM SL_PROCESS_TREE p WHERE kind = 2 AND commandLine IS NULL AND EXISTS (SELECT 1 FROM $table t
				WHERE t.globalTid & -16777216 = p.globalPid $([ $table = SL_SYSCALL_TOTALS ] && echo "AND NOT EXISTS (SELECT 1 FROM SL_PROCESS_TREE o
				WHERE o.globalPid = p.globalPid AND o.commandLine IS NOT NULL)" || echo 'AND t.start > p.start AND t.start < p.end'))")" 0 \
				"capabilities of the file: $table has nothing of set-user-id programs and what they start"
			check "capabilities of the file: $table has the program that is the user's again" [ "$(lives "SELECT count(*) FROM SL_PROCESS_TREE p JOIN $table t
				ON t.globalTid & -16777216 = p.globalPid WHERE p.commandLine LIKE 'dd %150001%'")" -gt 0 ]
		done
	else
		skip 'capabilities of the file: set-user-id programs' 'no eBPF with capabilities, or a file system without set-user-id'
	fi
	# Its caller's capabilities and ids went with an exec; what it may have kept is not the user's.
	setpriv --reuid=65534 --regid=65534 --clear-groups /usr/bin/python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print(1, flush=True); time.sleep(1000)' >ready &
	own=$!
	wait_for 20 test -s ready
	nobody ../cap/sightline attach -p $own --cpuctxsw=process-tree -d 1 -o t >out 2>err
	is "$? $(grep -c "not permitted: process $own" err)" '1 1' 'capabilities of the file: attach follows no process that the user may not trace'
	kill $own
	wait $own 2>/dev/null
else
	skip 'capabilities of the file' 'needs root and setcap'
fi
done_testing
