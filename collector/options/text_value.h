/*
 * text_value.h - what a person wrote in JSON or TOML, with the line and column of each value, so that who finds it wrong
 * can say where. Small files: everything is in memory.
 *
 * JSON as in RFC 8259. Of TOML 1.0: comments, [[table]] and [table] with plain names, keys that are plain or quoted,
 * strings of one line, integers (also 0x), booleans, arrays and inline tables; no dates, floats, dotted keys and
 * strings of several lines.
 */
#ifndef SL_TEXT_VALUE_H
#define SL_TEXT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_type {
	VALUE_NULL,
	VALUE_BOOL,
	VALUE_NUMBER,
	VALUE_STRING,
	VALUE_ARRAY,
	VALUE_TABLE, /* object */
};

struct value {
	enum value_type type;
	unsigned line, column; /* where it begins, from 1; columns in characters */
	char *text;            /* STRING, without a NUL inside; NUMBER: as it was written */
	int64_t number;        /* NUMBER that is an integer, BOOL */
	bool is_integer;
	struct value *item; /* ARRAY, TABLE */
	struct value_key {
		char *name;
		unsigned line, column;
	} * key; /* TABLE: of each item */
	size_t cnt;
};

struct value_error {
	unsigned line, column;
	char text[160];
};

/* @len bytes at @text. NULL: @error says why not. */
struct value *value_read_json(const char *text, size_t len, struct value_error *error);
struct value *value_read_toml(const char *text, size_t len, struct value_error *error);
void value_free(struct value *v);

const char *value_type_name(enum value_type type);

#endif
