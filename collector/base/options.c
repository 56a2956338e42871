/*
 * options.c - one parser for the option tables of every command.
 *
 * The rule easy to break: a word is consumed only when its option needs it. A BOOL takes the next
 * word only when that reads as a truth value, since otherwise it is the name of the program to run.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/base/options.h"

struct parser {
	const struct opt *opts;
	const char *cmd;
	char see[64]; /* where to read more, for the end of a message */
	int argc;
	char **argv;
	int pos;              /* word being read */
	unsigned char *given; /* per table entry: met in this parse */
	char later[1024];     /* names of LATER options met, ", " between */
};

static bool is_end(const struct opt *o)
{
	return !o->name && !o->short_name && o->kind != OPT_GROUP && o->kind != OPT_ABOUT;
}

static bool is_option(const struct opt *o)
{
	return o->name || o->short_name;
}

/* "profile: SIGHTLINE_OPTIONS" is the command profile. */
static int cmd_len(const char *cmd)
{
	return (int)strcspn(cmd, ":");
}

/* ---- words to values ---- */

/* True and *@value set when the word is a truth value: true, false, yes, no, 1, 0. */
static bool opt_truth(const char *word, bool *value)
{
	static const char *const yes[] = {"true", "yes", "1"};
	static const char *const no[] = {"false", "no", "0"};

	for (size_t i = 0; i < 3; i++) {
		if (strcasecmp(word, yes[i]) == 0)
			return *value = true, true;
		if (strcasecmp(word, no[i]) == 0)
			return *value = false, true;
	}
	return false;
}

/* How the option is called in a message. */
static const char *spelling(const struct opt *o, char buf[80])
{
	if (o->name)
		snprintf(buf, 80, "--%s", o->name);
	else
		snprintf(buf, 80, "-%c", o->short_name);
	return buf;
}

static int wrong_value(const struct parser *ps, const struct opt *o, const char *word,
		       const char *wanted)
{
	char name[80];

	sl_warn("%s: option '%s' takes %s, not '%s' %s", ps->cmd, spelling(o, name), wanted, word,
		ps->see);
	return -SL_EXIT_USAGE;
}

static bool in_list(const char *list, const char *word, size_t word_len)
{
	for (const char *p = list; *p;) {
		size_t len = strcspn(p, ",");

		if (len == word_len && memcmp(p, word, len) == 0)
			return true;
		p += len + (p[len] == ',');
	}
	return false;
}

static int not_in_list(const struct parser *ps, const struct opt *o, const char *word, size_t len)
{
	char item[SL_NEAREST_MAX + 1], near[SL_NEAREST_MAX + 1], name[80];

	snprintf(item, sizeof(item), "%.*s", (int)(len < SL_NEAREST_MAX ? len : SL_NEAREST_MAX),
		 word);
	if (sl_nearest_value(o->values, item, near, sizeof(near)))
		sl_warn("%s: option '%s' does not know '%s'; did you mean '%s'? %s", ps->cmd,
			spelling(o, name), item, near, ps->see);
	else
		sl_warn("%s: option '%s' does not know '%s'; it takes %s %s", ps->cmd,
			spelling(o, name), item, o->values, ps->see);
	return -SL_EXIT_USAGE;
}

static int set_int(const struct parser *ps, const struct opt *o, const char *word)
{
	int64_t min = INT64_MIN, max = INT64_MAX;
	char wanted[80] = "a whole number";
	char *end;
	long long n;

	if (o->values && sscanf(o->values, "%" SCNd64 ":%" SCNd64, &min, &max) == 2)
		snprintf(wanted, sizeof(wanted), "a whole number from %" PRId64 " to %" PRId64, min,
			 max);
	errno = 0;
	n = strtoll(word, &end, 10);
	if (end == word || *end || errno || isspace((unsigned char)*word) || n < min || n > max)
		return wrong_value(ps, o, word, wanted);
	if (o->target)
		*(int64_t *)o->target = n;
	return 0;
}

/* Options point to such texts for as long as the process lives. */
static char *keep_joined(const char *first, const char *more)
{
	static struct kept {
		struct kept *next;
		char text[];
	} * all;
	size_t len = first ? strlen(first) + 1 : 0;
	struct kept *k = malloc(sizeof(*k) + len + strlen(more) + 1);

	if (!k)
		return NULL;
	if (first) {
		memcpy(k->text, first, len - 1);
		k->text[len - 1] = ',';
	}
	memcpy(k->text + len, more, strlen(more) + 1);
	k->next = all;
	all = k;
	return k->text;
}

