/* report.c - finds reports: part of the binary, in folders, or files named by path. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "collector/base/embed.h"
#include "exporters/sql/report.h"

#define SQL_MAX (1 << 20)

static const char *const no_args[] = {NULL};
static const char *const rule_args[] = {
	"rows=50, at most so many rows of evidence; -1: all",
	"start=<ns>, only what happens from here on",
	"end=<ns>, only what happens before",
	"nvtx=<range[@domain]>, only what happens inside these NVTX ranges",
	NULL,
};

const struct report_kind report_kind = {"stats/reports/", "report",         "Reports",
					"stats",          "--help-reports", no_args};
const struct report_kind rule_kind = {"analyze/rules/", "rule",         "Rules",
				      "analyze",        "--help-rules", rule_args};

bool report_field(const char *sql, const char *key, unsigned idx, char *buf, size_t len)
{
	size_t key_len = strlen(key);

	while (sql[0] == '-' && sql[1] == '-') {
		size_t line = strcspn(sql, "\n");
		const char *p = sql + 2 + strspn(sql + 2, " ");

		if (strncmp(p, key, key_len) == 0 && p[key_len] == ':' && idx-- == 0) {
			p += key_len + 1;
			p += strspn(p, " ");
			snprintf(buf, len, "%.*s", (int)(sql + line - p), p);
			return true;
		}
		sql += line + (sql[line] == '\n');
	}
	return false;
}

/* Name of a file without folder and .sql; false when it has no such ending. */
static bool name_of(const char *file, char *name, size_t len)
{
	const char *base = strrchr(file, '/');
	size_t n;

	base = base ? base + 1 : file;
	n = strlen(base);
	if (n <= 4 || strcmp(base + n - 4, ".sql") != 0 || n - 4 >= len)
		return false;
	snprintf(name, len, "%.*s", (int)(n - 4), base);
	return true;
}

const char *report_embedded(const struct report_kind *kind, size_t idx, char name[64])
{
	const char *file = sl_embedded[idx].name;
	size_t len = strlen(kind->folder);

	if (strncmp(file, kind->folder, len) != 0 || strchr(file + len, '/') ||
	    !name_of(file, name, 64))
		return NULL;
	return name;
}

const char *report_names(const struct report_kind *kind)
{
	static char names[4096];
	char name[64];
	size_t len = 0;

	*names = '\0';
	for (size_t i = 0; sl_embedded[i].name && len < sizeof(names); i++)
		if (report_embedded(kind, i, name))
			len += (size_t)snprintf(names + len, sizeof(names) - len, ",%s", name);
	return names;
}

static const char *embedded(const struct report_kind *kind, const char *name)
{
	for (size_t i = 0; sl_embedded[i].name; i++) {
		const char *sql = sl_embedded[i].text;
		char own[64], alias[64];

		if (!report_embedded(kind, i, own))
			continue;
		if (strcmp(own, name) == 0)
			return sql;
		for (unsigned k = 0; report_field(sql, "alias", k, alias, sizeof(alias)); k++)
			if (strcmp(alias, name) == 0)
				return sql;
	}
	return NULL;
}

/* The name a text of the binary is stored under (it may have been asked for by an alias). */
static const char *embedded_file(const char *sql)
{
	for (size_t i = 0; sl_embedded[i].name; i++)
		if (sl_embedded[i].text == sql)
			return sl_embedded[i].name;
	return "";
}

static char *read_file(const char *path, char *why, size_t why_len)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(SQL_MAX + 1) : NULL;
	size_t len;

	if (!text)
		goto fail;
	len = fread(text, 1, SQL_MAX + 1, f);
	if (ferror(f))
		goto fail;
	fclose(f);
	if (len > SQL_MAX || memchr(text, '\0', len)) {
		snprintf(why, why_len, "%s is no report: %s", path,
			 len > SQL_MAX ? "it is too large" : "it is not a text");
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
fail:
	snprintf(why, why_len, "%s: %s", path, strerror(errno));
	free(text);
	if (f)
		fclose(f);
	return NULL;
}

