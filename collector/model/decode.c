/*
 * decode.c - records to structs. See decode.h for the rule: trust nothing, read once.
 */
#include "collector/model/decode.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Words of payload that each shape has at least. */
static const uint8_t payload_min[SL_SHAPE_CNT] = {
	[SL_SHAPE_CALL] = 1,  [SL_SHAPE_ARG] = 2,     [SL_SHAPE_FD] = 2,   [SL_SHAPE_IO] = 2,
	[SL_SHAPE_IO_AT] = 3, [SL_SHAPE_IO_WIDE] = 4, [SL_SHAPE_PATH] = 3, [SL_SHAPE_SOCK] = 3,
	[SL_SHAPE_DUP] = 3,   [SL_SHAPE_STREAM] = 3,  [SL_SHAPE_META] = 0, [SL_SHAPE_API] = 1,
	[SL_SHAPE_NVTX] = 0,  [SL_SHAPE_GPU] = 0,     [SL_SHAPE_LOCK] = 2,
};

static inline void take_fd(struct call *c, uint64_t word)
{
	int32_t fd = (int32_t)(uint32_t)word;

	c->io.serial = (uint32_t)(word >> 32);
	c->io.fd = fd < 0 ? DECODE_NONE : fd;
}

/* Bytes that follow the length word at @i; as many as there really are. */
static void take_bytes(const uint64_t *p, uint32_t words, uint32_t i, uint32_t *len,
		       const char **bytes)
{
	uint32_t room = (words - i - 1) * 8u;
	uint32_t said = (uint32_t)(p[i] & 0xffff);

	*len = said < room ? said : room;
	*bytes = (const char *)(p + i + 1);
}

static void take_payload(struct call *c, const uint64_t *p)
{
	uint64_t first = p[0];

	c->ret = (int64_t)first;
	switch (c->shape) {
	case SL_SHAPE_ARG:
		c->arg = (int64_t)p[1];
		break;
	case SL_SHAPE_LOCK:
		c->ret = (int32_t)(uint32_t)first;
		c->owner = (uint32_t)(first >> 32);
		c->arg = (int64_t)p[1];
		break;
	case SL_SHAPE_FD:
		take_fd(c, p[1]);
		break;
	case SL_SHAPE_IO_AT:
		c->io.offset = (int64_t)p[2];
		/* fallthrough */
	case SL_SHAPE_IO:
		c->ret = (int32_t)(uint32_t)first;
		c->io.asked = (int64_t)(first >> 32);
		take_fd(c, p[1]);
		break;
	case SL_SHAPE_IO_WIDE:
		c->io.asked = (int64_t)p[1];
		take_fd(c, p[2]);
		c->io.offset = (int64_t)p[3];
		break;
	case SL_SHAPE_PATH:
	case SL_SHAPE_SOCK:
		take_fd(c, p[1]);
		take_bytes(p, c->data.words, 2, &c->data.len, &c->data.bytes);
		break;
	case SL_SHAPE_STREAM:
		c->io.asked = (int64_t)(uint32_t)p[1];
		c->io.moved = (int64_t)(p[1] >> 32);
		take_fd(c, p[2]);
		break;
	case SL_SHAPE_DUP:
		take_fd(c, p[1]);
		c->io.new_serial = (uint32_t)p[2];
		break;
	default:
		break;
	}
}

unsigned decode_record(const uint64_t *w, unsigned words, struct call *c)
{
	uint64_t second;
	uint64_t duration;
	uint32_t head;
	unsigned size, used = 2;

	if (words < 2)
		return 0;
	second = w[1];
	head = (uint32_t)(second >> 32);
	size = sl_head_words(head);
	c->shape = (uint8_t)sl_head_shape(head);
	c->flags = (uint8_t)sl_head_flags(head);
	duration = (uint32_t)second;
	if (c->flags & SL_REC_LONG) {
		if (words < 3)
			return 0;
		duration = w[2];
		used = 3;
	}
	if (size < used || size > words || c->shape >= SL_SHAPE_CNT ||
	    size - used < payload_min[c->shape])
		return 0;
	c->start = w[0];
	c->returned = duration != SL_NEVER_RETURNED;
	c->end = c->returned ? c->start + duration : c->start;
	c->failed = c->flags & SL_REC_ERR;
	c->level = (uint8_t)sl_head_level(head);
	c->hook = (uint16_t)sl_head_hook(head);
	c->io.fd = c->io.asked = c->io.moved = c->io.offset = c->arg = DECODE_NONE;
	c->io.serial = c->io.new_serial = c->data.len = c->owner = 0;
	c->data.bytes = NULL;
	c->data.payload = w + used;
	c->data.words = size - used;
	if (c->shape == SL_SHAPE_META || c->shape >= SL_SHAPE_API)
		c->ret = 0;
	else
		take_payload(c, w + used);
	return size;
}

bool decode_file_total(const struct call *c, struct sl_file_total *total)
{
	const uint64_t *p = c->data.payload;
	uint64_t file;

	if (c->data.words < 7)
		return false;
	file = p[0];
	*total = (struct sl_file_total){.key = sl_file_key((uint32_t)(file >> 32)),
					.fd = (int32_t)(uint32_t)file};
	for (unsigned way = 0; way < 2; way++) {
		total->way[way].count = p[1 + 3 * way];
		total->way[way].bytes = p[2 + 3 * way];
		total->way[way].total = p[3 + 3 * way];
	}
	return true;
}

