/*
 * rival.c first|later|second|meanwhile|again - a program that traces the GPU itself, as torch.profiler does: it subscribes
 * to CUPTI before its first call into CUDA, after some, after some by CUPTI's second interface, while another thread is in
 * the first one, or once more while another thread is in a call, and must get it. Own declarations of what it needs.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <pthread.h>
#include <stdint.h>
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

static void requested(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*buffer = aligned_alloc(8, *bytes = 1 << 16);
	*max_records = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	(void)context;
	(void)stream;
	(void)bytes;
	(void)valid;
	free(buffer);
}

/* By the interface for several clients (CUDA 13.2), which a process must not use beside the other one. */
static void subscribe_second(void)
{
	struct {
		size_t bytes;
		const char *name;
		char *taken_by;
		size_t taken_bytes;
		uint8_t is_shared;
	} params = {sizeof(params), "rival", NULL, 0, 1};
	void *library = dlopen(getenv("RIVAL_CUPTI"), RTLD_NOW | RTLD_LOCAL);
	int (*ask)(void **, void (*)(void *, int, unsigned, const void *), void *, void *);
	int (*callbacks)(void *, void *, void *), (*enable)(void *, int, void *);

	if (!library)
		exit(1);
	*(void **)&ask = dlsym(library, "cuptiSubscribe_v2");
	*(void **)&callbacks = dlsym(library, "cuptiActivityRegisterCallbacks_v2");
	*(void **)&enable = dlsym(library, "cuptiActivityEnable_v2");
	printf("subscribed: %d\n", ask(&subscriber, callback, NULL, &params));
	printf("callbacks: %d\n", callbacks(subscriber, (void *)requested, (void *)completed));
	printf("enabled: %d\n", enable(subscriber, 2, NULL));
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
	if (strcmp(when, "second") == 0)
		subscribe_second();
	if (strcmp(when, "again") == 0) {
		subscribe();
		printf("unsubscribed: %d\n", end(subscriber));
		subscribe_meanwhile();
	}
	work("after");
	return 0;
}
