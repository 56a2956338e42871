/* text_value.c - see text_value.h. */
#include "collector/options/text_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NESTED_MAX 32

struct reader {
	const char *at, *end;
	unsigned line, column, depth;
	bool is_toml;
	struct value_error *error;
};

static bool fail_at(struct reader *r, unsigned line, unsigned column, const char *text)
{
	if (!r->error->text[0]) {
		r->error->line = line;
		r->error->column = column;
		snprintf(r->error->text, sizeof(r->error->text), "%s", text);
	}
	return false;
}

static bool fail(struct reader *r, const char *text)
{
	return fail_at(r, r->line, r->column, text);
}

/* The next character, '\0' at the end. */
static char peek(const struct reader *r)
{
	return r->at < r->end ? *r->at : '\0';
}

static void step(struct reader *r)
{
	if (r->at == r->end)
		return;
	if (*r->at == '\n') {
		r->line++;
		r->column = 1;
	} else if ((*r->at & 0xc0) != 0x80) {
		r->column++;
	}
	r->at++;
}

static bool take(struct reader *r, char c)
{
	if (peek(r) != c)
		return false;
	step(r);
	return true;
}

/* Blanks, comments of TOML and, with @lines, ends of lines. */
static void skip(struct reader *r, bool lines)
{
	for (;;) {
		char c = peek(r);

		if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && lines)) {
			step(r);
		} else if (c == '#' && r->is_toml) {
			while (r->at < r->end && *r->at != '\n')
				step(r);
		} else {
			return;
		}
	}
}

/* ---- strings ---- */

struct bytes {
	char *at;
	size_t len, cap;
};

static bool put(struct bytes *b, char c)
{
	if (b->len + 1 >= b->cap) {
		size_t cap = b->cap * 2 + 32;
		char *more = realloc(b->at, cap);

		if (!more)
			return false;
		b->at = more;
		b->cap = cap;
	}
	b->at[b->len++] = c;
	b->at[b->len] = '\0';
	return true;
}

static bool put_utf8(struct bytes *b, uint32_t c)
{
	if (c < 0x80)
		return put(b, (char)c);
	if (c < 0x800)
		return put(b, (char)(0xc0 | c >> 6)) && put(b, (char)(0x80 | (c & 0x3f)));
	if (c < 0x10000)
		return put(b, (char)(0xe0 | c >> 12)) && put(b, (char)(0x80 | (c >> 6 & 0x3f))) &&
		       put(b, (char)(0x80 | (c & 0x3f)));
	return put(b, (char)(0xf0 | c >> 18)) && put(b, (char)(0x80 | (c >> 12 & 0x3f))) &&
	       put(b, (char)(0x80 | (c >> 6 & 0x3f))) && put(b, (char)(0x80 | (c & 0x3f)));
}

static bool read_hex(struct reader *r, unsigned digits, uint32_t *to)
{
	static const char hex[] = "0123456789abcdef";

	*to = 0;
	while (digits--) {
		char c = peek(r);

		const char *digit = c ? strchr(hex, c | (c > '9' ? 32 : 0)) : NULL;

		if (!digit)
			return fail(r, "a hexadecimal digit is expected");
		*to = *to << 4 | (uint32_t)(digit - hex);
		step(r);
	}
	return true;
}

/* Behind \u. Characters beyond the first 65536 come as a pair in JSON. */
static bool read_code(struct reader *r, unsigned digits, struct bytes *b)
{
	unsigned line = r->line, column = r->column;
	uint32_t c, low;

	if (!read_hex(r, digits, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00 && take(r, '\\') && take(r, 'u') && read_hex(r, 4, &low) &&
	    low >= 0xdc00 && low < 0xe000)
		c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return fail_at(r, line, column, "no character has this number");
	return put_utf8(b, c);
}

static bool read_escape(struct reader *r, struct bytes *b)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	char c = peek(r);
	const char *known = c ? strchr(from, c) : NULL;

	if (known || c == '"' || c == '\\' || (c == '/' && !r->is_toml)) {
		step(r);
		return put(b, known ? to[known - from] : c);
	}
	if (c != 'u' && !(c == 'U' && r->is_toml))
		return fail(r, "what stands behind '\\' means nothing");
	step(r);
	return read_code(r, c == 'u' ? 4 : 8, b);
}

