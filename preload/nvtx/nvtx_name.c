/*
 * nvtx_name.c - names: domains, registered strings, categories, threads, GPU resources. Lock-free: tables are lists to
 * which entries are only ever added, at their heads.
 */
#include "preload/nvtx/nvtx.h"

#include <string.h>

#define DOMAIN_MAGIC 0x6e69616d6f64786eu
#define STRING_MAGIC 0x676e69727473786eu
#define BUCKETS      4096u
#define ALIASES      1024u
#define TEXT_MAX     8000u /* a registered text fits in one record */

/* ---- handles ---- */

bool sl_nvtx_chained;
nvtx_function sl_nvtx_chain[NVTX_MODULE_CNT][NVTX_MODULE_SLOTS];

struct alias {
	struct alias *next;
	const void *handle;
	void *ours;
};

static SL_APART struct alias *alias[ALIASES];

static struct alias **alias_bucket(const void *handle)
{
	return &alias[((uintptr_t)handle * 0x9e3779b97f4a7c15u >> 40) % ALIASES];
}

static void sl_nvtx_alias(void *handle, void *ours)
{
	struct alias *a = sl_nvtx_alloc(sizeof(*a)), **head = alias_bucket(handle);

	if (!a)
		return;
	a->handle = handle;
	a->ours = ours;
	a->next = __atomic_load_n(head, __ATOMIC_RELAXED);
	/* Release: pairs with the acquire of readers. The newest first: handles may be reused. */
	while (!__atomic_compare_exchange_n(head, &a->next, a, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

static void *alias_find(const void *handle)
{
	struct alias *a = __atomic_load_n(alias_bucket(handle), __ATOMIC_ACQUIRE);

	while (a && a->handle != handle)
		a = a->next;
	return a ? a->ours : NULL;
}

void *sl_nvtx_chained_handle(const void *handle)
{
	return handle && alias_find(handle) == handle ? NULL : (void *)(uintptr_t)handle;
}

struct sl_nvtx_domain *sl_nvtx_domain(const void *handle)
{
	const struct sl_nvtx_domain *d =
		sl_unlikely(sl_nvtx_chained) && handle ? alias_find(handle) : handle;

	return (struct sl_nvtx_domain *)(uintptr_t)(d && d->magic == DOMAIN_MAGIC ? d : NULL);
}

struct sl_nvtx_string *sl_nvtx_string(const void *handle)
{
	const struct sl_nvtx_string *s =
		sl_unlikely(sl_nvtx_chained) && handle ? alias_find(handle) : handle;

	return (struct sl_nvtx_string *)(uintptr_t)(s && s->magic == STRING_MAGIC ? s : NULL);
}

/* ---- registered strings ---- */

static uint32_t hash_text(uint32_t domain, const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u ^ domain;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (uint32_t)(h >> 32 ^ h);
}

/*
 * Records the string when it is first used, and again if the ring had no room. A forked child in its own PID namespace
 * has another arena, in which the id is not valid.
 */
uint32_t sl_nvtx_string_id(struct sl_nvtx_string *s, const void *handle)
{
	struct sl_arena *arena = __atomic_load_n(&s->arena, __ATOMIC_ACQUIRE);
	struct sl_nvtx_text text = {.at = s->text, .len = s->len};
	uint64_t word[2] = {(uintptr_t)handle};

	if (sl_likely(arena))
		return sl_likely(arena == sl_global.arena) ? s->id : 0;
	/* The id is of the arena in which the string was registered. */
	if (!s->id || !sl_nvtx_put_string(s->id, &text))
		return 0;
	word[1] = s->id;
	sl_nvtx_put(SL_NVTX_STRING, word, 2, NULL);
	__atomic_store_n(&s->arena, sl_global.arena, __ATOMIC_RELEASE);
	return s->id;
}

static struct sl_nvtx_string *find(struct sl_nvtx_string *s, const struct sl_nvtx_string *end,
				   const struct sl_nvtx_string *want)
{
	for (; s != end; s = s->next)
		if (s->hash == want->hash && s->domain == want->domain && s->len == want->len &&
		    memcmp(s->text, want->text, s->len) == 0)
			return s;
	return NULL;
}

static SL_APART struct sl_nvtx_string *bucket[BUCKETS];

/* An existing string, before memory is allocated, which is never freed. NULL: none, or @text is too long. */
static struct sl_nvtx_string *find_text(uint32_t domain, const struct sl_nvtx_text *text)
{
	struct {
		struct sl_nvtx_string s;
		char text[1024];
	} want;

	if (text->len > sizeof(want.text))
		return NULL;
	sl_nvtx_copy(want.s.text, text, text->len);
	want.s.domain = domain;
	want.s.len = (uint32_t)text->len;
	want.s.hash = hash_text(domain, want.s.text, text->len);
	/* Acquire: pairs with the release in intern(). */
	return find(__atomic_load_n(&bucket[want.s.hash % BUCKETS], __ATOMIC_ACQUIRE), NULL,
		    &want.s);
}

static struct sl_nvtx_string *intern(uint32_t domain, const struct sl_nvtx_text *text)
{
	size_t len = text->len < TEXT_MAX ? text->len : TEXT_MAX;
	struct sl_nvtx_string *s = find_text(domain, text), **head, *old, *seen = NULL;

	if (s)
		return s;
	s = sl_nvtx_alloc(sizeof(*s) + len + 1);
	if (!s)
		return NULL;
	sl_nvtx_copy(s->text, text, len);
	s->magic = STRING_MAGIC;
	s->domain = domain;
	s->len = (uint32_t)len;
	s->hash = hash_text(domain, s->text, len);
	if (sl_global.arena)
		s->id = __atomic_add_fetch(&sl_global.arena->string_serial, 1, __ATOMIC_RELAXED);
	head = &bucket[s->hash % BUCKETS];
	s->next = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	do {
		old = find(s->next, seen, s);
		if (old)
			return old;
		seen = s->next;
	} while (!__atomic_compare_exchange_n(head, &s->next, s, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return s;
}

struct sl_nvtx_string *sl_nvtx_string_new(struct sl_nvtx_domain *d, struct sl_nvtx_text text)
{
	struct sl_nvtx_string *s = intern(d->id, &text);

	if (s)
		sl_nvtx_string_id(s, s);
	return s;
}

static void *register_string(void *domain, void *chained, struct sl_nvtx_text text)
{
	struct sl_nvtx_domain *d = sl_nvtx_domain(domain);
	struct sl_nvtx_string *s = text.at ? intern(d ? d->id : 0, &text) : NULL;
	void *handle = chained ? chained : s;

	if (!s)
		return chained;
	if (sl_nvtx_chained)
		sl_nvtx_alias(handle, s);
	sl_nvtx_string_id(s, handle);
	return handle;
}

static void *string_a(void *domain, const char *text)
{
	void *(*chain)(void *, const char *) =
		(void *(*)(void *, const char *))sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_STRING_A];

	return register_string(domain, chain ? chain(sl_nvtx_chained_handle(domain), text) : NULL,
			       sl_nvtx_chars(text));
}

static void *string_w(void *domain, const wchar_t *text)
{
	void *(*chain)(void *, const wchar_t *) =
		(void *(*)(void *,
			   const wchar_t *))sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_STRING_W];

	return register_string(domain, chain ? chain(sl_nvtx_chained_handle(domain), text) : NULL,
			       sl_nvtx_wide(text));
}

/* ---- domains ---- */

struct sl_nvtx_domain *sl_nvtx_domain_new(struct sl_nvtx_text name)
{
	static uint32_t created;
	struct sl_nvtx_domain *d = sl_nvtx_alloc(sizeof(*d));
	uint64_t word;

	if (!d)
		return NULL;
	d->magic = DOMAIN_MAGIC;
	d->index = __atomic_add_fetch(&created, 1, __ATOMIC_RELAXED);
	d->id = sl_global.arena
			? __atomic_add_fetch(&sl_global.arena->nvtx_serial, 1, __ATOMIC_RELAXED)
			: d->index;
	if (name.len < sizeof(d->name))
		sl_nvtx_copy(d->name, &name, name.len);
	else
		sl_nvtx_copy(d->name, &name, sizeof(d->name) - 1);
	word = d->id;
	sl_nvtx_put(SL_NVTX_DOMAIN, &word, 1, &name);
	return d;
}

static void *create_domain(void *chained, struct sl_nvtx_text name)
{
	struct sl_nvtx_domain *d = sl_nvtx_domain_new(name);
	void *handle = chained ? chained : d;

	if (d && sl_nvtx_chained)
		sl_nvtx_alias(handle, d);
	return handle;
}

static void *domain_a(const char *name)
{
	void *(*chain)(const char *) =
		(void *(*)(const char *))sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_DOMAIN_A];

	return create_domain(chain ? chain(name) : NULL, sl_nvtx_chars(name));
}

static void *domain_w(const wchar_t *name)
{
	void *(*chain)(const wchar_t *) =
		(void *(*)(const wchar_t *))sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_DOMAIN_W];

	return create_domain(chain ? chain(name) : NULL, sl_nvtx_wide(name));
}

static void destroy_domain(void *domain)
{
	void (*chain)(void *) =
		(void (*)(void *))sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_DOMAIN_DESTROY];
	struct sl_nvtx_domain *d = sl_nvtx_domain(domain);
	uint64_t word = d ? d->id : 0;

	if (d)
		sl_nvtx_put(SL_NVTX_DOMAIN_END, &word, 1, NULL);
	if (chain)
		chain(sl_nvtx_chained_handle(domain));
}

