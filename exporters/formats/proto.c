/* proto.c - the rare paths of writing protobuf messages. */
#include <stdlib.h>

#include "exporters/text/cell.h"
#include "exporters/formats/proto.h"

#define PROTO_FIRST 4096

bool proto_init(struct proto *m)
{
	m->failed = false;
	m->p = m->buf = malloc(PROTO_FIRST);
	m->end = m->buf ? m->buf + PROTO_FIRST : NULL;
	return m->buf;
}

void proto_free(struct proto *m)
{
	free(m->buf);
	memset(m, 0, sizeof(*m));
}

void proto_grow(struct proto *m, size_t len)
{
	size_t used = proto_len(m), size = (size_t)(m->end - m->buf);
	char *buf;

	while (size - used < len)
		size *= 2;
	buf = realloc(m->buf, size);
	if (!buf) {
		/* The contents are dropped, so that numbers still find room and callers need not check. */
		m->failed = true;
		m->p = m->buf;
		return;
	}
	m->buf = buf;
	m->p = buf + used;
	m->end = buf + size;
}

void proto_close_long(struct proto *m, size_t start)
{
	size_t len = proto_len(m) - start;
	char head[10];
	size_t head_len = (size_t)(proto_put(head, len) - head);

	proto_room(m, sizeof(head));
	if (m->failed)
		return;
	memmove(m->buf + start - 1 + head_len, m->buf + start, len);
	memcpy(m->buf + start - 1, head, head_len);
	m->p += head_len - 1;
}

void proto_text(struct proto *m, unsigned field, const char *text, size_t len)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t at = 0, start;
	int32_t cp = 0;

	while (at < len && cp >= 0)
		at += utf8_next(text + at, len - at, &cp);
	if (cp >= 0) {
		proto_bytes(m, field, text, len);
		return;
	}
	start = proto_open(m, field);
	for (at = 0; at < len && !m->failed;) {
		size_t n = utf8_next(text + at, len - at, &cp);

		proto_room(m, 8);
		if (cp >= 0) {
			memcpy(m->p, text + at, n);
			m->p += n;
		} else {
			*m->p++ = '\\';
			*m->p++ = 'x';
			*m->p++ = hex[(unsigned char)text[at] >> 4];
			*m->p++ = hex[(unsigned char)text[at] & 15];
		}
		at += n;
	}
	proto_close(m, start);
}
