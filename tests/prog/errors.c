/*
 * errors.c - prints what about a hundred failing (and some succeeding) calls return and leave in errno.
 * The output must not depend on any tracer. errno is 77 before each call: a call that succeeds
 * leaves it alone.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define T(call)                                             \
	do {                                                \
		errno = 77;                                 \
		long r_ = (long)(call);                     \
		int e_ = errno;                             \
		printf("%-60.60s %ld %d\n", #call, r_, e_); \
	} while (0)

static const char none[] = "/nonexistent/x";
static volatile int bad = -1, bad2 = 999;
static char b[64];

static void files(void)
{
	struct iovec v = {b, 4};
	struct stat st;
	off_t off = 0;
	int fd = open("/dev/null", O_RDWR);

	T(open(none, O_RDONLY));
	T(open("", O_RDONLY));
	T(open("/", O_RDWR));
	T(open(NULL, O_RDONLY));
	T(open64(none, O_RDONLY));
	T(openat(bad, "x", O_RDONLY));
	T(openat(bad2, "x", O_RDONLY));
	T(creat(none, 0600));
	T(close(bad));
	T(close(bad2));
	T(read(bad, b, 4));
	T(read(bad2, b, 4));
	T(read(fd, b, 4));
	T(read(fd, b, 0));
	T(write(bad, b, 4));
	T(write(fd, b, 4));
	T(pread(bad, b, 4, 0));
	T(pread64(bad2, b, 4, 0));
	T(pread(fd, b, 4, -1));
	T(pwrite(bad, b, 4, 0));
	T(readv(bad, &v, 1));
	T(readv(fd, &v, bad));
	T(writev(bad, &v, 1));
	T(preadv(bad, &v, 1, 0));
	T(pwritev(bad, &v, 1, 0));
	T(preadv2(bad, &v, 1, 0, 0));
	T(preadv2(fd, &v, 1, 0, 0x1000000));
	T(pwritev2(bad, &v, 1, 0, 0));
	T(lseek(bad, 0, SEEK_SET));
	T(lseek(fd, 0, 99));
	T(dup(bad));
	T(dup2(bad, 5));
	T(dup2(fd, -5));
	T(dup3(fd, fd, 0));
	T(dup3(bad, 6, 0));
	T(fcntl(bad, F_GETFL));
	T(fcntl(fd, F_DUPFD, -1));
	T(fcntl(fd, 9999, 0));
	T(close_range(5, 3, 0));
	T(close_range(100000, 200000, 0));
	T(ioctl(fd, 0x5401, b));
	T(ioctl(bad, 0x5401, b));
	T(fsync(bad));
	T(fdatasync(bad));
	T(ftruncate(bad, 1));
	T(truncate(none, 1));
	T(fallocate(bad, 0, 0, 1));
	T(posix_fallocate(bad, 0, 1));
	T(posix_fadvise(bad, 0, 1, 0));
	T(flock(bad, LOCK_EX));
	T(lockf(bad, F_LOCK, 1));
	T(copy_file_range(bad, NULL, fd, NULL, 4, 0));
	T(sendfile(fd, bad, &off, 4));
	T(splice(bad, NULL, fd, NULL, 4, 0));
	T(tee(bad, fd, 4, 0));
	T(vmsplice(bad, &v, 1, 0));
	T(pipe2((int[2]){0}, 0x777));
	T(stat(none, &st));
	T(lstat(none, &st));
	T(fstat(bad, &st));
	T(fstatat(AT_FDCWD, none, &st, 0));
	T(statx(AT_FDCWD, none, 0, 0, (struct statx *)b));
	T(access(none, F_OK));
	T(faccessat(bad, "x", F_OK, 0));
	T(mkdir("/", 0700));
	T(rmdir(none));
	T(unlink(none));
	T(rename(none, "/tmp/x"));
	T(link(none, "/tmp/x"));
	T(symlink("x", none));
	T(readlink(none, b, 4));
	T(chdir(none));
	T(chmod(none, 0));
	T(mkfifo(none, 0));
	T(getrandom(b, 4, 0x8888));
	T(syscall(SYS_read, bad, b, 4));
	T(syscall(99999));
	T(getcwd(b, 1));
	close(fd);
}

static void sockets(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/nonexistent/s"};
	struct msghdr m = {0};
	struct pollfd p = {.fd = bad2, .events = POLLIN};
	struct epoll_event ev;
	struct timeval tv = {0, 1000}, wrong = {-1, 0};
	int s = socket(AF_UNIX, SOCK_STREAM, 0), ep = epoll_create1(0);
	fd_set set;

	T(socket(9999, SOCK_STREAM, 0));
	T(socketpair(AF_INET, SOCK_STREAM, 0, (int *)b));
	T(bind(bad, (void *)&un, sizeof(un)));
	T(bind(s, (void *)&un, sizeof(un)));
	T(listen(bad, 1));
	T(connect(bad, (void *)&un, sizeof(un)));
	T(connect(s, (void *)&un, sizeof(un)));
	T(accept(bad, NULL, NULL));
	T(accept4(s, NULL, NULL, 0));
	T(send(s, b, 4, MSG_NOSIGNAL));
	T(send(bad, b, 4, 0));
	T(sendto(bad, b, 4, 0, NULL, 0));
	T(sendmsg(bad, &m, 0));
	T(sendmsg(s, &m, MSG_NOSIGNAL));
	T(recv(bad, b, 4, 0));
	T(recv(s, b, 4, MSG_DONTWAIT));
	T(recvfrom(bad, b, 4, 0, NULL, NULL));
	T(recvmsg(bad, &m, 0));
	T(recvmmsg(bad, NULL, 1, 0, NULL));
	T(shutdown(s, SHUT_RD));
	T(shutdown(bad, SHUT_RD));
	T(getsockopt(bad, 0, 0, NULL, NULL));
	T(poll(&p, 1, 0));
	T(poll(NULL, 100000000, 0));
	T(select(bad, NULL, NULL, NULL, NULL));
	FD_ZERO(&set);
	FD_SET(500, &set);
	T(select(501, &set, NULL, NULL, &tv));
	T(select(0, NULL, NULL, NULL, &wrong));
	T(epoll_create(0));
	T(epoll_ctl(bad, EPOLL_CTL_ADD, 0, &ev));
	T(epoll_ctl(ep, EPOLL_CTL_DEL, s, &ev));
	T(epoll_wait(bad, &ev, 1, 0));
	T(epoll_wait(ep, &ev, 0, 0));
	T(epoll_wait(ep, &ev, 1, 0));
	close(s);
	close(ep);
}

static void streams(void)
{
	FILE *r = fopen("/dev/null", "r"), *w = fopen("/dev/full", "w");

	T(fopen(none, "r"));
	T(fopen("/dev/null", "nonsense"));
	T(fdopen(bad, "r"));
	T(popen("true", "nonsense"));
	T(fputc('x', r));
	T(fwrite(b, 1, 4, r));
	T(fread(b, 1, 4, w));
	T(fgetc(w));
	T(fgets(b, 4, r));
	T(fputs("x", w));
	T(fflush(w));
	T(fseek(r, 0, 99));
	fputs("x", w);
	T(fclose(w));
	T(fclose(r));
	T(opendir(none));
	T(opendir("/dev/null"));
	T(dlopen("/nonexistent.so", RTLD_NOW) == NULL);
}

static void memory(void)
{
	T(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	T(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, bad, 0));
	T(munmap((void *)1, 4096));
	T(mremap((void *)1, 1, 1, 0));
	T(mprotect((void *)1, 1, 0));
	T(madvise((void *)1, 1, 0));
	T(msync((void *)1, 1, 0));
	T(mlock((void *)4096, 4096));
	T(shmget(IPC_PRIVATE, 0, 0));
	T(shmat(bad, NULL, 0));
	T(shmctl(bad, IPC_STAT, NULL));
	T(semop(bad, NULL, 0));
	T(msgrcv(bad, b, 4, 0, 0));
	T(msgsnd(bad, b, 4, 0));
}

static void processes(void)
{
	char *argv[] = {"x", NULL};
	struct timespec past = {1, 0}, wrong = {0, -1};
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, e;
	pthread_mutexattr_t at;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	sem_t s;
	pid_t pid;

	T(execve(none, argv, argv));
	T(execv("/", argv));
	T(execl("/etc/passwd", "x", NULL));
	T(execvp("surely-no-such-program", argv));
	T(posix_spawn(&pid, none, NULL, NULL, argv, argv));
	T(posix_spawnp(&pid, "surely-no-such-program", NULL, NULL, argv, argv));
	T(wait(NULL));
	T(waitpid(-1, NULL, WNOHANG));
	T(waitpid(999999, NULL, 0));
	T(waitid(P_ALL, 0, NULL, 0));
	T(kill(999999, 0));
	T(kill(getpid(), 9999));
	T(system(NULL));
	T(nanosleep(&wrong, NULL));
	T(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL));
	T(usleep(1));
	T(sched_yield());
	pthread_mutexattr_init(&at);
	pthread_mutexattr_settype(&at, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&e, &at);
	T(pthread_mutex_lock(&e));
	T(pthread_mutex_lock(&e));
	T(pthread_mutex_trylock(&e));
	T(pthread_mutex_unlock(&e));
	T(pthread_mutex_unlock(&e));
	pthread_mutex_lock(&m);
	T(pthread_mutex_timedlock(&m, &past));
	T(pthread_cond_timedwait(&c, &m, &past));
	pthread_rwlock_wrlock(&rw);
	T(pthread_rwlock_rdlock(&rw));
	T(pthread_rwlock_tryrdlock(&rw));
	T(pthread_rwlock_timedwrlock(&rw, &past));
	T(pthread_join(pthread_self(), NULL));
	sem_init(&s, 0, 0);
	T(sem_trywait(&s));
	T(sem_timedwait(&s, &past));
	T(sigaction(9999, NULL, NULL));
	T(mount("x", none, "x", 0, NULL) == 0);
}

/* Pointers that the kernel refuses (EFAULT) must not be read by a tracer either. */
static void bad_pointers(void)
{
	char *volatile wild = (char *)8;
	struct msghdr m = {.msg_iov = (void *)wild, .msg_iovlen = 1};
	int fd = open("/etc/passwd", O_RDONLY), p[2];
	int s = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (pipe(p) < 0)
		return;
	T(open(wild, O_RDONLY));
	T(open64(wild, O_RDONLY));
	T(openat(AT_FDCWD, wild, O_RDONLY));
	T(creat(wild, 0600));
	T(stat(wild, (struct stat *)b));
	T(lstat(wild, (struct stat *)b));
	T(access(wild, F_OK));
	T(unlink(wild));
	T(mkdir(wild, 0700));
	T(rename(wild, wild));
	T(readlink(wild, b, 4));
	T(chdir(wild));
	T(truncate(wild, 0));
	T(fopen(wild, "r"));
	T(read(fd, wild, 4));
	T(write(p[1], wild, 4));
	T(readv(fd, (void *)wild, 2));
	T(writev(p[1], (void *)wild, 2));
	T(preadv(fd, (void *)wild, 2, 0));
	T(preadv2(fd, (void *)wild, 2, 0, 0));
	T(vmsplice(p[1], (void *)wild, 2, 0));
	T(sendfile(p[1], fd, (void *)wild, 4));
	T(splice(fd, (void *)wild, p[1], NULL, 4, 0));
	T(copy_file_range(fd, (void *)wild, p[1], NULL, 4, 0));
	T(connect(s, (void *)wild, 16));
	T(bind(s, (void *)wild, 16));
	T(sendto(s, b, 4, 0, (void *)wild, 16));
	T(sendmsg(s, (void *)wild, 0));
	T(sendmsg(s, &m, 0));
	T(recvmsg(s, (void *)wild, MSG_DONTWAIT));
	T(recvmmsg(s, (void *)wild, 1, MSG_DONTWAIT, NULL));
	T(sendmmsg(s, (void *)wild, 1, 0));
	T(socketpair(AF_UNIX, SOCK_STREAM, 0, (void *)wild));
	T(pipe((void *)wild));
	T(pipe2((void *)wild, 0));
	T(accept(s, (void *)wild, (void *)wild));
	T(poll((void *)wild, 3, 0));
	T(epoll_ctl(bad2, EPOLL_CTL_ADD, 0, (void *)wild));
	T(nanosleep((void *)wild, NULL));
	T(execve(wild, (void *)wild, (void *)wild));
	T(execve("/nonexistent/x", (void *)wild, (void *)wild));
	T(execve("/nonexistent/x", NULL, NULL));
	T(waitpid(-1, (void *)wild, WNOHANG));
	T(getrandom(wild, 4, 0));
	T(syscall(SYS_open, wild, 0));
	T(ioctl(fd, 0x5401, wild));
	T(fcntl(fd, F_GETLK, wild));
	close(fd);
	close(s);
}

int main(void)
{
	bad_pointers();
	files();
	sockets();
	streams();
	memory();
	processes();
	return 0;
}
