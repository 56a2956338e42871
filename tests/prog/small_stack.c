/*
 * small_stack measure WHEN           prints for each call how many bytes of stack it needs: "NAME BYTES"
 * small_stack try WHEN EXTRA <NEEDS  makes each call on a stack that ends BYTES + EXTRA below it, and prints those that overflow
 *
 * WHEN: "warm" repeats a call; "thread" makes it the first of a thread, "process" the first of a forked process; the stack is
 * that of a coroutine. "handler" makes it in a signal handler on an alternate stack. Below are pages that cannot be read. Link
 * editing takes stack, too: LD_BIND_NOW=1.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <utime.h>
#include <wchar.h>

enum {
	STACK = 256 << 10,
	PAGE = 4096,
	PAINT = 0xa5,
	NAME_MAX_ = 32,
};

/* What the calls work on; opened before. */
static int file, folder, pipes[2], pairs[2], event, queue;
static FILE *in, *out;
static DIR *listing;
static char room[8192];
static struct iovec vec = {room, 8};
static struct stat st;
static struct statfs sfs;
static struct statvfs svfs;
static struct timespec none;
static struct timeval none_tv;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static sigset_t mask;
static char *const words[] = {"true", NULL};
static char *few[] = {"A=1", "PATH=/bin:/usr/bin", NULL};
static char *many[300];
static volatile long sink;

static int each(const char *path, const struct stat *s, int type)
{
	(void)path;
	(void)s;
	(void)type;
	return 0;
}

/* What must not happen in the process that prints: in a child of its own. */
#define APART(call)                           \
	do {                                  \
		if (syscall(SYS_fork) == 0) { \
			call;                 \
			_exit(1);             \
		}                             \
	} while (0)

