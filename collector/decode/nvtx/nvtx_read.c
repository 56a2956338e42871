/* nvtx_read.c - takes NVTX records apart. The program may write anything: every length is checked, every word read once. */
#include "collector/decode/nvtx/nvtx_internal.h"
#include "collector/model/ring_reader.h"

#include <string.h>

uint64_t nvtx_word(struct nvtx_reader *r)
{
	if (!r->left) {
		r->failed = true;
		return 0;
	}
	r->left--;
	return *r->at++;
}

static const void *bytes(struct nvtx_reader *r, size_t len)
{
	const void *at = r->at;
	size_t words = (len + 7) / 8;

	if (words > r->left) {
		r->failed = true;
		return NULL;
	}
	r->at += words;
	r->left -= (uint32_t)words;
	return at;
}

bool nvtx_read_text(struct nvtx_reader *r, struct nvtx_text *t)
{
	size_t len = nvtx_word(r) & 0xffff;
	const void *at = bytes(r, len);

	t->len = 0;
	return at && nvtx_text_add(t, at, len);
}

void nvtx_read_blobs(struct arena *a, struct nvtx_reader *r, unsigned cnt, struct nvtx_event *e)
{
	static const char digit[] = "0123456789abcdef";
	struct nvtx_blob blob[SL_NVTX_BLOBS_MAX];
	unsigned char copy[SL_REC_MAX_WORDS * 8];
	size_t used = 0;

	e->json.len = e->binary.len = 0;
	if (!cnt || cnt > SL_NVTX_BLOBS_MAX)
		return;
	for (unsigned i = 0; i < cnt; i++) {
		uint64_t schema = nvtx_word(r), size = nvtx_word(r);
		const void *at = bytes(r, (uint32_t)size);

		if (r->failed || !at || used + (uint32_t)size > sizeof(copy))
			return;
		memcpy(copy + used, at, (uint32_t)size);
		blob[i] = (struct nvtx_blob){schema, copy + used, (uint32_t)size, size >> 32};
		used += (uint32_t)size;
	}
	if (nvtx_json(a, e->domain, blob, cnt, &e->json))
		return;
	if (!a->family.nvtx->looked) {
		ring_prescan(a);
		if (nvtx_json(a, e->domain, blob, cnt, &e->json))
			return;
		a->family.nvtx->looked = true;
	}
	for (size_t i = 0; i < used; i++) {
		char two[2] = {digit[copy[i] >> 4], digit[copy[i] & 15]};

		if (!nvtx_text_add(&e->binary, two, 2))
			return;
	}
}

bool nvtx_read_event(struct arenas *as, struct arena *a, const struct call *c, struct nvtx_event *e)
{
	struct nvtx_reader r = {.at = c->data.payload, .left = c->data.words};
	uint64_t first = nvtx_word(&r), second = nvtx_word(&r);
	unsigned flags = second >> 32 & 0xffff;

	e->start = clock_map_ns(as->clock, c->start);
	e->row = 0;
	e->domain = (uint32_t)first;
	e->category = (uint32_t)(first >> 32);
	e->color = (uint32_t)second;
	e->has_color = flags & SL_NVTX_HAS_COLOR;
	e->level = (uint16_t)(second >> 48);
	e->payload = flags >> SL_NVTX_PAYLOAD_SHIFT & 7;
	if (e->payload > SL_NVTX_PAYLOAD_F32)
		return false;
	e->payload_bits = e->payload ? nvtx_word(&r) : 0;
	e->range_id = c->hook == SL_NVTX_START ? nvtx_word(&r) : 0;
	e->string = flags & SL_NVTX_HAS_STRING ? (uint32_t)nvtx_word(&r) : 0;
	e->has_text = flags & SL_NVTX_HAS_TEXT;
	e->text.len = e->json.len = e->binary.len = 0;
	if (e->has_text && !nvtx_read_text(&r, &e->text))
		return false;
	nvtx_read_blobs(a, &r, flags >> SL_NVTX_BLOBS_SHIFT, e);
	return !r.failed;
}

void nvtx_free_event(struct nvtx_event *e)
{
	nvtx_text_free(&e->text);
	nvtx_text_free(&e->json);
	nvtx_text_free(&e->binary);
}
