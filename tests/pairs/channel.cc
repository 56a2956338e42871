/* A thread sleeps before each item that another waits for; sleep_for() is a template of a header. reason: SLEEP */
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "pair.h"

template <class T> class channel
{
	std::mutex lock;
	std::condition_variable filled;
	std::deque<T> items;

      public:
	void put(T item)
	{
		std::lock_guard<std::mutex> hold(lock);

		items.push_back(item);
		filled.notify_one();
	}
	T get()
	{
		std::unique_lock<std::mutex> hold(lock);

		filled.wait(hold, [this] { return !items.empty(); });
		T item = items.front();

		items.pop_front();
		return item;
	}
};

int main(int argc, char **argv)
{
	const std::chrono::milliseconds pause(is_bad(argc, argv) ? 20 : 1);
	channel<int> way;
	int sum = 0;

	std::thread source([&] {
		for (int i = 0; i < 30; i++) {
			std::this_thread::sleep_for(pause); /* CULPRIT */
			way.put(i);
		}
	});
	for (int i = 0; i < 30; i++)
		sum += way.get();
	source.join();
	printf("%d\n", sum);
	return 0;
}
