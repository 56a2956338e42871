/*
 * rival.c first|later [linked] - a program that traces the GPU itself, as torch.profiler does: it subscribes to CUPTI before
 * its first call into CUDA, or after some, and must get it. Own declarations of what it needs.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void subscribe(void)
{
	const char *path = getenv("RIVAL_CUPTI");
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *subscriber = NULL;
	int (*ask)(void **, void (*)(void *, int, unsigned, const void *), void *);

	if (!library) {
		printf("%s\n", dlerror());
		exit(1);
	}
	*(void **)&ask = dlsym(library, "cuptiSubscribe");
	printf("subscribed: %d\n", ask(&subscriber, callback, NULL));
}

int main(int argc, char **argv)
{
	int first = argc > 1 && strcmp(argv[1], "first") == 0;

	if (first)
		subscribe();
	work("before");
	if (!first)
		subscribe();
	work("after");
	return 0;
}
