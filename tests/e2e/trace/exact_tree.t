#!/bin/sh
# SL_PROCESS_TREE has each process that was made, with its end and its exit status, and its images in their order, also on a busy
# machine, where rings and the kernel's events are read late and in either order.
#   ROUNDS=N  of each kind (1)
#   KINDS     these alone
. tests/lib.sh

ROUNDS=${ROUNDS:-1}
KINDS=${KINDS:-forks churn vforks orphans thread-execs kills chains daemons make xargs}

awk 'BEGIN { n = 100; printf "all:"; for (i = 0; i < n; i++) printf " t%d", i; print ""
	for (i = 0; i < n; i++) printf "t%d:\n\t@sh -c \"cat /etc/passwd | grep -q root; true\"\n", i }' >Makefile

# Both processors are taken: the collector is late.
for _ in 1 2; do
	nice -n 5 sh -c 'while :; do :; done' &
	spinners="$spinners $!"
done
at_exit="kill $spinners"

# What a tree must not have; each as "what N".
wrong() { # REPORT
	q "$1" "WITH process AS (SELECT globalPid, max(start) start FROM SL_PROCESS_TREE GROUP BY 1)
		SELECT 'processes without a status', count(*) FROM process JOIN SL_PROCESS_TREE USING (globalPid, start) WHERE exitStatus IS NULL
		UNION ALL SELECT 'images that end before they begin', count(*) FROM SL_PROCESS_TREE WHERE end < start
		UNION ALL SELECT 'images without an end', count(*) FROM SL_PROCESS_TREE WHERE end IS NULL
		UNION ALL SELECT 'images that overlap', count(*) FROM SL_PROCESS_TREE a JOIN SL_PROCESS_TREE b USING (globalPid) WHERE a.start < b.start AND a.end > b.start
		UNION ALL SELECT 'statuses before the end', count(*) FROM SL_PROCESS_TREE JOIN process USING (globalPid) WHERE exitStatus IS NOT NULL AND SL_PROCESS_TREE.start < process.start
		UNION ALL SELECT 'parents that are missing', count(*) FROM SL_PROCESS_TREE t WHERE parentGlobalPid NOT IN (SELECT globalPid FROM process) AND kind = 1
		UNION ALL SELECT 'calls after the end', count(*) FROM OSRT_API WHERE start > (SELECT max(end) FROM SL_PROCESS_TREE t WHERE t.globalPid >> 24 = globalTid >> 24)" |
		grep -v '|0$'
}
processes() { q "$1" 'SELECT count(DISTINCT globalPid) FROM SL_PROCESS_TREE'; }

for kind in $KINDS; do
	for _ in $(seq "$ROUNDS"); do
		case $kind in
		make) profile "$kind" --osrt-threshold=0 make -s -j6 >made 2>log && echo $((1 + 100 * 4)) >made ;;
		xargs) profile "$kind" sh -c 'seq 300 | xargs -P 8 -n 1 env A=1 true; echo 303' >made 2>log ;;
		*) profile "$kind" --osrt-threshold=0 "$PROG/lives" "$kind" >made 2>log ;;
		esac
		is "$(processes "$R")" "$(cat made)" "$kind: each process is there" || diag <log
		is "$(wrong "$R")" '' "$kind: the tree is whole and in order"
	done
done

# A program without the shim: the kernel's event has what it was started as.
profile static sh -c "$PROG/static a b; $PROG/static c; true" >made 2>log
is "$(q "$R" "SELECT group_concat(exe || ' ' || commandLine, '; ') FROM (SELECT * FROM SL_PROCESS_TREE WHERE NOT traced AND kind = 2 ORDER BY start)")" \
	"$PROG/static $PROG/static a b; $PROG/static $PROG/static c" 'static programs have their path and arguments'

done_testing
