/*
 * python_functions.c - see python_functions.h.
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

#include "collector/options/cmd.h"
#include "collector/options/python.h"
#include "collector/options/text_value.h"

#define DOMAIN   "python-functions"
#define FILE_MAX (1 << 20)
#define CNT_MAX  4096u
#define OPAQUE   0xff000000u

struct list {
	struct python_functions *to;
	const char *path, *cmd;
};

static bool wrong(const struct list *l, unsigned line, unsigned column, const char *what)
{
	sl_warn("%s: --python-functions-trace: %s:%u:%u: %s", l->cmd, l->path, line, column, what);
	return false;
}

static bool wrong_value(const struct list *l, const struct value *v, const char *key,
			const char *expected)
{
	char text[200];

	snprintf(text, sizeof(text), "%s%s%s is expected, not %s", key, *key ? ": " : "", expected,
		 value_type_name(v->type));
	return wrong(l, v->line, v->column, text);
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

static bool read_color(const struct list *l, const struct value *v, uint32_t *color)
{
	const char *p = v->text;
	char *end;
	uint64_t n;

	if (v->type == VALUE_NUMBER && v->is_integer && v->number >= 0 && v->number <= UINT32_MAX) {
		*color = (uint32_t)v->number;
	} else if (v->type != VALUE_STRING) {
		return wrong_value(l, v, "color", "a string such as \"0x76b900\" or \"red\"");
	} else if (!color_by_name(p, color)) {
		if (*p == '#')
			p++;
		else if (p[0] == '0' && (p[1] | 32) == 'x')
			p += 2;
		n = isxdigit((unsigned char)*p) ? strtoull(p, &end, 16) : UINT64_MAX;
		if (n > UINT32_MAX || *end)
			return wrong(l, v->line, v->column,
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

static bool read_text(const struct list *l, const struct value *v, const char *key, const char **to)
{
	if (v->type != VALUE_STRING)
		return wrong_value(l, v, key, "a string");
	for (const char *p = v->text; *p; p++)
		if ((unsigned char)*p < ' ')
			return wrong(l, v->line, v->column, "a name has no control characters");
	*to = v->text;
	return true;
}

static bool read_dotted(const struct list *l, const struct value *v, const char *key,
			const char **to)
{
	char text[300];

	if (!read_text(l, v, key, to))
		return false;
	if (*to && python_is_dotted(*to, strlen(*to)))
		return true;
	snprintf(text, sizeof(text), "%s: names with dots between them are expected, not '%.200s'",
		 key, v->text);
	return wrong(l, v->line, v->column, text);
}

/* ---- the list ---- */

struct entry {
	const char *domain, *module;
	uint32_t color;
};

static bool add(const struct list *l, const struct value *at, const struct entry *e,
		const char *name)
{
	struct python_functions *fs = l->to;
	struct python_function *f;

	if (fs->cnt == CNT_MAX)
		return wrong(l, at->line, at->column, "these are more functions than are possible");
	for (size_t i = 0; i < fs->cnt; i++)
		if (strcmp(fs->at[i].module, e->module) == 0 && strcmp(fs->at[i].name, name) == 0)
			return wrong(l, at->line, at->column, "this function is there already");
	if (fs->cnt % 64 == 0) {
		f = realloc(fs->at, (fs->cnt + 64) * sizeof(*f));
		if (!f)
			return wrong(l, at->line, at->column, strerror(ENOMEM));
		fs->at = f;
	}
	f = &fs->at[fs->cnt++];
	*f = (struct python_function){strdup(e->domain), strdup(e->module), strdup(name), e->color};
	return (f->domain && f->module && f->name) ||
	       wrong(l, at->line, at->column, strerror(ENOMEM));
}

static bool unknown(const struct list *l, const struct value_key *key, const char *known)
{
	char text[200];

	snprintf(text, sizeof(text), "'%.60s' means nothing here; there are %s", key->name, known);
	return wrong(l, key->line, key->column, text);
}

