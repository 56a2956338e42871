/*
 * first_env.c - starts a program as Go's runtime does: by system calls alone, with the environment of the initial stack.
 *
 *   first_env PROGRAM [ARG...]    status of the program
 *
 * A function that runs before the constructors of libraries, as run times and sanitizers have them, reads the file "early".
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char byte;
static volatile int early_fd, early_got;

static void early(void)
{
	early_fd = open("early", O_RDONLY);
	pthread_mutex_lock(&mutex);
	early_got = (int)read(early_fd, &byte, 1);
	pthread_mutex_unlock(&mutex);
	close(early_fd);
}
__attribute__((section(".preinit_array"), used)) static void (*const before)(void) = early;

int main(int argc, char **argv)
{
	char **env = argv + argc + 1;
	int status = 0;
	long pid = syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0);

	if (pid == 0) {
		syscall(SYS_execve, argv[1], argv + 1, env);
		syscall(SYS_exit_group, 127);
	}
	return pid > 0 && syscall(SYS_wait4, pid, &status, 0, NULL) == pid && WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : 1;
}
