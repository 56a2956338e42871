/*
 * first_env.c - starts a program as Go's runtime does: by system calls alone, with the environment of the initial stack.
 *
 *   first_env PROGRAM [ARG...]           status of the program
 *   first_env orphan PROGRAM [ARG...]    0; the program begins when this one has ended
 *
 * A function that runs before the constructors of libraries, as run times and sanitizers have them, reads the file "early".
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
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
	int status = 0, is_orphan = argc > 2 && strcmp(argv[1], "orphan") == 0;
	long own = getpid(), pid = syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0);

	argv += is_orphan;
	if (pid && is_orphan)
		syscall(SYS_exit_group, 0);
	if (pid == 0) {
		while (is_orphan && syscall(SYS_getppid) == own)
			syscall(SYS_sched_yield);
		syscall(SYS_execve, argv[1], argv + 1, env);
		syscall(SYS_exit_group, 127);
	}
	return pid > 0 && syscall(SYS_wait4, pid, &status, 0, NULL) == pid && WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : 1;
}
