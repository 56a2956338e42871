/*
 * gpu_yield.c - a program that traces the GPU itself (torch.profiler, ...) comes first: CUPTI serves one tool per
 * process, so when the program asks for it, what we hold is given up, said in the report, and the program gets it.
 */
#include "preload/gpu/gpu_engine.h"

#include <string.h>

#include "preload/base/object.h"

enum {
	SUBSCRIBE,
	SUBSCRIBE_V2,
	CALLBACKS,
	ASKING_CNT
};
static const char names[ASKING_CNT][32] = {
	[SUBSCRIBE] = "cuptiSubscribe",
	[SUBSCRIBE_V2] = "cuptiSubscribe_v2",
	[CALLBACKS] = "cuptiActivityRegisterCallbacks",
};
static void *reals[ASKING_CNT];

static int subscribe(void **subscriber, void *callback, void *data)
{
	int (*real)(void **, void *, void *) = reals[SUBSCRIBE];

	sl_gpu_yield();
	return real(subscriber, callback, data);
}

static int subscribe_v2(void **subscriber, void *callback, void *data, void *params)
{
	int (*real)(void **, void *, void *, void *) = reals[SUBSCRIBE_V2];

	sl_gpu_yield();
	return real(subscriber, callback, data, params);
}

static int register_callbacks(void *requested, void *completed)
{
	int (*real)(void *, void *) = reals[CALLBACKS];

	sl_gpu_yield();
	return real(requested, completed);
}

static void *const entries[ASKING_CNT] = {
	[SUBSCRIBE] = (void *)subscribe,
	[SUBSCRIBE_V2] = (void *)subscribe_v2,
	[CALLBACKS] = (void *)register_callbacks,
};

bool sl_gpu_cupti_found(const struct sl_object *o)
{
	if (reals[SUBSCRIBE])
		return false;
	for (int i = 0; i < ASKING_CNT; i++)
		reals[i] = sl_object_find(o, names[i]);
	return reals[SUBSCRIBE] != NULL;
}

void *sl_gpu_asking(const char *name, void **real)
{
	for (int i = 0; i < ASKING_CNT; i++)
		if (reals[i] && strcmp(names[i], name) == 0) {
			*real = reals[i];
			return entries[i];
		}
	return NULL;
}

void *sl_gpu_asking_at(const void *real)
{
	for (int i = 0; real && i < ASKING_CNT; i++)
		if (reals[i] == real)
			return entries[i];
	return NULL;
}
