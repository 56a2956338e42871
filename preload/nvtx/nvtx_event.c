/*
 * nvtx_event.c - marks and ranges, the hot path of NVTX: one clock reading and one record each.
 *
 * A chained injection is called outside of the recorded range: before the push and after the pop. Its results are
 * returned to the program.
 */
#include "preload/nvtx/nvtx.h"

#define ID_BLOCK 256u

/* The next range ids of this thread. Forked children continue them. */
static __thread struct {
	uint64_t id, id_end;
} tls;

static uint64_t next_id(void)
{
	static uint64_t blocks;

	if (sl_unlikely(tls.id == tls.id_end)) {
		uint64_t block = __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);

		tls.id = (block - 1) * ID_BLOCK;
		tls.id_end = tls.id + ID_BLOCK;
	}
	return ++tls.id;
}

/* ---- fields of an event ---- */

SL_HOT void begin_event(struct sl_nvtx_event *e, const struct sl_nvtx_domain *d)
{
	e->word[0] = d ? d->id : 0;
	e->word[1] = (uint64_t)SL_NVTX_LEVEL_UNKNOWN << 48;
	e->words = 2;
	e->has_text = false;
	e->opens_capture = false;
	e->blobs = 0;
}

SL_HOT void add_text(struct sl_nvtx_event *e, struct sl_nvtx_text text)
{
	e->word[1] |= (uint64_t)SL_NVTX_HAS_TEXT << 32;
	e->has_text = true;
	e->text = text;
	if (sl_nvtx_may_capture())
		e->opens_capture = sl_nvtx_is_session_text(&text);
}

static void add_string(struct sl_nvtx_event *e, struct sl_nvtx_string *s, const void *handle)
{
	uint32_t id = sl_nvtx_string_id(s, handle);

	if (sl_likely(id)) {
		e->word[1] |= (uint64_t)SL_NVTX_HAS_STRING << 32;
		e->word[e->words++] = id;
	} else {
		add_text(e, (struct sl_nvtx_text){.at = s->text, .len = s->len});
	}
	if (sl_nvtx_may_capture())
		e->opens_capture = sl_nvtx_is_session_range(s->text, s->len);
}

static void add_message(struct sl_nvtx_event *e, int32_t type, const void *message)
{
	struct sl_nvtx_string *s;

	if (type == 1 && message)
		add_text(e, sl_nvtx_chars(message));
	else if (type == 2 && message)
		add_text(e, sl_nvtx_wide(message));
	if (type == 3 && (s = sl_nvtx_string(message)))
		add_string(e, s, message);
}

void sl_nvtx_event_of_string(struct sl_nvtx_event *e, struct sl_nvtx_domain *d,
			     struct sl_nvtx_string *s)
{
	begin_event(e, d);
	add_string(e, s, s);
}

void sl_nvtx_event_of(struct sl_nvtx_event *e, struct sl_nvtx_domain *d,
		      const struct nvtx_event *from)
{
	begin_event(e, d);
	if (!from || from->size < offsetof(struct nvtx_event, message_type))
		return;
	e->word[0] |= (uint64_t)from->category << 32;
	if (from->color_type == 1)
		e->word[1] |= from->color | (uint64_t)SL_NVTX_HAS_COLOR << 32;
	if (from->payload_type > 0 && from->payload_type <= SL_NVTX_PAYLOAD_F32) {
		e->word[1] |= (uint64_t)from->payload_type << (32 + SL_NVTX_PAYLOAD_SHIFT);
		e->word[e->words++] = from->payload;
	} else if (from->payload_type == NVTX_PAYLOAD_BLOBS && from->payload &&
		   from->blob_cnt > 0) {
		e->blob = (const struct nvtx_blob *)(uintptr_t)from->payload;
		e->blobs = from->blob_cnt < (int)SL_NVTX_BLOBS_MAX ? (unsigned)from->blob_cnt
								   : SL_NVTX_BLOBS_MAX;
		e->word[1] |= (uint64_t)e->blobs << (32 + SL_NVTX_BLOBS_SHIFT);
	}
	/* The range id, if any, goes between the payload and the text: sl_nvtx_start(). */
	if (from->size >= sizeof(*from))
		add_message(e, from->message_type, from->message);
}

