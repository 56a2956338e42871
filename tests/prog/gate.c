/*
 * gate.c - a program under a session whose gate opens and closes (tests/unit/core/gate.c). It announces the time, one letter on
 * descriptor 100, and goes on when a letter comes back on 101: 'o' open, 'c' close, 'n' open for the next report.
 *
 *   gate phases        calls while closed and open
 *   gate fds           a descriptor that means something else when the gate opens again
 *   gate totals        calls that are only counted, for two reports
 *   gate who           a fork, a name, an exec while closed
 *   gate vfork         a vfork child calls; then the parent does
 *   gate threads       8 threads call, until the end is requested
 *   gate nvtx          ranges that match and others, in all ways that NVTX has
 *   gate nvtx-fork     a child pops what its parent pushed, and pushes itself
 *   gate cuda NAMES    cudaProfilerStart and Stop, from the library or the function (driver) that gives them
 *   gate cuda-fork     the same, in a child
 *   gate cuda-seccomp  the same, after the program has asked for a filter of system calls
 *   gate cuda-vfork    the same, in a vfork child: which is not traced
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/prog/nvtx_loader.h"
#include "tests/prog/raw.h"

enum {
	ASK = 100,
	ANSWER = 101,
	THREADS = 8
};

static void tell(char what)
{
	char back;

	raw_write(ASK, &what, 1);
	while (raw3(SYS_read, ANSWER, &back, 1) == -EINTR)
		;
}

static void calls(const char *path, int n)
{
	while (n--)
		access(path, F_OK);
}

static void phases(void)
{
	calls("/closed/1", 3);
	tell('o');
	calls("/open/1", 2);
	tell('c');
	calls("/closed/2", 3);
	tell('o');
	calls("/open/2", 1);
	tell('c');
	calls("/closed/3", 1);
}

static void fds(void)
{
	char b[8];
	int fd, other;

	tell('o');
	fd = open("/dev/zero", O_RDONLY);
	(void)!read(fd, b, 1);
	tell('c');
	other = open("/dev/null", O_RDONLY);
	dup2(other, fd);
	close(other);
	(void)!chdir("/dev");
	tell('o');
	(void)!read(fd, b, 2);
	close(open("full", O_RDONLY));
	tell('c');
}

static void totals(void)
{
	tell('o');
	calls("/", 100);
	tell('c');
	calls("/", 50);
	tell('o');
	calls("/", 20);
	tell('c');
	tell('n');
	calls("/", 7);
	tell('c');
}

static void who(const char *self)
{
	static char *const none[] = {NULL};
	char *const again[] = {(char *)self, (char *)"nothing", NULL};
	int pid;

	prctl(PR_SET_NAME, "renamed");
	pid = fork();
	if (!pid) {
		calls("/closed/child", 1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (!pid) {
		tell('o');
		calls("/open/child", 1);
		tell('c');
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	execve(self, again, none);
}

static void in_vfork(void)
{
	int pid;

	tell('o');
	pid = vfork();
	if (!pid) {
		access("/vfork/child", F_OK);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	calls("/open/1", 1);
	tell('c');
	calls("/closed/1", 1);
}

static volatile int over;

static void *work(void *arg)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	unsigned n = (unsigned)(uintptr_t)arg;

	while (!over) {
		int fd = open("/dev/null", O_WRONLY);

		(void)!write(fd, "x", 1);
		close(fd);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		if (n++ % 16 == 0)
			usleep(10);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	tell('t');
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* ---- NVTX ---- */

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "gate: %s\n", what);
	exit(3);
}

/* What is called while a range is open, named after it, and what comes after. */
static void inside(const char *path)
{
	need(errno == 4321, "errno changed");
	access(path, F_OK);
	errno = 4321;
}

static void pushes(void *domain, const struct nvtx_attr *a, const char *path)
{
	push_ex(domain, a);
	inside(path);
	pop_ex(domain);
	inside("/closed");
}

static void nvtx_texts(void)
{
	uint64_t id;

	push("step");
	inside("/plain");
	pop();
	inside("/closed");
	CORE(10, int (*)(const wchar_t *))(L"step");
	inside("/wide");
	pop();
	inside("/closed");
	id = CORE(5, uint64_t(*)(const char *))("step");
	inside("/start");
	CORE(7, void (*)(uint64_t))(id);
	inside("/closed");
	id = CORE(6, uint64_t(*)(const wchar_t *))(L"step");
	inside("/start-wide");
	CORE(7, void (*)(uint64_t))(id);
	inside("/closed");
}

