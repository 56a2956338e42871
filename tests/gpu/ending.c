/*
 * ending.c COUNT HOW - a program that fills memory COUNT times, on the GPU, and ends in a way of its own:
 *
 *   slow       returns from main; a handler of exit() and a destructor take their time (ENDING_MS each)
 *   _exit _Exit quick_exit     with status 7
 *   signal     by _exit(7) in the handler of a signal
 *   locked     the same, where the signal came while this thread held the allocator's lock
 *   exec       becomes /bin/true; noexec: fails to become another program, goes on, and calls _exit(7)
 *   fork       a child fills and calls _exit(7), and so does its parent, which has not used the GPU before
 *   lookup     a child asks for the functions by name, fills and calls _exit(7); its parent does not use the GPU
 *   vfork      a child of vfork() calls _exit(3) in between; the parent goes on, and returns 7
 *   forks      20 children, one after the other, that do nothing; then returns 7
 *   raw        by the system call, 300 ms after the last kernel
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern int cudaMalloc(void **p, size_t bytes);
extern int cudaMemsetAsync(void *p, int value, size_t bytes, void *stream);
extern int cudaDeviceSynchronize(void);

static int cnt;
static int (*allocate)(void **, size_t) = cudaMalloc;
static int (*set)(void *, int, size_t, void *) = cudaMemsetAsync;
static int (*synchronize)(void) = cudaDeviceSynchronize;

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t))
		;
}

static long ending_ms(void)
{
	const char *ms = getenv("ENDING_MS");

	return ms ? atol(ms) : 0;
}

static void slow_handler(void)
{
	pause_ms(ending_ms());
}

__attribute__((destructor)) static void slow_destructor(void)
{
	pause_ms(ending_ms());
}

static void fill(void)
{
	void *p;
	int rc = allocate(&p, 4096);

	for (int i = 0; i < cnt; i++)
		rc |= set(p, 0, 4096, NULL);
	rc |= synchronize();
	if (rc)
		abort();
}

static void on_signal(int number)
{
	(void)number;
	_exit(7);
}

/* The program's own allocator, which raises the signal with its lock held. */
static int in_allocator;
void *malloc(size_t bytes)
{
	extern void *__libc_malloc(size_t);
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	void *p;

	pthread_mutex_lock(&lock);
	if (in_allocator)
		raise(SIGTERM);
	p = __libc_malloc(bytes);
	pthread_mutex_unlock(&lock);
	return p;
}

static void vfork_child(void)
{
	int status;
	pid_t child = vfork();

	if (child == 0)
		_exit(3);
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
		abort();
}

static void fork_many(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		if (waitpid(child, NULL, 0) != child)
			abort();
		fill();
	}
}

static int fork_both(void)
{
	pid_t child = fork();
	int status;

	fill();
	if (child == 0)
		_exit(7);
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
		abort();
	_exit(7);
}

/* Nothing that is traced comes before the question for the names. */
static int fork_lookup(void)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW);
	pid_t child = fork();
	int status;

	if (child == 0) {
		*(void **)&allocate = dlsym(runtime, "cudaMalloc");
		*(void **)&set = dlsym(runtime, "cudaMemsetAsync");
		*(void **)&synchronize = dlsym(runtime, "cudaDeviceSynchronize");
		fill();
		_exit(7);
	}
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
		abort();
	return 7;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";

	cnt = argc > 1 ? atoi(argv[1]) : 0;
	atexit(slow_handler);
	signal(SIGTERM, on_signal);
	if (strcmp(how, "fork") == 0)
		return fork_both();
	if (strcmp(how, "lookup") == 0)
		return fork_lookup();
	fill();
	if (strcmp(how, "_exit") == 0)
		_exit(7);
	if (strcmp(how, "_Exit") == 0)
		_Exit(7);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(7);
	if (strcmp(how, "signal") == 0)
		raise(SIGTERM);
	if (strcmp(how, "locked") == 0) {
		static void *volatile kept;

		in_allocator = 1;
		kept = malloc(1);
		free(kept);
	}
	if (strcmp(how, "exec") == 0)
		execl("/bin/true", "true", (char *)NULL);
	if (strcmp(how, "noexec") == 0) {
		execl("/nonexistent", "nonexistent", (char *)NULL);
		fill();
		_exit(7);
	}
	if (strcmp(how, "forks") == 0) {
		fork_many();
		return 7;
	}
	if (strcmp(how, "vfork") == 0) {
		vfork_child();
		fill();
		return 7;
	}
	if (strcmp(how, "raw") == 0) {
		pause_ms(300);
		syscall(SYS_exit_group, 7);
	}
	return 0;
}
