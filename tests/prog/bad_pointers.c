/*
 * bad_pointers.c - calls each hooked function that takes pointers with one of them bad, in a child of its own, and prints what
 * it returns, errno, or the signal. The output must not depend on any tracer.
 *
 * Prototypes come from the hook tables; arguments are chosen by type and name. exec and spawn follow, with bad elements.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct function {
	const char *name, *params;
};
#define HOOK_CALL(fail, op, waits, ret, name, params, args)        {#name, #params},
#define HOOK_VOID(op, waits, name, params, args)                   {#name, #params},
#define HOOK_ARG(fail, op, waits, ret, name, params, args, arg)    {#name, #params},
#define HOOK_FD(fail, op, waits, ret, name, params, args, fd)      {#name, #params},
#define HOOK_COPY(name, params, args, in, out, n, off)             {#name, #params},
#define HOOK_IO(op, waits, ret, name, params, args, fd, n, off)    {#name, #params},
#define HOOK_PATH(fail, op, waits, ret, name, params, args, path)  {#name, #params},
#define HOOK_STREAM(fail, op, ret, name, params, args, f, n, done) {#name, #params},
#define HOOK_OPEN(name, params, args, dir, path)                   {#name, #params},
#define HOOK_NEWFD(name, params, args)                             {#name, #params},
#define HOOK_HAND(fail, op, waits, name)                           {#name, NULL},
static const struct function functions[] = {
#include "preload/wire/hooks.def"
};
/* Of those that are written by hand. */
static const struct function by_hand[] = {
	{"open", "(const char *path, int flags, int mode)"},
	{"open64", "(const char *path, int flags, int mode)"},
	{"openat", "(int dir, const char *path, int flags, int mode)"},
	{"openat64", "(int dir, const char *path, int flags, int mode)"},
	{"pipe", "(int *fds)"},
	{"pipe2", "(int *fds, int flags)"},
	{"socketpair", "(int domain, int type, int protocol, int *fds)"},
	{"signalfd", "(int fd, const void *mask, int flags)"},
	{"connect", "(int fd, const void *addr, int len)"},
	{"accept", "(int fd, void *addr, void *len)"},
	{"accept4", "(int fd, void *addr, void *len, int flags)"},
	{"recvmsg", "(int fd, struct msghdr *m, int flags)"},
	{"recvmmsg", "(int fd, void *m, int n, int flags, void *timeout)"},
	{"chdir", "(const char *path)"},
	{"chroot", "(const char *path)"},
	{"pivot_root", "(const char *path, const char *old)"},
	{"opendir", "(const char *path)"},
	{"nftw", "(const char *path, void *fn, int n, int flags)"},
	{"fts_open", "(void *paths, int flags, void *compare)"},
	{"fopen", "(const char *path, const char *mode)"},
	{"fopen64", "(const char *path, const char *mode)"},
	{"freopen", "(const char *path, const char *mode, FILE *f)"},
	{"fdopen", "(int fd, const char *mode)"},
	{"popen", "(const char *command, const char *mode)"},
	{"fprintf", "(FILE *f, const char *fmt)"},
	{"printf", "(const char *fmt)"},
	{"dprintf", "(int fd, const char *fmt)"},
	{"fscanf", "(FILE *f, const char *fmt)"},
	{"mq_open", "(const char *name, int flags)"},
	{"sem_open", "(const char *name, int flags)"},
	{"dlsym", "(void *handle, const char *name)"},
	{"dlopen", "(const char *path, int flags)"},
	{"pthread_mutex_lock", "(void *l)"},
	{"pthread_mutex_trylock", "(void *l)"},
	{"pthread_mutex_timedlock", "(void *l, const void *t)"},
	{"pthread_rwlock_rdlock", "(void *l)"},
	{"pthread_rwlock_wrlock", "(void *l)"},
	{"pthread_spin_trylock", "(void *l)"},
	{"pthread_cond_signal", "(void *c)"},
	{"pthread_cond_broadcast", "(void *c)"},
	{"pthread_cond_timedwait", "(void *c, void *m, const void *t)"},
	{"pthread_setname_np", "(long t, const char *name)"},
	{"sem_wait", "(void *s)"},
	{"sem_trywait", "(void *s)"},
	{"sem_timedwait", "(void *s, const void *t)"},
	{"sem_post", "(void *s)"},
	{"fclose", "(FILE *f)"},
	{"fgetc", "(FILE *f)"},
	{"putc", "(int c, FILE *f)"},
	{"flockfile", "(FILE *f)"},
	{"closedir", "(void *dir)"},
	{"getenv", "(const char *name)"},
};
/* They would wait for ever, for the network, or change the machine. */
static const char *const left_out[] = {"getaddrinfo",
				       "gethostbyname",
				       "sigwait",
				       "sigwaitinfo",
				       "sigsuspend",
				       "pthread_cond_clockwait",
				       "pthread_barrier_wait",
				       "mount",
				       "umount",
				       "umount2",
				       "swapon",
				       "swapoff",
				       "acct",
				       "shmctl",
				       "msgctl",
				       "forkpty",
				       "pthread_create",
				       "shmat",
				       "brk",
				       "pthread_join",
				       "pthread_clockjoin_np",
				       "aio_suspend",
				       "aio_suspend64"};

