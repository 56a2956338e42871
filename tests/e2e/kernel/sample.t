#!/bin/sh
# CPU samples of sightline profile: stacks of programs without frame pointers, compared with programs that know where they
# are; what goes wrong in processes while they are sampled; scopes, captures, sessions and rights.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ "$(uname -m)" = x86_64 ] || skip_all 'its programs are for x86-64'
cat >where.c <<'END'
/* Spends CPU time in known places: the first argument says where, the second how long, in seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define LEAF __attribute__((noinline, noclone))
static volatile unsigned sink;
static double seconds;
static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
/* One multiplication waits for the other: what a round takes depends neither on where the loop lies nor on other threads. */
#define ROUNDS(n) do { unsigned x = (n) | 1; for (unsigned i = 0; i < (n); i++) __asm__ volatile("imul %0, %0" : "+r"(x)); sink = x; } while (0)
LEAF void seven(unsigned n) { ROUNDS(n); }
LEAF void two(unsigned n) { ROUNDS(n); }
LEAF void one(unsigned n) { ROUNDS(n); }
LEAF void made(unsigned n) { for (unsigned i = 0; i < n; i++) __asm__ volatile(""); }
LEAF void after_made(void) { sink++; }
LEAF void work(double s)
{
	double end = cpu() + s;
	/* Never twice the same length: no lockstep with the clock that samples. */
	for (unsigned r = 1, n; cpu() < end;) { r = r * 1103515245 + 12345; n = 500 + (r >> 16) % 1000; seven(70 * n); two(20 * n); one(10 * n); }
	sink++;
}
LEAF void caller(double s) { volatile char room[300]; room[0] = 1; work(s); sink += room[0]; }
static void *thread(void *arg) { (void)arg; caller(seconds); return NULL; }
static void threads(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	caller(seconds);
	pthread_join(t, NULL);
}
LEAF void deep(int n, double s) { volatile char room[100]; room[0] = 1; if (n) deep(n - 1, s); else work(s); sink += room[0]; }
LEAF void wide(int n, double s) { volatile char room[1000]; room[0] = 1; if (n) wide(n - 1, s); else work(s); sink += room[0]; }
/* Up and down all the time, each calling the next one alone: no other order is right. */
static void f1(unsigned n);
LEAF void bottom(void) { static unsigned r = 1; r = r * 1103515245 + 12345; seven(500 + (r >> 16) % 5000); sink++; }
LEAF void f2(unsigned n) { volatile char room[100]; void f0(unsigned); room[0] = 1; if (n) f0(n - 1); else bottom(); sink += room[0]; }
LEAF void f0(unsigned n) { volatile char room[80]; room[0] = 1; if (n) f1(n - 1); else bottom(); sink += room[0]; }
static LEAF void f1(unsigned n) { volatile char room[120]; room[0] = 1; if (n) f2(n - 1); else bottom(); sink += room[0]; }
LEAF void up_down(double s)
{
	double end = cpu() + s;
	for (unsigned r = 1; cpu() < end;) {
		for (int i = 0; i < 20; i++) { r = r * 1103515245 + 12345; f0(100 + (r >> 16) % 250); }
	}
	sink++;
}
/* Its room is made as it goes: its table needs the frame pointer, or worse. */
LEAF void growing(unsigned n)
{
	char *room = __builtin_alloca(n);
	room[0] = 1;
	__asm__ volatile("" : : "r"(room) : "memory");
	caller(seconds);
	sink += room[0];
}
static void on_signal(int sig) { (void)sig; work(seconds); }
LEAF void signalled(int on_stack)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = on_stack ? SA_ONSTACK : 0};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	if (on_stack) sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGUSR1);
	sink++;
}
static void in_made_code(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED) exit(1);
	memcpy(code, (void *)made, 256);
	for (double end = cpu() + seconds; cpu() < end;) ((void (*)(unsigned))code)(100000);
}
/* All that lies above is overwritten while it spins, and put back before anybody needs it. */
LEAF void damaged(unsigned n)
{
	static char kept[2048];
	char *here = __builtin_frame_address(0);
	for (unsigned i = 0; i < sizeof(kept); i++) kept[i] = ((volatile char *)here)[i];
	for (unsigned i = 0; i < sizeof(kept); i++) ((volatile char *)here)[i] = 0x5a;
	for (register unsigned i = 0; i < n; i++) sink += i;
	for (unsigned i = 0; i < sizeof(kept); i++) ((volatile char *)here)[i] = kept[i];
}
static void in_damage(void)
{
	volatile char room[4096];
	room[0] = 1;
	for (double end = cpu() + seconds; cpu() < end;) damaged(100000);
	sink += room[0];
}
static void libraries(void)
{
	for (int round = 0; round < 4; round++) {
		void *lib = dlopen(round % 2 ? "./second.so" : "./first.so", RTLD_NOW);
		void (*spin)(double) = lib ? (void (*)(double))dlsym(lib, round % 2 ? "second_spin" : "first_spin") : NULL;
		if (!spin) exit(1);
		spin(seconds / 4);
		dlclose(lib);
	}
}
static void *brief(void *arg) { (void)arg; work(0.004); return NULL; }
/* A quarter of a CPU: there is a sample at any time, and no more than it takes. */
static void paced(void)
{
	struct timespec pause = {0, 12000000};
	for (double left = seconds; left > 0; left -= 0.004) { caller(0.004); nanosleep(&pause, NULL); }
}
static void brief_threads(void)
{
	for (double left = seconds; left > 0; left -= 0.004) {
		pthread_t t;
		pthread_create(&t, NULL, brief, NULL);
		pthread_join(t, NULL);
	}
}
static void children(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (!child) { caller(seconds / 20); _exit(0); }
		waitpid(child, NULL, 0);
	}
}
static void in_kernel(void)
{
	char *room = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/dev/zero", O_RDONLY);
	for (double end = cpu() + seconds; cpu() < end;)
		if (read(fd, room, 1 << 24) < 0) exit(1);
}
int main(int argc, char **argv)
{
	if (argc < 3) return 1;
	seconds = atof(argv[2]);
	switch (argv[1][0]) {
	case 't': threads(); break;
	case 'd': deep(60, seconds); break;
	case 'D': deep(400, seconds); break;
	case 'W': wide(200, seconds); break;
	case 'u': up_down(seconds); break;
	case 'g': growing(5000); break;
	case 's': signalled(0); break;
	case 'a': signalled(1); break;
	case 'j': in_made_code(); break;
	case 'x': in_damage(); break;
	case 'l': libraries(); break;
	case 'b': brief_threads(); break;
	case 'c': children(); break;
	case 'p': paced(); break;
	case 'k': in_kernel(); break;
	case 'e': execl("./other", "other", "m", argv[2], NULL); return 1;
	case 'w': caller(seconds); kill(getpid(), SIGKILL); break;
	default: caller(seconds);
	}
	sink++;
	return 3;
}
END
for lib in first second; do
	cat >$lib.c <<END