/* The quote is next. In TOML, between '' nothing has a meaning. */
static char *read_string(struct reader *r)
{
	char quote = peek(r);
	struct bytes b = {0};
	bool ok = put(&b, 0);

	b.len = 0;
	if (b.at)
		b.at[0] = '\0';
	step(r);
	if (r->is_toml && r->end - r->at >= 2 && r->at[0] == quote && r->at[1] == quote)
		ok = fail(r, "strings of several lines are not understood here");
	while (ok && peek(r) != quote) {
		if (r->at == r->end || *r->at == '\n')
			ok = fail(r, "the string has no end");
		else if ((unsigned char)*r->at < 0x20 && !(*r->at == '\t' && r->is_toml))
			ok = fail(r, "a control character in a string must be written with '\\'");
		else if (*r->at == '\\' && quote == '"') {
			step(r);
			ok = read_escape(r, &b);
		} else {
			ok = put(&b, *r->at);
			step(r);
		}
	}
	step(r);
	if (ok)
		return b.at;
	fail(r, "no memory");
	free(b.at);
	return NULL;
}

/* ---- values ---- */

static bool read_value(struct reader *r, struct value *v);

static void begin(const struct reader *r, struct value *v, enum value_type type)
{
	memset(v, 0, sizeof(*v));
	v->type = type;
	v->line = r->line;
	v->column = r->column;
}

/* Room for another item; of a table under @name, which is taken over. NULL: failed. */
static struct value *add(struct reader *r, struct value *v, struct value_key *key)
{
	struct value *items = realloc(v->item, (v->cnt + 1) * sizeof(*items));
	struct value_key *keys = NULL;

	if (items)
		v->item = items;
	if (key && items) {
		keys = realloc(v->key, (v->cnt + 1) * sizeof(*keys));
		if (keys) {
			v->key = keys;
			keys[v->cnt] = *key;
		}
	}
	if (!items || (key && !keys)) {
		fail(r, "no memory");
		if (key)
			free(key->name);
		return NULL;
	}
	memset(&items[v->cnt], 0, sizeof(*items));
	return &items[v->cnt++];
}

static struct value *find(struct value *v, const char *name)
{
	for (size_t i = 0; i < v->cnt; i++)
		if (strcmp(v->key[i].name, name) == 0)
			return &v->item[i];
	return NULL;
}

