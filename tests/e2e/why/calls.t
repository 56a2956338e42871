#!/bin/sh
# calls.t - sightline why without eBPF: waits are followed by what calls say, to the line that another thread, a child or a peer spends
# the time at; Python's lines of what computes are read from outside; and no guess is called sure.
# shellcheck disable=SC2016
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
denied() { "$PROG/denied" bpf "$@"; }
PAIRS=$(cd "$E2E/../pairs" && pwd)

cat >waits.c <<'END_C'
/* Waits in one of several ways for another thread or process, which sleeps. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int made, first[2];
static void nap(void) { usleep(300000); } /* CULPRIT */
static void *ends(void *x) { nap(); return x; }
static void *holds(void *x) { pthread_mutex_lock(&lock); write(first[1], "x", 1); nap(); pthread_mutex_unlock(&lock); return x; }
static void *signals(void *x) { nap(); pthread_mutex_lock(&lock); made = 1; pthread_cond_signal(&ready); pthread_mutex_unlock(&lock); usleep(50000); return x; }
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t t, u;
	char c;
	if (pipe(first)) return 1;
	if (!strcmp(how, "join")) {
		pthread_create(&t, NULL, ends, NULL);
		pthread_join(t, NULL);
	} else if (!strcmp(how, "mutex")) {
		pthread_create(&t, NULL, holds, NULL);
		if (read(first[0], &c, 1) != 1) return 1;
		pthread_mutex_lock(&lock);
	} else if (!strcmp(how, "cond")) {
		pthread_mutex_lock(&lock);
		pthread_create(&u, NULL, signals, NULL);
		while (!made) pthread_cond_wait(&ready, &lock);
	} else if (!strcmp(how, "pipe")) {
		if (!fork()) { nap(); write(first[1], "x", 1); _exit(0); }
		if (read(first[0], &c, 1) != 1) return 1;
	} else if (!strcmp(how, "end")) {
		if (!fork()) { nap(); _exit(0); }
		close(first[1]);
		if (read(first[0], &c, 1) != 0) return 1;
	} else if (!strcmp(how, "child")) {
		if (!fork()) { nap(); _exit(0); }
		wait(NULL);
	}
	return 0;
}
END_C
check 'the program is made' gcc -g -O1 -fno-omit-frame-pointer -Wno-unused-result -pthread -o waits waits.c

# Of the answer: "first" where the first culprit is at the line CULPRIT of the file, and how sure it is.
cat >first.py <<'END_PY'
import json, os, sys
y, file = json.load(open(sys.argv[1])), sys.argv[2]
lines = [i for i, line in enumerate(open(file), 1) if "CULPRIT" in line]
c = y["culprits"][0] if y["culprits"] else None
print("first" if c and c["line"] in lines and os.path.basename(c["file"] or "") == os.path.basename(file) else "not %s" % (c and c["place"]),
      "sure" if c and c["confidence"] >= 0.9 else "likely")
END_PY
line_of() { # NAME FILE SURE WORD PROGRAM...
	name=$1 file=$2 want=$3
	shift 3
	for how in '' --cpuctxsw=none; do
		# shellcheck disable=SC2086
		denied "$BIN" profile -f true -o "$name$how" $how "$@" >out 2>err || diag <err
		"$BIN" why -f json --limit=0 --max-bytes=0 "$name$how.sqlite" >json
		word=likely
		[ -z "$how" ] && word=$want
		is "$("$PY" first.py json "$file")" "first $word" "$name${how:+, $how}: the line that the time goes to, which is $word"
	done
}
line_of join waits.c sure ./waits join
line_of mutex waits.c likely ./waits mutex
line_of cond waits.c likely ./waits cond
line_of pipe waits.c likely ./waits pipe
line_of end waits.c likely ./waits end
line_of child waits.c sure ./waits child
for name in join_slow queue_thread slow_peer pipe_producer; do
	line_of $name "$PAIRS/$name.py" likely "$PY" "$PAIRS/$name.py" bad
done

"$BIN" why join.sqlite >text
check 'the answer says that wakers are missing' grep -q '^Not recorded: wakers, which need eBPF' text
"$BIN" why join--cpuctxsw=none.sqlite >text
check 'the answer of a report without switches says how far waits are followed' grep -q 'waits are followed only as far as calls say' text
is "$(q join.sqlite "SELECT count(*) FROM SL_OSRT_LOCKS JOIN OSRT_API USING (start, globalTid) JOIN StringIds ON id = nameId
	WHERE value = 'pthread_join' AND ownerTid & 0xffffff <> globalTid & 0xffffff")" 1 'a join has the thread that is joined'

# ---- Python's lines of what computes ----
cat >hot.py <<'END_PY'
import time
def cold():
    return sum(range(50))
def hot():
    end = time.process_time() + 1
    while time.process_time() < end:
        x = [i * i for i in range(30000)]  # CULPRIT
        cold()
hot()
END_PY
if [ "$(uname -m)" = x86_64 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 9)" -le 2 ]; then
	denied "$BIN" profile -f true -o hot "$PY" hot.py >out 2>err || diag <err
	"$BIN" why -f json --limit=0 --max-bytes=0 hot.sqlite >json
	is "$("$PY" first.py json hot.py)" 'first sure' 'Python that computes: its line, read from outside'
else
	skip 'Python that computes: its line, read from outside' 'needs x86-64, and kernel.perf_event_paranoid of 2 at most'
fi
done_testing
