// Threads that wait in calls of several depths, at -O2, without frame pointers.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <poll.h>
#include <semaphore.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
static std::mutex lock;
static std::condition_variable cond;
static sem_t sem;
__attribute__((noinline)) static int deep(int n, volatile char *room)
{
	char more[200];
	std::memset(more, n, sizeof(more));
	if (n)
		return deep(n - 1, more) + more[3] + room[1];
	pause();
	return 0;
}
struct Base {
	virtual ~Base() = default;
	virtual void run() = 0;
};
struct Waits : Base {
	void run() override
	{
		std::unique_lock<std::mutex> held(lock);
		cond.wait(held, [] { return false; });
	}
};
static void sorts()
{
	std::vector<int> list{3, 1, 2};
	std::sort(list.begin(), list.end(), [](int a, int b) {
		if (a == 1 || b == 1)
			sem_wait(&sem);
		return a < b;
	});
}
static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return poll(nullptr, 0, -1);
}
static void in_c()
{
	int list[4] = {4, 3, 2, 1};
	qsort(list, 4, sizeof(*list), compare);
}
int main()
{
	Waits w;
	std::vector<std::thread> all;
	char room[2] = "";
	sem_init(&sem, 0, 0);
	all.emplace_back([&] { deep(20, room); });
	all.emplace_back([&] { static_cast<Base &>(w).run(); });
	all.emplace_back(sorts);
	all.emplace_back(in_c);
	all.emplace_back([] {
		std::promise<int> p;
		p.get_future().get();
	});
	all.emplace_back([] {
		std::function<void()> f = [] {
			read(STDERR_FILENO + 100, nullptr, 0);
			sleep(1000);
		};
		f();
	});
	std::puts("ready");
	std::fflush(stdout);
	pause();
}
