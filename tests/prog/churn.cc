/*
 * churn.cc - threads that start and end, children that fork and execute, libraries that are opened and closed, exceptions, timers and their
 * signals, all the time: ./churn LIBRARY. "calls N" on its input makes N calls of preadv(), answered by "called". The end of its input ends it,
 * with status 7 where all went as it should.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern char **environ;

static std::atomic<bool> ends;
static std::atomic<int> wrong, ticks;
static const char *library;
static int zero;

static void expect(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "wrong: %s\n", what);
	wrong++;
}

static void on_tick(int)
{
	int before = errno;
	char byte;

	ticks++;
	if (read(zero, &byte, 1) != 1)
		wrong++;
	errno = before;
}

static int thrower(int n)
{
	char byte = 1;

	if (pread(zero, &byte, 1, 0) != 1 || byte)
		throw std::runtime_error("pread");
	if (n == 0)
		throw n;
	return thrower(n - 1) + 1;
}

static void threads()
{
	while (!ends) {
		std::mutex m;
		std::condition_variable c;
		std::vector<std::thread> all;
		int done = 0;

		for (int i = 0; i < 4; i++)
			all.emplace_back([&] {
				std::string text(100, 'x');
				std::lock_guard<std::mutex> hold(m);
				done += text.size() == 100;
				c.notify_one();
			});
		{
			std::unique_lock<std::mutex> hold(m);
			c.wait(hold, [&] { return done == 4; });
		}
		for (auto &t : all)
			t.join();
	}
}

static void forks()
{
	while (!ends) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			char byte = 1;

			for (int i = 0; i < 20; i++)
				if (pread(zero, &byte, 1, 0) != 1)
					_exit(1);
			_exit(5);
		}
		expect(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
			       WEXITSTATUS(status) == 5,
		       "fork");
		usleep(2000);
	}
}

static void spawns()
{
	char name[] = "/bin/true", *args[] = {name, nullptr};

	while (!ends) {
		int status = 1;
		pid_t pid;

		expect(posix_spawn(&pid, name, nullptr, nullptr, args, environ) == 0 &&
			       waitpid(pid, &status, 0) == pid && status == 0,
		       "spawn");
		usleep(5000);
	}
}

static void loads()
{
	while (!ends) {
		void *l = dlopen(library, RTLD_NOW);
		auto calls = l ? reinterpret_cast<int (*)()>(dlsym(l, "calls")) : nullptr;

		expect(calls && calls() == 100, "library");
		if (l)
			dlclose(l);
		usleep(1000);
	}
}

static void throws()
{
	while (!ends) {
		int caught = 0;

		try {
			thrower(20);
		} catch (int) {
			caught = 1;
		} catch (const std::exception &e) {
			caught = 2;
		}
		expect(caught == 1, "exception");
	}
}

int main(int argc, char **argv)
{
	struct itimerval each = {{0, 2000}, {0, 2000}};
	struct sigaction act = {};
	std::vector<std::thread> all;
	char line[100];

	library = argc > 1 ? argv[1] : "";
	zero = open("/dev/zero", O_RDONLY);
	act.sa_handler = on_tick;
	act.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &act, nullptr);
	for (auto f : {threads, forks, spawns, loads, throws})
		all.emplace_back(f);
	setitimer(ITIMER_REAL, &each, nullptr);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		char bytes[16];
		struct iovec v = {bytes, sizeof(bytes)};

		for (long n = atol(line + 6); n > 0; n--)
			expect(preadv(zero, &v, 1, 0) == sizeof(bytes), "preadv");
		printf("called\n");
		fflush(stdout);
	}
	ends = true;
	for (auto &t : all)
		t.join();
	memset(&each, 0, sizeof(each));
	setitimer(ITIMER_REAL, &each, nullptr);
	expect(ticks > 0, "timer");
	return wrong ? 1 : 7;
}
