/* ranks.c - starts `sightline job` beside a session, and runs `sightline ranks add` for each report that is complete. */
#include "collector/run/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/capture/flight/flight.h"
#include "collector/capture/trigger_watch.h"
#include "collector/collect/collector.h"
#include "collector/job/job.h"
#include "collector/options/ranks_options.h"
#include "collector/options/trigger.h"

static int steps = -1; /* to the process beside the session: its end ends that, too */
static struct trigger_watch
	*watch; /* NULL: the flight recorder has one, or nothing is to be seen */

static const char *run_of(const struct profile_options *o)
{
	const char *job = ranks_job();

	return o->after.run ? o->after.run : job ? job : "job";
}

static const struct trigger *late_of(const struct profile_options *o)
{
	static struct triggers ts;

	if (!o->capture.triggers || triggers_read(&ts, o->capture.triggers, "profile"))
		return NULL;
	for (uint32_t i = 0; i < ts.cnt; i++)
		if (ts.at[i].kind == TRIGGER_RANK_LATE)
			return &ts.at[i];
	return NULL;
}

/* A process of this program that outlives no pipe @input, and prints nothing. 0, or -errno. */
static int spawn_beside(char *const *argv, int input, pid_t *child)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
	/* A reader of this process's output need not wait for that one's end. */
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawn(child, argv[0], &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -err;
}

static int spawn_job(const struct collector *c, const struct profile_options *o, int input)
{
	char exe[] = "/proc/self/exe", command[] = "job", pid[16], calm[32], medians[32], ns[32],
	     least[32], in_a_row[16];
	const struct trigger *late = late_of(o);
	char *argv[] = {exe,
			command,
			(char *)(uintptr_t)o->after.ranks,
			(char *)(uintptr_t)run_of(o),
			(char *)(uintptr_t)c->session.dir,
			pid,
			calm,
			late ? medians : NULL,
			ns,
			least,
			in_a_row,
			late ? (char *)(uintptr_t)late->text : NULL,
			NULL};
	pid_t child;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(calm, sizeof(calm), "%lld", (long long)o->capture.flight_ns);
	snprintf(medians, sizeof(medians), "%f", late ? late->medians : 0);
	snprintf(ns, sizeof(ns), "%lld", late ? (long long)late->limit_ns : 0);
	snprintf(least, sizeof(least), "%lld", late ? (long long)late->late.floor_ns : 0);
	snprintf(in_a_row, sizeof(in_a_row), "%u", late ? late->late.steps : 0);
	return spawn_beside(argv, input, &child);
}

static void never(void *to, const char *why, uint64_t since)
{
	(void)to;
	(void)why;
	(void)since;
}

static void look_before(void *ctx, struct arenas *as, struct arena *a, struct thread *t)
{
	trigger_watch_thread(ctx, as, a, t);
}

/* What ranks do goes to the process beside the session. */
static void follow_ranks(struct collector *c, const struct profile_options *o)
{
	static struct triggers pace;

	if (flight_late_to(c, steps) || !(o->trace & SL_TRACE_NVTX))
		return;
	pace.cnt = 0;
	triggers_add_steps(&pace);
	watch = trigger_watch_new(&pace, never, NULL);
	if (!watch)
		return;
	trigger_watch_late_to(watch, steps);
	c->arenas.flight.before = look_before;
	c->arenas.flight.before_ctx = watch;
}

void ranks_begin(struct collector *c, const struct profile_options *o)
{
	struct job_folder folder;
	int both[2], err;

	if (!o->after.ranks)
		return;
	err = job_open(&folder, o->after.ranks, run_of(o), true);
	if (!err) {
		job_close(&folder);
		err = pipe2(both, O_CLOEXEC) < 0 ? -errno : 0;
	}
	if (!err) {
		err = spawn_job(c, o, both[0]);
		close(both[0]);
		fcntl(both[1], F_SETFL, O_NONBLOCK);
		steps = both[1];
		follow_ranks(c, o);
	}
	if (err == -EPERM)
		sl_warn("no commands for all sessions of the job: %s/%s/%s belongs to another "
			"user, %u",
			o->after.ranks, folder.all, run_of(o), (unsigned)folder.dir_owner);
	else if (err)
		sl_warn("no commands for all sessions of the job: %s/%s/%s: %s", o->after.ranks,
			folder.all, run_of(o), strerror(-err));
}

