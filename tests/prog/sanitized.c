/*
 * sanitized.c - threads, locks, files, children and loading, for builds with each sanitizer (sanitizers.t). Exits with 3.
 * With an argument: only runs it as a command.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int cnt;

#ifdef OWN_OPTIONS
/* So the tracer's are not asked for. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_stack_use_after_return=0";
}
#endif

static void *work(void *arg)
{
	for (int i = 0; i < 50; i++) {
		char text[64];
		struct stat st;
		int fd = open("/etc/passwd", O_RDONLY);

		pthread_mutex_lock(&lock);
		cnt++;
		pthread_mutex_unlock(&lock);
		if (fd < 0 || read(fd, text, 4) != 4 || pread(fd, text, 4, 0) != 4)
			abort();
		close(fd);
		if (stat("/nonexistent", &st) == 0 || stat("/etc/passwd", &st) != 0)
			abort();
		usleep(10);
	}
	return arg;
}

int main(int argc, char **argv)
{
	const char *home = getenv("HOME");
	char line[512], *copy;
	pthread_t threads[3];
	int lines = 0, status;
	FILE *f;

	if (argc > 1)
		return system(argv[1]) == 0 ? 3 : 1;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	f = fopen("/etc/passwd", "r");
	while (f && fgets(line, sizeof(line), f))
		lines += strlen(line) > 0;
	fclose(f);
	copy = strdup(home ? home : "-");
	printf("%d %d %d %d\n", cnt, lines > 0, strlen(copy) > 0,
	       dlsym(dlopen("libm.so.6", RTLD_NOW), "cos") != NULL);
	free(copy);
	fflush(stdout);
	if (fork() == 0) {
		execl("/bin/sh", "sh", "-c", "echo child", (char *)NULL);
		_exit(1);
	}
	wait(&status);
	printf("%d %d\n", status, system("exit 4"));
	return 3;
}
