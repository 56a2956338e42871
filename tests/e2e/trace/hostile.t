#!/bin/sh
# Another user's program lies to root's collector, keeper and `recover`: refused, counted, and nothing outside is touched.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root: a hostile program is another user'
AS='setpriv --reuid=65534 --regid=65534 --clear-groups'
$AS true 2>/dev/null || skip_all 'setpriv cannot change the user'
mkdir open rootonly
chmod 1777 open
chmod 700 rootonly
cp "$PROG/hostile" "$PROG/repeat" open
chmod 755 open/*
head -c 100 /dev/zero >open/data
HOSTILE=$W/open/hostile
sessions() { ls "$SIGHTLINE_SESSIONS"; }
session() { echo "$SIGHTLINE_SESSIONS/$(sessions | head -1)"; }
refused() { q "$1" "SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE 'rings: refused%'"; }
preads() { q "$1" "SELECT count(*) FROM call WHERE name LIKE 'pread%'"; }
complete() { # REPORT
	intact "$1" && [ "$(sqlite3 -readonly "$1" "SELECT value FROM META_DATA_EXPORT WHERE name = 'SL_COMPLETE'")" = 1 ]
}
ok() { # STATUS NAME: the program did its work, the report is complete, no session is left
	is "$1 $(grep -c ' sent$' out)" '0 1' "$2: the run ends with its status"
	check "$2: the report is complete" complete "$R"
	is "$(sessions)" '' "$2: no session is left"
}

# ---- profile, by what the program sends ----
hostile() { # MODE...
	R=$W/open/h.sqlite
	timeout 100 "$BIN" profile -f true -o open/h $hostile_options $AS "$HOSTILE" "$@" >out 2>err
}
for mode in plain descriptors 'datagrams 100' counts strings-far sums 'cycle 200' circles 'pids 1'; do
	hostile_options=
	hostile $mode
	ok $? "profile: $mode"
	case $mode in
	plain) is "$(refused "$R")" 1 "profile: $mode: refused rings are counted" ;;
	descriptors) check "profile: $mode: refused rings are counted" [ "$(refused "$R")" -ge 15 ] ;;
	esac
done
# What a program names it does not own: the run does not wait for it, and its end by --duration does not end it.
sleep 1000 &
victim=$!
for hostile_options in '' '--cpuctxsw=none --sample=none'; do
	hostile "pids" $victim 1 $$
	ok $? "profile${hostile_options:+, no events}: a stranger is named"
	R=$W/open/h.sqlite
	HOSTILE_WAIT=20000 timeout 100 "$BIN" profile -f true -o open/h -d 1 --kill=sigkill $hostile_options $AS "$HOSTILE" pids $victim >out 2>err
	is "$(cut -d' ' -f3 "/proc/$victim/stat")" S "profile${hostile_options:+, no events}: a stranger that is named lives"
done
kill $victim
wait $victim 2>/dev/null

for seed in 1 2 3 4; do
	hostile_options=
	hostile random $seed 3 400
	ok $? "profile: random forgeries, seed $seed"
done

# ---- memory: what a program makes the collector keep ----
peak() { # PID: the most MiB that are its own
	most=0
	# A process that has ended has no such line.
	while now=$(awk '/^RssAnon/ { print int($2 / 1024) }' "/proc/$1/status" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -le "$most" ] || most=$now
		sleep 0.02
	done
	echo "$most"
}
for mode in 'strings 12' 'files 2' 'paths 6' 'threads 2' 'arenas 400' 'files 6, same user'; do
	R=$W/open/m.sqlite
	user=$AS
	case $mode in *same*) user= ;; esac
	"$BIN" profile -f true -o open/m $user "$HOSTILE" ${mode%%,*} >out 2>err &
	job=$!
	is "$(peak $job | awk '{ print $1 <= 256 ? "small" : $1 " MiB" }')" small "memory: $mode: the collector keeps at most 256 MiB"
	wait $job
	ok $? "memory: $mode"
	case $mode in
	strings*) what='texts: no room' ;;
	files*) what='names of files: no room' ;;
	paths*) what="records: their program filled the collector's memory" ;;
	*) continue ;;
	esac
	check "memory: $mode: what was not kept is counted" [ "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE what = \"$what\" AND count > 0")" -gt 0 ]
done

# ---- the flight recorder: its report is written, for the program fails ----
for mode in plain counts strings-far sums circles 'random 5 3 400' 'random 6 3 400'; do
	R=$W/open/f.sqlite
	HOSTILE_EXIT=3 timeout 100 "$BIN" profile -f true -o open/f --flight=10s $AS "$HOSTILE" $mode >out 2>err
	is $? 3 "flight recorder: $mode: the status is the program's"
	ok 0 "flight recorder: $mode"
done

# ---- attach: the process, and one that is not of its tree ----
R=$W/open/a.sqlite
for mode in plain descriptors; do
	mkfifo -m 666 open/go
	$AS sh -c 'read dir <open/go; HOSTILE_DIR=$dir exec "$@"' sh "$HOSTILE" $mode >out 2>err &
	victim=$!
	timeout 100 "$BIN" attach -f true -p $victim -d 20 -o open/a >out.a 2>err.a &
	job=$!
	wait_for 20 eval '[ -n "$(sessions)" ] && [ -e "$(session)/command" ]'
	HOSTILE_DIR=$(session) $AS "$HOSTILE" usual >out.stranger
	echo "$(session)" >open/go
	wait $job
	ok $? "attach: $mode"
	check "attach: $mode: refused rings are counted" [ "$(refused "$R")" -ge 1 ]
	rm -f open/go
done

# ---- the keeper: strangers while there is no collector ----
R=$W/open/k.sqlite
"$BIN" profile -f true -o open/k --osrt-threshold=0 $AS open/repeat "$W/open/data" 20000 wait >out 2>err &
job=$!
wait_for 20 test -f open/data.done
S=$(session)
send KILL $job
wait $job 2>/dev/null
wait_for 20 test -S "$S/keeper"
for mode in plain descriptors 'datagrams 20' 'big 200' 'arenas 3' usual; do
	is "$(HOSTILE_DIR=$S HOSTILE_WAIT=0 $AS "$HOSTILE" $mode)" "${mode%% *} sent" "keeper: a stranger sends $mode"
done
check 'keeper: the socket is still there after strangers' test -S "$S/keeper"
touch open/data.go
wait_for 20 test -s out
wait_for 20 test ! -e "$S"
result $? 'keeper: it ends with the program'
is "$(cd "$R.rings" && ls *.ring clock | sed 's/.*\.ring/ring/' | tr '\n' ' ')" 'ring ring clock ' 'keeper: rings of the two images, nothing of strangers'
is "$(stat -c %U:%a "$R.rings" "$R.rings"/* | sort -u | tr '\n' ' ')" 'root:600 root:700 ' 'keeper: rings and their folder are for root alone'
check 'recover after the keeper succeeds' "$BIN" recover "$R"
is "$(preads "$R")" 40000 'recover after the keeper: every call is a row'
check 'recover after the keeper: the report is complete' complete "$R"
check 'recover after the keeper: the rings are gone' test ! -e "$R.rings"

# ---- the keeper: the program itself makes links where rings are written, then its collector dies ----
echo untouched >rootonly/target
R=$W/open/l.sqlite
"$BIN" profile -f true -o open/l $AS sh -c '
	read go <open/links.go
	open/hostile links "$0" "$1" >open/links.out' "$R" "$W/rootonly/target" >out 2>err &
job=$!
mkfifo -m 666 open/links.go
wait_for 20 eval '[ -n "$(sessions)" ] && [ -e "$(session)/command" ]'
S=$(session)
send KILL $job
wait $job 2>/dev/null
echo go >open/links.go
wait_for 20 test -s open/links.out
is "$(cat open/links.out)" 'links sent' 'links: the program made them'
wait_for 20 test -d "$S/rings"
is "$(cat rootonly/target; ls rootonly)" 'untouched
target' 'links: the files they lead to are as they were'
wait_for 20 eval '! grep -qF "$S/keeper" /proc/net/unix'
"$BIN" recover "$R" >out 2>err
is "$? $(grep -c 'left alone' err)" '0 1' 'links: recover leaves them alone and uses the rings of the session'
is "$(cat rootonly/target; ls open/l.sqlite.rings | wc -l)" "$(echo untouched; ls open/l.sqlite.rings | wc -l)" 'links: they are as they were after recover'
check 'links: the report is complete' complete "$R"
rm -rf open/l.sqlite.rings

# ---- recover: a link in place of the folder of rings; a session's folder that is none ----
killed() { # REPORT: of a collector that died with its keeper
	"$BIN" profile -f true -o "${1%.sqlite}" sleep 30 >out 2>err &
	killed_job=$!
	wait_for 20 eval '[ -n "$(sessions)" ] && [ -e "$(session)/command" ]'
	S=$(session)
	kill -KILL $(pgrep -P $killed_job) $killed_job
	wait $killed_job 2>/dev/null
	wait_for 20 eval '! grep -qF "$S/socket" /proc/net/unix'
}
mkdir precious
touch precious/a precious/b.conf precious/.hidden precious/1-2-3.ring precious/clock
killed "$W/p.sqlite"
rm -rf "$W/p.sqlite.rings"
ln -s precious p.sqlite.rings
"$BIN" recover p.sqlite >out 2>err
is "$? $(grep -c 'left alone' err) $(ls -A precious | wc -l) $(readlink p.sqlite.rings)" '0 1 5 precious' 'recover: a link is left alone, and what it leads to'
for how in link folder; do
	rm -f p.sqlite* && rm -rf "${SIGHTLINE_SESSIONS:?}"/*
	killed "$W/p.sqlite"
	touch precious/name precious/control precious/python
	# As in a report from elsewhere: the same length, so that the state stays what it is.
	case $how in
	link) rm -rf "$S" && ln -s "$W/precious" "$S" ;;
	folder)
		other=$SIGHTLINE_SESSIONS/precious0123456789abcdef
		other=$(printf %.${#S}s "$other")
		rm -rf "$other" && cp -r precious "$other"
		"$PY" - p.sqlite "$S" "$other" <<-'END'
			import sqlite3, sys
			db = sqlite3.connect(sys.argv[1])
			key, value = db.execute("SELECT key, value FROM SL_STATE WHERE key = 'session'").fetchone()
			db.execute("UPDATE SL_STATE SET value = ? WHERE key = ?", (value.replace(sys.argv[2].encode(), sys.argv[3].encode()), key))
			db.commit()
		END
		;;
	esac
	timeout 60 "$BIN" recover p.sqlite >out 2>err
	is "$?" 0 "recover succeeds where a session's folder is none, $how"
	[ $how = folder ] || other=$W/precious
	is "$(ls -A "$other" | wc -l)" 8 "recover where a session's folder is none removes nothing, $how"
	rm -rf "$S"
	[ $how = link ] || rm -rf "$other"
done

# A rollback journal beside a report that is not finished names another file, which SQLite would delete.
profile j true >out 2>err
echo precious >rootonly/file
for target in rootonly/file rootonly/fifo; do
	[ $target != rootonly/fifo ] || mkfifo rootonly/fifo
	"$PY" - j.sqlite "$W/$target" <<-'END'
		import sqlite3, struct, sys
		path, name = sys.argv[1], sys.argv[2].encode()
		db = sqlite3.connect(path)
		db.execute("PRAGMA journal_mode = DELETE")
		db.execute("UPDATE META_DATA_EXPORT SET value = '0' WHERE name = 'SL_COMPLETE'")
		db.commit()
		db.close()
		magic = bytes.fromhex("d9d505f920a163d7")
		pages = len(open(path, "rb").read()) // 4096
		head = (magic + struct.pack(">5I", 0, 0x1234, pages, 512, 4096)).ljust(512, b"\0")
		open(path + "-journal", "wb").write(head + struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic)
	END
	"$BIN" info j.sqlite >out 2>err
	is "$? $(grep -c "'sightline recover' undoes" err)" '1 1' "a report with a journal is not shown: ${target#*/}"
	timeout 20 "$BIN" recover j.sqlite >out 2>err
	is "$? $(grep -c 'unable to open' err)" '1 1' "recover: a journal that names ${target#*/} is refused"
	check "recover: a journal that names ${target#*/}: the file stays" [ -e $target ]
	rm -f j.sqlite-journal
done
done_testing
