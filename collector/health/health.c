/*
 * health.c - starts sl-gpu, watches over it, ends it.
 *
 * Whatever happens to it, the recording goes on: its end is noticed by its socket, a hang by counters that its threads move.
 * It is killed when one of them stands still for longer than the thread has announced.
 */
#include "collector/health/health_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/beside.h"
#include "collector/base/now.h"
#include "collector/base/proc.h"

#define RING_METRICS (UINT64_C(32) << 20) /* two seconds of eight GPUs at 10 kHz */
#define RING_HEALTH  (UINT64_C(1) << 20)
#define LOOK_MS      250 /* between two looks at sl-gpu */
#define LOOK_METRICS 100 /* the same where it writes much */
#define HELLO_MS     5000
#define DOUBT_MS     500 /* of silence, from which on the time without a CPU is taken off */
#define END_MS       1000
/* Values per second of all GPUs together that a report takes at a bearable cost; more where the user asks for a rate. */
#define ROWS_DEFAULT 200000
#define ROWS_ASKED   1000000
#define FD_LEAST     10 /* the collector's descriptors are above sl-gpu's */

void health_say(struct health *h, int severity, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	h->ask.say(h->ask.ctx, severity, text);
}

bool health_is_wanted(const struct health_options *o)
{
	if (!o->hz && !health_wants_metrics(o))
		return false;
	/* By default only where a driver is loaded, also in WSL: no process is started for nothing. */
	return !o->is_default || access("/proc/driver/nvidia/version", F_OK) == 0 ||
	       access("/dev/dxg", F_OK) == 0 || getenv("SIGHTLINE_SL_GPU");
}

/* ---- start ---- */

static int ring_open(struct health *h)
{
	uint64_t bytes = health_wants_metrics(&h->ask.options) ? RING_METRICS : RING_HEALTH;
	int fd = memfd_create("sl-gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING), high;
	void *map;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);
	close(fd);
	h->process.ring_fd = high;
	if (high < 0 || ftruncate(high, (off_t)(PROBE_RING_DATA + bytes)) ||
	    fcntl(high, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	map = mmap(NULL, PROBE_RING_DATA + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, high, 0);
	if (map == MAP_FAILED)
		return -errno;
	h->ring.map = map;
	h->ring.bytes = bytes;
	h->ring.map->magic = PROBE_MAGIC;
	h->ring.map->version = PROBE_VERSION;
	h->ring.map->bytes = bytes;
	return 0;
}

static int socket_open(struct health *h, int *theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	h->process.socket = fcntl(pair[0], F_DUPFD_CLOEXEC, FD_LEAST);
	*theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, FD_LEAST);
	close(pair[0]);
	close(pair[1]);
	return h->process.socket < 0 || *theirs < 0 ? -EMFILE : 0;
}

/* The environment without variables that load a library into sl-gpu, or hide a GPU from it. malloc'd; its texts are ours. */
static char **clean_environment(void)
{
	static const char *const out[] = {
		"LD_PRELOAD=",           "LD_AUDIT=",         "NVTX_INJECTION", "CUDA_INJECTION",
		"CUDA_VISIBLE_DEVICES=", "SIGHTLINE_OPTIONS="};
	size_t cnt = 0, kept = 0;
	char **to;

	while (environ[cnt])
		cnt++;
	to = calloc(cnt + 1, sizeof(*to));
	for (size_t i = 0; to && i < cnt; i++) {
		bool is_out = false;

		for (size_t k = 0; k < sizeof(out) / sizeof(*out); k++)
			is_out |= !strncmp(environ[i], out[k], strlen(out[k]));
		if (!is_out)
			to[kept++] = environ[i];
	}
	return to;
}

static void add_word(char **argv, int *cnt, const char *option, const char *value)
{
	if (value && asprintf(&argv[*cnt], "--%s=%s", option, value) > 0)
		++*cnt;
}

/* The command line, as collector/probe/main.c reads it. */
static void words_of(const struct health *h, char *argv[16])
{
	const struct health_options *o = &h->ask.options;
	char number[32];
	int cnt = 0;

	argv[cnt++] = strdup("sl-gpu");
	argv[cnt++] = strdup("sample");
	add_word(argv, &cnt, "devices", o->devices);
	add_word(argv, &cnt, "set", o->set);
	add_word(argv, &cnt, "frequency", o->frequency);
	add_word(argv, &cnt, "visible", h->ask.visible);
	snprintf(number, sizeof(number), "%d", o->frequency ? ROWS_ASKED : ROWS_DEFAULT);
	add_word(argv, &cnt, "rows", number);
	snprintf(number, sizeof(number), "%lld", (long long)o->hz);
	add_word(argv, &cnt, "health", number);
	if (o->is_default)
		argv[cnt++] = strdup("--default");
	argv[cnt] = NULL;
}

static int start(struct health *h, int theirs)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	char *argv[16], **env = clean_environment();
	int err;

	if (!env)
		return -ENOMEM;
	words_of(h, argv);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, theirs, PROBE_SOCKET_FD);
	posix_spawn_file_actions_adddup2(&files, h->process.ring_fd, PROBE_RING_FD);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setpgroup(&attr, 0); /* Ctrl-C is not for it */
	posix_spawnattr_setschedpolicy(&attr, SCHED_OTHER);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP |
						POSIX_SPAWN_SETSCHEDULER);
	err = posix_spawn(&h->process.pid, h->path, &files, &attr, argv, env);
	if (err)
		h->process.pid = 0;
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	for (char **p = argv; *p; p++)
		free(*p);
	free(env);
	return -err;
}

