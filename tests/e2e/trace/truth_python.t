#!/bin/sh
# Python with forked workers that read many small files: every open, read and close of every worker.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
cat >pool.py <<'END'
import multiprocessing as mp, os, sys
d, n = sys.argv[1], int(sys.argv[2])
def load(i):
    with open("%s/%05d" % (d, i), "rb") as f:
        return os.getpid(), len(f.read())
if __name__ == "__main__":
    with mp.get_context("fork").Pool(4) as p:
        got = list(p.imap_unordered(load, range(n), 16))
        p.close(); p.join()
    for pid in sorted({g[0] for g in got}):
        print(pid, sum(g[0] == pid for g in got), sum(g[1] for g in got if g[0] == pid))
END
n=4000
mkdir data
"$PY" -c '
import sys
for i in range(int(sys.argv[1])):
    open("data/%05d" % i, "wb").write(b"x" * (i % 5000))' $n
bytes=$("$PY" -c "print(sum(i % 5000 for i in range($n)))")
for how in profile bare; do
	case $how in
	profile) profile p --osrt-threshold=0 "$PY" pool.py "$W/data" $n >want ;;
	bare) SIGHTLINE_OPTIONS=--osrt-threshold=0 bare b "$PY" pool.py "$W/data" $n >want ;;
	esac
	is "$?" 0 "the pool works, $how"
	wait_for 10 finished "$R"
	result $? "the report is finished, $how"
	check "the report is sound, $how" intact "$R"
	is "$(awk '{ n += $2; b += $3 } END { print n, b }' want)" "$n $bytes" "the workers did all the work, $how"
	# Per worker: opens and closes of its files, and the bytes that its reads of them brought.
	is "$(q "$R" "SELECT pid || ' ' || sum(name IN ('open', 'open64', 'openat', 'openat64')) || ' ' ||
		sum(CASE WHEN name = 'read' THEN ret ELSE 0 END) FROM call WHERE path LIKE '$W/data/%' GROUP BY pid ORDER BY pid" 2>&1)" \
		"$(sort -n want)" "opens and bytes of every worker, $how"
	is "$(q "$R" "SELECT count(*), count(DISTINCT path) FROM call WHERE name = 'close' AND path LIKE '$W/data/%' AND err IS NULL")" \
		"$n|$n" "every file is closed, $how"
	is "$(q "$R" "SELECT count(*) FROM (SELECT path, sum(ret) b FROM call WHERE name = 'read' AND path LIKE '$W/data/%'
		GROUP BY path HAVING b <> substr(path, -5) % 5000)")" 0 "the bytes of each file are right, $how"
	is "$(q "$R" "SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE $RECORDS")" 0 "no call of the workers is lost, $how"
done
done_testing