/* Writes @sql with a text of sql/lib/ in place of each line "-- include: NAME". False: there is none of that name. */
static bool write_included(FILE *out, const char *sql, int depth, char name[64])
{
	static const char mark[] = "-- include: ";
	char file[80];

	while (*sql) {
		size_t line = strcspn(sql, "\n"), blank = strspn(sql, "\t ");
		size_t i = 0;

		line += sql[line] == '\n';
		if (strncmp(sql + blank, mark, sizeof(mark) - 1) != 0) {
			fwrite(sql, 1, line, out);
			sql += line;
			continue;
		}
		snprintf(name, 64, "%.*s", (int)strcspn(sql + blank + sizeof(mark) - 1, " \n"),
			 sql + blank + sizeof(mark) - 1);
		snprintf(file, sizeof(file), "sql/lib/%s.sql", name);
		while (sl_embedded[i].name && strcmp(sl_embedded[i].name, file) != 0)
			i++;
		if (!sl_embedded[i].name || depth == 0 ||
		    !write_included(out, sl_embedded[i].text, depth - 1, name))
			return false;
		sql += line;
	}
	return true;
}

int report_include(struct report *r, const char *sql, char *why, size_t why_len)
{
	char name[64];
	size_t size;
	FILE *out = open_memstream(&r->owned, &size);
	bool found = out && write_included(out, sql, 4, name);

	if (!out || fclose(out) != 0) {
		snprintf(why, why_len, "out of memory");
		return -1;
	}
	r->sql = r->owned;
	if (!found)
		snprintf(why, why_len, "%s %s: nothing to include is called '%s'", r->kind->noun,
			 r->name, name);
	return found ? 0 : -1;
}

bool report_next_word(const char **list, char *word, size_t len)
{
	while (*list && **list) {
		size_t n = strcspn(*list, ",");

		snprintf(word, len, "%.*s", (int)n, *list);
		*list += n + ((*list)[n] == ',');
		if (n > 0)
			return true;
	}
	return false;
}

/* Folds the names of all reports over sl_nearest(); the result is in @near. */
static void nearest_in(const char *name, const char *candidate, char *near, size_t len)
{
	if (sl_nearest(name, *near ? near : NULL, candidate) == candidate)
		snprintf(near, len, "%s", candidate);
}

static void nearest(const struct report_kind *kind, const char *name, const char *dirs, char *near,
		    size_t len)
{
	char dir[4096], own[64];

	near[0] = '\0';
	for (size_t i = 0; sl_embedded[i].name; i++)
		if (report_embedded(kind, i, own))
			nearest_in(name, own, near, len);
	while (report_next_word(&dirs, dir, sizeof(dir))) {
		DIR *d = opendir(dir);

		for (struct dirent *e; d && (e = readdir(d));)
			if (name_of(e->d_name, own, sizeof(own)))
				nearest_in(name, own, near, len);
		if (d)
			closedir(d);
	}
}

/* Looks through the folders; NULL when the report is in none. */
static char *in_dirs(const char *name, const char *dirs, char *why, size_t why_len)
{
	char dir[4096], path[4096 + 80];
	struct stat st;

	while (report_next_word(&dirs, dir, sizeof(dir))) {
		snprintf(path, sizeof(path), "%s/%s.sql", dir, name);
		if (stat(path, &st) == 0)
			return read_file(path, why, why_len);
	}
	return NULL;
}

/* Where the name ends and the arguments begin: a path may hold colons before its ".sql". */
static size_t name_length(const char *spec)
{
	const char *sql = strstr(spec, ".sql");

	if (sql && (sql[4] == '\0' || sql[4] == ':'))
		return (size_t)(sql + 4 - spec);
	return strcspn(spec, ":");
}

/* The @idx-th argument that it takes: its own, then those of its kind. */
static bool arg_field(const struct report *r, unsigned idx, char *buf, size_t len)
{
	unsigned own = 0;

	if (report_field(r->sql, "arg", idx, buf, len))
		return true;
	while (report_field(r->sql, "arg", own, buf, len))
		own++;
	for (unsigned i = 0; r->kind->common_args[i]; i++) {
		if (own + i == idx) {
			snprintf(buf, len, "%s", r->kind->common_args[i]);
			return true;
		}
	}
	return false;
}