/* ---- names of resources ---- */

static void name_category(const struct sl_nvtx_domain *d, uint32_t category,
			  struct sl_nvtx_text name)
{
	uint64_t word = (d ? d->id : 0) | (uint64_t)category << 32;

	sl_nvtx_put(SL_NVTX_CATEGORY, &word, 1, &name);
}

static void name_resource(const struct sl_nvtx_domain *d, uint32_t type, uint64_t identifier,
			  const void *handle, struct sl_nvtx_text name)
{
	uint64_t word[3] = {(d ? d->id : 0) | (uint64_t)type << 32, identifier, (uintptr_t)handle};

	sl_nvtx_put(SL_NVTX_RESOURCE, word, 3, &name);
}

static void name_thread(uint32_t tid, struct sl_nvtx_text name)
{
	uint64_t word = tid;

	sl_nvtx_put(SL_NVTX_THREAD, &word, 1, &name);
}

/* Both character widths of a function that names a resource without a domain: @id, of @type. */
#define NAME_BOTH(fn, type, module, place, act)                                              \
	static void fn##_a(type id, const char *s)                                           \
	{                                                                                    \
		void (*chain)(type, const char *) =                                          \
			(void (*)(type, const char *))sl_nvtx_chain[module][place];          \
		struct sl_nvtx_text name = sl_nvtx_chars(s);                                 \
                                                                                             \
		act;                                                                         \
		if (chain)                                                                   \
			chain(id, s);                                                        \
	}                                                                                    \
	static void fn##_w(type id, const wchar_t *s)                                        \
	{                                                                                    \
		void (*chain)(type, const wchar_t *) =                                       \
			(void (*)(type, const wchar_t *))sl_nvtx_chain[module][(place) + 1]; \
		struct sl_nvtx_text name = sl_nvtx_wide(s);                                  \
                                                                                             \
		act;                                                                         \
		if (chain)                                                                   \
			chain(id, s);                                                        \
	}
