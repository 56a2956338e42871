/*
 * tally.h - calls into a library, counted by name: what a report must hold. The program defines FUNCTIONS(F) with
 * F(type, name, (parameters)) for each function it uses, includes this, and calls them as CALL(name, arguments).
 *
 * With BY_DLSYM (the library's name) nothing is linked: the library is opened RTLD_LOCAL and asked for every function,
 * as Python's ctypes does; with BY_PROC the program fills tally_addresses. At the end tally_print prints
 * "call NAME COUNT".
 */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* One more round of expansion, for names that are macros themselves (_ptsz). */
#define TALLY_INDEX(type, name, parameters, ...) TALLY_INDEX_(name)
#define TALLY_INDEX_(name)                       T_##name,
#define TALLY_NAME(type, name, parameters, ...)  TALLY_NAME_(name)
#define TALLY_NAME_(name)                        #name,
enum {
	FUNCTIONS(TALLY_INDEX) TALLY_CNT
};
static const char *const tally_names[] = {FUNCTIONS(TALLY_NAME)};
static unsigned long tally[TALLY_CNT];

#if defined(BY_DLSYM) || defined(BY_PROC)
#define TALLY_POINTER(type, name, parameters, ...) TALLY_POINTER_(type, name, parameters)
#define TALLY_POINTER_(type, name, parameters)     static type(*p_##name) parameters;
FUNCTIONS(TALLY_POINTER)
#define TALLY_ADDRESS(type, name, parameters, ...) TALLY_ADDRESS_(name)
#define TALLY_ADDRESS_(name)                       (void **)&p_##name,
static void **const tally_addresses[] = {FUNCTIONS(TALLY_ADDRESS)};

#ifdef BY_DLSYM
/* The destructor of a library that was closed may not call it any more: it stays open. */
__attribute__((constructor)) static void tally_open(void)
{
	void *library = dlopen(BY_DLSYM, RTLD_NOW | RTLD_LOCAL);
	int i;

	for (i = 0; i < TALLY_CNT; i++) {
		*tally_addresses[i] = library ? dlsym(library, tally_names[i]) : NULL;
		if (!*tally_addresses[i]) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
	}
}
#endif
#define TALLY_CALL(name) p_##name
#else
#define TALLY_DECLARE(type, name, parameters, ...) TALLY_DECLARE_(type, name, parameters)
#define TALLY_DECLARE_(type, name, parameters)     type name parameters;
FUNCTIONS(TALLY_DECLARE)
#define TALLY_CALL(name)                           name
#endif

#define CALL(name, ...) CALL_(name, __VA_ARGS__)
#define CALL_(name, ...) \
	(__atomic_add_fetch(&tally[T_##name], 1, __ATOMIC_RELAXED), TALLY_CALL(name)(__VA_ARGS__))

/* What must succeed; prints the call that failed. */
#define DO(name, ...)                                                                              \
	do {                                                                                       \
		int do_result_ = (int)CALL(name, __VA_ARGS__);                                     \
		if (do_result_) {                                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #name, do_result_); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static inline void tally_print(void)
{
	int i;

	for (i = 0; i < TALLY_CNT; i++)
		if (tally[i])
			printf("call %s %lu\n", tally_names[i], tally[i]);
}
