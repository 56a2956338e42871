/*
 * checked.c - threads, locks, handlers on stacks of their own, coroutines, children and I/O without an error that Valgrind's
 * tools would report (valgrind.t).
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static long turn;
static int shared;
static FILE *stream;
static ucontext_t caller, coroutine;

static void *player(void *arg)
{
	for (int i = 0; i < 50; i++) {
		int fds[2];
		char c = 0;

		pthread_mutex_lock(&lock);
		while (turn != (long)arg)
			pthread_cond_wait(&turned, &lock);
		turn = !turn;
		pthread_cond_broadcast(&turned);
		pthread_mutex_unlock(&lock);
		sem_post(&sem);
		pthread_rwlock_rdlock(&rwlock);
		c = (char)shared;
		pthread_rwlock_unlock(&rwlock);
		pthread_rwlock_wrlock(&rwlock);
		shared++;
		pthread_rwlock_unlock(&rwlock);
		fputc('a', stream);
		fputs("bc", stream);
		if (pipe(fds) != 0 || write(fds[1], &c, 1) != 1 || read(fds[0], &c, 1) != 1)
			abort();
		close(fds[0]);
		close(fds[1]);
	}
	return NULL;
}

static void *waiter(void *arg)
{
	for (int i = 0; i < 100; i++)
		sem_wait(&sem);
	return arg;
}

static void handler(int sig)
{
	char text[16];
	int fd = open("/dev/zero", O_RDONLY);

	(void)sig;
	if (read(fd, text, sizeof(text)) != sizeof(text))
		abort();
	close(fd);
}

static void run_coroutine(void)
{
	struct stat st;

	for (int i = 0; i < 5; i++) {
		stat("/etc/passwd", &st);
		usleep(2000);
		swapcontext(&coroutine, &caller);
	}
}

static int __attribute__((noinline)) deep(int n)
{
	volatile char room[300];

	room[0] = (char)n;
	if (!n)
		usleep(1500);
	return n ? deep(n - 1) + room[0] : 0;
}

static void handlers_and_coroutine(void)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = malloc(131072);
	coroutine.uc_stack.ss_size = 131072;
	coroutine.uc_link = &caller;
	makecontext(&coroutine, run_coroutine, 0);
	for (int i = 0; i < 5; i++)
		swapcontext(&caller, &coroutine);
}

int main(void)
{
	pthread_t threads[3];
	struct stat st;
	char text[8];
	int pair[2];

	stream = tmpfile();
	sem_init(&sem, 0, 0);
	pthread_create(&threads[0], NULL, player, (void *)0);
	pthread_create(&threads[1], NULL, player, (void *)1);
	pthread_create(&threads[2], NULL, waiter, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	handlers_and_coroutine();
	deep(40);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || send(pair[1], "hi", 2, 0) != 2 ||
	    poll(&(struct pollfd){pair[0], POLLIN, 0}, 1, 5) != 1 ||
	    recv(pair[0], text, sizeof(text), 0) != 2)
		abort();
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			stat("/", &st);
			_exit(deep(5) < 0);
		}
		waitpid(pid, NULL, 0);
	}
	printf("%d\n", shared);
	return 0;
}
