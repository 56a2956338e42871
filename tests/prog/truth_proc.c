/*
 * truth_proc.c - processes: every way to make one, to turn into another program, and to wait.
 * Run with an argument it is one of the children: it reads itself once and leaves.
 */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/prog/truth.h"

extern char **environ;
static char buf[100];

static int child(const char *name)
{
	const char *path = "/etc/passwd";
	int fd = (int)note("open", open(path, O_RDONLY), RET, NIL, NIL, path);

	note("read", read(fd, buf, 10), fd, 10, NIL, path);
	note("close", close(fd), fd, NIL, NIL, path);
	truth_write();
	return name[0] - '0';
}

/* Waits for the child, which exits with status @code. */
static void gone(pid_t pid, int code)
{
	int status = 0;

	note("waitpid", waitpid(pid, &status, 0), NIL, NIL, NIL, NOPATH);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != code) {
		char line[100];

		raw_write(2, line,
			  (unsigned long)sprintf(line, "child ended with %x, not %d\n",
						 (unsigned)status, code));
	}
}

static void forks(const char *self)
{
	char *argv[] = {(char *)self, "1", NULL}, *none[] = {NULL};
	pid_t pid = fork();

	if (!pid) {
		truth_child();
		_exit(child("3"));
	}
	note_call("fork", pid);
	gone(pid, 3);
	for (int how = 0; how < 7; how++) {
		pid = fork();
		if (!pid) {
			switch (how) {
			case 0:
				execv(self, argv);
				break;
			case 1:
				execve(self, argv, environ);
				break;
			case 2:
				execvp(self, argv);
				break;
			case 3:
				execl(self, self, "1", NULL);
				break;
			case 4:
				execlp(self, self, "1", NULL);
				break;
			case 5:
				execvpe(self, argv, environ);
				break;
			case 6:
				truth_child();
				note("execve", execve("/nonexistent", argv, none), NIL, NIL, NIL,
				     "/nonexistent");
				truth_write();
				execl(self, self, "1", NULL);
			}
			_exit(99);
		}
		note_call("fork", pid);
		gone(pid, 1);
	}
}

static void spawns(const char *self)
{
	char *argv[] = {(char *)self, "2", NULL};
	siginfo_t info;
	int status;
	FILE *f;
	pid_t pid = 0;

	note_err("posix_spawn", posix_spawn(&pid, self, NULL, NULL, argv, environ), 0, NIL, NIL,
		 NIL, ANYPATH);
	gone(pid, 2);
	note_err("posix_spawnp", posix_spawnp(&pid, self, NULL, NULL, argv, environ), 0, NIL, NIL,
		 NIL, ANYPATH);
	note("wait", wait(&status), NIL, NIL, NIL, NOPATH);
	note_err("posix_spawn", posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ), ANY,
		 NIL, NIL, NIL, ANYPATH);
	pid = fork();
	if (!pid) {
		truth_child();
		_exit(child("4"));
	}
	note_call("fork", pid);
	note_call("waitid", waitid(P_PID, (id_t)pid, &info, WEXITED));
	note_call("waitpid", waitpid(-1, NULL, 0));
	note("system", system("exit 5"), NIL, NIL, NIL, ANYPATH);
	f = popen("cat /etc/hostname", "r");
	note_err("popen", (long)f, 0, ANY, NIL, NIL, ANYPATH);
	note("pclose", pclose(f), ANY, NIL, NIL, ANYPATH);
	note_call("kill", kill(getpid(), 0));
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return child(argv[1]);
	forks(argv[0]);
	spawns(argv[0]);
	truth_write();
	return 0;
}
