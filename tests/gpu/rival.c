/*
 * rival.c first|later|meanwhile|again - a program that traces the GPU itself, as torch.profiler does: it subscribes to CUPTI
 * before its first call into CUDA, after some, while another thread is in the first one, or once more while another thread
 * is in a call, and must get it. Own declarations of what it needs.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int cudaMalloc(void **p, size_t bytes);
extern int cudaFree(void *p);
extern int cudaMemset(void *p, int value, size_t bytes);
extern int cudaDeviceSynchronize(void);

static void callback(void *data, int domain, unsigned id, const void *info)
{
	(void)data;
	(void)domain;
	(void)id;
	(void)info;
}

static void work(const char *what)
{
	void *p;
	int rc = cudaMalloc(&p, 4096);

	rc |= cudaMemset(p, 1, 4096);
	rc |= cudaDeviceSynchronize();
	rc |= cudaFree(p);
	printf("%s: %d\n", what, rc);
}

static int (*end)(void *);
static void *subscriber;

static void subscribe(void)
{
	const char *path = getenv("RIVAL_CUPTI");
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*ask)(void **, void (*)(void *, int, unsigned, const void *), void *);

	if (!library) {
		printf("%s\n", dlerror());
		exit(1);
	}
	*(void **)&ask = dlsym(library, "cuptiSubscribe");
	*(void **)&end = dlsym(library, "cuptiUnsubscribe");
	printf("subscribed: %d\n", ask(&subscriber, callback, NULL));
}

static void *call(void *unused)
{
	void *p;

	if (cudaMalloc(&p, 4096))
		exit(1);
	return unused;
}

/* While a tracer is likely to set CUPTI up in the other thread. */
static void subscribe_meanwhile(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, call, NULL))
		exit(1);
	usleep(100000);
	subscribe();
	pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	const char *when = argc > 1 ? argv[1] : "later";

	if (strcmp(when, "first") == 0)
		subscribe();
	if (strcmp(when, "meanwhile") == 0)
		subscribe_meanwhile();
	work("before");
	if (strcmp(when, "later") == 0)
		subscribe();
	if (strcmp(when, "again") == 0) {
		subscribe();
		printf("unsubscribed: %d\n", end(subscriber));
		subscribe_meanwhile();
	}
	work("after");
	return 0;
}
