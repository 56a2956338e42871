/* format.c - the list of formats and the words that select and modify them. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/options.h"
#include "exporters/text/format.h"

const struct format *const format_list[] = {
	&format_column, &format_table, &format_csv,    &format_tsv,
	&format_json,   &format_hdoc,  &format_htable, NULL,
};

static const struct format *find(const char *name)
{
	for (size_t i = 0; format_list[i]; i++)
		if (strcmp(format_list[i]->name, name) == 0)
			return format_list[i];
	return NULL;
}

static const char *nearest(const char *word)
{
	const char *best = NULL;

	for (size_t i = 0; format_list[i]; i++)
		best = sl_nearest(word, best, format_list[i]->name);
	return best;
}

/* True when @word is allowed by the comma list; an entry ending in '=' allows a value. */
static bool allowed(const char *list, const char *word)
{
	size_t word_len = strcspn(word, "=");

	word_len += word[word_len] == '=';
	for (const char *p = list; *p;) {
		size_t len = strcspn(p, ",");

		if (len == word_len && memcmp(p, word, len) == 0)
			return true;
		p += len + (p[len] == ',');
	}
	return false;
}

/* A width: ".", 0 or a number of columns. */
static int add_width(struct format_options *opt, const char *word)
{
	char *end;
	long n = WIDTH_AUTO;

	if (strcmp(word, ".") != 0) {
		n = strtol(word, &end, 10);
		if (end == word || *end || n < 0 || n > 10000)
			return -1;
	}
	if (opt->width_cnt == FORMAT_WIDTHS_MAX)
		return -1;
	opt->widths[opt->width_cnt++] = (int)n;
	return 0;
}

static int add_modifier(const struct format *f, struct format_options *opt, const char *word,
			char *why, size_t why_len)
{
	bool width = *word == '.' || (*word >= '0' && *word <= '9');

	if (width && allowed(f->modifiers, "<width>") && add_width(opt, word) == 0)
		return 0;
	if (width || !allowed(f->modifiers, word)) {
		snprintf(why, why_len, "format %s does not take ':%s'; it takes %s%s", f->name,
			 word, *f->modifiers ? ":" : "no modifiers", f->modifiers);
		return -1;
	}
	if (strcmp(word, "nohdr") == 0)
		opt->no_header = true;
	else if (strcmp(word, "nolimit") == 0)
		opt->no_limit = true;
	else if (strcmp(word, "nofmt") == 0)
		opt->no_grouping = true;
	else if (strcmp(word, "esc") == 0)
		opt->escape = true;
	else if (strncmp(word, "title=", 6) == 0)
		snprintf(opt->title, sizeof(opt->title), "%s", word + 6);
	else if (strncmp(word, "css=", 4) == 0)
		snprintf(opt->css, sizeof(opt->css), "%s", word + 4);
	return 0;
}

const struct format *format_parse(const char *spec, const struct format *fallback,
				  struct format_options *opt, char *why, size_t why_len)
{
	char *copy = strdup(spec), *rest = copy, *word;
	const struct format *f = NULL;

	memset(opt, 0, sizeof(*opt));
	if (!copy) {
		snprintf(why, why_len, "out of memory");
		return NULL;
	}
	word = strsep(&rest, ":");
	f = strcmp(word, ".") == 0 || !*word ? fallback : find(word);
	if (!f) {
		const char *near = nearest(word);

		snprintf(why, why_len, "no format is called '%s'%s%s%s (see --help-formats)", word,
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	while (f && (word = strsep(&rest, ":")) != NULL)
		if (*word && add_modifier(f, opt, word, why, why_len) < 0)
			f = NULL;
	free(copy);
	return f;
}

int format_help(FILE *out, const char *name)
{
	bool all = !name || !*name || strcasecmp(name, "ALL") == 0;

	if (!all && !find(name))
		return -1;
	for (size_t i = 0; format_list[i]; i++) {
		if (!all && format_list[i] != find(name))
			continue;
		fprintf(out, "  %-7s %s\n", format_list[i]->name, format_list[i]->about);
		for (const char *p = format_list[i]->modifiers; *p;) {
			size_t len = strcspn(p, ",");

			fprintf(out, "            :%.*s\n", (int)len, p);
			p += len + (p[len] == ',');
		}
	}
	if (all)
		fputs("  .       the default: column on the console, csv in files and pipes\n\n"
		      ":nohdr leaves the headings out, :nolimit lets columns grow beyond 100, "
		      ":nofmt leaves thousands\nunseparated, :<width> (one per column) sets a "
		      "width, '.' being automatic and 0 hiding the column,\n:esc writes tabs and "
		      "line ends in a text as \\t and \\n.\n",
		      out);
	return 0;
}