/* ---- watch ---- */

static void stop_watching(struct health *h)
{
	if (h->process.socket >= 0) {
		loop_remove(h->ask.loop, h->process.socket);
		close(h->process.socket);
	}
	if (h->process.timer >= 0) {
		loop_remove(h->ask.loop, h->process.timer);
		close(h->process.timer);
	}
	h->process.socket = h->process.timer = -1;
}

/* Takes the last frames of sl-gpu, which has closed its socket, or is to be killed. Returns its wait status. */
static int take_leave(struct health *h, bool kill_it)
{
	int status = 0;

	if (h->process.pid && kill_it)
		kill(h->process.pid, SIGKILL);
	while (h->process.pid && waitpid(h->process.pid, &status, 0) < 0)
		if (errno != EINTR)
			break;
	h->process.pid = 0;
	health_frames(h);
	health_map_rest(h);
	h->ended_at = mono_ns();
	stop_watching(h);
	return status;
}

/* The socket is closed, before we asked for it: it has crashed, was killed, or has nothing to sample (status 0). */
static void on_end(struct health *h)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int status;

	/* The exit of sl-gpu follows; if not, it is not waited for. */
	for (int i = 0; i < 50 && h->process.pid; i++) {
		siginfo_t info = {0};

		if (!waitid(P_PID, (id_t)h->process.pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
		    info.si_pid)
			break;
		nanosleep(&pause, NULL);
	}
	status = take_leave(h, true);
	if (WIFSIGNALED(status))
		health_say(h, 2,
			   "GPUs are no longer sampled: sl-gpu was killed by signal %d (%s); the "
			   "recording goes on",
			   WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		health_say(h, 2,
			   "GPUs are no longer sampled: sl-gpu has ended with status %d; the "
			   "recording "
			   "goes on",
			   WEXITSTATUS(status));
}

static void on_socket(void *ctx, int fd)
{
	struct health *h = ctx;

	(void)fd;
	if (!health_messages(h) && !h->process.is_ending && !h->ended_at)
		on_end(h);
}

/*
 * Milliseconds of the @ms since the last look in which a thread of sl-gpu waited for a CPU: a busy machine is no driver that
 * hangs. Where several threads waited, their sum, which makes the patience longer.
 */
static unsigned starved(struct health *h, unsigned ms)
{
	uint64_t waited = 0, before = h->process.waited_ns, more;
	bool is_silent = h->process.mute_ms >= DOUBT_MS;

	for (unsigned i = 0; i < PROBE_THREADS; i++)
		is_silent |= h->process.beat[i].silent_ms >= DOUBT_MS;
	if (is_silent)
		waited = proc_waited_ns((uint32_t)h->process.pid);
	h->process.waited_ns = waited;
	more = before && waited > before ? (waited - before) / 1000000 : 0;
	return more < ms ? (unsigned)more : ms;
}

/* Milliseconds of silence of the most silent thread beyond its announced limit; 0: none. */
static unsigned silence(struct health *h, unsigned ms)
{
	unsigned most = 0, threads = 0;

	for (unsigned i = 0; i < PROBE_THREADS; i++) {
		const struct probe_beat *b = &h->ring.map->beat[i];
		uint32_t count = __atomic_load_n(&b->count, __ATOMIC_RELAXED),
			 limit = __atomic_load_n(&b->limit_ms, __ATOMIC_RELAXED);

		if (count != h->process.beat[i].count || !limit)
			h->process.beat[i].silent_ms = 0;
		else
			h->process.beat[i].silent_ms += ms;
		h->process.beat[i].count = count;
		threads += count != 0;
		if (limit && limit < 120000 && h->process.beat[i].silent_ms >= limit &&
		    h->process.beat[i].silent_ms > most)
			most = h->process.beat[i].silent_ms;
	}
	/* Counts the time in which sl-gpu does not even begin. */
	h->process.mute_ms = threads && h->process.has_hello ? 0 : h->process.mute_ms + ms;
	return h->process.mute_ms > HELLO_MS ? h->process.mute_ms : most;
}

static void on_timer(void *ctx, int fd)
{
	struct health *h = ctx;
	unsigned silent;
	uint64_t times;

	/* Several at once are one: then the collector itself was late. */
	if (read(fd, &times, sizeof(times)) != sizeof(times) || h->ended_at)
		return;
	if (!health_frames(h)) {
		if (!h->process.is_ending)
			on_end(h);
		return;
	}
	silent = silence(h, h->process.look_ms - starved(h, h->process.look_ms));
	if (!silent)
		return;
	take_leave(h, true);
	health_say(
		h, 2,
		"GPUs are no longer sampled: sl-gpu gave no sign of life for %.1f s and was ended; "
		"the recording goes on",
		silent / 100 / 10.0); /* whole tenths */
}

static void watch(struct health *h)
{
	struct itimerspec each;

	h->process.look_ms = health_wants_metrics(&h->ask.options) ? LOOK_METRICS : LOOK_MS;
	each.it_interval = each.it_value =
		(struct timespec){.tv_nsec = (long)h->process.look_ms * 1000000};
	loop_add(h->ask.loop, h->process.socket, on_socket, h);
	h->process.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (h->process.timer < 0)
		return;
	timerfd_settime(h->process.timer, 0, &each, NULL);
	loop_add_timer(h->ask.loop, h->process.timer, on_timer, h);
}

/* ---- the life of it ---- */

static const char *keep(struct health *h, unsigned i, const char *text)
{
	h->texts[i] = text ? strdup(text) : NULL;
	return h->texts[i];
}

struct health *health_open(const struct health_ask *ask)
{
	struct health *h = calloc(1, sizeof(*h));
	int theirs = -1, err;

	if (!h)
		return NULL;
	h->ask = *ask;
	h->ask.options.devices = keep(h, 0, ask->options.devices);
	h->ask.options.set = keep(h, 1, ask->options.set);
	h->ask.options.frequency = keep(h, 2, ask->options.frequency);
	h->ask.visible = keep(h, 3, ask->visible);
	h->process.socket = h->process.ring_fd = h->process.timer = -1;
	h->path = beside_find("sl-gpu", "SIGHTLINE_SL_GPU");
	err = h->path ? ring_open(h) : -ENOENT;
	if (!err)
		err = socket_open(h, &theirs);
	if (!err)
		err = start(h, theirs);
	if (theirs >= 0)
		close(theirs);
	if (!err) {
		watch(h);
		return h;
	}
	if (!ask->options.is_default)
		health_say(h, 2, "GPUs are not sampled: sl-gpu %s%s",
			   h->path ? "cannot be started: "
				   : "is neither beside this program nor in ../lib/sightline",
			   h->path ? strerror(-err) : "");
	health_close(h);
	return NULL;
}

void health_wait_ready(struct health *h, int ms)
{
	int64_t until = mono_ns() + (int64_t)ms * 1000000;

	while (!h->process.is_ready && !h->ended_at && mono_ns() < until) {
		struct pollfd p = {.fd = h->process.socket, .events = POLLIN};

		poll(&p, 1, 50);
		on_socket(h, h->process.socket);
	}
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool health_is_as_asked(const struct health *h, const struct health_options *o)
{
	const struct health_options *now = &h->ask.options;

	return now->hz == o->hz && same(now->devices, o->devices) && same(now->set, o->set) &&
	       same(now->frequency, o->frequency);
}

void health_end(struct health *h)
{
	int64_t until = mono_ns() + (int64_t)END_MS * 1000000;

	if (h->ended_at)
		return;
	h->process.is_ending = true;
	h->asked_at = mono_ns();
	/* A driver that is still being initialised is not waited for unless it was asked for. */
	if (h->ask.options.is_default && !h->process.is_ready) {
		take_leave(h, true);
		return;
	}
	shutdown(h->process.socket, SHUT_WR);
	while (health_frames(h) && mono_ns() < until) {
		struct pollfd p = {.fd = h->process.socket, .events = POLLIN};

		poll(&p, 1, 20);
	}
	take_leave(h, true);
	if (h->ring.bad)
		health_say(h, 2, "%llu samples of GPUs made no sense and were left out",
			   (unsigned long long)h->ring.bad);
}

void health_close(struct health *h)
{
	if (!h)
		return;
	h->process.is_ending = true;
	if (h->process.pid)
		take_leave(h, true);
	stop_watching(h);
	for (unsigned i = 0; i < PROBE_STREAMS; i++)
		health_stream_free(h->stream[i]);
	if (h->ring.map)
		munmap(h->ring.map, PROBE_RING_DATA + h->ring.bytes);
	if (h->process.ring_fd >= 0)
		close(h->process.ring_fd);
	for (unsigned i = 0; i < sizeof(h->texts) / sizeof(*h->texts); i++)
		free(h->texts[i]);
	free(h->path);
	free(h->event);
	free(h->metric);
	free(h);
}
