#!/bin/sh
# page_faults.t - major page faults: as many as the kernel counts (getrusage, /proc/PID/stat), with file, offset and line.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ "$(id -u)" = 0 ] || skip_all 'needs root'
SAMPLED=1
"$BIN" profile -t none --cpuctxsw=none -s process-tree --python-sampling=true -f true -o probe true 2>err
if grep -q 'no CPU samples\|need eBPF' err; then
	skip_all "$(grep -m1 'no CPU samples\|need eBPF' err)"
fi

cat >faults.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define PAGES 400
static char *at;
static volatile long sum;
__attribute__((noinline)) static void touch(int from, int to)
{
	for (int i = from; i < to; i++)
		sum += at[(long)(i * 7 % PAGES) * 4096]; /* TOUCH */
}
static void *half(void *arg)
{
	touch(PAGES / 2, PAGES);
	return arg;
}
/* Another profiler's event, on every CPU, that each fault samples first. */
static int rival(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
				       .sample_period = 1, .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
				       .use_clockid = 1, .clockid = CLOCK_MONOTONIC};
	int cnt = 0;
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		cnt += syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0) >= 0;
	return cnt;
}
int main(int argc, char **argv)
{
	int fd = open("data.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct rusage before, after;
	char page[4096];
	pthread_t t;

	(void)argv;
	if (argc > 1 && !rival())
		return 2;
	memset(page, 1, sizeof(page));
	for (int i = 0; i < PAGES; i++)
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return 1;
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	at = mmap(NULL, PAGES * 4096, PROT_READ, MAP_SHARED, fd, 0);
	madvise(at, PAGES * 4096, MADV_RANDOM);
	getrusage(RUSAGE_SELF, &before);
	touch(0, PAGES / 2);
	pthread_create(&t, NULL, half, NULL);
	pthread_join(t, NULL);
	getrusage(RUSAGE_SELF, &after);
	printf("%ld %ld %ld\n", after.ru_majflt - before.ru_majflt, after.ru_majflt, sum);
	return 0;
}
C
gcc -O1 -g -o faults faults.c -pthread || exit 1
profile faults ./faults >out 2>err
is $? 0 'the program runs'
read -r here all sum <out
is "$sum" 400 'the program reads what is in the file'
if [ "$here" -eq 0 ]; then
	skip 'each fault of the file has a row' 'this folder is in memory: no page of it has to be read'
	done_testing
fi
lost() { q "$R" "SELECT CAST(total(count) AS INT) FROM SL_LOST_EVENTS WHERE what LIKE 'page faults%'"; }
is "$(lost)" 0 'no page fault is lost'
is "$(q "$R" "SELECT count(*) FROM SL_PAGE_FAULTS JOIN StringIds ON id = pathId WHERE value = '$W/data.bin'")" "$here" 'of the file: as many as getrusage() counts'
# Those before main() are of the program and its libraries; those before its exec are not in the report.
check "of the process: at most $all" [ "$(q "$R" 'SELECT count(*) FROM SL_PAGE_FAULTS')" -le "$all" ]
is "$(q "$R" "SELECT count(DISTINCT offset) || ' ' || min(offset) || ' ' || max(offset % 4096) FROM SL_PAGE_FAULTS JOIN StringIds ON id = pathId WHERE value = '$W/data.bin'")" \
	"$here 0 0" 'each page once'
is "$(q "$R" "SELECT count(DISTINCT globalTid) FROM SL_PAGE_FAULTS JOIN StringIds ON id = pathId WHERE value = '$W/data.bin'")" 2 'of both threads'
line=$(grep -n TOUCH faults.c | cut -d: -f1)
is "$(q "$R" "SELECT count(*) FROM SL_PAGE_FAULTS p JOIN SL_STACKS s ON s.id = p.stackId AND depth = 0 JOIN SL_FRAMES f ON f.id = s.frameId
	JOIN StringIds n ON n.id = p.pathId WHERE n.value = '$W/data.bin' AND line BETWEEN $line - 1 AND $line")" "$here" 'at the line that touches it' ||
	q "$R" "SELECT depth, (SELECT value FROM StringIds WHERE id = symbol), line, count(*) FROM SL_PAGE_FAULTS p JOIN SL_STACKS s ON s.id = p.stackId JOIN SL_FRAMES f ON f.id = s.frameId GROUP BY 1, 2, 3" | diag
"$BIN" why -f json --limit=0 --max-bytes=0 "$R" >why.json
check 'why: waiting for a page of that file at that line' "$PY" -c '
import json
p = [p for p in json.load(open("why.json"))["partition"] if p["reason"] == "PAGE_IN" and (p["object"] or "").endswith("/data.bin")]
assert p and all(x["line"] in ('"$((line - 1)), $line"') for x in p), p'
"$BIN" stats -f csv -o - -r page_fault_sum "$R" >table.csv 2>&1
check 'the table has the same' grep -q ",$here,.*data.bin" table.csv || diag <table.csv
# The event of another profiler is sampled by the same faults.
profile rival ./faults rival >out 2>err
is $? 0 'faults with the event of another profiler: the program runs'
read -r here all sum <out
is "$(q "$R" "SELECT count(*) FROM SL_PAGE_FAULTS WHERE address >= (SELECT min(address - offset) FROM SL_PAGE_FAULTS JOIN StringIds ON id = pathId WHERE value = '$W/data.bin')
	AND address < 1638400 + (SELECT min(address - offset) FROM SL_PAGE_FAULTS JOIN StringIds ON id = pathId WHERE value = '$W/data.bin')")" "$here" \
	'faults with the event of another profiler: as many as getrusage() counts'
# Samples left out, so are they.
profile none -s none ./faults >out 2>err
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'SL_PAGE_FAULTS'")" 0 '--sample=none: none'
done_testing