/* Repeated lists add up; the first one replaces the default. */
static int set_list(const struct parser *ps, const struct opt *o, const char *word, bool again)
{
	const char **target = o->target;
	const char *joined;

	for (const char *p = word; o->values && *o->values != ',' && *p;) {
		size_t len = strcspn(p, ",");

		if (len > 0 && !in_list(o->values, p, len))
			return not_in_list(ps, o, p, len);
		p += len + (p[len] == ',');
	}
	if (!target)
		return 0;
	joined = keep_joined(again ? *target : NULL, word);
	if (!joined) {
		sl_warn("%s: out of memory", ps->cmd);
		return -SL_EXIT_USAGE;
	}
	*target = joined;
	return 0;
}

/* Gathers the names of options that have no effect yet; asking for nothing is no news. */
static void note_later(struct parser *ps, const struct opt *o, const char *word)
{
	static const struct opt
		*said[64]; /* one mention each, also where a file and the command line repeat it */
	static size_t said_cnt;
	size_t used = strlen(ps->later);
	char name[80];
	bool on;

	if (word && strcmp(word, "none") == 0)
		return;
	if (word && o->values && strcmp(o->values, "bool") == 0 && opt_truth(word, &on) && !on)
		return;
	for (size_t i = 0; i < said_cnt; i++)
		if (said[i] == o)
			return;
	if (said_cnt < sizeof(said) / sizeof(said[0]))
		said[said_cnt++] = o;
	snprintf(ps->later + used, sizeof(ps->later) - used, "%s%s", used ? ", " : "",
		 spelling(o, name));
}

static int set_value(struct parser *ps, const struct opt *o, const char *word)
{
	size_t idx = (size_t)(o - ps->opts);
	bool again = ps->given[idx];
	bool on = true;
	int rc = 0;

	switch (o->kind) {
	case OPT_FLAG:
	case OPT_BOOL:
		if (word && !opt_truth(word, &on))
			return wrong_value(ps, o, word, "true or false");
		if (o->target)
			*(bool *)o->target = on;
		break;
	case OPT_INT:
		rc = set_int(ps, o, word);
		break;
	case OPT_ENUM:
		if (!in_list(o->values, word, strlen(word)))
			return not_in_list(ps, o, word, strlen(word));
		/* fall through */
	case OPT_STRING:
		if (o->target)
			*(const char **)o->target = word;
		break;
	case OPT_MAYBE:
		if (o->target)
			*(const char **)o->target = word ? word : "";
		break;
	case OPT_LIST:
		rc = set_list(ps, o, word, again);
		break;
	case OPT_LATER:
		note_later(ps, o, word);
		break;
	case OPT_GROUP:
	case OPT_ABOUT:
	case OPT_ELSEWHERE:
		break;
	}
	if (rc == 0) {
		ps->given[idx] = 1;
		if (o->seen)
			*o->seen = true;
	}
	return rc;
}

/* ---- words to options ---- */

enum appetite {
	TAKES_NONE,
	TAKES_TRUTH,
	TAKES_NUMBER,
	TAKES_VALUE
};

static enum appetite appetite(const struct opt *o)
{
	switch (o->kind) {
	case OPT_FLAG:
		return TAKES_NONE;
	case OPT_BOOL:
		return TAKES_TRUTH;
	case OPT_MAYBE:
		return TAKES_NUMBER;
	case OPT_LATER:
		if (!o->values || !*o->values)
			return TAKES_NONE;
		return strcmp(o->values, "bool") == 0 ? TAKES_TRUTH : TAKES_VALUE;
	default:
		return TAKES_VALUE;
	}
}

