/*
 * daemon.c OUT [loop] - becomes a daemon as old ones do: two forks, own session, folder /, every
 * descriptor closed. Then works with files, on the lowest numbers, and writes what it saw to OUT.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char name[4096], buf[4096];
	int fd[3], out;
	ssize_t n;

	if (argc < 2)
		return 2;
	snprintf(name, sizeof(name), "%s.tmp", argv[1]);
	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
	if (chdir("/") < 0)
		return 1;
	umask(0);
	if (argc > 2)
		for (int i = 3; i < 5000; i++)
			close(i);
	else if (close_range(3, ~0u, 0) < 0)
		return 1;
	close(0);
	close(1);
	close(2);
	for (int i = 0; i < 3; i++)
		fd[i] = open("/etc/passwd", O_RDONLY);
	n = read(fd[2], buf, 20);
	out = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	dprintf(out, "numbers %d %d %d %d, read %zd, session %s, cwd %s\n", fd[0], fd[1], fd[2],
		out, n, getsid(0) != getpid() ? "other" : "own", getcwd(buf, sizeof(buf)));
	close(out);
	return rename(name, argv[1]);
}