static bool is_bare(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool read_key(struct reader *r, struct value_key *key)
{
	const char *from = r->at;

	key->line = r->line;
	key->column = r->column;
	if (peek(r) == '"' || (peek(r) == '\'' && r->is_toml)) {
		key->name = read_string(r);
		return key->name != NULL;
	}
	if (!r->is_toml || !is_bare(peek(r)))
		return fail(r, r->is_toml ? "a key is expected" : "a key in \"\" is expected");
	while (is_bare(peek(r)))
		step(r);
	key->name = strndup(from, (size_t)(r->at - from));
	return key->name || fail(r, "no memory");
}

/* KEY : VALUE or KEY = VALUE into @v. */
static bool read_member(struct reader *r, struct value *v)
{
	struct value_key key = {0};
	struct value *item;

	if (!read_key(r, &key))
		return false;
	if (find(v, key.name)) {
		free(key.name);
		return fail_at(r, key.line, key.column, "this key is there already");
	}
	item = add(r, v, &key);
	if (!item)
		return false;
	skip(r, !r->is_toml);
	if (!take(r, r->is_toml ? '=' : ':'))
		return fail(r, r->is_toml ? "'=' is expected" : "':' is expected");
	skip(r, !r->is_toml);
	return read_value(r, item);
}

static bool read_items(struct reader *r, struct value *v, char end)
{
	bool lines = !(r->is_toml && v->type == VALUE_TABLE);

	step(r);
	skip(r, lines);
	while (!take(r, end)) {
		struct value *item = v->type == VALUE_ARRAY ? add(r, v, NULL) : v;

		if (!item || !(v->type == VALUE_ARRAY ? read_value(r, item) : read_member(r, v)))
			return false;
		skip(r, lines);
		if (take(r, ',')) {
			skip(r, lines);
			if (peek(r) == end && !(r->is_toml && v->type == VALUE_ARRAY))
				return fail(r, "nothing follows this ','");
		} else if (peek(r) != end) {
			return fail(r, end == ']' ? "',' or ']' is expected"
						  : "',' or '}' is expected");
		}
	}
	return true;
}

static bool read_word(struct reader *r, struct value *v)
{
	static const char *const words[] = {"null", "false", "true"};
	const char *from = r->at, *p;
	char *end;
	size_t len;

	while (is_bare(peek(r)) || peek(r) == '.' || peek(r) == '+')
		step(r);
	len = (size_t)(r->at - from);
	for (unsigned i = r->is_toml; i < 3; i++)
		if (strlen(words[i]) == len && memcmp(words[i], from, len) == 0) {
			v->type = i ? VALUE_BOOL : VALUE_NULL;
			v->number = i == 2;
			return true;
		}
	v->type = VALUE_NUMBER;
	v->text = strndup(from, len);
	if (!v->text)
		return fail(r, "no memory");
	p = v->text + (*v->text == '-' || (*v->text == '+' && r->is_toml));
	if (!isdigit((unsigned char)*p))
		return fail_at(r, v->line, v->column,
			       len ? "this word means nothing" : "a value is expected");
	errno = 0;
	v->number = strtoll(v->text, &end, r->is_toml && p[0] == '0' && p[1] == 'x' ? 16 : 10);
	v->is_integer = !*end && !errno;
	if (!v->is_integer)
		strtod(v->text, &end);
	if (*end || (p[0] == '0' && isdigit((unsigned char)p[1])))
		return fail_at(r, v->line, v->column, "this is no number");
	return true;
}

static bool read_value(struct reader *r, struct value *v)
{
	bool ok;

	begin(r, v, VALUE_NULL);
	if (peek(r) == '"' || (peek(r) == '\'' && r->is_toml)) {
		v->type = VALUE_STRING;
		v->text = read_string(r);
		return v->text != NULL;
	}
	if (peek(r) != '[' && peek(r) != '{')
		return read_word(r, v);
	if (++r->depth > NESTED_MAX)
		return fail(r, "this is nested too deeply");
	v->type = peek(r) == '[' ? VALUE_ARRAY : VALUE_TABLE;
	ok = read_items(r, v, peek(r) == '[' ? ']' : '}');
	r->depth--;
	return ok;
}

/* ---- files ---- */

static struct value *new_root(struct reader *r, const char *text, size_t len, bool is_toml,
			      struct value_error *error)
{
	memset(error, 0, sizeof(*error));
	*r = (struct reader){text, text + len, 1, 1, 0, is_toml, error};
	/* A byte order mark is no character. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r->at += 3;
	return calloc(1, sizeof(struct value));
}

struct value *value_read_json(const char *text, size_t len, struct value_error *error)
{
	struct reader r;
	struct value *v = new_root(&r, text, len, false, error);

	skip(&r, true);
	if (v && read_value(&r, v)) {
		skip(&r, true);
		if (r.at == r.end)
			return v;
		fail(&r, "nothing more is expected here");
	}
	fail(&r, "no memory");
	value_free(v);
	return NULL;
}

/* [name] or [[name]]: the table that what follows goes into. */
static struct value *read_header(struct reader *r, struct value *root)
{
	bool is_array;
	struct value_key key = {0};
	struct value at, *v;

	begin(r, &at, VALUE_TABLE);
	step(r);
	is_array = take(r, '[');
	skip(r, false);
	if (!read_key(r, &key))
		return NULL;
	skip(r, false);
	if (!take(r, ']') || (is_array && !take(r, ']'))) {
		fail(r, is_array ? "']]' is expected" : "']' is expected");
		free(key.name);
		return NULL;
	}
	v = find(root, key.name);
	if (v && (!is_array || v->type != VALUE_ARRAY)) {
		fail_at(r, key.line, key.column, "this key is there already");
		v = NULL;
		free(key.name);
		return NULL;
	}
	if (v) {
		free(key.name);
	} else {
		v = add(r, root, &key);
		if (!v)
			return NULL;
		*v = at;
		v->type = is_array ? VALUE_ARRAY : VALUE_TABLE;
	}
	if (!is_array)
		return v;
	v = add(r, v, NULL);
	if (v)
		*v = at;
	return v;
}

struct value *value_read_toml(const char *text, size_t len, struct value_error *error)
{
	struct reader r;
	struct value *root = new_root(&r, text, len, true, error), *into = root;
	bool ok = root != NULL;

	if (root)
		begin(&r, root, VALUE_TABLE);
	for (skip(&r, true); ok && r.at < r.end; skip(&r, true)) {
		if (peek(&r) == '[') {
			into = read_header(&r, root);
			ok = into != NULL;
		} else {
			ok = read_member(&r, into);
		}
		skip(&r, false);
		if (ok && r.at < r.end && *r.at != '\n')
			ok = fail(&r, "the end of the line is expected");
	}
	if (ok)
		return root;
	fail(&r, "no memory");
	value_free(root);
	return NULL;
}

static void release(struct value *v)
{
	free(v->text);
	for (size_t i = 0; i < v->cnt; i++) {
		release(&v->item[i]);
		if (v->key)
			free(v->key[i].name);
	}
	free(v->item);
	free(v->key);
}

void value_free(struct value *v)
{
	if (v)
		release(v);
	free(v);
}

const char *value_type_name(enum value_type type)
{
	static const char *const names[] = {"null",     "true or false", "a number",
					    "a string", "an array",      "a table"};

	return names[type];
}
