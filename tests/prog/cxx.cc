/*
 * cxx.cc - C++ exceptions thrown through C library frames: out of callbacks of fread, scandir, qsort,
 * and pthread_once. What comes after them must be traced as before. Prints "reads N".
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <iostream>
#include <pthread.h>
#include <stdexcept>
#include <sys/types.h>
#include <thread>
#include <unistd.h>
#include <vector>

static int zero;
static long reads;

static void one_read()
{
	char c[8];

	if (read(zero, c, 8) != 8)
		abort();
	reads++;
}

static ssize_t cookie_read(void *, char *, size_t)
{
	one_read();
	throw std::runtime_error("from a stream");
}

static int pick(const struct dirent *)
{
	one_read();
	throw std::runtime_error("from scandir");
}

static int compare(const void *, const void *)
{
	one_read();
	throw std::runtime_error("from qsort");
}

static int visit(const char *, const struct stat *, int, struct FTW *)
{
	one_read();
	throw std::runtime_error("from nftw");
}

template <class F> static void caught(F f)
{
	try {
		f();
		std::cout << "no exception\n";
	} catch (const std::exception &e) {
		std::cout << e.what() << "\n";
	}
	one_read();
}

int main()
{
	zero = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < 20; i++) {
		caught([] {
			cookie_io_functions_t io = {cookie_read, nullptr, nullptr, nullptr};
			FILE *f = fopencookie(nullptr, "r", io);
			char c[4];

			setvbuf(f, nullptr, _IONBF, 0);
			(void)!fread(c, 1, 4, f);
		});
		caught([] {
			struct dirent **list;

			scandir("/", &list, pick, nullptr);
		});
		caught([] {
			int v[4] = {3, 1, 2, 0};

			qsort(v, 4, sizeof(int), compare);
		});
		caught([] { nftw("/etc", visit, 4, FTW_PHYS); });
	}
	std::vector<std::thread> pool;
	for (int i = 0; i < 4; i++)
		pool.emplace_back([] {
			try {
				throw std::runtime_error("in a thread");
			} catch (...) {
			}
		});
	for (auto &t : pool)
		t.join();
	std::cout << "reads " << reads << std::endl;
}