static char *bad, *good, *text;
static struct iovec *vec;
static struct msghdr *message;
static FILE *stream;
static DIR *folder;
static int sockets[2], file;

static void start_child(void)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	alarm(20);
}

static void show(const char *name, const char *how, long rc, int err)
{
	char line[160];
	int n;

	if (rc > 4096 || rc < -4096)
		n = snprintf(line, sizeof(line), "%s %s: address %d\n", name, how, err);
	else
		n = snprintf(line, sizeof(line), "%s %s: %ld %d\n", name, how, rc, err);
	syscall(SYS_write, 1, line, n);
}

static void finish_child(const char *name, const char *how, pid_t pid)
{
	char line[160];
	int status, n;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!status)
		return;
	n = snprintf(line, sizeof(line), "%s %s: status %#x\n", name, how, status);
	syscall(SYS_write, 1, line, n);
}

/* One parameter: its text, without the parentheses. */
static bool is_pointer(const char *p)
{
	return strchr(p, '*') || strstr(p, "va_list");
}

static bool ends_in(const char *p, const char *word)
{
	size_t n = strlen(p), len = strlen(word);

	return n > len && strcmp(p + n - len, word) == 0 &&
	       (p[n - len - 1] == ' ' || p[n - len - 1] == '*');
}

static long argument(const char *p, int mode)
{
	static const char *const descriptors[] = {"fd", "in", "out", "pidfd", "to", "other"};

	if (strstr(p, "FILE"))
		return (long)stream;
	if (strstr(p, "*dir"))
		return (long)folder;
	if (strstr(p, "iovec"))
		return (long)vec;
	if (strstr(p, "msghdr"))
		return (long)message;
	if (strstr(p, "char"))
		return (long)text;
	if (is_pointer(p))
		return (long)good;
	if (ends_in(p, "dir"))
		return AT_FDCWD;
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(*descriptors); i++)
		if (ends_in(p, descriptors[i]))
			return mode == 0 ? sockets[0] : file;
	if (ends_in(p, "ms") || ends_in(p, "domain") || ends_in(p, "type"))
		return ends_in(p, "ms") ? 0 : 1;
	if (ends_in(p, "flags"))
		return mode == 2 ? 0x7fffff00 : 0;
	return mode == 2 ? -1 : 1;
}

static void call(const char *name, const char *params)
{
	/* In libc itself: the tracer may know functions that it lacks. */
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	char copy[512], *p[8];
	int cnt = 0, depth = 0;
	char *at;

	if (!dlsym(libc, name))
		return;
	snprintf(copy, sizeof(copy), "%s", params + 1);
	copy[strlen(copy) - 1] = 0;
	for (p[cnt++] = at = copy; *at && cnt < 8; at++) {
		depth += (*at == '(') - (*at == ')');
		if (*at == ',' && !depth) {
			*at = 0;
			p[cnt++] = at + 1;
		}
	}
	for (int mode = 0; mode < 3; mode++)
		for (int wrong = 0; wrong < cnt; wrong++) {
			char how[32];
			long a[8] = {0};
			pid_t pid;

			if (!is_pointer(p[wrong]))
				continue;
			snprintf(how, sizeof(how), "%d.%d", mode, wrong);
			for (int i = 0; i < cnt; i++)
				a[i] = i == wrong ? (long)bad : argument(p[i], mode);
			pid = fork();
			if (pid == 0) {
				long (*f)(long, long, long, long, long, long, long) =
					(long (*)(long, long, long, long, long, long, long))dlsym(
						RTLD_DEFAULT, name);
				long rc;

				start_child();
				errno = 0;
				rc = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
				if ((uint64_t)rc >> 32 == 0)
					rc = (int)rc;
				show(name, how, rc, errno);
				_exit(0);
			}
			finish_child(name, how, pid);
		}
}

/* ---- exec and spawn ---- */

extern char **environ;

