/*
 * json_value.h - a JSON text as a tree of values, each with its line and column: SQLite parses and decodes, the positions
 * come from a second walk over the tokens. Small texts: everything is in memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_position {
	unsigned line, column; /* from 1; columns in characters */
};

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_value {
	enum json_type type;
	struct json_position at, key_at;
	char *key;      /* member of an object, else NULL */
	char *text;     /* JSON_STRING */
	int64_t number; /* JSON_NUMBER with @is_integer */
	bool is_integer;
	struct json_value *parent, *child, *next; /* first child; next sibling */
	int64_t id;                               /* SQLite's, unique in the tree */
};

struct json_error {
	struct json_position at;
	char text[160];
};

/* Parses @len bytes at @text, which a NUL must follow. Returns the root for json_free(); NULL with @error. */
struct json_value *json_read(const char *text, size_t len, struct json_error *error);
void json_free(struct json_value *root);

const char *json_type_name(enum json_type type);
