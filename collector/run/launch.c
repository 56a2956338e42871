/* launch.c - starts the program, forwards signals, and ends as the program did. */
#include "collector/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/session/session.h"
#include "collector/base/proc.h"
#include "preload/wire/exec_file.h"

#define PRELOAD_ENV "LD_PRELOAD"

int launch_not_found(const char *name)
{
	if (errno == EACCES) {
		sl_warn("%s: cannot be executed", name);
		return SL_EXIT_NOEXEC;
	}
	if (errno == EMFILE || errno == ENFILE) {
		sl_warn("%s: cannot be started: too few descriptors (ulimit -n)", name);
		return SL_EXIT_NOEXEC;
	}
	sl_warn("%s: program not found", name);
	return SL_EXIT_NOTFOUND;
}

char *launch_preload(void)
{
	static const char *const places[] = {"libtrace.so", "../lib/sightline/libtrace.so",
					     "../lib/libtrace.so"};
	const char *asked = getenv("SIGHTLINE_PRELOAD");
	/* The path of the exec, for systems without /proc. */
	const char *started = (const char *)getauxval(AT_EXECFN);
	char exe[PATH_MAX], path[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (asked && *asked)
		return realpath(asked, NULL);
	if (len > 0)
		exe[len] = 0;
	else if (!started || !realpath(started, exe))
		return NULL;
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	slash[1] = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *real;

		snprintf(path, sizeof(path), "%s%s", exe, places[i]);
		real = realpath(path, NULL);
		if (real)
			return real;
	}
	return NULL;
}

char *launch_preload_or_say(void)
{
	char *preload = launch_preload();

	if (!preload)
		sl_warn("libtrace.so not found beside this binary or in ../lib; set "
			"SIGHTLINE_PRELOAD to its path");
	return preload;
}

/* ld.so --list PROGRAM */
static bool lists_libraries(const char *program, char **argv)
{
	enum sl_loader_word word = SL_LOADER_OPTION;

	for (; sl_exec_is_loader(program) && argv[0] && argv[1] && word != SL_LOADER_LISTS &&
	       word != SL_LOADER_END;
	     argv++)
		word = word == SL_LOADER_VALUE ? SL_LOADER_OPTION : sl_exec_loader_word(argv[1]);
	return word == SL_LOADER_LISTS;
}

/*
 * Sanitizers must come first: their library, libtrace.so, then the variable's old value. Not for a program of another word
 * size or processor, whose loader would say on its standard error that it cannot load the library, nor for a loader that lists
 * libraries.
 */
static void set_preload(const char *program, char **argv, const char *library, const char *session)
{
	struct sl_exec_file file = {.path = program, .dir = AT_FDCWD, .in_path = true};
	const char *had = getenv(PRELOAD_ENV);
	char sanitizer[SL_RUNTIME_BYTES] = "", *value;
	char preload[PATH_MAX], folder[SESSION_VARIABLE_MAX];
	struct sl_exec_room room;
	enum sl_exec_needs needs = sl_exec_look(&file, getenv("PATH"), &room, sanitizer);

	snprintf(folder, sizeof(folder), "%s", session);
	session_variable_cut(folder);
	if (!session_preload(folder, library, preload, sizeof(preload))) {
		sl_warn("library calls are not recorded: LD_PRELOAD cannot have the path %s",
			library);
		return;
	}
	if (needs == SL_EXEC_OTHER || lists_libraries(program, argv))
		return;
	if (needs != SL_EXEC_RUNTIME)
		*sanitizer = 0;
	else
		setenv(SL_RUNTIME_ENV, "1", 1);
	if (asprintf(&value, "%s%s%s%s%s", sanitizer, *sanitizer ? ":" : "", preload,
		     had && *had ? ":" : "", had ? had : "") < 0)
		return;
	setenv(PRELOAD_ENV, value, 1);
	free(value);
}

static void set_environment(const struct profile_options *o, const char *program, char **argv,
			    const char *preload, const char *session)
{
	const char *cursor = o->program.env_vars;
	char *var;

	if (!o->program.inherit_environment)
		clearenv();
	while (cursor && (var = profile_env_next(&cursor)))
		putenv(var);
	if (!preload || !o->trace)
		return;
	setenv(SL_SESSION_ENV, session, 1);
	set_preload(program, argv, preload, session);
}

