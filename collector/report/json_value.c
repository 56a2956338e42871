/*
 * json_value.c - parses JSON by SQLite's json_valid() and json_tree(). These give no positions (json_error_position() is
 * of SQLite 3.42), so the tokens of the text are counted along with the rows of the tree.
 */
#include "collector/report/json_value.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

#define BLANKS "\r\n\t "

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, BLANKS);
}

/* Length of the token at @p, 0 at the end of the text. A string without its end takes the line. */
static size_t token_len(const char *p)
{
	size_t n = 1;

	if (*p != '"')
		return *p && strchr("[]{},:", *p) ? 1 : strcspn(p, BLANKS "[]{},:\"");
	while (p[n] && p[n] != '"' && p[n] != '\n')
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return n + (p[n] == '"');
}

/* Moves *@at from @from on to @to. */
static void advance(struct json_position *at, const char *from, const char *to)
{
	for (; from < to; from++)
		if (*from == '\n')
			*at = (struct json_position){at->line + 1, 1};
		else if ((*from & 0xc0) != 0x80)
			at->column++;
}

/* ---- errors ---- */

static void fail(struct json_error *error, const char *text, const char *at, const char *what)
{
	error->at = (struct json_position){1, 1};
	advance(&error->at, text, at);
	snprintf(error->text, sizeof(error->text), "%s", what);
}

static bool is_valid(sqlite3_stmt *stmt, const char *text, size_t len)
{
	bool yes;

	sqlite3_bind_text(stmt, 1, text, (int)len, SQLITE_STATIC);
	yes = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == 1;
	sqlite3_reset(stmt);
	return yes;
}

/* Whether the first @len bytes, whole tokens, can be completed to a JSON text. @buf has room for 3 * @len + 16 bytes. */
static bool is_beginning(sqlite3_stmt *stmt, const char *text, size_t len, char *buf)
{
	static const char *const more[] = {"", " 0", " :0", " \"\":0"};
	char *end = buf + 3 * len + 15, *closing = end;

	*end = '\0';
	for (const char *p = skip_blanks(text); p < text + len; p = skip_blanks(p + token_len(p)))
		if (*p == '[' || *p == '{')
			*--closing = *p == '[' ? ']' : '}';
		else if ((*p == ']' || *p == '}') && closing < end)
			closing++;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		int n = snprintf(buf, 2 * len + 15, "%.*s%s%s", (int)len, text, more[i], closing);

		if (is_valid(stmt, buf, (size_t)n))
			return true;
	}
	return false;
}

/* Finds the first token that makes the text invalid by bisecting: each part of a beginning is one, too. */
static void find_error(sqlite3_stmt *stmt, const char *text, size_t len, struct json_error *error)
{
	const char **token = calloc(len + 1, sizeof(*token)), *p;
	char *buf = malloc(3 * len + 16), what[120];
	size_t low = 0, high = 0;

	if (!token || !buf) {
		fail(error, text, text, "no memory");
	} else {
		for (p = skip_blanks(text); *p; p = skip_blanks(p + token_len(p)))
			token[high++] = p;
		token[high] = p;
		while (low < high) {
			size_t cnt = low + (high - low + 1) / 2;
			const char *last = token[cnt - 1];

			if (is_beginning(stmt, text, (size_t)(last - text) + token_len(last), buf))
				low = cnt;
			else
				high = cnt - 1;
		}
		p = token[low];
		snprintf(what, sizeof(what),
			 *p ? "not valid JSON: unexpected '%.*s'"
			    : "not valid JSON: it ends too early",
			 (int)(token_len(p) < 60 ? token_len(p) : 60), p);
		fail(error, text, p, what);
	}
	free(token);
	free(buf);
}

/* ---- the tree ---- */

