// Threads in templates, in callbacks and in handlers of exceptions, one of which computes. Prints "ready" when all have begun.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <variant>
#include <vector>
static std::mutex lock;
static volatile unsigned long sum;
template <unsigned N, typename T> struct Tower {
	__attribute__((noinline)) static T climb(T x)
	{
		return Tower<N - 1, T>::climb(x + 1) + static_cast<T>(N);
	}
};
template <typename T> struct Tower<0, T> {
	__attribute__((noinline)) static T climb(T x)
	{
		usleep(200);
		return x;
	}
};
struct Failed : std::runtime_error {
	using std::runtime_error::runtime_error;
};
struct Guard {
	~Guard()
	{
		usleep(100);
		sum = sum + 1;
	}
};
__attribute__((noinline)) static void throws(int n)
{
	Guard g;
	if (!n)
		throw Failed("enough");
	throws(n - 1);
}
static void catches()
{
	for (;;) {
		try {
			throws(8);
		} catch (const std::exception &e) {
			usleep(200 + static_cast<unsigned>(e.what()[0] == 'x'));
		}
	}
}
static void sorts()
{
	std::vector<int> list(100);
	for (;;) {
		std::iota(list.begin(), list.end(), 0);
		std::sort(list.begin(), list.end(), [](int a, int b) {
			if (a == 50)
				usleep(50);
			return a > b;
		});
	}
}
static void visits()
{
	std::variant<int, std::string, std::unique_ptr<int>> v;
	for (int i = 0;; i++) {
		if (i % 2)
			v = std::string("text");
		else
			v = std::make_unique<int>(i);
		std::visit([](auto &&) { usleep(100); }, v);
	}
}
static void maps()
{
	std::map<std::string, std::function<unsigned(unsigned)>> table;
	for (int i = 0; i < 50; i++)
		table[std::to_string(i)] = [](unsigned x) {
			std::lock_guard<std::mutex> held(lock);
			usleep(20);
			return x + 1;
		};
	for (;;)
		for (auto &entry : table)
			sum = sum + entry.second(1);
}
static void computes()
{
	for (unsigned long i = 0;; i++)
		sum = std::hash<std::string>()(std::to_string(i));
}
int main()
{
	std::vector<std::thread> all;
	all.emplace_back([] {
		for (;;)
			sum = Tower<40, long>::climb(0);
	});
	for (auto *f : {catches, sorts, visits, maps, maps, computes})
		all.emplace_back(f);
	std::puts("ready");
	std::fflush(stdout);
	all.front().join();
}