#define NAME_GPU(fn, type, module, place, what) \
	NAME_BOTH(                              \
		fn, type, module, place,        \
		name_resource(NULL, SL_NVTX_RESOURCE_##what, (uint64_t)(uintptr_t)id, NULL, name))

NAME_BOTH(category, uint32_t, NVTX_MODULE_CORE, CORE_CATEGORY_A, name_category(NULL, id, name))
NAME_BOTH(thread, uint32_t, NVTX_MODULE_CORE, CORE_THREAD_A, name_thread(id, name))
NAME_GPU(cu_device, int, NVTX_MODULE_CUDA, 1, CU_DEVICE)
NAME_GPU(cu_context, void *, NVTX_MODULE_CUDA, 3, CU_CONTEXT)
NAME_GPU(cu_stream, void *, NVTX_MODULE_CUDA, 5, CU_STREAM)
NAME_GPU(cu_event, void *, NVTX_MODULE_CUDA, 7, CU_EVENT)
NAME_GPU(cuda_device, int, NVTX_MODULE_CUDART, 1, CUDA_DEVICE)
NAME_GPU(cuda_stream, void *, NVTX_MODULE_CUDART, 3, CUDA_STREAM)
NAME_GPU(cuda_event, void *, NVTX_MODULE_CUDART, 5, CUDA_EVENT)

static void domain_category_a(void *domain, uint32_t category, const char *s)
{
	void (*chain)(void *, uint32_t, const char *) = (void (*)(
		void *, uint32_t, const char *))sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_CATEGORY_A];

	name_category(sl_nvtx_domain(domain), category, sl_nvtx_chars(s));
	if (chain)
		chain(sl_nvtx_chained_handle(domain), category, s);
}

static void domain_category_w(void *domain, uint32_t category, const wchar_t *s)
{
	void (*chain)(void *, uint32_t, const wchar_t *) =
		(void (*)(void *, uint32_t,
			  const wchar_t *))sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_CATEGORY_W];

	name_category(sl_nvtx_domain(domain), category, sl_nvtx_wide(s));
	if (chain)
		chain(sl_nvtx_chained_handle(domain), category, s);
}

