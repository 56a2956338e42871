/*
 * python_range.c - ranges of the tracer's Python modules, as NVTX records.
 *
 * They do not depend on --trace=nvtx. A chained NVTX injection library is not called for them.
 */
#include "preload/python/python.h"

#include <string.h>

#include "preload/nvtx/nvtx.h"
#include "preload/python/python_api.h"

struct domain {
	struct domain *next;
	struct sl_nvtx_domain *domain;
	char name[];
};

struct range {
	struct sl_nvtx_domain *domain;
	struct sl_nvtx_string *string;
	uint32_t color; /* ARGB, 0 none */
};

/* One domain by name, created with its first range. */
static struct sl_nvtx_domain *domain_by_name(const char *name)
{
	static struct domain *first;
	struct domain *d = __atomic_load_n(&first, __ATOMIC_ACQUIRE);
	size_t len = strlen(name);

	while (d && strcmp(d->name, name) != 0)
		d = d->next;
	if (d)
		return d->domain;
	d = sl_nvtx_alloc(sizeof(*d) + len + 1);
	if (!d)
		return NULL;
	memcpy(d->name, name, len + 1);
	d->domain = sl_nvtx_domain_new(sl_nvtx_chars(name));
	d->next = __atomic_load_n(&first, __ATOMIC_RELAXED);
	/* Release: pairs with the acquire above. Concurrent threads may create two domains of one name, which is allowed. */
	while (!__atomic_compare_exchange_n(&first, &d->next, d, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return d->domain;
}

SL_EXPORT void *sightline_range(const char *domain, const char *name)
{
	return sightline_range_colored(domain, name, 0);
}

SL_EXPORT void *sightline_range_colored(const char *domain, const char *name, uint32_t color)
{
	struct range *r;

	if (!sl_ready())
		return NULL;
	r = sl_nvtx_alloc(sizeof(*r));
	if (!r)
		return NULL;
	r->domain = domain_by_name(domain);
	r->color = color;
	r->string = r->domain ? sl_nvtx_string_new(r->domain, sl_nvtx_chars(name)) : NULL;
	return r->string ? r : NULL;
}

static struct nvtx_event event_of(int type, const void *message)
{
	return (struct nvtx_event){.version = 3,
				   .size = sizeof(struct nvtx_event),
				   .message_type = type,
				   .message = message};
}

static void event_of_range(struct sl_nvtx_event *e, const struct range *r)
{
	sl_nvtx_event_of_string(e, r->domain, r->string);
	if (r->color)
		e->word[1] |= r->color | (uint64_t)SL_NVTX_HAS_COLOR << 32;
}

SL_EXPORT void sightline_range_push(const void *range)
{
	const struct range *r = range;
	struct sl_nvtx_event e;

	event_of_range(&e, r);
	sl_nvtx_push(r->domain, &e);
}

SL_EXPORT void sightline_range_push_text(const void *range, const char *text)
{
	const struct range *r = range;
	struct nvtx_event from = event_of(1, text);
	struct sl_nvtx_event e;

	sl_nvtx_event_of(&e, r->domain, &from);
	sl_nvtx_push(r->domain, &e);
}

SL_EXPORT void sightline_range_pop(const void *range)
{
	sl_nvtx_pop(((const struct range *)range)->domain, NULL, 0);
}

SL_EXPORT uint64_t sightline_range_start(const void *range)
{
	const struct range *r = range;
	struct sl_nvtx_event e;

	event_of_range(&e, r);
	return sl_nvtx_start(r->domain, &e, 0);
}

SL_EXPORT void sightline_range_end(const void *range, uint64_t id)
{
	sl_nvtx_end(((const struct range *)range)->domain, id, NULL, 0);
}

/* ---- garbage collections ---- */

#define GENERATIONS 3

static __thread const void *collecting __attribute__((tls_model("initial-exec")));

void sl_python_collect(long generation)
{
	static void *ranges[GENERATIONS];
	char name[] = "Generation ?";

	if (generation < 0 || generation >= GENERATIONS)
		return;
	name[sizeof(name) - 2] = (char)('0' + generation);
	/* The interpreter's lock is held. */
	if (!ranges[generation])
		ranges[generation] = sightline_range("GC Trace", name);
	collecting = ranges[generation];
	if (collecting)
		sightline_range_push(collecting);
}

void sl_python_collected(long objects)
{
	const struct range *r = collecting;

	collecting = NULL;
	if (r)
		sl_nvtx_pop_value(r->domain, objects);
}