static void event_of_text(struct sl_nvtx_event *e, struct sl_nvtx_text text)
{
	begin_event(e, NULL);
	if (text.at)
		add_text(e, text);
}

/* ---- push, pop, start, end ---- */

int sl_nvtx_push(struct sl_nvtx_domain *d, struct sl_nvtx_event *e)
{
	uint32_t index = d ? d->index : 0;
	struct sl_nvtx_thread *t = sl_nvtx_thread();
	int level = NVTX_NO_LEVEL;

	if (sl_likely(index < NVTX_LEVELS && t)) {
		level = t->level[index]++;
		if (level < (int)SL_NVTX_LEVEL_UNKNOWN)
			e->word[1] = (e->word[1] & ~(UINT64_C(0xffff) << 48)) | (uint64_t)level
											<< 48;
	}
	if (sl_unlikely(e->opens_capture | sl_nvtx_capture_depth))
		sl_nvtx_capture_push(d, e->opens_capture);
	sl_nvtx_put_event(SL_NVTX_PUSH, e);
	return level;
}

SL_HOT int pop_with(struct sl_nvtx_domain *d, const struct nvtx_blob *blob, unsigned blobs,
		    int64_t value)
{
	uint32_t index = d ? d->index : 0;
	struct sl_nvtx_thread *t = sl_nvtx_thread();
	int level = NVTX_NO_LEVEL;
	uint64_t said = SL_NVTX_LEVEL_UNKNOWN;
	struct sl_nvtx_event e;

	if (sl_likely(index < NVTX_LEVELS && t)) {
		if (t->level[index] <= 0)
			return -1; /* no range is open */
		level = --t->level[index];
		if (level < (int)SL_NVTX_LEVEL_UNKNOWN)
			said = (uint64_t)level;
	}
	e.word[0] = (d ? d->id : 0) | said << 32;
	e.word[1] = blobs;
	e.words = 2;
	if (value >= 0) {
		e.word[1] |= SL_NVTX_POP_VALUE;
		e.word[e.words++] = (uint64_t)value;
	}
	e.has_text = false;
	e.blob = blob;
	e.blobs = blobs;
	sl_nvtx_put_event(SL_NVTX_POP, &e);
	if (sl_unlikely(sl_nvtx_capture_depth))
		sl_nvtx_capture_pop(d);
	return level;
}

int sl_nvtx_pop(struct sl_nvtx_domain *d, const struct nvtx_blob *blob, unsigned blobs)
{
	return pop_with(d, blob, blobs, -1);
}

int sl_nvtx_pop_value(struct sl_nvtx_domain *d, int64_t value)
{
	return pop_with(d, NULL, 0, value);
}

uint64_t sl_nvtx_start(struct sl_nvtx_domain *d, struct sl_nvtx_event *e, uint64_t id)
{
	unsigned last = e->words;

	if (!id)
		id = next_id();
	if (e->word[1] >> 32 & SL_NVTX_HAS_STRING) {
		e->word[last] = e->word[last - 1];
		last--;
	}
	e->word[last] = id;
	e->words++;
	if (sl_unlikely(e->opens_capture))
		sl_nvtx_capture_start(d, id);
	sl_nvtx_put_event(SL_NVTX_START, e);
	return id;
}

void sl_nvtx_end(struct sl_nvtx_domain *d, uint64_t id, const struct nvtx_blob *blob,
		 unsigned blobs)
{
	struct sl_nvtx_event e;

	e.word[0] = d ? d->id : 0;
	e.word[1] = id;
	e.word[2] = blobs;
	e.words = 3;
	e.has_text = false;
	e.blob = blob;
	e.blobs = blobs;
	sl_nvtx_put_event(SL_NVTX_END, &e);
	if (sl_unlikely(__atomic_load_n(&sl_nvtx_capture_started, __ATOMIC_RELAXED)))
		sl_nvtx_capture_end(d, id);
}

/* ---- the callbacks. Each calls the chained injection too ---- */

#define CHAIN_CORE(place)  (sl_nvtx_chain[NVTX_MODULE_CORE][place])
#define CHAIN_CORE2(place) (sl_nvtx_chain[NVTX_MODULE_CORE2][place])

