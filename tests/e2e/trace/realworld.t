#!/bin/sh
# Real programs: the same output as untraced, and a report in which everything fits together.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

sane() { # REPORT
	wait_for 10 finished "$1" || echo 'the report is not finished'
	intact "$1" || return 1
	sqlite3 -readonly "$1" "SELECT name FROM sqlite_master" | sort >tables
	for t in OSRT_API PROCESSES SL_PROCESS_TREE StringIds ANALYSIS_DETAILS META_DATA_EXPORT; do
		grep -qx $t tables || echo "no $t"
	done
	q "$1" ".read $E2E/trace/sane.sql" 2>&1 | grep -v 'no such table: OSRT_FILE_ACCESS'
}
# Runs a command in a fresh folder plainly, under profile, and bare; compares output, status and files.
real() { # NAME MIN-PROCESSES COMMAND...
	name=$1 min=$2
	shift 2
	for how in plain profile bare; do
		rm -rf here
		mkdir here
		R=$W/$how.sqlite
		case $how in
		plain) (cd here && exec "$@") >plain.out 2>plain.err ;;
		profile) (cd here && exec "$BIN" profile -f true -o "$R" "$@") >profile.out 2>profile.err ;;
		bare) (cd here && rm -f "$R" && SIGHTLINE_OUTPUT=$R LD_PRELOAD=$SHIM exec "$@") >bare.out 2>bare.err ;;
		esac
		echo $? >$how.status
		(cd here && find . -type f ! -name '*.nocmp' ! -path '*/.git/*' -exec cksum {} + | sort -k3) >$how.files
		[ $how = plain ] && continue
		sed -i '/^sightline: /d' $how.err
		for what in status out err files; do
			check "$name, $how: $what as untraced" diff -a plain.$what $how.$what
		done
		is "$(sane "$R")" '' "$name, $how: the rows of the report fit together"
		n=$(q "$R" "SELECT count(DISTINCT globalPid) FROM SL_PROCESS_TREE WHERE traced = 1")
		check "$name, $how: $n processes traced, at least $min" test "$n" -ge "$min"
	done
}
need() { # PROGRAM: whether it is installed
	command -v "$1" >/dev/null && return
	skip "$1: output as untraced" 'not installed'
	return 1
}

cat >walk.py <<'END'
import concurrent.futures, hashlib, json, os, re, sqlite3, subprocess, tempfile, threading, zlib
with tempfile.TemporaryDirectory() as d:
    for i in range(50):
        with open(os.path.join(d, "f%d" % i), "w") as f:
            json.dump({"i": list(range(i))}, f)
    def h(n):
        return hashlib.sha1(open(os.path.join(d, n), "rb").read()).hexdigest()
    with concurrent.futures.ThreadPoolExecutor(8) as ex:
        print(sorted(ex.map(h, sorted(os.listdir(d)))))
    db = sqlite3.connect(os.path.join(d, "db"))
    db.execute("create table t(a)")
    db.executemany("insert into t values (?)", ((i,) for i in range(1000)))
    db.commit()
    print(db.execute("select sum(a) from t").fetchone())
    print(subprocess.run(["sort", "-r"], input="a\nc\nb\n", text=True, capture_output=True).stdout)
    print(zlib.crc32(open(os.__file__, "rb").read()))
END
real 'python' 2 "$PY" "$W/walk.py"
need tar && need gzip && real 'tar | gzip' 4 sh -c 'tar cf - -C /etc/alternatives . | gzip -n9 >t.gz; gzip -dc t.gz | tar tf - | sort | tail -5; gzip -l t.gz | tail -1'
need sqlite3 && real 'sqlite3' 1 sqlite3 data.db "create table t(a primary key, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
	insert into t select i, hex(i) from n; select count(*), sum(a), max(b) from t; vacuum; pragma integrity_check;"
if need git; then
	GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a
	GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME=$W
	export GIT_AUTHOR_DATE GIT_COMMITTER_DATE GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM HOME
	real 'git' 5 sh -ec 'git init -q -b main a; cd a; for i in 1 2 3 4 5; do seq $((i * 100)) >f$i; git add f$i; git commit -q -m "c$i"; done; cd ..
		git clone -q a b; cd b; git log --stat --oneline; git gc -q; git fsck; git rev-parse HEAD'
fi
need gcc && real 'gcc' 3 sh -ec 'echo "#include <stdio.h>
int main(void) { puts(\"compiled\"); return 0; }" >x.c; gcc -O2 -o x x.c; ./x; rm x'
if need redis-server && need redis-benchmark; then
	real 'redis' 2 sh -c 'redis-server --port 0 --unixsocket "$PWD/s" --save "" --appendonly no --daemonize no >log.nocmp 2>&1 &
		until redis-cli -s "$PWD/s" ping >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
		redis-cli -s "$PWD/s" set k v; redis-cli -s "$PWD/s" get k
		redis-benchmark -s "$PWD/s" -n 5000 -c 10 -q -t set,get >bench.nocmp; redis-cli -s "$PWD/s" dbsize; redis-cli -s "$PWD/s" shutdown nosave; wait; echo $?'
fi
need fio && real 'fio' 2 sh -c 'fio --name=t --rw=randrw --size=2m --bs=4k --ioengine=psync --numjobs=2 --directory=. --randseed=7 --output=o.nocmp
	echo $?; grep -c "err= 0" o.nocmp; rm -f t.*'
need stress-ng && real 'stress-ng' 3 sh -c 'stress-ng -q --pipe 1 --fork 1 --switch 1 --pthread 1 --sem 1 --poll 1 --pipe-ops 1000 --fork-ops 20 \
	--switch-ops 1000 --pthread-ops 10 --sem-ops 500 --poll-ops 20 -t 1; echo $?'
done_testing
