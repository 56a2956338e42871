/*
 * gpu_yield.c - hands CUPTI over to a program that traces the GPU itself (torch.profiler, ...): CUPTI serves one tool per
 * process, so when the program subscribes, the shim unsubscribes first, with a note in the report.
 */
#include "preload/gpu/gpu_engine.h"

#include <string.h>

#include "preload/base/object.h"

enum {
	SUBSCRIBE,
	SUBSCRIBE_V2,
	CALLBACKS,
	FUNCTION_CNT
};
static const char names[FUNCTION_CNT][32] = {
	[SUBSCRIBE] = "cuptiSubscribe",
	[SUBSCRIBE_V2] = "cuptiSubscribe_v2",
	[CALLBACKS] = "cuptiActivityRegisterCallbacks",
};
static void *reals[FUNCTION_CNT];

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

static void *const entries[FUNCTION_CNT] = {
	[SUBSCRIBE] = (void *)subscribe,
	[SUBSCRIBE_V2] = (void *)subscribe_v2,
	[CALLBACKS] = (void *)register_callbacks,
};

bool sl_gpu_cupti_found(const struct sl_object *o)
{
	if (reals[SUBSCRIBE])
		return false;
	for (int i = 0; i < FUNCTION_CNT; i++)
		reals[i] = sl_object_find(o, names[i]);
	return reals[SUBSCRIBE] != NULL;
}

void *sl_gpu_yield_entry(const char *name, void **real)
{
	for (int i = 0; i < FUNCTION_CNT; i++)
		if (reals[i] && strcmp(names[i], name) == 0) {
			*real = reals[i];
			return entries[i];
		}
	return NULL;
}

void *sl_gpu_yield_entry_of(const void *real)
{
	for (int i = 0; real && i < FUNCTION_CNT; i++)
		if (reals[i] == real)
			return entries[i];
	return NULL;
}
