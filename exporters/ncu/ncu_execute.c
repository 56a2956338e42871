/* ncu_execute.c - runs ncu as the text has it. */
#include "exporters/ncu/ncu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/find_program.h"
#include "collector/base/message.h"

static int run_one(const struct ncu *n, const struct ncu_target *t, const char *ncu)
{
	size_t own = 0, program = 0;
	char **argv;
	int status;
	pid_t pid;

	while (t->argv[own])
		own++;
	while (n->argv[program])
		program++;
	argv = calloc(own + program + 1, sizeof(*argv));
	if (!argv)
		return SL_EXIT_FAIL;
	memcpy(argv, t->argv, own * sizeof(*argv));
	memcpy(argv + own, n->argv, program * sizeof(*argv));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (n->folder && chdir(n->folder) < 0) {
			sl_warn("ncu: %s: %s", n->folder, strerror(errno));
			_exit(SL_EXIT_NOEXEC);
		}
		execv(ncu, argv);
		sl_warn("ncu: %s: %s", ncu, strerror(errno));
		_exit(SL_EXIT_NOEXEC);
	}
	free(argv);
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		sl_warn("ncu: %s", strerror(errno));
		return SL_EXIT_FAIL;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Why it cannot be run here; NULL: it can. */
static const char *reason_not(const struct ncu *n, const struct ncu_target *t)
{
	if (!t->replay)
		return "that kernel waits for others (see the note above)";
	if (t->rank >= 0)
		return "it is for a rank of a job: let the launcher run the command above";
	if (!n->argv)
		return "the report does not have the program's command line";
	return n->is_masked ? "an argument of the program was hidden when it was recorded" : NULL;
}

int ncu_execute(const struct ncu *n)
{
	char *ncu = sl_find_program("ncu");
	int rc = 0;

	if (!ncu) {
		sl_warn("ncu: no ncu in PATH: it comes with the CUDA toolkit, as "
			"/usr/local/cuda/bin/ncu, and as package nsight-compute; or run the "
			"command "
			"above where there is one");
		return SL_EXIT_FAIL;
	}
	for (size_t i = 0; i < n->targets.cnt; i++) {
		const char *why = reason_not(n, &n->targets.list[i]);
		int one = SL_EXIT_FAIL;

		if (why)
			sl_warn("ncu: not run: %s", why);
		else
			one = run_one(n, &n->targets.list[i], ncu);
		if (!rc)
			rc = one;
	}
	free(ncu);
	return rc;
}