bool decode_meta(const struct call *c, struct meta *m)
{
	static const uint8_t min[] = {
		[SL_META_IMAGE] = 3,    [SL_META_FILE] = 3,  [SL_META_SOCKET] = 3,
		[SL_META_LOST] = 3,     [SL_META_EXEC] = 2,  [SL_META_NOTE] = 2,
		[SL_META_OVERHEAD] = 2, [SL_META_DUP] = 2,   [SL_META_CLOSE] = 1,
		[SL_META_STRING] = 2,   [SL_META_LOCAL] = 2, [SL_META_RANK] = 2,
	};
	const uint64_t *p = c->data.payload;
	uint64_t first;

	memset(m, 0, sizeof(*m));
	m->fd = DECODE_NONE;
	if (c->hook >= sizeof(min) / sizeof(*min) || !min[c->hook] || c->data.words < min[c->hook])
		return false;
	first = p[0];
	switch (c->hook) {
	case SL_META_IMAGE:
		m->pid = (uint32_t)first;
		m->ppid = (int64_t)(first >> 32);
		m->image = (int64_t)p[1];
		take_bytes(p, c->data.words, 2, &m->len, &m->bytes);
		return true;
	case SL_META_FILE:
	case SL_META_SOCKET:
		m->fd = (int32_t)(uint32_t)first;
		m->serial = (uint32_t)(first >> 32);
		m->opened_by = p[1];
		take_bytes(p, c->data.words, 2, &m->len, &m->bytes);
		return true;
	case SL_META_LOCAL:
		m->fd = (int32_t)(uint32_t)first;
		m->serial = (uint32_t)(first >> 32);
		break;
	case SL_META_DUP:
		m->old_serial = (uint32_t)(first >> 32);
		first = p[1];
		/* fallthrough */
	case SL_META_CLOSE:
		m->fd = (int32_t)(uint32_t)first;
		m->serial = (uint32_t)(first >> 32);
		return true;
	case SL_META_LOST:
		m->last = first;
		m->cnt = p[1];
		m->kind = p[2];
		return true;
	case SL_META_OVERHEAD:
		m->last = first;
		m->kind = p[1];
		return true;
	default:
		m->kind = first;
		break;
	}
	take_bytes(p, c->data.words, 1, &m->len, &m->bytes);
	return true;
}

bool decode_stack_meta(const struct call *c, struct stack_meta *m)
{
	static const uint8_t min[] = {1, 1, 5, 4, 3};
	const uint64_t *p = c->data.payload;
	uint64_t first, second;

	memset(m, 0, sizeof(*m));
	if (c->hook < SL_META_CHAIN || c->hook > SL_META_CODE_LINES ||
	    c->data.words < min[c->hook - SL_META_CHAIN])
		return false;
	first = p[0];
	m->id = (uint32_t)first;
	switch (c->hook) {
	case SL_META_STACK:
		m->cnt = (uint32_t)(first >> 32);
		m->frames = p + 1;
		return m->id && m->cnt && m->cnt <= SL_FRAME_MAX && m->cnt <= c->data.words - 1;
	case SL_META_MODULE:
		m->start = first;
		m->end = p[1];
		m->bias = p[2];
		m->build_id_len = (uint32_t)p[3];
		take_bytes(p, c->data.words, 4, &m->len, &m->bytes);
		return m->start < m->end && m->build_id_len <= m->len;
	case SL_META_CODE:
		second = p[1];
		m->first_line = (uint32_t)second;
		m->version = (uint32_t)(second >> 32);
		m->lines_len = (uint32_t)p[2];
		take_bytes(p, c->data.words, 3, &m->len, &m->bytes);
		return m->id && m->lines_len <= DECODE_LINES_MAX;
	case SL_META_CODE_LINES:
		m->position = (uint32_t)p[1];
		take_bytes(p, c->data.words, 2, &m->len, &m->bytes);
		return m->id && m->position <= DECODE_LINES_MAX;
	default:
		return m->id != 0;
	}
}

/* unix: paths end at a NUL or with the address; a leading NUL means the abstract name space. */
static unsigned unix_text(const char *path, unsigned len, char *text, unsigned size)
{
	bool is_abstract = len && !path[0];
	int n;

	if (!len)
		n = snprintf(text, size, "unix:");
	else if (is_abstract)
		n = snprintf(text, size, "unix:@%.*s", (int)(len - 1), path + 1);
	else
		n = snprintf(text, size, "unix:%.*s", (int)strnlen(path, len), path);
	return n < 0 ? 0 : (unsigned)n < size ? (unsigned)n : size - 1;
}

unsigned decode_sockaddr(const char *addr, unsigned len, char *text, unsigned size)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} a;
	char host[INET6_ADDRSTRLEN] = "";
	int n;

	memset(&a, 0, sizeof(a));
	if (len > sizeof(a))
		len = sizeof(a);
	memcpy(&a, addr, len);
	if (len < sizeof(a.any.sa_family))
		return (unsigned)snprintf(text, size, "socket:");
	if (a.any.sa_family == AF_UNIX)
		return unix_text(a.un.sun_path,
				 len - (unsigned)offsetof(struct sockaddr_un, sun_path), text,
				 size);
	if (a.any.sa_family == AF_INET && len >= sizeof(a.in)) {
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host));
		n = snprintf(text, size, "tcp:%s:%u", host, ntohs(a.in.sin_port));
	} else if (a.any.sa_family == AF_INET6 &&
		   len >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host));
		n = snprintf(text, size, "tcp6:[%s]:%u", host, ntohs(a.in6.sin6_port));
	} else {
		n = snprintf(text, size, "socket:family %u", (unsigned)a.any.sa_family);
	}
	return n < 0 ? 0 : (unsigned)n < size ? (unsigned)n : size - 1;
}