/* Are all words of @args among them? */
static int check_args(const struct report *r, char *why, size_t why_len)
{
	char *copy = strdup(r->args), *rest = copy, *word;
	int rc = 0;

	while (copy && rc == 0 && (word = strsep(&rest, ":")) != NULL) {
		size_t len = strcspn(word, "=");
		char arg[256], all[256] = "";
		bool known = len == 0;

		for (unsigned i = 0; arg_field(r, i, arg, sizeof(arg)); i++) {
			size_t arg_len = strcspn(arg, "=, ");

			known |= arg_len == len && memcmp(arg, word, len) == 0 &&
				 (arg[arg_len] == '=') == (word[len] == '=');
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%.*s",
				 *all ? ", " : "", (int)strcspn(arg, ", "), arg);
		}
		if (!known) {
			snprintf(why, why_len, "%s %s does not take ':%s'; it takes %s",
				 r->kind->noun, r->name, word, *all ? all : "no arguments");
			rc = SL_EXIT_USAGE;
		}
	}
	free(copy);
	return rc;
}

/* Puts the defaults before the given arguments: of a name that occurs twice the last value counts. */
static int add_defaults(struct report *r)
{
	char arg[256];
	char *with;

	for (unsigned i = 0; arg_field(r, i, arg, sizeof(arg)); i++) {
		char *value = strchr(arg, '=');

		arg[strcspn(arg, ", ")] = '\0';
		if (!value || value[1] == '<' || !value[1])
			continue;
		if (asprintf(&with, "%s%s%s", arg, *r->args ? ":" : "", r->args) < 0)
			return -1;
		free(r->args);
		r->args = with;
	}
	return 0;
}

int report_load(const struct report_kind *kind, const char *spec, const char *dirs,
		struct report *r, char *why, size_t why_len)
{
	size_t len = name_length(spec);
	char *name = strndup(spec, len), *from = NULL;
	const char *file = name, *sql;
	char near[64];
	int rc = SL_EXIT_FAIL;

	memset(r, 0, sizeof(*r));
	r->kind = kind;
	*why = '\0';
	r->args = strdup(spec + len + (spec[len] == ':'));
	r->given = r->args ? strlen(r->args) : 0;
	if (!name || !r->args) {
		snprintf(why, why_len, "out of memory");
		goto fail;
	}
	if (name_of(name, r->name, sizeof(r->name))) {
		sql = from = read_file(name, why, why_len);
	} else {
		sql = from = in_dirs(name, dirs, why, why_len);
		if (!sql && !*why)
			sql = embedded(kind, name);
		if (sql && !from)
			file = embedded_file(sql);
		if (!name_of(file, r->name, sizeof(r->name)))
			snprintf(r->name, sizeof(r->name), "%s", name);
	}
	r->from_file = from;
	if (!sql && !*why) {
		nearest(kind, name, dirs, near, sizeof(near));
		snprintf(why, why_len, "no %s is called '%s'%s%s%s (see %s)", kind->noun, name,
			 *near ? "; did you mean '" : "", near, *near ? "'?" : "", kind->help);
		rc = SL_EXIT_USAGE;
	}
	if (!sql || report_include(r, sql, why, why_len) < 0)
		goto fail;
	if (!report_field(r->sql, "title", 0, r->title, sizeof(r->title)))
		snprintf(r->title, sizeof(r->title), "%s", r->name);
	rc = check_args(r, why, why_len);
	if (rc == 0 && add_defaults(r) < 0) {
		snprintf(why, why_len, "out of memory");
		rc = SL_EXIT_FAIL;
	}
fail:
	free(name);
	free(from);
	if (rc != 0)
		report_free(r);
	return rc;
}

void report_free(struct report *r)
{
	free(r->owned);
	free(r->args);
	memset(r, 0, sizeof(*r));
}

/* ---- the default set ---- */

