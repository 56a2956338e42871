/* Programs that hang: hangs KIND. They end by themselves after a minute. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/socket.h>

#include "../pairs/pair.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both, three;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int to[2], from[2];

static void check(long failed)
{
	if (failed)
		exit(1);
}

static void *first(void *arg)
{
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&b); /* WAITS locks-first */
	return arg;
}

static void *second(void *arg)
{
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&a); /* WAITS locks-second */
	return arg;
}

static void locks(void)
{
	pthread_t t, u;

	pthread_create(&t, NULL, first, NULL);
	pthread_create(&u, NULL, second, NULL);
	pthread_join(t, NULL); /* WAITS locks-join */
}

static void *wants(void *arg)
{
	pthread_mutex_lock(&a); /* WAITS lock-join-lock */
	return arg;
}

static void lock_join(void)
{
	pthread_t t;

	pthread_mutex_lock(&a);
	pthread_create(&t, NULL, wants, NULL);
	pthread_join(t, NULL); /* WAITS lock-join-join */
}

static void self(void)
{
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&a); /* WAITS self */
}

static void *takes(void *arg)
{
	pthread_mutex_lock(&a);
	return arg;
}

static void dead_owner(void)
{
	pthread_t t;

	pthread_create(&t, NULL, takes, NULL);
	pthread_join(t, NULL);
	pthread_mutex_lock(&a); /* WAITS dead-owner */
}

/* The owner of a lock in shared memory is killed; a robust lock would say so. */
static void dead_process(void)
{
	pthread_mutex_t *m =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t at;

	pthread_mutexattr_init(&at);
	pthread_mutexattr_setpshared(&at, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(m, &at);
	if (!fork()) {
		pthread_mutex_lock(m);
		_exit(0);
	}
	wait(NULL);
	pthread_mutex_lock(m); /* WAITS dead-process */
}

static void *party(void *arg)
{
	pthread_barrier_wait(&three); /* WAITS barrier-party */
	return arg;
}

static void missing(void)
{
	pthread_t t;

	pthread_create(&t, NULL, party, NULL);
	pthread_barrier_wait(&three); /* WAITS barrier-main */
}

static void fill(int fd)
{
	static char page[65536];

	for (;;)
		check(write(fd, page, sizeof(page)) < 0); /* WAITS pipes */
}

static void pipes(void)
{
	check(pipe(to) || pipe(from));
	if (!fork())
		fill(from[1]);
	fill(to[1]);
}

/* A child that waits for an end of file, which its own copy of the other end keeps away. */
static void own_end(void)
{
	char c;

	check(pipe(to));
	if (!fork()) {
		while (read(to[0], &c, 1) > 0) /* WAITS own-end-read */
			;
		_exit(0);
	}
	close(to[1]);
	check(wait(NULL) < 0); /* WAITS own-end-wait */
}

static void child(void)
{
	if (!fork()) {
		pause(); /* WAITS child-pause */
		_exit(0);
	}
	check(wait(NULL) < 0); /* WAITS child-wait */
}

static void file(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0644);

	check(flock(fd, LOCK_EX));
	if (!fork()) {
		fd = open("file", O_RDWR);
		check(flock(fd, LOCK_EX)); /* WAITS file-lock */
		_exit(0);
	}
	check(wait(NULL) < 0); /* WAITS file-wait */
}

static void record(void)
{
	struct flock lock = {.l_type = F_WRLCK};
	int fd = open("file", O_CREAT | O_RDWR, 0644);

	check(fcntl(fd, F_SETLK, &lock));
	if (!fork()) {
		check(fcntl(fd, F_SETLKW, &lock)); /* WAITS record-lock */
		_exit(0);
	}
	check(wait(NULL) < 0); /* WAITS record-wait */
}

/* A signal of a condition that comes before the wait. */
static void lost_signal(void)
{
	pthread_mutex_lock(&a);
	pthread_cond_signal(&cond);
	pthread_cond_wait(&cond, &a); /* WAITS lost-signal */
}

static void semaphore(void)
{
	sem_t s;

	sem_init(&s, 0, 0);
	sem_wait(&s); /* WAITS semaphore */
}

static void *reads(void *arg)
{
	pthread_rwlock_rdlock(&rw);
	pthread_barrier_wait(&both);
	pthread_rwlock_wrlock(&rw); /* WAITS upgrade-thread */
	return arg;
}

/* Two readers that both want to write. */
static void upgrade(void)
{
	pthread_t t;

	pthread_create(&t, NULL, reads, NULL);
	pthread_rwlock_rdlock(&rw);
	pthread_barrier_wait(&both);
	pthread_rwlock_wrlock(&rw); /* WAITS upgrade-main */
}

/* A peer that took the request and never answers. */
static void peer(void)
{
	char c = 0;
	int s[2];

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	if (!fork()) {
		check(read(s[1], &c, 1) != 1);
		check(read(s[1], &c, 1) != 1); /* WAITS peer-other */
		_exit(0);
	}
	check(write(s[0], &c, 1) != 1 || read(s[0], &c, 1) != 1); /* WAITS peer */
}

/* A peer that is stopped. */
static void stopped(void)
{
	char c = 0;
	int s[2];

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	if (!fork()) {
		raise(SIGSTOP);
		_exit(0);
	}
	close(s[1]);
	check(read(s[0], &c, 1) != 1); /* WAITS stopped */
}

/* A connection whose other end never answers. */
static void tcp(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listens = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM, 0);
	char c = 0;

	check(bind(listens, (struct sockaddr *)&at, len) || listen(listens, 1) ||
	      getsockname(listens, (struct sockaddr *)&at, &len));
	check(connect(s, (struct sockaddr *)&at, len));
	if (!fork()) {
		close(s);
		check(accept(listens, NULL, NULL) < 0);
		for (;;)
			pause();
	}
	close(listens);
	check(write(s, &c, 1) != 1 || recv(s, &c, 1, 0) != 1); /* WAITS tcp */
}

/* Waits for ever for data that no one sends. */
static void poll_for_ever(void)
{
	struct pollfd p = {.events = POLLIN};

	check(pipe(to));
	p.fd = to[0];
	check(poll(&p, 1, -1) < 0); /* WAITS poll */
}

static void *writes(void *arg)
{
	static char page[65536];

	pthread_mutex_lock(&a);
	for (;;)
		check(write(to[1], page, sizeof(page)) < 0); /* WAITS lock-pipe-write */
	return arg;
}

/* A writer that has the lock which the reader needs first. */
static void lock_pipe(void)
{
	pthread_t t;
	char c;

	check(pipe(to));
	pthread_create(&t, NULL, writes, NULL);
	usleep(50000);
	pthread_mutex_lock(&a); /* WAITS lock-pipe-lock */
	check(read(to[0], &c, 1) != 1);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"locks", locks},
	     {"lock-join", lock_join},
	     {"self", self},
	     {"dead-owner", dead_owner},
	     {"dead-process", dead_process},
	     {"barrier", missing},
	     {"pipes", pipes},
	     {"own-end", own_end},
	     {"child", child},
	     {"file", file},
	     {"record", record},
	     {"lost-signal", lost_signal},
	     {"semaphore", semaphore},
	     {"upgrade", upgrade},
	     {"peer", peer},
	     {"stopped", stopped},
	     {"tcp", tcp},
	     {"poll", poll_for_ever},
	     {"lock-pipe", lock_pipe}};

int main(int argc, char **argv)
{
	pthread_barrier_init(&both, NULL, 2);
	pthread_barrier_init(&three, NULL, 3);
	alarm(60);
	for (unsigned i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			kinds[i].run();
	return 2;
}