static bool read_row(struct json_value *v, sqlite3_stmt *stmt)
{
	static const char *const types[] = {"null", "true", "false", "integer",
					    "real", "text", "array", "object"};
	static const enum json_type to[] = {JSON_NULL,   JSON_BOOL,   JSON_BOOL,  JSON_NUMBER,
					    JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT};
	const char *type = (const char *)sqlite3_column_text(stmt, 0);
	const char *text = (const char *)sqlite3_column_text(stmt, 1);
	bool has_key = sqlite3_column_type(stmt, 2) == SQLITE_TEXT;

	for (size_t i = 0; type && i < sizeof(to) / sizeof(to[0]); i++)
		if (strcmp(type, types[i]) == 0)
			v->type = to[i];
	if (v->type == JSON_STRING)
		v->text = text ? strdup(text) : NULL;
	if (has_key)
		v->key = strdup((const char *)sqlite3_column_text(stmt, 2));
	v->is_integer = v->type == JSON_NUMBER && sqlite3_column_type(stmt, 1) == SQLITE_INTEGER;
	v->number = sqlite3_column_int64(stmt, 1);
	v->id = sqlite3_column_int64(stmt, 3);
	return type && (v->type != JSON_STRING || v->text) && (v->key || !has_key);
}

/* Makes @v, the value that follows @last in the text, a child of the value with id @parent. */
static void link_value(struct json_value *v, struct json_value *last, int64_t parent)
{
	struct json_value *before = NULL;

	while (last->id != parent && last->parent) {
		before = last;
		last = last->parent;
	}
	v->parent = last;
	*(before ? &before->next : &last->child) = v;
}

/* The rows of json_tree() come in the order of the text, as the tokens do. */
static struct json_value *read_tree(sqlite3_stmt *stmt, const char *text, size_t len)
{
	const char *p = skip_blanks(text), *before = text;
	struct json_position at = {1, 1}, key_at = at;
	struct json_value *all, *v;
	size_t cnt = 1;

	for (const char *q = p; *q; q = skip_blanks(q + token_len(q)))
		cnt++;
	all = v = calloc(cnt, sizeof(*all));
	sqlite3_bind_text(stmt, 1, text, (int)len, SQLITE_STATIC);
	for (; v && *p; p = skip_blanks(p + token_len(p))) {
		advance(&at, before, p);
		before = p;
		if (*skip_blanks(p + token_len(p)) == ':')
			key_at = at;
		else if (!strchr("]},:", *p)) {
			v->at = at;
			v->key_at = key_at;
			if (sqlite3_step(stmt) != SQLITE_ROW || !read_row(v, stmt)) {
				json_free(all);
				return NULL;
			}
			if (v > all)
				link_value(v, v - 1, sqlite3_column_int64(stmt, 4));
			v++;
		}
	}
	return all;
}

struct json_value *json_read(const char *text, size_t len, struct json_error *error)
{
	sqlite3_stmt *valid = NULL, *tree = NULL;
	struct json_value *root = NULL;
	sqlite3 *db = NULL;

	/* A byte order mark is no character. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	if (sqlite3_open(":memory:", &db) ||
	    sqlite3_prepare_v2(db, "SELECT json_valid(?)", -1, &valid, NULL) ||
	    sqlite3_prepare_v2(db, "SELECT type, value, key, id, parent FROM json_tree(?)", -1,
			       &tree, NULL))
		fail(error, text, text, sqlite3_errmsg(db));
	else if (strlen(text) != len)
		fail(error, text, text + strlen(text), "not valid JSON: a NUL");
	else if (!is_valid(valid, text, len))
		find_error(valid, text, len, error);
	else if (!(root = read_tree(tree, text, len)))
		fail(error, text, text, "no memory");
	sqlite3_finalize(valid);
	sqlite3_finalize(tree);
	sqlite3_close(db);
	return root;
}

void json_free(struct json_value *root)
{
	for (struct json_value *v = root; v && v->at.line; v++) {
		free(v->key);
		free(v->text);
	}
	free(root);
}

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {"null",     "true or false", "a number",
					    "a string", "an array",      "a table"};

	return names[type];
}