#define CALLS(C)                                                                               \
	C(open, close(open("file", O_RDONLY)))                                                 \
	C(open_absolute, close(open("/etc/passwd", O_RDONLY)))                                 \
	C(open_failing, open("missing/file", O_RDONLY))                                        \
	C(open_up, close(open("../folder/file", O_RDONLY)))                                    \
	C(open_mode, close(open("new", O_RDWR | O_CREAT, 0600)))                               \
	C(openat, close(openat(folder, "file", O_RDONLY)))                                     \
	C(creat, close(creat("new", 0600)))                                                    \
	C(close, close(999))                                                                   \
	C(close_range, syscall(SYS_getpid) + close_range(900, 910, 0))                         \
	C(dup, close(dup(file)))                                                               \
	C(dup2, dup2(file, 500))                                                               \
	C(dup3, dup3(file, 501, O_CLOEXEC))                                                    \
	C(fcntl, fcntl(file, F_GETFD))                                                         \
	C(fcntl_dup, close(fcntl(file, F_DUPFD, 100)))                                         \
	C(pipe, pipe((int *)room))                                                             \
	C(pipe2, pipe2((int *)room, O_CLOEXEC))                                                \
	C(read, read(file, room, 1))                                                           \
	C(pread, pread(file, room, 1, 0))                                                      \
	C(readv, readv(file, &vec, 1))                                                         \
	C(preadv, preadv(file, &vec, 1, 0))                                                    \
	C(preadv2, preadv2(file, &vec, 1, 0, 0))                                               \
	C(write, write(file, room, 1))                                                         \
	C(pwrite, pwrite(file, room, 1, 0))                                                    \
	C(writev, writev(file, &vec, 1))                                                       \
	C(pwritev, pwritev(file, &vec, 1, 0))                                                  \
	C(sendfile, sendfile(pipes[1], file, NULL, 1))                                         \
	C(splice, splice(file, NULL, pipes[1], NULL, 1, 0))                                    \
	C(getdents64, getdents64(folder, room, sizeof(room)))                                  \
	C(lseek, lseek(file, 0, SEEK_SET))                                                     \
	C(fsync, fsync(pipes[0]))                                                              \
	C(fdatasync, fdatasync(pipes[0]))                                                      \
	C(ftruncate, ftruncate(file, 4096))                                                    \
	C(fallocate, fallocate(file, 0, 0, 4096))                                              \
	C(posix_fallocate, posix_fallocate(file, 0, 4096))                                     \
	C(posix_fadvise, posix_fadvise(file, 0, 0, 0))                                         \
	C(flock, flock(file, LOCK_SH))                                                         \
	C(lockf, lockf(file, F_TEST, 0))                                                       \
	C(fstat, fstat(file, &st))                                                             \
	C(fstatfs, fstatfs(file, &sfs))                                                        \
	C(fstatvfs, fstatvfs(file, &svfs))                                                     \
	C(fchmod, fchmod(file, 0600))                                                          \
	C(fchown, fchown(file, (uid_t)-1, (gid_t)-1))                                          \
	C(futimens, futimens(file, NULL))                                                      \
	C(fchdir, fchdir(folder))                                                              \
	C(stat, stat("file", &st))                                                             \
	C(lstat, lstat("file", &st))                                                           \
	C(fstatat, fstatat(folder, "file", &st, 0))                                            \
	C(statx, statx(folder, "file", 0, 0, (struct statx *)room))                            \
	C(statfs, statfs("file", &sfs))                                                        \
	C(statvfs, statvfs("file", &svfs))                                                     \
	C(access, access("file", R_OK))                                                        \
	C(faccessat, faccessat(folder, "file", R_OK, 0))                                       \
	C(truncate, truncate("file", 4096))                                                    \
	C(unlink, unlink("missing"))                                                           \
	C(unlinkat, unlinkat(folder, "missing", 0))                                            \
	C(remove, remove("missing"))                                                           \
	C(rename, rename("missing", "to"))                                                     \
	C(link, link("missing", "to"))                                                         \
	C(symlink, symlink("missing", "link"))                                                 \
	C(readlink, readlink("/proc/self/exe", room, sizeof(room)))                            \
	C(realpath, realpath("file", room))                                                    \
	C(mkdir, mkdir("folder", 0700))                                                        \
	C(rmdir, rmdir("missing"))                                                             \
	C(mkfifo, mkfifo("file", 0600))                                                        \
	C(chmod, chmod("file", 0600))                                                          \
	C(chown, chown("file", (uid_t)-1, (gid_t)-1))                                          \
	C(utimes, utimes("file", NULL))                                                        \
	C(utimensat, utimensat(folder, "file", NULL, 0))                                       \
	C(chdir, chdir("."))                                                                   \
	C(mkstemp, close(mkstemp(strcpy(room, "tempXXXXXX"))))                                 \
	C(mkdtemp, (long)mkdtemp(strcpy(room, "tempXXXXXX")))                                  \
	C(shm_open, shm_open("/missing-small-stack", O_RDONLY, 0))                             \
	C(opendir, closedir(opendir(".")))                                                     \
	C(readdir, (long)readdir(listing))                                                     \
	C(ftw, ftw("file", each, 4))                                                           \
	C(glob, glob("fil?", 0, NULL, (glob_t *)room))                                         \
	C(mmap, munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0), 4096))               \
	C(mprotect, mprotect(NULL, 0, PROT_READ))                                              \
	C(madvise, madvise(NULL, 0, MADV_NORMAL))                                              \
	C(msync, msync(NULL, 0, MS_ASYNC))                                                     \
	C(ioctl, ioctl(file, 0, NULL))                                                         \
	C(syscall, syscall(SYS_getppid))                                                       \
	C(usleep, usleep(1))                                                                   \
	C(nanosleep, nanosleep(&none, NULL))                                                   \
	C(clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &none, NULL))                   \
	C(getcwd, (long)getcwd(room, sizeof(room)))                                            \
	C(getenv, (long)getenv("PYTHONPATH"))                                                  \
	C(eventfd, close(eventfd(0, 0)))                                                       \
	C(eventfd_write, eventfd_write(event, 1))                                              \
	C(timerfd_create, close(timerfd_create(CLOCK_MONOTONIC, 0)))                           \
	C(signalfd, close(signalfd(-1, &mask, 0)))                                             \
	C(inotify_init, close(inotify_init()))                                                 \
	C(execve_failing, execve("missing", words, environ))                                   \
	C(execvp_failing, execvp("missing-program", words))                                    \
	C(execve, APART(execve("/bin/true", words, environ)))                                  \
	C(execve_few, APART(execve("/bin/true", words, few)))                                  \
	C(execve_many, APART(execve("/bin/true", words, many)))                                \
	C(execvpe_few, APART(execvpe("true", words, few)))                                     \
	C(execvp, APART(execvp("true", words)))                                                \
	C(posix_spawn, posix_spawn((pid_t *)room, "/bin/true", NULL, NULL, words, environ))    \
	C(posix_spawn_many, posix_spawn((pid_t *)room, "/bin/true", NULL, NULL, words, many))  \
	C(posix_spawnp, posix_spawnp((pid_t *)room, "true", NULL, NULL, words, environ))       \
	C(posix_spawn_failing, posix_spawn((pid_t *)room, "missing", NULL, NULL, words, few))  \
	C(fork, apart(fork))                                                                   \
	C(vfork, apart(vfork))                                                                 \
	C(waitpid, waitpid(-1, NULL, WNOHANG))                                                 \
	C(kill, kill(getpid(), 0))                                                             \
	C(sigaction, sigaction(SIGUSR2, NULL, NULL))                                           \
	C(raise, raise(SIGURG))                                                                \
	C(sigtimedwait, sigtimedwait(&mask, NULL, &none))                                      \
	C(alarm, (long)alarm(0))                                                               \
	C(prctl, prctl(PR_GET_DUMPABLE))                                                       \
	C(socket, close(socket(AF_INET, SOCK_STREAM, 0)))                                      \
	C(socketpair, socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)room))                        \
	C(connect,                                                                             \
	  connect(file, (struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNIX}, 10))  \
	C(accept, accept(file, NULL, NULL))                                                    \
	C(setsockopt, setsockopt(pairs[0], SOL_SOCKET, SO_KEEPALIVE, room, 4))                 \
	C(send, send(pairs[0], room, 1, MSG_DONTWAIT))                                         \
	C(sendmsg,                                                                             \
	  sendmsg(pairs[0], &(struct msghdr){.msg_iov = &vec, .msg_iovlen = 1}, MSG_DONTWAIT)) \
	C(recv, recv(pairs[1], room, 1, MSG_DONTWAIT))                                         \
	C(recvmsg,                                                                             \
	  recvmsg(pairs[1], &(struct msghdr){.msg_iov = &vec, .msg_iovlen = 1}, MSG_DONTWAIT)) \
	C(poll, poll(NULL, 0, 0))                                                              \
	C(ppoll, ppoll(NULL, 0, &none, NULL))                                                  \
	C(select, select(0, NULL, NULL, NULL, &none_tv))                                       \
	C(pselect, pselect(0, NULL, NULL, NULL, &none, NULL))                                  \
	C(epoll_create1, close(epoll_create1(0)))                                              \
	C(epoll_wait, epoll_wait(queue, (struct epoll_event *)room, 1, 0))                     \
	C(fopen, fclose(fopen("file", "r")))                                                   \
	C(tmpfile, fclose(tmpfile()))                                                          \
	C(fread, (long)fread(room, 1, 8192, in))                                               \
	C(fwrite, (long)fwrite(room, 1, 8192, out))                                            \
	C(fgets, (long)fgets(room, 80, in))                                                    \
	C(fputs, fputs("text", out))                                                           \
	C(fseek, fseek(in, 0, SEEK_SET))                                                       \
	C(fflush, fflush(out))                                                                 \
	C(fprintf, fprintf(out, "%d", 1))                                                      \
	C(dprintf, dprintf(file, "%d", 1))                                                     \
	C(fscanf, fscanf(in, "%8s", room))                                                     \
	C(fgetc, fgetc(in))                                                                    \
	C(fputc, fputc('x', out))                                                              \
	C(mutex, pthread_mutex_lock(&mutex) + pthread_mutex_unlock(&mutex))                    \
	C(mutex_trylock, pthread_mutex_trylock(&mutex) + pthread_mutex_unlock(&mutex))         \
	C(rwlock, pthread_rwlock_rdlock(&rwlock) + pthread_rwlock_unlock(&rwlock))             \
	C(spin, pthread_spin_lock(&spin) + pthread_spin_unlock(&spin))                         \
	C(sem_trywait, sem_trywait(&sem))                                                      \
	C(sem_post, sem_post(&sem))                                                            \
	C(cond_signal, pthread_cond_signal(&cond))                                             \
	C(cond_timedwait, timed_wait())                                                        \
	C(pthread_kill, pthread_kill(pthread_self(), 0))                                       \
	C(sched_yield, sched_yield())                                                          \
	C(setname, pthread_setname_np(pthread_self(), "name"))

