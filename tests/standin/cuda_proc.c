/*
 * cuda_proc.c - what cuGetProcAddress does: the name and the version asked for select the symbol, and so the ABI. The
 * function itself is elsewhere, as here every function is declared weak.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda_driver.h"

/* Weak: what is missing here is an entry point that this driver does not have. */
#define PROC(name, version, twin, symbol) extern __attribute__((weak)) int symbol();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include "tests/standin/cuda_versions.def"
#pragma GCC diagnostic pop
#undef PROC

static const struct proc {
	const char *name;
	int version;
	bool twin;
	void *address;
} procs[] = {
#define PROC(name, version, twin, symbol) {#name, version, twin, (void *)symbol},
#include "tests/standin/cuda_versions.def"
#undef PROC
};

enum {
	PER_THREAD_DEFAULT_STREAM = 2
};
enum {
	SYMBOL_FOUND,
	SYMBOL_NOT_FOUND,
	SYMBOL_TOO_NEW
};

/* Of the twins those for per-thread default streams are preferred where asked for, else never given. */
static const struct proc *look_up(const char *name, int version, bool per_thread, bool *known)
{
	const struct proc *best = NULL;
	size_t i;

	*known = false;
	for (i = 0; i < sizeof(procs) / sizeof(*procs); i++) {
		const struct proc *p = &procs[i];

		if (strcmp(p->name, name) != 0 || !p->address || p->version > DRIVER_VERSION ||
		    (p->twin && !per_thread))
			continue;
		*known = true;
		if (p->version > version)
			continue;
		if (!best || p->twin > best->twin ||
		    (p->twin == best->twin && p->version > best->version))
			best = p;
	}
	return best;
}

/* STANDIN_PROC_OTHER=NAME: what is given for it is exported under no name, as a driver with two entries would do. */
static int other_entry(void)
{
	return CUDA_NOT_SUPPORTED;
}

static bool has_other_entry(const char *name)
{
	const char *set = getenv("STANDIN_PROC_OTHER");

	return set && strcmp(set, name) == 0;
}

int proc_get(const char *name, void **address, int version, uint64_t flags, int *status)
{
	static const struct {
		const char *name;
		void *address;
	} own[] = {{"standin_api", (void *)standin_api},
		   {"standin_observe", (void *)standin_observe}};
	const struct proc *p;
	bool known;
	size_t i;

	if (!name || !address)
		return CUDA_INVALID_VALUE;
	*address = NULL;
	if (status)
		*status = SYMBOL_NOT_FOUND;
	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (strcmp(own[i].name, name) == 0) {
			*address = own[i].address;
			return CUDA_OK;
		}
	p = look_up(name, version, flags & PER_THREAD_DEFAULT_STREAM, &known);
	if (!p) {
		if (status && known)
			*status = SYMBOL_TOO_NEW;
		return CUDA_OK; /* with no address: as documented */
	}
	*address = has_other_entry(name) ? (void *)other_entry : p->address;
	if (status)
		*status = SYMBOL_FOUND;
	return CUDA_OK;
}