#include <time.h>
static volatile unsigned sink;
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
void ${lib}_spin(double s) { for (double end = cpu() + s; cpu() < end;) for (unsigned i = 0; i < 100000; i++) sink += i; sink++; }
END
	gcc -O2 -fomit-frame-pointer -fPIC -shared -o $lib.so $lib.c || exit 1
done
# What libraries do before and while they are bound: functions that are chosen at the first call, by code that spins, and
# calls in _init, which has no unwinding table.
cat >bound.c <<'END'
#include <time.h>
static volatile unsigned sink;
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static __attribute__((noinline)) void spin(double s) { for (double end = cpu() + s; cpu() < end;) for (unsigned i = 0; i < 100000; i++) sink += i; sink++; }
#ifdef AT_INIT
__attribute__((used)) static void init_calls(void) { spin(0.25); sink++; }
__asm__(".pushsection .init, \"ax\"; call init_calls; .popsection");
#else
static void chosen(void) { sink++; }
__attribute__((used)) static void (*choose(void))(void) { spin(0.25); sink++; return chosen; }
void bound(void) __attribute__((ifunc("choose")));
#endif
END
cat >binds.c <<'END'
#include <dlfcn.h>
void bound(void);
static volatile int sink;
__attribute__((noinline)) static void binds(void) { bound(); sink++; }
__attribute__((noinline)) static void opens(void) { if (!dlopen("./init.so", RTLD_NOW)) __builtin_trap(); sink++; }
int main(int argc, char **argv) { (void)argc; if (argv[1][0] == 'i') opens(); else binds(); sink++; return 3; }
END
gcc -O2 -fomit-frame-pointer -fPIC -shared -Wl,-z,lazy -o libbound.so bound.c || exit 1
gcc -O2 -fomit-frame-pointer -fPIC -shared -DAT_INIT -o init.so bound.c || exit 1
gcc -O2 -fomit-frame-pointer -Wl,-z,lazy -o binds binds.c -L. -lbound -Wl,-rpath,"$W" -ldl || exit 1
check 'the program is made' gcc -O2 -fomit-frame-pointer -fno-toplevel-reorder -fno-optimize-sibling-calls -pthread -o where where.c -ldl
cp where other
strip -o stripped where