/* The event for the chained injection: a registered string that it does not know is replaced by its text. */
static const struct nvtx_event *for_chain(const struct nvtx_event *from, struct nvtx_event *copy)
{
	struct sl_nvtx_string *s;

	if (!from || from->size < sizeof(*from) || from->message_type != 3 ||
	    sl_nvtx_chained_handle(from->message))
		return from;
	s = sl_nvtx_string(from->message);
	*copy = *from;
	copy->message_type = s ? 1 : 0;
	copy->message = s ? s->text : NULL;
	return copy;
}

static void mark(struct sl_nvtx_event *e)
{
	sl_nvtx_put_event(SL_NVTX_MARK, e);
}

static void domain_mark(void *domain, const struct nvtx_event *from)
{
	void (*chain)(void *, const struct nvtx_event *) =
		(void (*)(void *, const struct nvtx_event *))CHAIN_CORE2(CORE2_MARK_EX);
	struct nvtx_event copy;
	struct sl_nvtx_event e;

	sl_nvtx_event_of(&e, sl_nvtx_domain(domain), from);
	mark(&e);
	if (sl_unlikely(chain))
		chain(sl_nvtx_chained_handle(domain), for_chain(from, &copy));
}

static int domain_push(void *domain, const struct nvtx_event *from)
{
	int (*chain)(void *, const struct nvtx_event *) =
		(int (*)(void *, const struct nvtx_event *))CHAIN_CORE2(CORE2_PUSH_EX);
	struct sl_nvtx_domain *d = sl_nvtx_domain(domain);
	int chained = 0, level;
	struct nvtx_event copy;
	struct sl_nvtx_event e;

	if (sl_unlikely(chain))
		chained = chain(sl_nvtx_chained_handle(domain), for_chain(from, &copy));
	sl_nvtx_event_of(&e, d, from);
	level = sl_nvtx_push(d, &e);
	return sl_unlikely(chain) ? chained : level;
}

static int domain_pop(void *domain)
{
	int (*chain)(void *) = (int (*)(void *))CHAIN_CORE2(CORE2_POP);
	int level = sl_nvtx_pop(sl_nvtx_domain(domain), NULL, 0);

	return sl_unlikely(chain) ? chain(sl_nvtx_chained_handle(domain)) : level;
}

static uint64_t domain_start(void *domain, const struct nvtx_event *from)
{
	uint64_t (*chain)(void *, const struct nvtx_event *) =
		(uint64_t(*)(void *, const struct nvtx_event *))CHAIN_CORE2(CORE2_START_EX);
	struct sl_nvtx_domain *d = sl_nvtx_domain(domain);
	uint64_t id = 0;
	struct nvtx_event copy;
	struct sl_nvtx_event e;

	if (sl_unlikely(chain))
		id = chain(sl_nvtx_chained_handle(domain), for_chain(from, &copy));
	sl_nvtx_event_of(&e, d, from);
	return sl_nvtx_start(d, &e, id);
}

static void domain_end(void *domain, uint64_t id)
{
	void (*chain)(void *, uint64_t) = (void (*)(void *, uint64_t))CHAIN_CORE2(CORE2_END);

	sl_nvtx_end(sl_nvtx_domain(domain), id, NULL, 0);
	if (sl_unlikely(chain))
		chain(sl_nvtx_chained_handle(domain), id);
}

/* Functions without a domain. */
static void mark_ex(const struct nvtx_event *from)
{
	void (*chain)(const struct nvtx_event *) =
		(void (*)(const struct nvtx_event *))CHAIN_CORE(CORE_MARK_EX);
	struct nvtx_event copy;
	struct sl_nvtx_event e;

	sl_nvtx_event_of(&e, NULL, from);
	mark(&e);
	if (sl_unlikely(chain))
		chain(for_chain(from, &copy));
}

static int push_ex(const struct nvtx_event *from)
{
	int (*chain)(const struct nvtx_event *) =
		(int (*)(const struct nvtx_event *))CHAIN_CORE(CORE_PUSH_EX);
	int chained = 0, level;
	struct nvtx_event copy;
	struct sl_nvtx_event e;

	if (sl_unlikely(chain))
		chained = chain(for_chain(from, &copy));
	sl_nvtx_event_of(&e, NULL, from);
	level = sl_nvtx_push(NULL, &e);
	return sl_unlikely(chain) ? chained : level;
}