/* ---- while the program runs ---- */

static int follows = -1; /* to the process that adds: likewise */
static pid_t follower;

static int spawn_follower(const struct profile_options *o, const char *report, int input)
{
	char exe[] = "/proc/self/exe", ranks[] = "ranks", word[] = "add", quiet[] = "--quiet";
	char dataset[] = "--dataset", option[] = "--run", node[] = "--node=%h-%r", job[] = "%j";
	char every[48];
	char *argv[] = {exe,
			ranks,
			word,
			quiet,
			every,
			dataset,
			(char *)(uintptr_t)o->after.ranks,
			option,
			o->after.run ? (char *)(uintptr_t)o->after.run : job,
			node,
			(char *)(uintptr_t)report,
			NULL};

	snprintf(every, sizeof(every), "--every=%lld", (long long)o->after.ranks_every);
	return spawn_beside(argv, input, &follower);
}

static struct {
	const struct profile_options *o;
	const char *report;
	int64_t due; /* CLOCK_MONOTONIC; 0: it has begun, or is not to */
} following;

void ranks_follow(const struct profile_options *o, const char *report)
{
	if (!o->after.ranks || !o->after.ranks_every || !report || o->capture.flight_ns)
		return;
	following.o = o;
	following.report = report;
	/* Up to a quarter later: a thousand sessions that begin at once do not write at once. */
	following.due =
		mono_ns() + o->after.ranks_every * 1000000000ll / 256 *
				    (256 + (int64_t)((unsigned)getpid() * 2654435761u >> 26));
}

static void begin_following(const struct profile_options *o, const char *report)
{
	int both[2], err;

	err = pipe2(both, O_CLOEXEC) < 0 ? -errno : 0;
	if (!err) {
		err = spawn_follower(o, report, both[0]);
		close(both[0]);
		follows = both[1];
	}
	if (err)
		sl_warn("%s is put into the dataset at the end alone: %s", report, strerror(-err));
}

void ranks_tick(struct collector *c)
{
	if (watch)
		trigger_watch_round(watch, &c->arenas);
	if (!following.due || mono_ns() < following.due)
		return;
	following.due = 0;
	begin_following(following.o, following.report);
}

void ranks_stop_following(void)
{
	following.due = 0;
	/* In the middle of an add: the part is the one before, and the last add replaces it. */
	if (follower > 0) {
		kill(follower, SIGKILL);
		while (waitpid(follower, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (follows >= 0)
		close(follows);
	follower = 0;
	follows = -1;
}

/* ---- the end ---- */

/* One key ends it, whatever this process does with signals. */
static void default_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* @number: of a report of this session, from 1 on: later ones are runs of their own. */
static int add(const struct profile_options *o, const char *report, size_t number)
{
	char run[192], ranks[] = "ranks", word[] = "add", quiet[] = "--quiet";
	char dataset[] = "--dataset", option[] = "--run", node[] = "--node=%h-%r";
	char *argv[] = {ranks,
			word,
			quiet,
			dataset,
			(char *)(uintptr_t)o->after.ranks,
			option,
			run,
			node,
			(char *)(uintptr_t)report,
			NULL};
	int len = snprintf(run, sizeof(run), "%s", o->after.run ? o->after.run : "%j");

	if (number > 1)
		snprintf(run + len, sizeof(run) - (size_t)len, ".%zu", number);
	return commands_run(ranks, argv);
}

void ranks_end(const struct profile_options *o, char *const *reports, size_t cnt)
{
	if (steps >= 0)
		close(steps);
	steps = -1;
	trigger_watch_free(watch);
	watch = NULL;
	for (size_t i = 0; o->after.ranks && i < cnt; i++) {
		int status = 0;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			default_signals();
			status = add(o, reports[i], i + 1);
			fflush(NULL);
			_exit(status);
		}
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (pid < 0 || WIFSIGNALED(status))
			sl_warn("%s is not in the dataset: %s (sightline ranks add -d %s %s)",
				reports[i], pid < 0 ? strerror(errno) : strsignal(WTERMSIG(status)),
				o->after.ranks, reports[i]);
	}
}