"$BIN" profile -t none --cpuctxsw=none -s process-tree -f true -o probe ./where m 0.05 2>err
if grep -q 'no CPU samples' err; then
	skip_all "$(grep -m1 'no CPU samples' err)"
fi

# NAME WHERE SECONDS [OPTION...]: the program in one place, $all samples, 2000 a second; $PROGRAM another one, $WANT its exit status
sampled() {
	name=$1 where=$2 how_long=$3
	shift 3
	profile "$name" -t none --cpuctxsw=none -s process-tree --sampling-frequency=2000 "$@" "${PROGRAM:-./where}" "$where" "$how_long" 2>err
	is $? "${WANT:-3}" "$name: the program ends as it would have"
	check "$name: the report is sound" intact "$R"
	all=$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS")
	sqlite3 -readonly "$R" "SELECT ' ' || group_concat(name, ' ') || ' ' || max(special) FROM (
		SELECT c.id AS id, s.value AS name, c.specialEntry AS special FROM SAMPLING_CALLCHAINS c
		JOIN StringIds s ON s.id = c.symbol WHERE NOT ifnull(kernelMode, 0) ORDER BY c.id, c.stackDepth) GROUP BY id" >chains
	lost=$(q "$R" "SELECT ifnull(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE 'CPU samples%'")
	check "$name: $all samples, $lost lost" [ $((all + lost)) -ge "$(awk "BEGIN { print int($how_long * 1400) }")" ]
	spins=$(grep -Ec -- "$SPINS" chains)
}
# Chains of samples in loops of the program, by the innermost function: those of its start and end depend on the machine.
SPINS='^ (seven|two|one|work|bottom|f[012]|up_down|damaged|spin|first_spin|second_spin|read|__read|clock_gettime|__clock_gettime|.*vdso.*) '
# PERCENT PATTERN WHAT: at least so many of them are like that: functions of the program, the innermost first; at the end
# 0, or 1 where there is a remark
most() {
	got=$(grep -E -- "$SPINS" chains | grep -Ec -- "$2")
	check "$name: $3: $got of $spins" share_ok "$got" "$spins" "$1"
	check "$name: these are more than half of $all" [ $((spins * 2)) -gt "$all" ]
}
lacking() { q "$R" "SELECT ifnull(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE '%stacks of CPU samples%'"; }

# ---- where threads are ----
sampled threads t 0.75
check 'threads: both are' [ $((all + lost)) -gt 2000 ]
check "threads: $lost lost for $all samples" share_ok "$lost" $((all + lost)) 0 1
is "$(q "$R" "SELECT count(DISTINCT globalTid) FROM COMPOSITE_EVENTS")" 2 'threads: there are two'
most 97 ' work caller ' 'callers are found'
most 98 ' 0$' 'down to the outermost'
for part in 'seven 70' 'two 20' 'one 10'; do
	set -- $part
	got=$(q "$R" "SELECT sum(s.value = '$1') || ' ' || count(*) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol WHERE s.value IN ('seven', 'two', 'one')")
	check "threads: $got are in the function that takes $2 %" share_ok $got $(($2 - 4)) $(($2 + 4))
done
is "$(q "$R" "SELECT count(*) FROM SAMPLING_CALLCHAINS c WHERE stackDepth > 0 AND NOT EXISTS (SELECT 1 FROM SAMPLING_CALLCHAINS d WHERE d.id = c.id AND d.stackDepth = c.stackDepth - 1)")" 0 'threads: chains have no gaps'
check 'threads: many samples share a stack' [ "$(q "$R" 'SELECT 4 * count(DISTINCT stackId) < count(*) FROM COMPOSITE_EVENTS')" = 1 ]
check 'threads: stacks without names are gone' [ -z "$(q "$R" "SELECT 1 FROM sqlite_master WHERE name = 'SL_RAW_STACKS'")" ]
is "$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS WHERE start < 0 OR start > (SELECT max(stopTime - startTime, 0) FROM ANALYSIS_DETAILS)')" 0 'threads: all lie within the report'