static int timed_wait(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&cond, &mutex, &none);
	return pthread_mutex_unlock(&mutex);
}

static int apart(pid_t (*how)(void))
{
	pid_t pid = how();

	if (pid == 0)
		_exit(0);
	return pid;
}

#define DEFINE(name, call)                                      \
	static __attribute__((noinline)) void call_##name(void) \
	{                                                       \
		call;                                           \
	}
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wunused-value"
CALLS(DEFINE)
#define LIST(name, call) {#name, call_##name},
static const struct {
	const char *name;
	void (*make)(void);
} calls[] = {CALLS(LIST)};
#define CNT (sizeof(calls) / sizeof(calls[0]))

/* ---- the stack ---- */

static char *stack; /* STACK bytes with STACK unmapped ones below */
static ucontext_t back, there;
static void (*current)(void);
static struct result {
	long need, top; /* bytes of the stack below and above the frame that makes the call */
} * result;

static __attribute__((noinline)) void on_stack(void)
{
	char *frame = __builtin_frame_address(0);

	current();
	result->top = (long)frame;
}

/* Makes the call with @bytes of stack. */
static void run(long bytes)
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = (size_t)bytes;
	there.uc_link = &back;
	makecontext(&there, on_stack, 0);
	swapcontext(&back, &there);
}

