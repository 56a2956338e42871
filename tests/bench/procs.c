/*
 * procs - what a tracer adds to the life of a process. Figures: wall ms per process, processes, 0.
 *
 *   procs fork N      forks N children, one after the other; each writes once and ends
 *   procs start N P   runs program P N times, one after the other
 */
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"

extern char **environ;

static pid_t make_child(char *program, int null)
{
	char *argv[] = {program, NULL};
	pid_t pid;

	if (program)
		return posix_spawn(&pid, program, NULL, NULL, argv, environ) ? -1 : pid;
	pid = fork();
	if (!pid)
		_exit(write(null, "x", 1) != 1);
	return pid;
}

int main(int argc, char **argv)
{
	int n, status, null = open("/dev/null", O_WRONLY);
	double begun;

	if (argc < 3 || (!strcmp(argv[1], "start") && argc < 4))
		return 2;
	n = atoi(argv[2]);
	begun = wall_s();
	for (int i = 0; i < n; i++) {
		pid_t pid = make_child(argc > 3 ? argv[3] : NULL, null);

		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "procs: child %d failed\n", i);
			return 1;
		}
	}
	figure((wall_s() - begun) * 1e3 / n, n, 0);
	return 0;
}