sampled deep d 0.25
most 97 ' work (deep ){61}main .* 0$' 'all 61 of them'
# Small rings, of users without rights and where many CPUs share little memory, bring less along.
if [ "$(id -u)" = 0 ] && [ "$(nproc)" -le 16 ]; then
	sampled deeper D 0.25
	# A number in place of the names: grep takes more than a second for a pattern of 401 words.
	awk '{ n = gsub(/deep /, ""); sub(/ work /, " work deep*" n " ") } 1' chains >counted
	mv counted chains
	most 97 ' work deep\*401 main .* 0$' 'all 401 of them'
	sampled 'up and down' u 0.5
	most 97 ' (f0 |f1 f0 )?(f2 f1 f0 )*up_down main .* 0$' 'down to the outermost'
else
	skip 'deeper: all 401 of them' 'rings may be small'
	sampled 'up and down' u 0.5
fi
most 90 ' f2 f1 f0 ' 'callers are found'
is "$(grep -Ec ' (f0 f[01]|f1 f[12]|f2 f[02]|f[12] up_down|f. main) ' chains)" 0 'up and down: none is wrong'
sampled deepest W 0.25
most 90 ' work (wide ){12}.* 1$' 'what came along of a stack that is too deep, with a remark'
check 'deepest: stacks without outer callers are counted' [ "$(lacking)" -ge $((all * 9 / 10)) ]
check 'deepest: a message says that outer callers are missing' grep -q 'lack their outer callers' err
sampled growing g 0.25
most 97 ' work caller growing main .* 0$' 'through a frame of no fixed size'
sampled signal s 0.25
most 90 ' work on_signal .* signalled main .* 0$' 'through a signal'
sampled altstack a 0.25
most 90 ' work on_signal .* 1$' 'on a stack of its own: with a remark'

# ---- processes change while they are sampled ----
sampled exec e 0.25
most 95 ' work caller main ' 'after an exec'
module=$(q "$R" "SELECT s.value, count(*) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = module JOIN StringIds t ON t.id = symbol WHERE t.value = 'work' GROUP BY 1" | sort -t'|' -k2nr | head -1)
is "${module%|*}" "$W/other" 'exec: in the program that it became'
sampled children c 0.5
most 90 ' work caller children main .* 0$' 'of children that are gone'
is "$(q "$R" "SELECT count(DISTINCT globalTid) > 15 FROM COMPOSITE_EVENTS")" 1 'children: each has its own'
# A shell: in vfork() the return address is in a register; in exec the registers are those of an image that is gone.
profile spawn -t none --cpuctxsw=none -s process-tree --sampling-frequency=4000 sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do /bin/ls / >/dev/null; done; done' 2>err
all=$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')
got=0
[ -z "$(q "$R" "SELECT 1 FROM sqlite_master WHERE name = 'SL_LOST_EVENTS'")" ] || got=$(q "$R" "SELECT ifnull(sum(count), 0) FROM SL_LOST_EVENTS WHERE what LIKE '%no unwinding table%'")
check "spawn: callers that make no sense: $got of $all" share_ok "$got" "$all" 0 3
sampled brief b 0.5
most 85 ' work brief .* 0$' 'of threads that are gone'
sampled libraries l 0.5
first=$(grep -c ' first_spin libraries main ' chains) second=$(grep -c ' second_spin libraries main ' chains)
check "libraries: the first: $first of $spins" share_ok "$first" "$spins" 45 55
check "libraries: the second at its place: $second of $spins" share_ok "$second" "$spins" 45 55
PROGRAM=./binds sampled bound b 0.25
most 90 ' spin (choose|bound) .* binds main .* 0$' 'through what binds a function'
PROGRAM=./binds sampled init i 0.25
most 90 ' spin init_calls .* opens main .* 0$' 'through _init, which has no table'
WANT=137 sampled killed w 0.25
most 95 ' work caller main ' 'of one that is killed'

# ---- stacks whose callers cannot be found: marked, and nothing crashes ----
sampled made j 0.25
got=$(q "$R" "SELECT count(*) FROM SAMPLING_CALLCHAINS JOIN StringIds s ON s.id = module WHERE value = '[anonymous]' AND stackDepth = 0")
check "made: code in memory: $got of $all" share_ok "$got" "$all" 80
sampled damaged x 0.25
most 70 ' damaged .* 1$' 'a damaged stack has a remark'
check 'damaged: stacks that lack callers are counted' [ "$(lacking)" -ge $((all * 7 / 10)) ]
PROGRAM=./stripped sampled stripped m 0.25
got=$(q "$R" "SELECT count(*) FROM (SELECT c.id FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = module WHERE value = '$W/stripped' GROUP BY c.id HAVING count(*) >= 4)")
check "stripped: callers without names: $got of $all" share_ok "$got" "$all" 95
got=$(grep -c ' 0$' chains)
check "stripped: down to the outermost: $got of $all" share_ok "$got" "$all" 95
sampled kernel k 0.25
if grep -q 'lack what the kernel does' err; then
	skip 'kernel: its part of the stack' 'not permitted'