static int pop(void)
{
	int (*chain)(void) = (int (*)(void))CHAIN_CORE(CORE_POP);
	int level = sl_nvtx_pop(NULL, NULL, 0);

	return sl_unlikely(chain) ? chain() : level;
}

static uint64_t start_ex(const struct nvtx_event *from)
{
	uint64_t (*chain)(const struct nvtx_event *) =
		(uint64_t(*)(const struct nvtx_event *))CHAIN_CORE(CORE_START_EX);
	uint64_t id = 0;
	struct nvtx_event copy;
	struct sl_nvtx_event e;

	if (sl_unlikely(chain))
		id = chain(for_chain(from, &copy));
	sl_nvtx_event_of(&e, NULL, from);
	return sl_nvtx_start(NULL, &e, id);
}

static void end(uint64_t id)
{
	void (*chain)(uint64_t) = (void (*)(uint64_t))CHAIN_CORE(CORE_END);

	sl_nvtx_end(NULL, id, NULL, 0);
	if (sl_unlikely(chain))
		chain(id);
}

static void mark_text(const void *message, struct sl_nvtx_text text, unsigned place)
{
	void (*chain)(const void *) = (void (*)(const void *))CHAIN_CORE(place);
	struct sl_nvtx_event e;

	event_of_text(&e, text);
	mark(&e);
	if (sl_unlikely(chain))
		chain(message);
}

static int push_text(const void *message, struct sl_nvtx_text text, unsigned place)
{
	int (*chain)(const void *) = (int (*)(const void *))CHAIN_CORE(place);
	int chained = sl_unlikely(chain) ? chain(message) : 0, level;
	struct sl_nvtx_event e;

	event_of_text(&e, text);
	level = sl_nvtx_push(NULL, &e);
	return sl_unlikely(chain) ? chained : level;
}

static uint64_t start_text(const void *message, struct sl_nvtx_text text, unsigned place)
{
	uint64_t (*chain)(const void *) = (uint64_t(*)(const void *))CHAIN_CORE(place);
	uint64_t id = sl_unlikely(chain) ? chain(message) : 0;
	struct sl_nvtx_event e;

	event_of_text(&e, text);
	return sl_nvtx_start(NULL, &e, id);
}

static void mark_a(const char *s)
{
	mark_text(s, sl_nvtx_chars(s), CORE_MARK_A);
}

static void mark_w(const wchar_t *s)
{
	mark_text(s, sl_nvtx_wide(s), CORE_MARK_W);
}

static int push_a(const char *s)
{
	return push_text(s, sl_nvtx_chars(s), CORE_PUSH_A);
}

static int push_w(const wchar_t *s)
{
	return push_text(s, sl_nvtx_wide(s), CORE_PUSH_W);
}

static uint64_t start_a(const char *s)
{
	return start_text(s, sl_nvtx_chars(s), CORE_START_A);
}

static uint64_t start_w(const wchar_t *s)
{
	return start_text(s, sl_nvtx_wide(s), CORE_START_W);
}

#define F(function) ((nvtx_function)(function))
const nvtx_function sl_nvtx_event_core[NVTX_MODULE_SLOTS] = {
	[CORE_MARK_EX] = F(mark_ex),   [CORE_MARK_A] = F(mark_a),   [CORE_MARK_W] = F(mark_w),
	[CORE_START_EX] = F(start_ex), [CORE_START_A] = F(start_a), [CORE_START_W] = F(start_w),
	[CORE_END] = F(end),           [CORE_PUSH_EX] = F(push_ex), [CORE_PUSH_A] = F(push_a),
	[CORE_PUSH_W] = F(push_w),     [CORE_POP] = F(pop),
};
const nvtx_function sl_nvtx_event_core2[NVTX_MODULE_SLOTS] = {
	[CORE2_MARK_EX] = F(domain_mark), [CORE2_START_EX] = F(domain_start),
	[CORE2_END] = F(domain_end),      [CORE2_PUSH_EX] = F(domain_push),
	[CORE2_POP] = F(domain_pop),
};
