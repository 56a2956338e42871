/*
 * python_functions.c - reads the list of --python-functions-trace from a JSON file.
 *
 *   [{"domain": "numpy", "color": "0x76b900", "module": "numpy.random",
 *     "functions": ["rand", {"function": "randn", "color": "red"}, "Generator.normal"]}]
 *
 * Keys that begin with "_" are comments, as in nsys's own files.
 */
#include "collector/options/python_functions.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collector/base/message.h"
#include "collector/options/python_options.h"
#include "collector/report/json_value.h"

#define DOMAIN   "python-functions"
#define FILE_MAX (1 << 20)
#define CNT_MAX  4096u
#define OPAQUE   0xff000000u

struct list {
	struct python_functions *to;
	const char *path, *cmd;
};

static bool wrong(const struct list *l, struct json_position at, const char *what)
{
	sl_warn("%s: --python-functions-trace: %s:%u:%u: %s", l->cmd, l->path, at.line, at.column,
		what);
	return false;
}

static bool wrong_value(const struct list *l, const struct json_value *v, const char *key,
			const char *expected)
{
	char text[200];

	snprintf(text, sizeof(text), "%s%s%s is expected, not %s", key, *key ? ": " : "", expected,
		 json_type_name(v->type));
	return wrong(l, v->at, text);
}

/* ---- colours ---- */

static bool color_by_name(const char *name, uint32_t *color)
{
	static const struct {
		const char *name;
		uint32_t rgb;
	} colors[] = {
		{"black", 0x000000},  {"white", 0xffffff},  {"red", 0xff0000},
		{"green", 0x008000},  {"lime", 0x00ff00},   {"blue", 0x0000ff},
		{"yellow", 0xffff00}, {"cyan", 0x00ffff},   {"magenta", 0xff00ff},
		{"orange", 0xffa500}, {"purple", 0x800080}, {"violet", 0xee82ee},
		{"pink", 0xffc0cb},   {"brown", 0xa52a2a},  {"gray", 0x808080},
		{"grey", 0x808080},   {"silver", 0xc0c0c0}, {"gold", 0xffd700},
		{"navy", 0x000080},   {"teal", 0x008080},   {"olive", 0x808000},
		{"maroon", 0x800000}, {"rapids", 0x7400ff},
	};

	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		if (strcasecmp(name, colors[i].name) == 0) {
			*color = OPAQUE | colors[i].rgb;
			return true;
		}
	return false;
}

static bool read_color(const struct list *l, const struct json_value *v, uint32_t *color)
{
	const char *p = v->text;
	char *end;
	uint64_t n;

	if (v->type == JSON_NUMBER && v->is_integer && v->number >= 0 && v->number <= UINT32_MAX) {
		*color = (uint32_t)v->number;
	} else if (v->type != JSON_STRING) {
		return wrong_value(l, v, "color", "a string such as \"0x76b900\" or \"red\"");
	} else if (!color_by_name(p, color)) {
		if (*p == '#')
			p++;
		else if (p[0] == '0' && (p[1] | 32) == 'x')
			p += 2;
		n = isxdigit((unsigned char)*p) ? strtoull(p, &end, 16) : UINT64_MAX;
		if (n > UINT32_MAX || *end)
			return wrong(l, v->at,
				     "color: hexadecimal digits (\"0x76b900\") or the name of a "
				     "common color are expected");
		*color = (uint32_t)n;
	}
	/* Without an alpha, it is meant to be seen. */
	if (!(*color & OPAQUE))
		*color |= OPAQUE;
	return true;
}

/* ---- names ---- */

static bool read_text(const struct list *l, const struct json_value *v, const char *key,
		      const char **to)
{
	if (v->type != JSON_STRING)
		return wrong_value(l, v, key, "a string");
	for (const char *p = v->text; *p; p++)
		if ((unsigned char)*p < ' ')
			return wrong(l, v->at, "a name has no control characters");
	*to = v->text;
	return true;
}

static bool read_dotted(const struct list *l, const struct json_value *v, const char *key,
			const char **to)
{
	char text[300];

	if (!read_text(l, v, key, to))
		return false;
	if (*to && python_is_dotted(*to, strlen(*to)))
		return true;
	snprintf(text, sizeof(text), "%s: names with dots between them are expected, not '%.200s'",
		 key, v->text);
	return wrong(l, v->at, text);
}

/* ---- the list ---- */

struct entry {
	const char *domain, *module;
	uint32_t color;
};

static bool add(const struct list *l, const struct json_value *at, const struct entry *e,
		const char *name)
{
	struct python_functions *fs = l->to;
	struct python_function *f;

	if (fs->cnt == CNT_MAX)
		return wrong(l, at->at, "these are more functions than are possible");
	for (size_t i = 0; i < fs->cnt; i++)
		if (strcmp(fs->at[i].module, e->module) == 0 && strcmp(fs->at[i].name, name) == 0)
			return wrong(l, at->at, "this function is there already");
	if (fs->cnt % 64 == 0) {
		f = realloc(fs->at, (fs->cnt + 64) * sizeof(*f));
		if (!f)
			return wrong(l, at->at, strerror(ENOMEM));
		fs->at = f;
	}
	f = &fs->at[fs->cnt++];
	*f = (struct python_function){strdup(e->domain), strdup(e->module), strdup(name), e->color};
	return (f->domain && f->module && f->name) || wrong(l, at->at, strerror(ENOMEM));
}