static void *create_resource(void *domain, struct nvtx_resource *from)
{
	void *(*chain)(void *, struct nvtx_resource *) = (void *(*)(void *, struct nvtx_resource *))
		sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_RESOURCE_CREATE];
	void *handle = chain ? chain(sl_nvtx_chained_handle(domain), from) : NULL;
	struct sl_nvtx_text name = {0};
	struct sl_nvtx_string *s;

	if (!from || from->size < sizeof(*from))
		return handle;
	if (!handle)
		handle = sl_nvtx_alloc(16); /* for its unique address */
	if (from->message_type == 1)
		name = sl_nvtx_chars(from->message);
	else if (from->message_type == 2)
		name = sl_nvtx_wide(from->message);
	else if (from->message_type == 3 && (s = sl_nvtx_string(from->message)))
		name = (struct sl_nvtx_text){.at = s->text, .len = s->len};
	name_resource(sl_nvtx_domain(domain), (uint32_t)from->type, from->identifier, handle, name);
	return handle;
}

static void destroy_resource(void *handle)
{
	void (*chain)(void *) =
		(void (*)(void *))sl_nvtx_chain[NVTX_MODULE_CORE2][CORE2_RESOURCE_DESTROY];
	uint64_t word = (uintptr_t)handle;

	sl_nvtx_put(SL_NVTX_RESOURCE_END, &word, 1, NULL);
	if (chain)
		chain(handle);
}

#define F(function) ((nvtx_function)(function))
const nvtx_function sl_nvtx_name_core[NVTX_MODULE_SLOTS] = {
	[CORE_CATEGORY_A] = F(category_a),
	[CORE_CATEGORY_W] = F(category_w),
	[CORE_THREAD_A] = F(thread_a),
	[CORE_THREAD_W] = F(thread_w),
};
const nvtx_function sl_nvtx_name_core2[NVTX_MODULE_SLOTS] = {
	[CORE2_RESOURCE_CREATE] = F(create_resource),
	[CORE2_RESOURCE_DESTROY] = F(destroy_resource),
	[CORE2_CATEGORY_A] = F(domain_category_a),
	[CORE2_CATEGORY_W] = F(domain_category_w),
	[CORE2_STRING_A] = F(string_a),
	[CORE2_STRING_W] = F(string_w),
	[CORE2_DOMAIN_A] = F(domain_a),
	[CORE2_DOMAIN_W] = F(domain_w),
	[CORE2_DOMAIN_DESTROY] = F(destroy_domain),
};
const nvtx_function sl_nvtx_name_cuda[NVTX_MODULE_SLOTS] = {
	NULL,           F(cu_device_a), F(cu_device_w), F(cu_context_a), F(cu_context_w),
	F(cu_stream_a), F(cu_stream_w), F(cu_event_a),  F(cu_event_w),
};
const nvtx_function sl_nvtx_name_cudart[NVTX_MODULE_SLOTS] = {
	NULL,
	F(cuda_device_a),
	F(cuda_device_w),
	F(cuda_stream_a),
	F(cuda_stream_w),
	F(cuda_event_a),
	F(cuda_event_w),
};
