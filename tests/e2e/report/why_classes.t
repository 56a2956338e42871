#!/bin/sh
# why_classes.t - calls whose name does not give the reason of a wait: a semaphore that threads wait on and post is a lock, one
# that a thread waits on and another posts signals; CPython before 3.11 sleeps by select().
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat >sem.c <<'END2'
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
static sem_t lock, item, turn, done;
static void nap(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, 0); }
static void *other(void *arg)
{
	for (int i = 0; i < 10; i++) {
		sem_wait(&lock);
		sem_post(&turn); /* the main thread comes while this one sleeps */
		nanosleep(&(struct timespec){0, 30000000}, 0);
		sem_post(&lock);
		sem_wait(&done);
	}
	for (int i = 0; i < 10; i++) { nap(20); sem_post(&item); }
	return arg;
}
int main(void)
{
	pthread_t t;
	sem_init(&lock, 0, 1);
	sem_init(&item, 0, 0);
	sem_init(&turn, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&t, 0, other, 0);
	for (int i = 0; i < 10; i++) {
		sem_wait(&turn);
		sem_wait(&lock); /* held for 30 ms */
		sem_post(&done); /* the other waits for the lock in turn, as calls that do not block may be too short to have a row */
		nanosleep(&(struct timespec){0, 5000000}, 0);
		sem_post(&lock);
	}
	for (int i = 0; i < 10; i++) sem_wait(&item); /* sent after 20 ms */
	pthread_join(t, 0);
	return 0;
}
END2
gcc -O1 -g -o sem sem.c -pthread || exit 1
profile sem ./sem 2>err
[ "$(q "$R" 'SELECT count(*) FROM SCHED_EVENTS' 2>/dev/null)" -gt 0 ] 2>/dev/null || skip_all 'no context switches here'
"$BIN" why -f json --limit=0 --max-bytes=0 "$R" >why.json
check 'semaphores: one that is a lock, one that signals' "$PY" -c '
import json
chains = [(c["reason"], c["place"]) for k in json.load(open("why.json"))["culprits"] for c in k["most"]["chain"]]
lock = [r for r, p in chains if p and ":28 " in p]
item = [r for r, p in chains if p and ":33 " in p]
assert lock and set(lock) == {"LOCK"}, chains
assert item and set(item) == {"QUEUE"}, chains' || "$BIN" why "$R" | diag

cat >nap.py <<'END2'
import time
time.sleep(0.2)
END2
old=$(pythons '(3, 8) <= sys.version_info < (3, 11)' | head -1)
if [ -z "$old" ]; then
	skip 'time.sleep() is named as the wait' 'no CPython 3.8 to 3.10'
else
	profile nap "$old" nap.py 2>err
	"$BIN" why -f json --limit=0 --max-bytes=0 "$R" >why.json
	check "time.sleep() of $old sleeps" "$PY" -c '
import json
p = [p for p in json.load(open("why.json"))["partition"] if (p["place"] or "").startswith("nap.py:2 ") and p["call"]]
assert [(k["reason"], k["call"]) for k in p if k["ns"] > 1e8 and k["reason"] != "NO_CPU"] == [("SLEEP", "select")], p'
fi
done_testing