/* Gives @o its value: @attached (after '=' or the letter), else the next word if it wants one. */
static int take(struct parser *ps, const struct opt *o, const char *attached)
{
	const char *next = ps->pos + 1 < ps->argc ? ps->argv[ps->pos + 1] : NULL;
	char name[80];
	bool ignored;

	if (o->kind == OPT_ELSEWHERE) {
		sl_warn("%s: option '%s' belongs to 'sightline %s' %s", ps->cmd, spelling(o, name),
			o->values, ps->see);
		return -SL_EXIT_USAGE;
	}
	switch (appetite(o)) {
	case TAKES_NONE:
		if (!attached)
			return set_value(ps, o, NULL);
		sl_warn("%s: option '%s' takes no value %s", ps->cmd, spelling(o, name), ps->see);
		return -SL_EXIT_USAGE;
	case TAKES_TRUTH:
		if (attached)
			return set_value(ps, o, attached);
		if (!next || !opt_truth(next, &ignored))
			return set_value(ps, o, NULL);
		break;
	case TAKES_NUMBER:
		if (attached)
			return set_value(ps, o, attached);
		if (!next || !*next || next[strspn(next, "0123456789")])
			return set_value(ps, o, NULL);
		break;
	case TAKES_VALUE:
		if (attached)
			return set_value(ps, o, attached);
		if (next)
			break;
		sl_warn("%s: option '%s' needs a value %s", ps->cmd, spelling(o, name), ps->see);
		return -SL_EXIT_USAGE;
	}
	ps->pos++;
	return set_value(ps, o, next);
}

static int unknown(const struct parser *ps, const char *dashes, const char *name, size_t len)
{
	char word[SL_NEAREST_MAX + 1];
	const char *near = NULL;

	snprintf(word, sizeof(word), "%.*s", (int)(len < SL_NEAREST_MAX ? len : SL_NEAREST_MAX),
		 name);
	for (const struct opt *o = ps->opts; len > 1 && !is_end(o); o++)
		if (o->name)
			near = sl_nearest(word, near, o->name);
	if (len > 1)
		near = sl_nearest(word, near, "help");
	if (near)
		sl_warn("%s: unknown option '%s%s'; did you mean '--%s'? %s", ps->cmd, dashes, word,
			near, ps->see);
	else
		sl_warn("%s: unknown option '%s%s' %s", ps->cmd, dashes, word, ps->see);
	return -SL_EXIT_USAGE;
}

static int parse_long(struct parser *ps, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *attached = text[len] ? text + len + 1 : NULL;

	for (const struct opt *o = ps->opts; !is_end(o); o++)
		if (o->name && strlen(o->name) == len && memcmp(o->name, text, len) == 0)
			return take(ps, o, attached);
	return unknown(ps, "--", text, len);
}

static const struct opt *find_short(const struct opt *opts, char letter)
{
	for (const struct opt *o = opts; !is_end(o); o++)
		if (o->short_name == letter && is_option(o))
			return o;
	return NULL;
}

