/*
 * symbols_debuginfod.c - debug information from a server, by build id, where DEBUGINFOD_URLS names one.
 *
 * Servers and networks may answer late or never, and a run must end: a child process asks, and is killed when the
 * time budget of the session is used up, when symbols are not needed any more, and on Ctrl-C. It runs the
 * program debuginfod-find, or, without that, its library.
 */
#include "collector/symbols/symbols_internal.h"
#include "collector/base/now.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 50 /* whether it is still wanted */

int symbols_debuginfod_ms = 20000;

/* Files fetched once are in a folder that all clients share. */
static bool in_cache(const char *hex, char *path, size_t room)
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	struct elf_image e;

	if (cache && *cache)
		snprintf(path, room, "%s/%s/debuginfo", cache, hex);
	else if (xdg && *xdg)
		snprintf(path, room, "%s/debuginfod_client/%s/debuginfo", xdg, hex);
	else
		snprintf(path, room, "%s/.cache/debuginfod_client/%s/debuginfo", home ? home : "",
			 hex);
	if (!elf_image_open(&e, path)) /* it also keeps, as an empty file, that there is none */
		return false;
	elf_image_close(&e);
	return true;
}

static void by_library(const char *hex)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
	void *(*begin)(void) = NULL;
	int (*find)(void *client, const unsigned char *id, int len, char **path) = NULL;
	char *path = NULL;

	if (library) {
		*(void **)&begin = dlsym(library, "debuginfod_begin");
		*(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
	}
	/* Length 0: the id is hexadecimal. */
	if (begin && find && find(begin(), (const unsigned char *)hex, 0, &path) >= 0 && path)
		dprintf(STDOUT_FILENO, "%s\n", path);
}

static void ask(const char *hex, int out, pid_t us)
{
	const char *const argv[] = {"debuginfod-find", "debuginfo", hex, NULL};
	const struct rlimit no_core = {0, 0};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0); /* Ctrl-C is for the callers that wait for it */
	/* The child has our descriptors, locks of reports among them. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != us)
		_exit(1);
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(out, STDOUT_FILENO);
	execvp(argv[0], (char *const *)argv);
	by_library(hex);
	_exit(0);
}

/* At the end of a run signals are blocked until they are taken (launch_signals()). */
bool symbols_is_interrupted(const struct symbols_server *server)
{
	static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	sigset_t pending;

	if (!__atomic_load_n(&server->is_waited_for, __ATOMIC_RELAXED) || sigpending(&pending))
		return false;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigismember(&pending, signals[i]))
			return true;
	return false;
}

/* Up to the end of its output, or of the time. */
static size_t hear(int fd, int64_t begun, struct symbols_server *server, char *text, size_t room)
{
	size_t len = 0;

	while (len < room - 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left =
			begun + __atomic_load_n(&server->left_ms, __ATOMIC_RELAXED) - mono_ms();
		ssize_t n;

		if (symbols_is_interrupted(server))
			__atomic_store_n(&server->left_ms, left = 0, __ATOMIC_RELAXED);
		if (left <= 0)
			break;
		if (poll(&p, 1, left < LOOK_MS ? (int)left : LOOK_MS) == 0)
			continue;
		n = read(fd, text + len, room - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = 0;
	return len;
}

bool symbols_debuginfod(const char *hex, struct symbols_server *server, char *path, size_t room)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int64_t begun = mono_ms();
	int out[2];
	pid_t pid, us = getpid();

	if (!urls || !*urls)
		return false;
	if (in_cache(hex, path, room))
		return true;
	if (__atomic_load_n(&server->left_ms, __ATOMIC_RELAXED) <= 0 || pipe2(out, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		ask(hex, out[1], us);
	close(out[1]);
	path[0] = 0;
	if (pid > 0) {
		hear(out[0], begun, server, path, room);
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(out[0]);
	__atomic_fetch_sub(&server->left_ms, (int)(mono_ms() - begun), __ATOMIC_RELAXED);
	path[strcspn(path, "\n")] = 0;
	return path[0] == '/';
}