static void one_exec(const char *how, int which, const char *path, char **argv, char **envp)
{
	static const char *const names[] = {"execve",      "execv",        "execvp",
					    "execvpe",     "fexecve",      "execveat",
					    "posix_spawn", "posix_spawnp", "syscall"};
	pid_t pid = fork(), child = 0;
	int rc = -1;

	if (pid == 0) {
		start_child();
		errno = 0;
		switch (which) {
		case 0:
			rc = execve(path, argv, envp);
			break;
		case 1:
			rc = execv(path, argv);
			break;
		case 2:
			rc = execvp(path, argv);
			break;
		case 3:
			rc = execvpe(path, argv, envp);
			break;
		case 4:
			rc = fexecve(open("/bin/true", O_RDONLY | O_CLOEXEC), argv, envp);
			break;
		case 5:
			rc = execveat(AT_FDCWD, path, argv, envp, 0);
			break;
		case 6:
			rc = posix_spawn(&child, path, NULL, NULL, argv, envp);
			break;
		case 7:
			rc = posix_spawnp(&child, path, NULL, NULL, argv, envp);
			break;
		default:
			rc = (int)syscall(SYS_execve, path, argv, envp);
		}
		show(names[which], how, rc, errno);
		_exit(0);
	}
	finish_child(names[which], how, pid);
}

static void execs(void)
{
	char *argv[] = {"true", NULL}, *envp[] = {"A=1", NULL};
	char *bad_argv[] = {"true", bad, NULL}, *bad_envp[] = {"A=1", bad, "B=2", NULL};
	/* A string, and an array, that end in the bad page. */
	char *cut = bad - 4, **cut_array = (char **)bad - 2;
	char *cut_envp[] = {"A=1", cut, NULL};

	memcpy(cut, "/bin", 4);
	for (int which = 0; which < 9; which++) {
		one_exec("path", which, bad, argv, envp);
		one_exec("cut path", which, cut, argv, envp);
		one_exec("argv", which, "/bin/true", (char **)bad, envp);
		one_exec("element of argv", which, "/bin/true", bad_argv, envp);
		one_exec("envp", which, "/bin/true", argv, (char **)bad);
		one_exec("element of envp", which, "/bin/true", argv, bad_envp);
		one_exec("cut element of envp", which, "/bin/true", argv, cut_envp);
		cut_array[0] = cut_array[1] = "A=1";
		one_exec("cut envp", which, "/bin/true", argv, cut_array);
		one_exec("cut argv", which, "/bin/true", cut_array, envp);
		memcpy(cut, "/bin", 4);
		one_exec("no envp", which, "/bin/true", argv, NULL);
		one_exec("no path", which, NULL, argv, envp);
		environ = bad_envp;
		one_exec("environ", which, "/bin/true", argv, envp);
		environ = envp;
	}
}

static void special(void)
{
	struct iovec bad_vec = {bad, 8};
	struct msghdr bad_message = {.msg_iov = (struct iovec *)bad, .msg_iovlen = 1};

	show("readv", "element", readv(file, &bad_vec, 1), errno);
	show("writev", "element", writev(file, &bad_vec, 1), errno);
	show("sendmsg", "element", sendmsg(sockets[0], &bad_message, 0), errno);
	show("recvmsg", "element", recvmsg(sockets[0], &bad_message, MSG_DONTWAIT), errno);
	show("clone3", "arguments", syscall(SYS_clone3, bad, 64), errno);
	show("clone3", "size", syscall(SYS_clone3, good, 0), errno);
	show("symlink", "empty, bad", symlink("", bad), errno);
	show("system", "bad", system(bad), errno);
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *all =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	bad = all + page;
	mprotect(bad, page, PROT_NONE);
	good = calloc(1, 4096);
	text = strdup("no/such");
	vec = calloc(4, sizeof(*vec));
	for (int i = 0; i < 4; i++)
		vec[i] = (struct iovec){calloc(1, 64), 8};
	message = calloc(1, sizeof(*message));
	message->msg_iov = vec;
	message->msg_iovlen = 1;
	stream = tmpfile();
	folder = opendir("/");
	file = open("/dev/null", O_RDWR);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		const char *params = functions[i].params;
		bool is_out = false;

		for (size_t k = 0; k < sizeof(left_out) / sizeof(*left_out); k++)
			is_out |= strcmp(functions[i].name, left_out[k]) == 0;
		if (params && !is_out)
			call(functions[i].name, params);
	}
	for (size_t i = 0; i < sizeof(by_hand) / sizeof(*by_hand); i++)
		call(by_hand[i].name, by_hand[i].params);
	special();
	execs();
	return 0;
}
