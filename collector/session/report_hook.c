/*
 * report_hook.c - runs a command of the user next to a collection. Double-forked, so that it need
 * not be waited for; neither the shell nor its children are traced, and Ctrl-C does not reach it.
 */
#include "collector/session/report_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *name, const char *value)
{
	static const char *const prefixes[] = {"SIGHTLINE_", "NSYS_"};
	char text[64];

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		char *to = text;

		for (const char *p = prefixes[i]; *p; p++)
			*to++ = *p;
		for (const char *p = name; *p; p++)
			*to++ = *p;
		*to = 0;
		setenv(text, value, 1);
	}
}

static void be_shell(const char *command)
{
	int null = open("/dev/null", O_RDWR);
	struct sched_param usual = {0};
	sigset_t none;

	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, STDIN_FILENO);
	/* stdout is the program's: nothing may be added to it. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	close_range(3, ~0u, 0);
	sched_setscheduler(0, SCHED_OTHER, &usual); /* not the collector's */
	unsetenv("LD_PRELOAD");
	unsetenv("SIGHTLINE_SESSION");
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

int report_hook_run(const char *command, const char *option, const char *session,
		    const char *report)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		setsid();
		say("SESSION_NAME", session);
		say("CALLBACK_NAME", option);
		say("REPORT_PATH", report);
		if (fork() == 0)
			be_shell(command);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}