/* A member of an object that is no comment; its name is checked by its reader. */
static bool is_repeated(const struct json_value *item)
{
	for (const struct json_value *v = item->parent->child; v != item; v = v->next)
		if (strcmp(v->key, item->key) == 0)
			return true;
	return false;
}

static bool unknown(const struct list *l, const struct json_value *item, const char *known)
{
	char text[200];

	snprintf(text, sizeof(text), "'%.60s' means nothing here; there are %s", item->key, known);
	return wrong(l, item->key_at, text);
}

/* "rand" or {"function": "rand", ...}. */
static bool read_function(const struct list *l, const struct json_value *v, struct entry e)
{
	const struct json_value *at = v;
	const char *name = NULL;

	if (v->type == JSON_STRING)
		return read_dotted(l, v, "functions", &name) && add(l, v, &e, name);
	if (v->type != JSON_OBJECT)
		return wrong_value(l, v, "functions", "a name, or a table with \"function\",");
	for (const struct json_value *item = v->child; item; item = item->next) {
		const char *key = item->key;
		bool ok = true;

		if (*key == '_')
			continue;
		if (is_repeated(item))
			ok = wrong(l, item->key_at, "this key is there already");
		else if (strcmp(key, "function") == 0) {
			ok = read_dotted(l, item, key, &name);
			at = item;
		} else if (strcmp(key, "color") == 0) {
			ok = read_color(l, item, &e.color);
		} else if (strcmp(key, "domain") == 0) {
			ok = read_text(l, item, key, &e.domain);
		} else {
			ok = unknown(l, item, "function, color and domain");
		}
		if (!ok)
			return false;
	}
	if (!name)
		return wrong(l, v->at, "\"function\" is missing");
	return add(l, at, &e, name);
}

static bool read_module(const struct list *l, const struct json_value *v)
{
	struct entry e = {.domain = DOMAIN};
	const struct json_value *functions = NULL;

	if (v->type != JSON_OBJECT)
		return wrong_value(l, v, "", "a table with \"module\" and \"functions\"");
	for (const struct json_value *item = v->child; item; item = item->next) {
		const char *key = item->key;
		bool ok = true;

		if (*key == '_')
			continue;
		if (is_repeated(item))
			ok = wrong(l, item->key_at, "this key is there already");
		else if (strcmp(key, "module") == 0)
			ok = read_dotted(l, item, key, &e.module);
		else if (strcmp(key, "domain") == 0)
			ok = read_text(l, item, key, &e.domain);
		else if (strcmp(key, "color") == 0)
			ok = read_color(l, item, &e.color);
		else if (strcmp(key, "functions") == 0)
			functions = item;
		else
			ok = unknown(l, item, "module, functions, domain and color");
		if (!ok)
			return false;
	}
	if (!e.module)
		return wrong(l, v->at, "\"module\" is missing");
	if (!functions)
		return wrong(l, v->at, "\"functions\" is missing");
	if (functions->type != JSON_ARRAY)
		return wrong_value(l, functions, "functions", "an array");
	for (const struct json_value *f = functions->child; f; f = f->next)
		if (!read_function(l, f, e))
			return false;
	return true;
}

/* An array of modules, or one of them. */
static bool read_all(const struct list *l, const struct json_value *root)
{
	if (root->type == JSON_OBJECT)
		return read_module(l, root);
	if (root->type != JSON_ARRAY)
		return wrong_value(l, root, "", "an array");
	for (const struct json_value *v = root->child; v; v = v->next)
		if (!read_module(l, v))
			return false;
	return true;
}

/* The text of a file followed by a NUL, for free(); NULL with errno. */
static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(FILE_MAX) : NULL;

	if (text) {
		*len = fread(text, 1, FILE_MAX, f);
		if (ferror(f) || *len == FILE_MAX) {
			errno = *len == FILE_MAX ? EFBIG : errno;
			free(text);
			text = NULL;
		} else {
			text[*len] = '\0';
		}
	}
	if (f) {
		int err = errno;

		fclose(f);
		errno = err;
	}
	return text;
}

int python_functions_read(struct python_functions *fs, const char *path, const char *cmd)
{
	struct list l = {fs, path, cmd};
	const char *dot = strrchr(path, '.');
	struct json_value *root;
	struct json_error error;
	size_t len = 0;
	char *text;
	bool ok;

	memset(fs, 0, sizeof(*fs));
	if (dot && strcmp(dot, ".toml") == 0) {
		sl_warn("%s: --python-functions-trace: '%s': TOML is not supported, write the list "
			"as JSON",
			cmd, path);
		return -SL_EXIT_USAGE;
	}
	text = read_file(path, &len);
	if (!text) {
		sl_warn("%s: --python-functions-trace: cannot read '%s': %s", cmd, path,
			strerror(errno));
		return -SL_EXIT_USAGE;
	}
	root = json_read(text, len, &error);
	free(text);
	ok = root ? read_all(&l, root) : wrong(&l, error.at, error.text);
	json_free(root);
	if (ok && !fs->cnt) {
		sl_warn("%s: --python-functions-trace: '%s' lists no function", cmd, path);
		ok = false;
	}
	if (ok)
		return 0;
	python_functions_free(fs);
	return -SL_EXIT_USAGE;
}

void python_functions_free(struct python_functions *fs)
{
	for (size_t i = 0; i < fs->cnt; i++) {
		free(fs->at[i].domain);
		free(fs->at[i].module);
		free(fs->at[i].name);
	}
	free(fs->at);
	memset(fs, 0, sizeof(*fs));
}
