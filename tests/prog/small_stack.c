/*
 * small_stack measure WHEN           prints for each call how many bytes of stack it needs: "NAME BYTES"
 * small_stack measure WHEN shifted [NAME]  the same, or of one call, on a stack that is not aligned to 16 bytes, as assembly may leave it
 * small_stack try WHEN EXTRA <NEEDS  makes each call on a stack that ends BYTES + EXTRA below it, and prints those that overflow
 *
 * WHEN: "warm" repeats a call; "thread" makes it the first of a thread, "process" the first of a forked process; the stack is
 * that of a coroutine. "handler" makes it in a signal handler on an alternate stack. Below are pages that cannot be read. Link
 * editing takes stack, too: LD_BIND_NOW=1.
 */
#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <mqueue.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acct.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/swap.h>
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
	MISSING_KEY = 0x7fffff11,
};

/* STACK bytes with STACK unmapped ones below. shared: what a child needs of it shows, also when it runs another program. */
static char *stack, *private_stack, *shared_stack;

/* What the calls work on; opened before. */
static int file, folder, program, pipes[2], pairs[2], event, queue;
static FILE *in, *out, *list_in, *bare;
static DIR *listing;
static char room[8192];
static struct iovec vec = {room, 8};
static struct stat st;
static struct statfs sfs;
static struct statvfs svfs;
static struct stat64 st64;
static struct statfs64 sfs64;
static struct statvfs64 svfs64;
static struct aiocb aio, *aios[] = {&aio};
static struct aiocb64 aio64, *aios64[] = {&aio64};
static struct dirent **names, *entry;
static struct dirent64 **names64, *entry64;
static struct mmsghdr messages = {.msg_hdr = {.msg_iov = &vec, .msg_iovlen = 1}};
static fpos_t start;
static fpos64_t start64;
static char *line, one_path[] = "file", *paths[] = {one_path, NULL};
static size_t line_len;
static char other_stack[STACK / 4];
static const char *volatile text = "text";
static volatile int count[] = {16};
static pthread_barrier_t barrier;
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

static int each64(const char *path, const struct stat64 *s, int type)
{
	return each(path, (const struct stat *)s, type);
}

static int every(const char *path, const struct stat *s, int type, struct FTW *at)
{
	(void)at;
	return each(path, s, type);
}

static int every64(const char *path, const struct stat64 *s, int type, struct FTW *at)
{
	return every(path, (const struct stat *)s, type, at);
}

/* Functions that headers do not name, or only under another symbol. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __fprintf_chk(FILE *f, int flag, const char *format, ...);
int __printf_chk(int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list list);
int __vfprintf_chk(FILE *f, int flag, const char *format, va_list list);
int __vprintf_chk(int flag, const char *format, va_list list);
char *__fgets_chk(char *to, size_t room, int len, FILE *f);
char *__fgets_unlocked_chk(char *to, size_t room, int len, FILE *f);
size_t __fread_chk(void *to, size_t room, size_t size, size_t cnt, FILE *f);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t cnt, FILE *f);
int __fxstat(int version, int fd, struct stat *s);
int __fxstat64(int version, int fd, struct stat64 *s);
int __fxstatat(int version, int dir, const char *path, struct stat *s, int flags);
int __fxstatat64(int version, int dir, const char *path, struct stat64 *s, int flags);
int __lxstat(int version, const char *path, struct stat *s);
int __lxstat64(int version, const char *path, struct stat64 *s);
int __xstat(int version, const char *path, struct stat *s);
int __xstat64(int version, const char *path, struct stat64 *s);
int __isoc99_vfscanf(FILE *f, const char *format, va_list list);
int __poll_chk(struct pollfd *fds, nfds_t cnt, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t cnt, const struct timespec *timeout, const sigset_t *set,
		size_t room);
ssize_t __pread_chk(int fd, void *to, size_t len, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t len, off64_t at, size_t room);
ssize_t __read_chk(int fd, void *to, size_t len, size_t room);
ssize_t __readlink_chk(const char *path, char *to, size_t len, size_t room);
ssize_t __readlinkat_chk(int dir, const char *path, char *to, size_t len, size_t room);
char *__realpath_chk(const char *path, char *to, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t len, size_t room, int flags, void *from,
		       socklen_t *from_len);
int pivot_root(const char *root, const char *old);
int pthread_yield(void);
int pidfd_open(pid_t pid, unsigned flags);
int pidfd_getfd(int pidfd, int fd, unsigned flags);
extern int plain_scanf(const char *format, ...) __asm__("scanf");
extern int plain_fscanf(FILE *f, const char *format, ...) __asm__("fscanf");
extern int plain_vfscanf(FILE *f, const char *format, va_list list) __asm__("vfscanf");

/* A call with a list of arguments; the format names none. */
#define WITH_LIST(call)                         \
	do {                                    \
		va_list list;                   \
		memset(&list, 0, sizeof(list)); \
		call;                           \
	} while (0)

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