static void on_signal(int sig)
{
	(void)sig;
	on_stack();
}

static void run_in_handler(long bytes)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t other = {.ss_sp = stack, .ss_size = (size_t)bytes};

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
}

static void *run_in_thread(void *arg)
{
	run(*(long *)arg);
	return NULL;
}

static void run_when(const char *when, long bytes)
{
	pthread_t thread;

	if (strcmp(when, "thread") == 0) {
		pthread_create(&thread, NULL, run_in_thread, &bytes);
		pthread_join(thread, NULL);
		return;
	}
	if (strcmp(when, "handler") == 0) {
		run_in_handler(bytes);
		return;
	}
	if (strcmp(when, "warm") == 0)
		current();
	run(bytes);
}

/* 0: the call was made. */
static int in_child(unsigned i, const char *when, long bytes)
{
	int status;
	pid_t pid;

	current = calls[i].make;
	memset(stack, PAINT, STACK);
	pid = fork();
	if (pid == 0) {
		run_when(when, bytes);
		if (bytes == STACK) {
			const char *p = stack;

			while (*(const unsigned char *)p == PAINT)
				p++;
			result->need = result->top - (long)p;
			result->top = (long)stack + STACK - result->top;
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void set_up(void)
{
	stack = mmap(NULL, 2 * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack += STACK;
	mprotect(stack, STACK, PROT_READ | PROT_WRITE);
	result = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mkdir("folder", 0700);
	folder = open("folder", O_RDONLY | O_DIRECTORY);
	fchdir(folder);
	file = open("file", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 4; i++)
		write(file, room, sizeof(room));
	pipe(pipes);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pairs);
	event = eventfd(0, EFD_NONBLOCK);
	queue = epoll_create1(0);
	in = fopen("file", "r");
	out = fopen("/dev/null", "w");
	listing = opendir(".");
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	pthread_spin_init(&spin, 0);
	sem_init(&sem, 0, 1);
	for (unsigned i = 0; i + 1 < sizeof(many) / sizeof(many[0]); i++)
		many[i] = "ENTRY=of a large environment";
	signal(SIGCHLD, SIG_DFL);
	signal(SIGURG, SIG_IGN);
}

static void measure(const char *when)
{
	for (unsigned i = 0; i < CNT; i++) {
		int status = in_child(i, when, STACK);

		if (status)
			printf("%s failed with status %#x\n", calls[i].name, (unsigned)status);
		else
			printf("%s %ld %ld\n", calls[i].name, result->need, result->top);
		fflush(stdout);
	}
}

static int try(const char *when, long extra)
{
	char name[NAME_MAX_];
	long need, top;
	int bad = 0;

	while (scanf("%31s %ld %ld", name, &need, &top) == 3)
		for (unsigned i = 0; i < CNT; i++) {
			if (strcmp(calls[i].name, name) != 0 ||
			    !in_child(i, when, (need + extra + top + 15) & ~15L))
				continue;
			printf("%s overflows a stack of %ld bytes\n", name, need + extra);
			bad = 1;
		}
	return bad;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	set_up();
	if (strcmp(argv[1], "measure") == 0)
		measure(argv[2]);
	else
		return try(argv[2], argc > 3 ? atol(argv[3]) : 0);
	return 0;
}
