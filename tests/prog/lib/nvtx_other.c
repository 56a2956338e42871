/*
 * nvtx_other.c - an injection library that a program brings itself: gives out handles and ids of its own, and stops when it
 * is given one that it does not know. At exit it prints its arguments.
 */
#include "tests/prog/nvtx_loader.h"

int InitializeInjectionNvtx2(const void *(*get)(uint32_t));

static int calls[8], depth;
static char domain_of[2], string_of[2];

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "other injection: %s\n", what);
	abort();
}

static int on_push(const char *s)
{
	must(s && *s, "push without a text");
	calls[0]++;
	return 100 + depth++;
}

static int on_pop(void)
{
	calls[1]++;
	return 100 + --depth;
}

static void *on_domain(const char *name)
{
	must(name && *name, "domain without a name");
	calls[2]++;
	return &domain_of;
}

static void *on_string(void *domain, const char *s)
{
	must(domain == &domain_of && s, "string of a domain that is not mine");
	calls[3]++;
	return &string_of;
}

static void on_mark(void *domain, const struct nvtx_attr *a)
{
	must(domain == &domain_of, "mark in a domain that is not mine");
	must(a->message_type != 3 || a->message == &string_of, "string that is not mine");
	calls[4]++;
}

static uint64_t on_start(void *domain, const struct nvtx_attr *a)
{
	must(domain == &domain_of && a, "start in a domain that is not mine");
	return 7000 + (uint64_t)calls[5]++;
}

static void on_end(void *domain, uint64_t id)
{
	must(domain == &domain_of && id >= 7000 && id < 7000 + (uint64_t)calls[5],
	     "range that is not mine");
	calls[6]++;
}

static void say(void)
{
	printf("other: push %d pop %d domain %d string %d mark %d start %d end %d\n", calls[0],
	       calls[1], calls[2], calls[3], calls[4], calls[5], calls[6]);
	fflush(stdout);
}

int InitializeInjectionNvtx2(const void *(*get)(uint32_t))
{
	const struct {
		size_t size;
		int (*module)(int, nvtx_fn ***, unsigned *);
	} *callbacks = get(1);
	nvtx_fn **core, **core2;
	unsigned n, n2;

	must(callbacks && callbacks->module(1, &core, &n) && callbacks->module(5, &core2, &n2) &&
		     n > 11 && n2 > 12,
	     "no tables");
	*core[9] = (nvtx_fn)on_push;
	*core[11] = (nvtx_fn)on_pop;
	*core2[12] = (nvtx_fn)on_domain;
	*core2[10] = (nvtx_fn)on_string;
	*core2[1] = (nvtx_fn)on_mark;
	*core2[2] = (nvtx_fn)on_start;
	*core2[3] = (nvtx_fn)on_end;
	atexit(say);
	return 1;
}