/* "rand" or {"function": "rand", ...}. */
static bool read_function(const struct list *l, const struct value *v, struct entry e)
{
	const struct value *at = v;
	const char *name = NULL;

	if (v->type == VALUE_STRING)
		return read_dotted(l, v, "functions", &name) && add(l, v, &e, name);
	if (v->type != VALUE_TABLE)
		return wrong_value(l, v, "functions", "a name, or a table with \"function\",");
	for (size_t i = 0; i < v->cnt; i++) {
		const char *key = v->key[i].name;
		const struct value *item = &v->item[i];
		bool ok = true;

		if (strcmp(key, "function") == 0) {
			ok = read_dotted(l, item, key, &name);
			at = item;
		} else if (strcmp(key, "color") == 0) {
			ok = read_color(l, item, &e.color);
		} else if (strcmp(key, "domain") == 0) {
			ok = read_text(l, item, key, &e.domain);
		} else if (*key != '_') {
			ok = unknown(l, &v->key[i], "function, color and domain");
		}
		if (!ok)
			return false;
	}
	if (!name)
		return wrong(l, v->line, v->column, "\"function\" is missing");
	return add(l, at, &e, name);
}

static bool read_module(const struct list *l, const struct value *v)
{
	struct entry e = {.domain = DOMAIN};
	const struct value *functions = NULL;

	if (v->type != VALUE_TABLE)
		return wrong_value(l, v, "", "a table with \"module\" and \"functions\"");
	for (size_t i = 0; i < v->cnt; i++) {
		const char *key = v->key[i].name;
		const struct value *item = &v->item[i];
		bool ok = true;

		if (strcmp(key, "module") == 0)
			ok = read_dotted(l, item, key, &e.module);
		else if (strcmp(key, "domain") == 0)
			ok = read_text(l, item, key, &e.domain);
		else if (strcmp(key, "color") == 0)
			ok = read_color(l, item, &e.color);
		else if (strcmp(key, "functions") == 0)
			functions = item;
		else if (*key != '_')
			ok = unknown(l, &v->key[i], "module, functions, domain and color");
		if (!ok)
			return false;
	}
	if (!e.module)
		return wrong(l, v->line, v->column, "\"module\" is missing");
	if (!functions)
		return wrong(l, v->line, v->column, "\"functions\" is missing");
	if (functions->type != VALUE_ARRAY)
		return wrong_value(l, functions, "functions", "an array");
	for (size_t i = 0; i < functions->cnt; i++)
		if (!read_function(l, &functions->item[i], e))
			return false;
	return true;
}

/* JSON: an array of modules, or one of them. TOML: each [[module]], whatever it is called. */
static bool read_all(const struct list *l, const struct value *root, bool is_toml)
{
	if (root->type == VALUE_ARRAY) {
		for (size_t i = 0; i < root->cnt; i++)
			if (!read_module(l, &root->item[i]))
				return false;
		return true;
	}
	if (!is_toml)
		return root->type == VALUE_TABLE ? read_module(l, root)
						 : wrong_value(l, root, "", "an array");
	for (size_t i = 0; i < root->cnt; i++) {
		const struct value *v = &root->item[i];

		if (v->type != VALUE_ARRAY && v->type != VALUE_TABLE)
			return wrong(l, root->key[i].line, root->key[i].column,
				     "tables are expected: [[trace]], and below it 'module = ...' "
				     "and 'functions = [...]'");
		if (v->type == VALUE_TABLE ? !read_module(l, v) : !read_all(l, v, false))
			return false;
	}
	return true;
}

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
	bool is_toml = dot && strcmp(dot, ".toml") == 0, ok;
	struct value_error error;
	struct value *root;
	size_t len = 0;
	char *text;

	memset(fs, 0, sizeof(*fs));
	text = read_file(path, &len);
	if (!text) {
		sl_warn("%s: --python-functions-trace: cannot read '%s': %s", cmd, path,
			strerror(errno));
		return -SL_EXIT_USAGE;
	}
	root = is_toml ? value_read_toml(text, len, &error) : value_read_json(text, len, &error);
	free(text);
	ok = root ? read_all(&l, root, is_toml) : wrong(&l, error.line, error.column, error.text);
	value_free(root);
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
