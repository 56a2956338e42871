/* nvtx_put.c - writes NVTX records to the ring, converts texts to UTF-8, allocates registered objects. */
#include "preload/nvtx/nvtx.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/base/valgrind.h"
#include "preload/wire/sys.h"

bool sl_nvtx_silent;

/* ---- texts ---- */

struct sl_nvtx_text sl_nvtx_chars(const char *s)
{
	return (struct sl_nvtx_text){.at = s, .len = s ? strlen(s) : 0};
}

static unsigned utf8_bytes(uint32_t c)
{
	return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* Invalid code points become U+FFFD. */
static uint32_t wide_at(const wchar_t *s)
{
	uint32_t c = (uint32_t)*s;

	return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
}

struct sl_nvtx_text sl_nvtx_wide(const wchar_t *s)
{
	struct sl_nvtx_text t = {.at = s, .wide = true};

	for (; s && *s; s++)
		t.len += utf8_bytes(wide_at(s));
	return t;
}

static void copy_wide(char *to, const wchar_t *s, size_t len)
{
	char *end = to + len;

	for (; *s; s++) {
		uint32_t c = wide_at(s);
		unsigned n = utf8_bytes(c);

		if ((size_t)(end - to) < n)
			break;
		if (n == 1) {
			*to++ = (char)c;
			continue;
		}
		*to++ = (char)((0xf00u >> n) | c >> 6 * (n - 1));
		while (--n)
			*to++ = (char)(0x80 | (c >> 6 * (n - 1) & 0x3f));
	}
	memset(to, 0, (size_t)(end - to));
}

void sl_nvtx_copy(char *to, const struct sl_nvtx_text *t, size_t len)
{
	if (t->wide && t->at)
		copy_wide(to, t->at, len);
	else if (t->at && len)
		memcpy(to, t->at, len);
}

/* The bytes of @t that fit into @room, cut at a character boundary. */
static size_t fitting(const struct sl_nvtx_text *t, size_t room, unsigned *flags)
{
	const unsigned char *s = t->at;
	size_t len = t->len;

	if (len <= room)
		return len;
	*flags |= SL_REC_CUT;
	for (len = room; !t->wide && len > room - 4 && (s[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

/* ---- records ---- */

/* True: a record may be written, up to sl_end_write(). */
SL_HOT bool may_write(void)
{
	return sl_likely(!sl_nvtx_silent) && sl_ready() && sl_begin_write();
}

static enum sl_lost lost_of(enum sl_nvtx kind)
{
	return kind <= SL_NVTX_START && kind != SL_NVTX_POP ? SL_LOST_NVTX
	       : kind == SL_NVTX_POP || kind == SL_NVTX_END ? SL_LOST_NVTX_END
							    : SL_LOST_OTHER;
}

/*
 * Room for @words. The record's time is read after a wait for room: the wait is not part of the range, and has an
 * OVERHEAD record of its own.
 */
SL_HOT uint64_t *take_room(unsigned words, enum sl_lost lost, struct sl_call *call)
{
	uint64_t *w = sl_tls.cur;

	if (sl_unlikely((size_t)((char *)sl_tls.end - (char *)w) < words * 8u)) {
		call->start = sl_ticks();
		w = sl_room_slow(words, SL_NO_CALL(lost), call);
	}
	call->start = sl_likely(!(sl_tls.depth & SL_DEPTH_MONO)) ? sl_counter() : sl_slow_ticks();
	return w;
}

SL_HOT uint64_t *put_head(uint64_t *w, unsigned kind, unsigned shape, unsigned words,
			  const struct sl_call *call, unsigned flags)
{
	w[0] = call->start;
	w[1] = (uint64_t)sl_head(kind, words, 0, shape, flags) << 32;
	return w + 2;
}

static uint64_t *put_text(uint64_t *w, const struct sl_nvtx_text *t, size_t len)
{
	unsigned words = (unsigned)((len + 7) / 8);

	*w++ = len;
	if (words)
		w[words - 1] = 0;
	sl_nvtx_copy((char *)w, t, len);
	return w + words;
}

static bool put(unsigned shape, unsigned kind, const uint64_t *word, unsigned words,
		const struct sl_nvtx_text *text)
{
	struct sl_call call = {0};
	unsigned flags = 0, all = 2 + words;
	size_t len = 0;
	uint64_t *w;

	if (text) {
		len = fitting(text, (SL_REC_MAX_WORDS - all - 1) * 8, &flags);
		all += 1 + (unsigned)((len + 7) / 8);
	}
	if (!may_write())
		return false;
	w = take_room(all, shape == SL_SHAPE_NVTX ? lost_of(kind) : SL_LOST_OTHER, &call);
	if (w) {
		w = put_head(w, kind, shape, all, &call, flags);
		for (unsigned i = 0; i < words; i++)
			*w++ = word[i];
		sl_commit(text ? put_text(w, text, len) : w);
	}
	sl_end_write();
	return w != NULL;
}

bool sl_nvtx_put(enum sl_nvtx kind, const uint64_t *word, unsigned words,
		 const struct sl_nvtx_text *text)
{
	return put(SL_SHAPE_NVTX, kind, word, words, text);
}

bool sl_nvtx_put_string(uint32_t id, const struct sl_nvtx_text *text)
{
	uint64_t word = id;

	return put(SL_SHAPE_META, SL_META_STRING, &word, 1, text);
}

/* Bytes of a blob of unknown size: only that of a C string can be determined. */
static size_t blob_size(const struct nvtx_blob *b)
{
	enum {
		CSTRING = 75,
		CSTRING_UTF8 = 76
	};

	if (!b->data)
		return 0;
	if (b->size != SIZE_MAX)
		return b->size;
	return b->schema == CSTRING || b->schema == CSTRING_UTF8 ? strlen(b->data) + 1 : 0;
}

struct sizes {
	size_t text, blob[SL_NVTX_BLOBS_MAX];
	unsigned words, flags;
};

/* Limits text and blobs to what fits into one record. */
static void measure(const struct sl_nvtx_event *e, struct sizes *s)
{
	size_t room = SL_REC_MAX_WORDS - 2 - e->words - 1 - 2 * e->blobs;

	s->flags = 0;
	s->text = 0;
	s->words = 2 + e->words;
	if (e->has_text) {
		s->text = fitting(&e->text, room * 8, &s->flags);
		s->words += 1 + (unsigned)((s->text + 7) / 8);
		room -= (s->text + 7) / 8;
	}
	for (unsigned i = 0; i < e->blobs; i++) {
		s->blob[i] = blob_size(&e->blob[i]);
		if (s->blob[i] > room * 8) {
			s->blob[i] = room * 8;
			s->flags |= SL_REC_CUT;
		}
		room -= (s->blob[i] + 7) / 8;
		s->words += 2 + (unsigned)((s->blob[i] + 7) / 8);
	}
}

static uint64_t *put_blob(uint64_t *w, const struct nvtx_blob *b, size_t len)
{
	size_t words = (len + 7) / 8, all = blob_size(b);

	*w++ = b->schema;
	*w++ = len | (uint64_t)(all > UINT32_MAX ? UINT32_MAX : all) << 32;
	if (words)
		w[words - 1] = 0;
	if (len)
		memcpy(w, b->data, len);
	return w + words;
}

void sl_nvtx_put_event(enum sl_nvtx kind, const struct sl_nvtx_event *e)
{
	struct sl_call call = {0};
	struct sizes s;
	uint64_t *w;

	measure(e, &s);
	if (!may_write())
		return;
	w = take_room(s.words, lost_of(kind), &call);
	if (w) {
		w = put_head(w, kind, SL_SHAPE_NVTX, s.words, &call, s.flags);
		for (unsigned i = 0; i < e->words; i++)
			*w++ = e->word[i];
		if (e->has_text)
			w = put_text(w, &e->text, s.text);
		for (unsigned i = 0; i < e->blobs; i++)
			w = put_blob(w, &e->blob[i], s.blob[i]);
		sl_commit(w);
	}
	sl_end_write();
}

/* ---- memory: a lock-free bump allocator, never freed ---- */

#define BLOCK_BYTES (256u << 10)

struct block {
	size_t used;
};

void *sl_nvtx_alloc(size_t bytes)
{
	static struct block *now;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > BLOCK_BYTES / 4)
		return NULL;
	for (;;) {
		/* Acquire: pairs with the exchange below, which publishes the block. */
		struct block *b = __atomic_load_n(&now, __ATOMIC_ACQUIRE), *fresh;
		size_t at = b ? __atomic_fetch_add(&b->used, bytes, __ATOMIC_RELAXED) : BLOCK_BYTES;
		long got;

		if (at + bytes <= BLOCK_BYTES)
			return (char *)b + at;
		got = sl_sys6(SYS_mmap, 0, BLOCK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (got < 0 && got > -4096)
			return NULL;
		fresh = (struct block *)got;
		sl_valgrind_ignore(fresh, BLOCK_BYTES);
		fresh->used = 16;
		if (!__atomic_compare_exchange_n(&now, &b, fresh, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			sl_sys2(SYS_munmap, fresh, BLOCK_BYTES);
	}
}