static int clock_wait(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &none);
	return pthread_mutex_unlock(&mutex);
}

static int leave(void *arg)
{
	(void)arg;
	return 0;
}

static void *leave_thread(void *arg)
{
	return arg;
}

static int in_thread(int (*join)(pthread_t, void **))
{
	pthread_t thread;

	return pthread_create(&thread, NULL, leave_thread, NULL) || join(thread, NULL);
}

static pid_t with_terminal(void)
{
	int terminal;

	return forkpty(&terminal, NULL, NULL, NULL);
}

#define DEFINE(name, call)                                      \
	static __attribute__((noinline)) void call_##name(void) \
	{                                                       \
		call;                                           \
	}
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define CALL       DEFINE
#define CALL_APART DEFINE
#include "small_stack.def"
#undef CALL
#undef CALL_APART
#define LIST(name, call)       {#name, call_##name, false},
#define LIST_APART(name, call) {#name, call_##name, true},
static const struct {
	const char *name;
	void (*make)(void);
	bool is_apart;
} calls[] = {
#define CALL       LIST
#define CALL_APART LIST_APART
#include "small_stack.def"
#undef CALL
#undef CALL_APART
};
#define CNT (sizeof(calls) / sizeof(calls[0]))

/* ---- the stack ---- */

static ucontext_t back, there;
static void (*current)(void);
static bool is_shifted;
static struct result {
	long need, top; /* bytes of the stack below and above the frame that makes the call */
} * result;

/* As a function that has pushed one register too few or too many. */
static void call_shifted(void (*call)(void))
{
#ifdef __x86_64__
	__asm__ volatile("sub $136, %%rsp\n\tcall *%0\n\tadd $136, %%rsp"
			 : "+r"(call)
			 :
			 : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			   "r11");
#else
	call();
#endif
}

static __attribute__((noinline)) void on_stack(void)
{
	result->top = (long)__builtin_frame_address(0);
	if (is_shifted)
		call_shifted(current);
	else
		current();
	sink = 0; /* no jump in place of the call */
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
	if (strcmp(when, "warm") == 0 && stack == private_stack)
		current();
	run(bytes);
}

/* A call that ends the process or its program. */
static void run_apart(const char *when, long bytes)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		run_when(when, bytes);
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || WIFSIGNALED(status))
		_exit(1);
}

/* 0: the call was made. */
static int in_child(unsigned i, const char *when, long bytes)
{
	int status;
	pid_t pid;

	current = calls[i].make;
	stack = calls[i].is_apart ? shared_stack : private_stack;
	memset(stack, PAINT, STACK);
	pid = fork();
	if (pid == 0) {
		stdin = in;
		stdout = out;
		if (calls[i].is_apart)
			run_apart(when, bytes);
		else
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

static char *new_stack(int flag)
{
	char *p = mmap(NULL, 2 * STACK, PROT_NONE, flag | MAP_ANONYMOUS, -1, 0);

	mprotect(p + STACK, STACK, PROT_READ | PROT_WRITE);
	return p + STACK;
}

static void set_up(void)
{
	private_stack = new_stack(MAP_PRIVATE);
	shared_stack = new_stack(MAP_SHARED);
	result = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mkdir("folder", 0700);
	folder = open("folder", O_RDONLY | O_DIRECTORY);
	fchdir(folder);
	file = open("file", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 4; i++)
		write(file, room, sizeof(room));
	program = open("/bin/true", O_RDONLY | O_CLOEXEC);
	pipe(pipes);
	aio.aio_fildes = aio64.aio_fildes = file;
	aio.aio_buf = aio64.aio_buf = room;
	aio.aio_nbytes = aio64.aio_nbytes = 1;
	aio.aio_lio_opcode = aio64.aio_lio_opcode = LIO_READ;
	pthread_barrier_init(&barrier, NULL, 1);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pairs);
	event = eventfd(0, EFD_NONBLOCK);
	queue = epoll_create1(0);
	in = fopen("file", "r");
	bare = fopen("file", "r");
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

/* @only: NULL for all calls. */
static void measure(const char *when, const char *only)
{
	for (unsigned i = 0; i < CNT; i++) {
		int status;

		if (only && strcmp(calls[i].name, only) != 0)
			continue;
		status = in_child(i, when, STACK);
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

	while (fscanf(list_in, "%31s %ld %ld", name, &need, &top) == 3)
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
	list_in = stdin;
	set_up();
	is_shifted = argc > 3 && strcmp(argv[3], "shifted") == 0;
	if (strcmp(argv[1], "measure") == 0)
		measure(argv[2], argc > 4 ? argv[4] : NULL);
	else
		return try(argv[2], argc > 3 ? atol(argv[3]) : 0);
	return 0;
}