else
	got=$(q "$R" "SELECT count(DISTINCT id) FROM SAMPLING_CALLCHAINS WHERE kernelMode AND unwindMethod = 5")
	check "kernel: its part of the stack: $got of $all" share_ok "$got" "$all" 80
	most 70 ' in_kernel main .* 0$' 'with who called it'
fi

# ---- how often, which processes, when ----
# Where the host takes the CPU, ticks are lost: then once more.
for try in 1 2 3; do
	profile seldom -t none --cpuctxsw=none -s cpu --sampling-frequency=250 ./where m 1 2>err
	got=$(q "$R" 'SELECT count(*) FROM COMPOSITE_EVENTS')
	[ "$got" -lt 175 ] || break
done
# On a busy machine the program looks at the clock later than after a second.
ms=$(q "$R" 'SELECT max(1000, (max(end) - min(start)) / 1000000) FROM SL_PROCESS_TREE')
check "a quarter as often: $got in $ms ms, at the ${try}. time" [ $((got >= 175 && got <= 325 * ms / 1000)) = 1 ]
sampled parts m 0.5 --samples-per-backtrace=10
got=$(grep -c ' work caller ' chains)
check "parts: a tenth have their callers: $got of $all" share_ok "$got" "$all" 9 11
sampled alone m 0.25 --backtrace=none
most 99 '^ [^ ]+ [^ ]+ [^ ]+ 1$' 'the function alone'
profile none -t none --cpuctxsw=none -s none ./where m 0.05 2>err
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name IN ('COMPOSITE_EVENTS', 'SAMPLING_CALLCHAINS', 'SL_STACKS')")" 0 'none: no tables'
profile window -t none --cpuctxsw=none -s process-tree -d 4 ./where p 5 2>err
is "$(q "$R" 'SELECT count(*) > 20, max(start) <= (SELECT duration FROM ANALYSIS_DETAILS) FROM COMPOSITE_EVENTS')" '1|1' '--duration: rows lie within'
profile shim -s process-tree ./where t 0.5 2>err
is $? 3 'samples beside calls and switches: the program runs'
got=$(q "$R" "SELECT count(DISTINCT c.id) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol WHERE s.value = 'caller'")
check "stacks go through libtrace.so: $got" [ "$got" -gt 700 ]
is "$(q "$R" "SELECT count(*) FROM PROCESSES")" 1 'samples beside calls and switches: one process'
if [ "$(id -u)" = 0 ]; then
	./where p 10 &
	beside=$!
	profile system -t none --cpuctxsw=none -s system-wide ./where m 0.5 2>err
	is $? 3 'system-wide: the program runs'
	check 'system-wide: samples of another program' [ "$(q "$R" "SELECT count(*) FROM COMPOSITE_EVENTS WHERE globalTid & 0xffffff = $beside")" -gt 20 ]
	check 'system-wide: stacks of another program' [ "$(q "$R" "SELECT count(*) FROM SAMPLING_CALLCHAINS c JOIN COMPOSITE_EVENTS e ON e.id = c.id JOIN StringIds s ON s.id = symbol WHERE globalTid & 0xffffff = $beside AND value = 'caller'")" -gt 20 ]
	kill -KILL $beside
	wait $beside 2>/dev/null
else
	skip 'system-wide: samples of another program' 'needs root'
fi

