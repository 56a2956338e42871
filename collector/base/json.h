/*
 * json.h - the one writer of JSON: into memory that grows, or to a FILE.
 *
 *   struct writer w = {.file = stdout, .is_spaced = true};
 *   json_open(&w, NULL, '{');
 *   json_int(&w, "pid", pid);
 *   json_close(&w, '}');          {"pid": 1}
 *
 * The key is NULL for an element of a list, and for the outermost value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bounded;

struct writer {
	FILE *file; /* NULL: the bytes go to @data */
	char *data;
	size_t len, room;
	size_t max;              /* bytes of @data at most; 0: WRITER_MAX */
	bool failed;             /* no memory, or more than @max: @data is not whole */
	bool is_spaced;          /* a space follows ':' and ',' */
	bool is_marked;          /* texts as of writer_add_marked(): for a page that shows them */
	bool has_comma;          /* the next element needs a comma before it */
	uint8_t line;            /* json_line() was called: the indent + 1 */
	size_t text_max;         /* longer texts are cut, and end in an ellipsis; 0: none is */
	struct bounded *bounded; /* lists may be cut (exporters/text/bounded.h); NULL: none is */
};

#define WRITER_MAX (512u << 20)

void writer_add(struct writer *w, const void *from, size_t len);
/* A text in which U+FFFD stands for each character that cannot be seen, and for bytes that are not UTF-8. */
void writer_add_marked(struct writer *w, const char *text, size_t len);
/* Zeros up to a multiple of @to, at most 16. */
void writer_pad(struct writer *w, size_t to);
void writer_free(struct writer *w);

void json_open(struct writer *w, const char *key, char bracket);
void json_close(struct writer *w, char bracket);
/* The next element, or the bracket that closes, stands on a line of its own behind @indent spaces. */
void json_line(struct writer *w, unsigned indent);
void json_int(struct writer *w, const char *key, int64_t value);
void json_real(struct writer *w, const char *key, double value); /* infinity and NaN: null */
void json_bool(struct writer *w, const char *key, bool value);
void json_null(struct writer *w, const char *key);
/* A text; bytes that are not UTF-8 become U+FFFD. NULL: null. */
void json_text(struct writer *w, const char *key, const char *text);
void json_bytes(struct writer *w, const char *key, const char *text, size_t len);
/* A number in another form, or a value that is JSON already. */
void json_format(struct writer *w, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void json_raw(struct writer *w, const char *key, const char *value, size_t len);

#define JSON_ESCAPED(len) ((len)*6 + 16)
/*
 * The one escaper: writes the first @len of the @all bytes at @text to @to, which has room for JSON_ESCAPED(@len); a character that
 * begins within @len is written whole. Returns the end of the output; *taken: the bytes of @text in it.
 */
char *json_escape(char *to, const char *text, size_t len, size_t all, size_t *taken);
/* The character as \uXXXX, beyond 16 bits as two of them: at most 12 bytes. Returns their end. */
char *json_escape_code(char *to, uint32_t code);