static void hide_output(void)
{
	int null = open("/dev/null", O_WRONLY);

	if (null < 0)
		return;
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

static void be_program(int go, int failed, const struct profile_options *o, const char *program,
		       char **argv, const char *preload)
{
	char session[SESSION_VARIABLE_MAX] = "";
	int err;

	if (!o->program.show_output)
		hide_output();
	if (read(go, session, sizeof(session) - 1) <= 0)
		_exit(SL_EXIT_FAIL);
	set_environment(o, program, argv, preload, session);
	execvp(program, argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) != sizeof(err))
		_exit(SL_EXIT_NOEXEC);
	_exit(err == ENOENT ? SL_EXIT_NOTFOUND : SL_EXIT_NOEXEC);
}

/* Out of the way of the numbers that a program expects to get. */
static int move_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 200);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

int launch_fork(struct launch *l, const struct profile_options *options, const char *program,
		char **argv, const char *preload)
{
	int go[2], failed[2], err;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failed, O_CLOEXEC) < 0) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	l->pid = fork();
	err = -errno;
	if (l->pid == 0) {
		close(go[1]);
		close(failed[0]);
		be_program(go[0], failed[1], options, program, argv, preload);
	}
	close(go[0]);
	close(failed[1]);
	l->go = move_high(go[1]);
	l->failed = move_high(failed[0]);
	if (l->pid > 0)
		return 0;
	close(l->go);
	close(l->failed);
	return err;
}

int launch_go(struct launch *l, const char *session_dir)
{
	char session[SESSION_VARIABLE_MAX];
	int err = session_variable(session_dir, session, sizeof(session));
	ssize_t n;

	/* If a signal has ended it, its wait status has that. */
	if (!err && write(l->go, session, strlen(session)) < 0 && errno != EPIPE)
		err = -errno;
	close(l->go);
	/* The child's end closes with the exec. */
	do
		n = read(l->failed, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(l->failed);
	return n == sizeof(err) ? -err : err;
}

void launch_cancel(struct launch *l)
{
	close(l->go);
	close(l->failed);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void handled(sigset_t *set)
{
	static const int signals[] = {SIGCHLD, SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
				      SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(set, signals[i]);
}

int launch_signals(void)
{
	sigset_t set;

	handled(&set);
	/* An ignored SIGCHLD would lose the program's exit status. */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file size is handled as a full disk */
	signal(SIGTTOU, SIG_IGN); /* the last line may come while another job has the terminal */
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool is_stopped(pid_t program)
{
	return proc_state((uint32_t)program) == 'T';
}

void launch_pass_on(pid_t program, const struct signalfd_siginfo *si)
{
	switch (si->ssi_signo) {
	case SIGCONT:
		/* Usually the whole group gets it. */
		if (is_stopped(program))
			kill(program, SIGCONT);
		break;
	case SIGTSTP:
	case SIGINT:
	case SIGQUIT:
		/* The terminal sends these to the program as well; a kill is for it alone. */
		if (si->ssi_code != SI_KERNEL)
			kill(program, (int)si->ssi_signo);
		break;
	default:
		kill(program, (int)si->ssi_signo);
	}
}

/*
 * The shell must see this process stop if the program was stopped by the terminal. A SIGSTOP to the program alone
 * stops only that: the shell would not continue this one. (The terminal's stop reaches the whole group.)
 */
bool launch_stops_us(pid_t program, int sig)
{
	bool foreground = getpgid(program) == getpgrp() && tcgetpgrp(STDIN_FILENO) == getpgrp();

	return (sig != SIGSTOP || foreground) && is_stopped(program);
}

void launch_stop_as(int sig)
{
	sigset_t set;

	if (sig == SIGSTOP) {
		raise(SIGSTOP);
		return;
	}
	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL); /* stops here */
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (sig == SIGTTOU)
		signal(sig, SIG_IGN);
}

int launch_wait(pid_t program)
{
	siginfo_t si;
	sigset_t set;
	int status;
	pid_t pid;

	handled(&set);
	while ((pid = waitpid(program, &status, WNOHANG | WUNTRACED)) >= 0 || errno == EINTR) {
		if (pid > 0 && !WIFSTOPPED(status))
			return status;
		if (pid > 0 && launch_stops_us(program, WSTOPSIG(status)))
			launch_stop_as(WSTOPSIG(status));
		if (pid == 0 && sigwaitinfo(&set, &si) > 0 && si.si_signo != SIGCHLD)
			launch_pass_on(program, &(struct signalfd_siginfo){
							.ssi_signo = (uint32_t)si.si_signo,
							.ssi_code = si.si_code});
	}
	return -1;
}

int launch_exit_as(int wait_status)
{
	struct rlimit none = {0, 0};
	sigset_t set;
	int sig;

	if (wait_status < 0)
		return SL_EXIT_FAIL;
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	sig = WTERMSIG(wait_status);
	/* The program has dumped its core: no second one. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	fflush(stdout);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return 128 + sig;
}