/* -x, -xVALUE, -x=VALUE; letters without value may stand together (-ab). */
static int parse_short(struct parser *ps, const char *text)
{
	for (const char *p = text; *p; p++) {
		const struct opt *o = find_short(ps->opts, *p);
		int rc;

		if (!o) {
			/* -output: one dash too few is likelier than a row of letters. */
			if (p == text && strlen(text) > 2)
				return unknown(ps, "-", text, strcspn(text, "="));
			return unknown(ps, "-", p, 1);
		}
		if (appetite(o) != TAKES_NONE)
			return take(ps, o, !p[1] ? NULL : p[1] == '=' ? p + 2 : p + 1);
		rc = take(ps, o, p[1] == '=' ? p + 2 : NULL);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- help, and the table for completion and tests ---- */

static const struct opt *about(const struct opt *opts)
{
	for (const struct opt *o = opts; !is_end(o); o++)
		if (o->kind == OPT_ABOUT)
			return o;
	return NULL;
}

static void help_option(const struct opt *o)
{
	const int column = 30;
	const char *text = o->help;
	char left[120];
	int used;

	used = snprintf(left, sizeof(left), "  %c%c%c%s%s", o->short_name ? '-' : ' ',
			o->short_name ? o->short_name : ' ', o->short_name && o->name ? ',' : ' ',
			o->name ? " --" : "", o->name ? o->name : "");
	if (appetite(o) != TAKES_NONE)
		used += snprintf(left + used, sizeof(left) - (size_t)used,
				 o->kind == OPT_MAYBE ? "[=%s]" : "=%s",
				 o->metavar            ? o->metavar
				 : o->kind == OPT_BOOL ? "true|false"
				 : o->kind == OPT_INT  ? "N"
						       : "VALUE");
	printf("%s", left);
	if (used >= column) {
		putchar('\n');
		used = 0;
	}
	while (*text) {
		int len = (int)strcspn(text, "\n");

		printf("%*s%.*s\n", column - used, "", len, text);
		used = 0;
		text += len + (text[len] == '\n');
	}
}

/* Names only, wrapped: these have no effect, so they get no more room. */
static void help_later(const struct opt *opts)
{
	size_t column = 0;

	for (const struct opt *o = opts; !is_end(o); o++) {
		char name[80];
		size_t len;

		if (o->kind != OPT_LATER || !o->help)
			continue;
		len = strlen(spelling(o, name));
		if (column == 0)
			printf("\nOptions of nsys that are accepted and have no effect yet:\n");
		if (column == 0 || column + len + 2 > 98) {
			printf("%s ", column ? ",\n" : "");
			column = 1;
		} else {
			printf(",");
			column++;
		}
		printf(" %s", name);
		column += len + 1;
	}
	if (column)
		putchar('\n');
}

/* Prints usage, options and @examples to stdout. */
static void opt_help(const struct opt *opts, const char *usage, const char *examples)
{
	const struct opt *first = opts + (opts->kind == OPT_ABOUT);
	bool own_help = find_short(opts, 'h') != NULL;

	printf("usage: %s\n", usage);
	if (first->kind != OPT_GROUP)
		putchar('\n');
	for (const struct opt *o = opts; !is_end(o); o++) {
		if (o->kind == OPT_GROUP)
			printf("\n%s\n", o->help);
		else if (is_option(o) && o->kind != OPT_LATER && o->help)
			help_option(o);
	}
	help_option(&(struct opt){
		.short_name = own_help ? 0 : 'h', .name = "help", .help = "show this"});
	help_later(opts);
	if (examples && *examples)
		printf("\n%s\n", examples);
}

static void show_help(const struct parser *ps)
{
	const struct opt *o = about(ps->opts);
	char usage[120];

	snprintf(usage, sizeof(usage), "sightline %.*s [options]", cmd_len(ps->cmd), ps->cmd);
	opt_help(ps->opts, o && o->values ? o->values : usage, o ? o->help : NULL);
}

/* --completion-data: short name, long name, kind of value, values; tabs between, "-" for nothing. */
static void show_table(const struct opt *opts)
{
	static const char *const takes[] = {"none", "bool", "none", "value"};

	for (const struct opt *o = opts; !is_end(o); o++) {
		bool plain = o->kind == OPT_ENUM || o->kind == OPT_LIST;

		if (is_option(o) && o->kind != OPT_ELSEWHERE)
			printf("%c\t%s\t%s\t%s\t%s\n", o->short_name ? o->short_name : '-',
			       o->name ? o->name : "-", takes[appetite(o)],
			       plain && o->values ? o->values + (*o->values == ',') : "-",
			       o->kind == OPT_LATER ? "later"
			       : o->help            ? "listed"
						    : "hidden");
	}
}

int opt_parse(const struct opt *opts, int argc, char **argv, const char *cmd)
{
	return opt_parse_given(opts, argc, argv, cmd, NULL);
}

int opt_parse_given(const struct opt *opts, int argc, char **argv, const char *cmd,
		    unsigned char *given)
{
	struct parser ps = {.opts = opts, .cmd = cmd, .argc = argc, .argv = argv, .pos = 1};
	size_t cnt = 0;
	int rc = 0;

	while (!is_end(opts + cnt))
		cnt++;
	snprintf(ps.see, sizeof(ps.see), "(see 'sightline %.*s --help')", cmd_len(cmd), cmd);
	ps.given = calloc(cnt + 1, 1);
	if (!ps.given) {
		sl_warn("%s: out of memory", cmd);
		return -SL_EXIT_USAGE;
	}
	for (; ps.pos < argc && rc == 0; ps.pos++) {
		const char *word = argv[ps.pos];

		if (word[0] != '-' || !word[1])
			break;
		if (strcmp(word, "--") == 0) {
			ps.pos++;
			break;
		}
		if (strcmp(word, "--help") == 0 ||
		    (strcmp(word, "-h") == 0 && !find_short(opts, 'h'))) {
			show_help(&ps);
			rc = OPT_HELP_SHOWN;
		} else if (strcmp(word, "--completion-data") == 0) {
			show_table(opts);
			rc = OPT_HELP_SHOWN;
		} else if (word[1] == '-') {
			rc = parse_long(&ps, word + 2);
		} else {
			rc = parse_short(&ps, word + 1);
		}
	}
	if (rc == 0 && ps.later[0])
		sl_warn("%s: accepted, but not yet in effect: %s", cmd, ps.later);
	for (size_t i = 0; given && i < cnt; i++)
		given[i] |= ps.given[i];
	free(ps.given);
	return rc < 0 ? rc : ps.pos;
}