char *report_defaults(const struct report_kind *kind)
{
	size_t len = 1;
	char *list, *p, own[64], place[64];
	long last = -1;

	for (size_t i = 0; sl_embedded[i].name; i++)
		len += strlen(sl_embedded[i].name) + 1;
	p = list = calloc(1, len);
	while (list) {
		long best = -1;
		size_t which = 0;

		for (size_t i = 0; sl_embedded[i].name; i++) {
			if (!report_embedded(kind, i, own) ||
			    !report_field(sl_embedded[i].text, "default", 0, place, sizeof(place)))
				continue;
			long n = strtol(place, NULL, 10);

			if (n > last && (best < 0 || n < best)) {
				best = n;
				which = i;
			}
		}
		if (best < 0)
			break;
		last = best;
		if (report_embedded(kind, which, own))
			p += sprintf(p, "%s%s", p == list ? "" : ",", own);
	}
	return list;
}

bool report_quiet(const struct report *r)
{
	char place[64];

	return report_field(r->sql, "default", 0, place, sizeof(place)) && strstr(place, "quiet");
}

/* ---- help ---- */

static void help_fields(FILE *out, const char *sql, const char *key, const char *heading)
{
	char value[512];

	for (unsigned i = 0; report_field(sql, key, i, value, sizeof(value)); i++) {
		char *sep = strstr(value, " = ");

		if (i == 0 && heading)
			fprintf(out, "\n  %s:\n", heading);
		if (sep && strcmp(key, "column") == 0)
			fprintf(out, "    %-26.*s %s\n", (int)(sep - value), value, sep + 3);
		else
			fprintf(out, "    %s\n", value);
	}
}

static void help_args(FILE *out, const struct report *r)
{
	char arg[512];

	for (unsigned i = 0; arg_field(r, i, arg, sizeof(arg)); i++)
		fprintf(out, "%s    %s\n", i ? "" : "\n  Arguments, behind a colon:\n", arg);
}

static void help_one(FILE *out, const struct report *r)
{
	fprintf(out, "%s -- %s\n\n", r->name, r->title);
	help_fields(out, r->sql, "about", NULL);
	help_args(out, r);
	help_fields(out, r->sql, "advice", "Advice");
	help_fields(out, r->sql, "column", "Columns");
	help_fields(out, r->sql, "needs", "Reads");
	fputc('\n', out);
}

static void help_list(const struct report_kind *kind, FILE *out, const char *dirs)
{
	char own[64], title[128], dir[4096];

	fprintf(out, "%s (%s=NAME shows more, * = run when no -r is given):\n\n", kind->nouns,
		kind->help);
	for (size_t i = 0; sl_embedded[i].name; i++) {
		const char *sql = sl_embedded[i].text;
		char place[16];

		if (report_embedded(kind, i, own) &&
		    report_field(sql, "title", 0, title, sizeof(title)))
			fprintf(out, "  %c %-24s %s\n",
				report_field(sql, "default", 0, place, sizeof(place)) ? '*' : ' ',
				own, title);
	}
	while (report_next_word(&dirs, dir, sizeof(dir))) {
		DIR *d = opendir(dir);

		for (struct dirent *e; d && (e = readdir(d));)
			if (name_of(e->d_name, own, sizeof(own)))
				fprintf(out, "    %-24s in %s\n", own, dir);
		if (d)
			closedir(d);
	}
}

int report_help(const struct report_kind *kind, FILE *out, const char *name, const char *dirs)
{
	struct report r;
	char own[64], why[512];
	int rc;

	if (!name || !*name) {
		help_list(kind, out, dirs);
		return 0;
	}
	if (strcasecmp(name, "ALL") != 0) {
		rc = report_load(kind, name, dirs, &r, why, sizeof(why));
		if (rc == 0)
			help_one(out, &r);
		else
			sl_warn("%s: %s", kind->command, why);
		report_free(&r);
		return rc;
	}
	for (size_t i = 0; sl_embedded[i].name; i++) {
		if (!report_embedded(kind, i, own) ||
		    report_load(kind, own, NULL, &r, why, sizeof(why)) != 0)
			continue;
		help_one(out, &r);
		report_free(&r);
	}
	return 0;
}
