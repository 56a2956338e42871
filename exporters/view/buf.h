/* buf.h - a reply that grows, and JSON in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct view_buf {
	char *data;
	size_t len, room;
	bool failed; /* no memory: what is there is of no use */
	bool comma;  /* of JSON: the next element needs one before it */
};

void view_buf_add(struct view_buf *b, const void *from, size_t len);
void view_buf_pad(struct view_buf *b, size_t to_multiple_of);
void view_buf_free(struct view_buf *b);

/* Elements of JSON; @key NULL: of a list. Texts that are not UTF-8 get U+FFFD. */
void js_open(struct view_buf *b, const char *key, char bracket);
void js_close(struct view_buf *b, char bracket);
void js_int(struct view_buf *b, const char *key, int64_t value); /* beyond 2^53: as text */
void js_real(struct view_buf *b, const char *key, double value); /* null where JSON has none */
void js_bool(struct view_buf *b, const char *key, bool value);
void js_null(struct view_buf *b, const char *key);
void js_text(struct view_buf *b, const char *key, const char *text);
void js_bytes(struct view_buf *b, const char *key, const char *text, size_t len);
