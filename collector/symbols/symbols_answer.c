/* symbols_answer.c - frames as bytes: a head of fixed size for each, then its texts with their NUL. */
#include "collector/symbols/symbols_answer.h"

#include <limits.h>
#include <string.h>

#define IS_INLINED     1u
#define IS_INTERPRETER 2u

struct packed {
	uint32_t line, flags;
	uint32_t function, file; /* bytes, with the NUL; 0: NULL */
};

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static size_t frame_bytes(const struct symbols_frame *f)
{
	return sizeof(struct packed) + text_bytes(f->function) + text_bytes(f->file);
}

static size_t put(uint8_t *to, const void *bytes, size_t len)
{
	if (len)
		memcpy(to, bytes, len);
	return len;
}

static size_t write_frame(uint8_t *to, const struct symbols_frame *f)
{
	struct packed p = {
		.line = f->line > 0 ? (uint32_t)f->line : 0,
		.flags =
			(f->is_inlined ? IS_INLINED : 0) | (f->is_interpreter ? IS_INTERPRETER : 0),
		.function = (uint32_t)text_bytes(f->function),
		.file = (uint32_t)text_bytes(f->file),
	};
	size_t len = put(to, &p, sizeof(p));

	len += put(to + len, f->function, p.function);
	return len + put(to + len, f->file, p.file);
}

size_t symbols_answer_write(uint8_t *to, size_t room, const struct symbols_answer *head,
			    const struct symbols_frame *frame)
{
	struct symbols_answer h = *head;
	size_t bytes = sizeof(h), first = h.cnt, len;

	if (room < sizeof(h))
		return 0;
	while (first && frame_bytes(&frame[first - 1]) <= room - bytes)
		bytes += frame_bytes(&frame[--first]);
	h.cnt -= (uint32_t)first;
	len = put(to, &h, sizeof(h));
	for (size_t i = first; i < head->cnt; i++)
		len += write_frame(to + len, &frame[i]);
	return len;
}

struct reader {
	const uint8_t *at;
	size_t left;
};

static bool take(struct reader *r, void *to, size_t len)
{
	if (r->left < len)
		return false;
	memcpy(to, r->at, len);
	r->at += len;
	r->left -= len;
	return true;
}

/* A text whose only NUL is its last byte. */
static bool take_text(struct reader *r, size_t len, const char **text)
{
	*text = NULL;
	if (!len)
		return true;
	if (r->left < len || memchr(r->at, 0, len) != r->at + len - 1)
		return false;
	*text = (const char *)r->at;
	r->at += len;
	r->left -= len;
	return true;
}

static bool read_frame(struct reader *r, struct symbols_frame *f)
{
	struct packed p;

	if (!take(r, &p, sizeof(p)) || p.line > INT_MAX || p.flags & ~(IS_INLINED | IS_INTERPRETER))
		return false;
	*f = (struct symbols_frame){.line = (int)p.line,
				    .is_inlined = p.flags & IS_INLINED,
				    .is_interpreter = p.flags & IS_INTERPRETER};
	return take_text(r, p.function, &f->function) && take_text(r, p.file, &f->file);
}

bool symbols_answer_read(const uint8_t *from, size_t len, uint32_t what, uint32_t file,
			 struct symbols_answer *head, struct symbols_frame *frame, size_t most)
{
	struct reader r = {from, len};

	if (!take(&r, head, sizeof(*head)) || head->what != what || head->file != file ||
	    head->cnt > most)
		return false;
	for (uint32_t i = 0; i < head->cnt; i++)
		if (!read_frame(&r, &frame[i]))
			return false;
	return !r.left;
}