static void nvtx_registered(void *domain)
{
	struct nvtx_attr step = attr_of(3, string_register(domain, "step"));
	struct nvtx_attr other = attr_of(3, string_register(domain, "steps"));
	uint64_t id, more;

	pushes(domain, &other, "/closed");
	pushes(domain, &step, "/registered");
	/* Others around it and in it; the range ends with its own pop. */
	push_ex(domain, &other);
	push_ex(domain, &step);
	push_ex(domain, &other);
	inside("/nested");
	pop_ex(domain);
	inside("/nested-2");
	pop_ex(domain);
	inside("/closed");
	pop_ex(domain);
	/* Two at once: the last one to end. */
	id = start_ex(domain, &step);
	more = start_ex(domain, &step);
	inside("/two");
	end_ex(domain, id);
	inside("/one");
	end_ex(domain, more);
	inside("/closed");
	/* With a payload: pushed and popped through the extension too. */
	push_ex(domain, &step);
	inside("/popped-by-extension");
	need(nvtx_ext[1 + 4] != 0, "no payload extension");
	((int (*)(void *, const struct nvtx_blob *, size_t))nvtx_ext[1 + 4])(domain, NULL, 0);
	inside("/closed");
	/* Another thread's, and a pop too many. */
	pop_ex(domain);
	inside("/closed");
}

static void nvtx(void)
{
	void *other, *named;

	need(nvtx_load(), "no injection");
	errno = 4321;
	other = domain_create("other");
	named = domain_create("named");
	errno = 4321;
	nvtx_texts();
	nvtx_registered(NULL);
	push("-");
	pop();
	nvtx_registered(other);
	push("-");
	pop();
	nvtx_registered(named);
}

static void nvtx_fork(void)
{
	struct nvtx_attr step;
	int pid;

	need(nvtx_load(), "no injection");
	step = attr_of(3, string_register(NULL, "step"));
	push_ex(NULL, &step);
	pid = fork();
	if (!pid) {
		pop_ex(NULL);
		access("/open/still", F_OK);
		push_ex(NULL, &step);
		access("/open/child", F_OK);
		pop_ex(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	access("/open/parent", F_OK);
	pop_ex(NULL);
	access("/closed", F_OK);
}

/* ---- CUDA ---- */

static void *find(const char *how, const char *name)
{
	int (*get)(const char *, void **, int, uint64_t, int *);
	int driver = strcmp(how, "runtime") != 0, status;
	void *lib = dlopen(driver ? "libcuda.so.1" : "libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
	char full[64];
	void *p = NULL;

	need(lib != NULL, "no stand-in");
	snprintf(full, sizeof(full), "%s%s", driver ? "cu" : "cuda", name);
	if (strcmp(how, "proc") != 0)
		return dlsym(lib, full);
	get = (int (*)(const char *, void **, int, uint64_t, int *))dlsym(lib,
									  "cuGetProcAddress_v2");
	need(get && get(full, &p, 13000, 0, &status) == 0, "cuGetProcAddress");
	return p;
}

static void cuda(const char *how)
{
	int (*start)(void) = (int (*)(void))find(how, "ProfilerStart");
	int (*stop)(void) = (int (*)(void))find(how, "ProfilerStop");

	need(start && stop, "no cudaProfilerStart");
	access("/closed", F_OK);
	errno = 4321;
	/* The driver's want a context, which there is none of; that is no reason not to capture. */
	start();
	inside("/open");
	stop();
	inside("/closed");
}

static void cuda_fork(void)
{
	int pid[2];

	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			cuda("runtime");
			_exit(0);
		}
		if (i == 0)
			waitpid(pid[i], NULL, 0);
	}
	waitpid(pid[1], NULL, 0);
	cuda("runtime");
}

static void cuda_seccomp(void)
{
	int (*start)(void) = (int (*)(void))find("runtime", "ProfilerStart");
	int (*stop)(void) = (int (*)(void))find("runtime", "ProfilerStop");
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog all = {1, &allow};

	/* What it allows does not count. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		exit(1);
	errno = 4321;
	for (int i = 0; i < 3; i++) {
		start();
		inside("/closed");
		stop();
	}
}

static void cuda_vfork(void)
{
	int (*start)(void) = (int (*)(void))find("runtime", "ProfilerStart");
	int pid = vfork();

	if (!pid) {
		start();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	access("/closed", F_OK);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "phases"))
		phases();
	else if (!strcmp(what, "fds"))
		fds();
	else if (!strcmp(what, "totals"))
		totals();
	else if (!strcmp(what, "who"))
		who(argv[0]);
	else if (!strcmp(what, "vfork"))
		in_vfork();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "nvtx"))
		nvtx();
	else if (!strcmp(what, "nvtx-fork"))
		nvtx_fork();
	else if (!strcmp(what, "cuda") && argc > 2)
		cuda(argv[2]);
	else if (!strcmp(what, "cuda-fork"))
		cuda_fork();
	else if (!strcmp(what, "cuda-seccomp"))
		cuda_seccomp();
	else if (!strcmp(what, "cuda-vfork"))
		cuda_vfork();
	else if (strcmp(what, "nothing") != 0)
		return 2;
	return 0;
}