# ---- sessions ----
"$BIN" launch -t none --cpuctxsw=none -s process-tree --session-new=sampled ./where p 10 2>launch.err &
launched=$!
wait_for 20 sh -c "'$BIN' sessions list -p false | grep -q sampled"
check 'session: start with samples' "$BIN" start --session=sampled -s process-tree -f true -o steered
# However busy the machine is: until the program has had 0.2 s more of a processor.
ticks() {
	for exe in /proc/[0-9]*/exe; do
		[ "$(readlink "$exe")" != "$W/where" ] || cat "${exe%exe}stat"
	done 2>/dev/null | awk '{ n += $14 } END { print n + 0 }'
}
begun=$(ticks)
ran() { [ "$(ticks)" -ge $((begun + 20)) ]; }
check 'session: the program runs on' wait_for 20 ran
check 'session: first stop' "$BIN" stop --session=sampled
R=$W/steered.sqlite
check 'a session has samples between start and stop' [ "$(q "$R" "SELECT count(DISTINCT c.id) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol WHERE value = 'caller'")" -gt 20 ]
check 'session: start without samples' "$BIN" start --session=sampled -s none --cpuctxsw=none -f true -o without
check 'session: second stop' "$BIN" stop --session=sampled
is "$(q "$W/without.sqlite" "SELECT count(*) FROM COMPOSITE_EVENTS")" 0 'a start without samples has none'
"$BIN" start --session=sampled -s system-wide -f true -o never 2>err
is $? 1 'what launch has not asked for cannot be had later'
check 'samples that launch has not asked for: the message names the option' grep -q -- '--sample' err
check 'session: third start' "$BIN" start --session=sampled -s process-tree -f true -o again
sleep 0.5
check 'session: third stop' "$BIN" stop --session=sampled
R=$W/again.sqlite
check 'the next report has its stacks, too' [ "$(q "$R" "SELECT count(DISTINCT c.id) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol WHERE value = 'caller'")" -gt 10 ]
is "$(q "$R" "SELECT count(*) FROM SL_STACKS s WHERE s.id NOT IN (SELECT stackId FROM COMPOSITE_EVENTS)")" 0 'the next report has no stacks of the first'
"$BIN" shutdown --session=sampled --kill=sigkill >/dev/null
wait $launched

# ---- SIGKILL of the collector ----
profile cut -t none --cpuctxsw=none -s process-tree "$W/where" m 3 2>err &
R=$W/cut.sqlite
wait_for 20 sh -c '[ "$(sqlite3 -readonly "$0" "SELECT count(*) FROM COMPOSITE_EVENTS")" -ge 200 ]' "$R" 2>/dev/null
send KILL "$(pgrep -f "profile -f true -o $W/cut " | head -1)"
send KILL "$(pgrep -f "^$W/where m 3")"
check 'the collector is killed: recover' "$BIN" recover --now "$R"
is "$(q "$R" "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text = 'CPU samples end where the collector was killed'")" 1 'recover says where samples end'
check 'the collector is killed: samples before have their stacks' [ "$(q "$R" "SELECT count(DISTINCT c.id) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol WHERE s.value = 'caller'")" -ge 50 ]
wait

# ---- rights ----
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] && command -v setpriv >/dev/null; then
	mkdir theirs && chmod 777 theirs
	setpriv --reuid=65534 --regid=65534 --clear-groups "$(nobody_bin)" profile -t none -s process-tree -o theirs/theirs ./where m 0.5 2>err
	is $? 3 'own program without rights: the program runs'
	is "$(grep -c 'CPU samples lack what the kernel does' err)" 1 'what is missing is reported once'
	R=$W/theirs/theirs.sqlite
	check 'there are samples, with stacks' [ "$(q "$R" "SELECT count(DISTINCT c.id) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol WHERE value = 'caller'")" -gt 250 ]
	is "$(q "$R" 'SELECT count(*) FROM SAMPLING_CALLCHAINS WHERE kernelMode')" 0 'without rights: no stacks of the kernel'
	setpriv --reuid=65534 --regid=65534 --clear-groups "$(nobody_bin)" profile -t none -s system-wide -o theirs/wide ./where m 0.1 2>err
	is $? 3 'system-wide without rights: the program runs'
	check 'system-wide without rights: the message names the capability' grep -q 'CAP_PERFMON' err
else
	skip 'samples without rights' 'needs root, setpriv, and kernel.perf_event_paranoid=2'
fi

# ---- bad input ----
for bad in 99 8001 0 -1 fast; do
	"$BIN" profile -s process-tree --sampling-frequency=$bad -o bad true 2>err
	is $? 2 "--sampling-frequency=$bad is refused"
	check "--sampling-frequency=$bad: one line names the option" sh -c '[ "$(wc -l <err)" -eq 1 ] && grep -q sampling-frequency err'
done
"$BIN" profile -s everybody -o bad true 2>err
is $? 2 '-s everybody is refused'
check 'refusals leave nothing behind' [ ! -e bad.sqlite ]
done_testing
