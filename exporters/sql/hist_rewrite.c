/*
 * hist_rewrite.c - finds in a report's SQL what hist.c does faster, and writes in the percentiles.
 *
 * No parser: texts that look exactly like what reports have in common are replaced, by token, and whatever
 * looks different is left as it is.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/hist_internal.h"

/* ---- percentiles ---- */

static int parse_one(const char *word, size_t len, struct percentile *p)
{
	size_t whole = 0, at = 0;
	int64_t num = 0, den = 100;

	if (len >= sizeof(p->text))
		return -1;
	for (; at < len && isdigit((unsigned char)word[at]); at++, whole++)
		num = num * 10 + (word[at] - '0');
	if (at < len && word[at] == '.' && whole > 0)
		for (at++; at < len && isdigit((unsigned char)word[at]); at++) {
			num = num * 10 + (word[at] - '0');
			den *= 10;
		}
	if (at < len || whole == 0 || num <= 0 || num > den)
		return -1;
	snprintf(p->text, sizeof(p->text), "%.*s", (int)len, word);
	p->num = num;
	p->den = den;
	return 0;
}

int percentiles_parse(struct percentiles *p, const char *text, char *why, size_t why_len)
{
	while (text && *text) {
		size_t len = strcspn(text, ",");

		if (p->cnt == PERCENTILES_MAX) {
			snprintf(why, why_len, "more than %d percentiles", PERCENTILES_MAX);
			return -1;
		}
		if (parse_one(text, len, &p->each[p->cnt]) < 0) {
			snprintf(why, why_len,
				 "'%.*s' is no percentile: a number above 0, up to 100", (int)len,
				 text);
			return -1;
		}
		p->cnt++;
		text += len + (text[len] == ',');
	}
	return 0;
}

/* ---- tokens ---- */

/* Behind blanks and comments. */
static const char *skip(const char *p)
{
	for (;;) {
		p += strspn(p, " \t\r\n");
		if (p[0] == '-' && p[1] == '-') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			const char *end = strstr(p + 2, "*/");

			p = end ? end + 2 : p + strlen(p);
		} else {
			return p;
		}
	}
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == ':' || c == '.';
}

/* The end of the token that begins here: a word, a quoted text, or one character. */
static const char *token_end(const char *p)
{
	if (*p == '\'' || *p == '"') {
		char quote = *p++;

		while (*p && (*p != quote || p[1] == quote))
			p += *p == quote ? 2 : 1;
		return *p ? p + 1 : p;
	}
	if (!in_word(*p))
		return *p ? p + 1 : p;
	while (in_word(*p))
		p++;
	return p;
}

static bool is_word(const char *p, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(token_end(p) - p) == len && strncasecmp(p, word, len) == 0;
}

/* ---- count(*) AS n ... GROUP BY 1, 2 ---- */

struct arm { /* SELECT items, count(*) AS n FROM rest GROUP BY 1, 2; or with sum(n) */
	const char *select, *count, *from, *group, *end;
	bool sums;
	struct item {
		const char *text;
		size_t len;
		const char *alias;
		size_t alias_len;
		bool constant;
	} item[HIST_KEYS];
	size_t items;
};

static void trim(const char *from, const char *to, struct item *i)
{
	const char *before = NULL;
	int depth = 0, words = 0;

	from = skip(from);
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	*i = (struct item){.text = from, .len = (size_t)(to - from)};
	for (const char *p = from, *end; p < to; p = skip(end)) {
		end = token_end(p);
		depth += (*p == '(') - (*p == ')');
		words++;
		if (depth == 0 && before && is_word(before, "AS")) {
			i->alias = p;
			i->alias_len = (size_t)(end - p);
			i->len = (size_t)(before - from);
		}
		before = p;
	}
	words -= i->alias ? 2 : 0;
	i->constant = (words == 1 && isdigit((unsigned char)*from)) ||
		      (words == 2 && *from == '-' && isdigit((unsigned char)*skip(from + 1)));
	if (!i->alias && words == 1 && !i->constant) {
		const char *dot = memrchr(from, '.', (size_t)(to - from));

		i->alias = dot ? dot + 1 : from;
		i->alias_len = (size_t)(to - i->alias);
	}
}

/* Items of the select list, up to the count. */
static bool read_items(struct arm *a, const char *count)
{
	const char *p = skip(token_end(a->select)), *from = p;
	int depth = 0;

	for (; p < count; p = skip(token_end(p))) {
		depth += (*p == '(') - (*p == ')');
		if (is_word(p, "DISTINCT"))
			return false;
		if (*p != ',' || depth != 0)
			continue;
		if (a->items == HIST_KEYS)
			return false;
		trim(from, p, &a->item[a->items++]);
		from = token_end(p);
	}
	return a->items > 0 && skip(from) == count;
}

/* GROUP BY names, by number, every item that is not a constant, and nothing follows. */
static bool read_group(const struct arm *a)
{
	const char *p = skip(token_end(skip(token_end(a->group))));
	bool named[HIST_KEYS] = {false};

	while (p < a->end) {
		long n = strtol(p, NULL, 10);

		if (n < 1 || (size_t)n > a->items)
			return false;
		named[n - 1] = true;
		p = skip(token_end(p));
		if (p < a->end && *p != ',')
			return false;
		p = p < a->end ? skip(token_end(p)) : p;
	}
	for (size_t i = 0; i < a->items; i++)
		if (!named[i] && !a->item[i].constant)
			return false;
	return true;
}

/* @count: "count(*) AS n", which stands in the arm that begins at @select. */
static bool read_arm(struct arm *a, const char *select, const char *count)
{
	static const char *const counts[] = {"count", "(", "*", ")"}, *const sums[] = {"sum", "(",
										       "n", ")"};
	const char *const *rest = is_word(count, "sum") ? sums : counts;
	const char *p = count;
	int depth = 0;

	*a = (struct arm){.select = select, .count = count, .sums = rest == sums};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++, p = skip(token_end(p)))
		if (!is_word(p, rest[i]))
			return false;
	/* The second and later parts of a UNION need no name. */
	if (is_word(p, "AS")) {
		p = skip(token_end(p));
		if (!is_word(p, "n"))
			return false;
		p = skip(token_end(p));
	}
	if (!is_word(p, "FROM") || !read_items(a, count))
		return false;
	a->from = p;
	for (; *p; p = skip(token_end(p))) {
		depth += (*p == '(') - (*p == ')');
		if (depth < 0 || *p == ';' || (depth == 0 && is_word(p, "UNION")))
			break;
		if (depth == 0 && is_word(p, "GROUP"))
			a->group = p;
	}
	a->end = p;
	return a->group && read_group(a);
}

/* @values: the last item is what is counted of the others. */
static void write_arm(FILE *out, const struct arm *a, bool values)
{
	if (a->sums) {
		fprintf(out, "%.*sn %.*s", (int)(a->count - a->select), a->select,
			(int)(a->group - a->from), a->from);
		return;
	}
	fputs("SELECT ", out);
	for (size_t i = 0; i < a->items; i++) {
		fprintf(out, "k%zu", i);
		if (a->item[i].alias)
			fprintf(out, " AS %.*s", (int)a->item[i].alias_len, a->item[i].alias);
		fputs(", ", out);
	}
	fprintf(out, "n FROM sl_hist_rows((SELECT %s(", values ? "sl_hist_values" : "sl_hist");
	for (size_t i = 0; i < a->items; i++)
		fprintf(out, "%s%.*s", i ? ", " : "", (int)a->item[i].len, a->item[i].text);
	fprintf(out, ") %.*s))\n", (int)(a->group - a->from), a->from);
}

/* The same word, also behind "t.". */
static bool names(const char *p, const char *word)
{
	size_t len = (size_t)(token_end(p) - p), want = strlen(word);

	return want > 0 && len >= want && (len == want || p[len - want - 1] == '.') &&
	       strncasecmp(p + len - want, word, want) == 0;
}

static bool is_body(const char *p)
{
	return *p == '(' || is_word(p, "MATERIALIZED");
}

/*
 * Do the values of hist go nowhere but through @named into sl_figures()? Then they need not be told apart on the
 * way there: such texts name them there alone, as "..., value, ...", and read hist once.
 */
static bool only_figured(const char *sql, const char *value, const char *named)
{
	const char *before = "", *behind;
	int depth = 0, in_hist = -1, seen = 0, reads = 0;
	bool made = false; /* what is in front of hist knows nothing of its values */

	for (const char *p = skip(sql); *p; before = p, p = behind) {
		behind = skip(token_end(p));
		depth += (*p == '(') - (*p == ')');
		if (is_word(p, "hist") && is_word(behind, "AS") && is_body(skip(token_end(behind))))
			in_hist = depth;
		else if (in_hist == depth && *p == ')')
			in_hist = -1, made = true;
		else if (is_word(p, "hist"))
			reads += 1 + !made;
		else if (made && in_hist < 0 && names(p, value) &&
			 (seen++ > (*named != 0) || *before != ',' || *behind != ','))
			return false;
	}
	return reads == 1 && seen == 1 + (*named != 0);
}

/*
 * Replaces them in the table that WITH calls hist, and where its rows are summed up by other keys on the way
 * to the figures (@named, a table of WITH; NULL: there is none). Such tables may then hold a row twice, with
 * a part of its count in each (hist.c), so whoever reads them has to sum up. @figures: sl_figures() does; as it
 * reads them once, they need not be stored. @value: only_figured(), NULL: not. malloc'd.
 */
static char *replace_arms(const char *sql, bool figures, const char *named, const char *value)
{
	const char *select[64] = {NULL}, *done = sql, *p = skip(sql), *before[3] = {"", "", ""};
	bool ours[64] = {false};
	size_t valued[64] = {0}; /* items, the last of them the value */
	size_t depth = 0, size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	while (out && *p) {
		const struct item *last;
		struct arm a;

		if (*p == '(' && depth + 1 < sizeof(select) / sizeof(select[0])) {
			bool made = is_word(before[0], "MATERIALIZED");
			const char *name = before[made + 1];

			select[++depth] = NULL;
			valued[depth] = 0;
			ours[depth] = is_word(before[made], "AS") &&
				      (is_word(name, "hist") || (named && is_word(name, named)));
			if (ours[depth] && made && figures) {
				fprintf(out, "%.*s", (int)(before[0] - done), done);
				done = p;
			}
		} else if (*p == ')' && depth > 0) {
			depth--;
		} else if (is_word(p, "SELECT")) {
			select[depth] = p;
		} else if ((is_word(p, "count") || (named && is_word(p, "sum"))) && ours[depth] &&
			   select[depth] && read_arm(&a, select[depth], p)) {
			fprintf(out, "%.*s", (int)(a.select - done), done);
			/* The first part of a UNION names it. */
			last = &a.item[a.items - 1];
			if (value && a.items > 1 && last->alias && names(last->alias, value))
				valued[depth] = a.items;
			write_arm(out, &a, a.items == valued[depth]);
			done = p = a.end;
			select[depth] = NULL;
			continue;
		}
		before[2] = before[1];
		before[1] = before[0];
		before[0] = p;
		p = skip(token_end(p));
	}
	if (out)
		fprintf(out, "%s", done);
	if (out && fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

/* ---- total, ranked, spread ---- */

/*
 * The three steps as reports write them. $K: key, $V: value, $T: name of the sum, $H: the table of
 * (key, value, n); the same each time.
 */
static const char steps[] =
	"total AS MATERIALIZED ( SELECT $K, sum(n) AS calls, sum(n * $V) AS $T, min($V) AS least, "
	"max($V) AS most, "
	"1.0 * sum(n * $V) / sum(n) AS mean FROM $H GROUP BY $K ), "
	"ranked AS ( SELECT $K, $V, n, sum(n) OVER (PARTITION BY $K ORDER BY $V) AS upto FROM $H "
	"), "
	"spread AS ( SELECT t.$K, sum(n * ($V - mean) * ($V - mean)) AS squares, "
	"(min($V) FILTER (WHERE 2 * upto >= calls) + min($V) FILTER (WHERE 2 * upto > calls)) / "
	"2.0 AS med "
	"FROM ranked AS r JOIN total AS t ON t.$K = r.$K GROUP BY t.$K )";

struct holes {
	const char *text[256];
	size_t len[256];
};

/* A word, compared with what the pattern says there; words of the pattern may hold a hole after "t." or "r.". */
static bool match_token(const char *p, size_t len, const char *want, size_t want_len,
			struct holes *h)
{
	const char *hole = memchr(want, '$', want_len);
	size_t lead = hole ? (size_t)(hole - want) : want_len;
	unsigned char name;

	if (!hole)
		return len == want_len && strncasecmp(p, want, len) == 0;
	if (len <= lead || strncasecmp(p, want, lead) != 0 || !in_word(p[lead]))
		return false;
	p += lead;
	len -= lead;
	name = (unsigned char)hole[1];
	if (memchr(p, '.', len) || memchr(p, ':', len))
		return false;
	if (!h->text[name]) {
		h->text[name] = p;
		h->len[name] = len;
	}
	return h->len[name] == len && strncasecmp(h->text[name], p, len) == 0;
}

/* The end of the steps if they begin at @p, else NULL. */
static const char *match_steps(const char *p, struct holes *h)
{
	const char *want = steps;

	memset(h, 0, sizeof(*h));
	while (*want) {
		const char *end = token_end(p);
		const char *want_end = want;

		/* "$" belongs to words here */
		if (in_word(*want) || *want == '$')
			while (in_word(*want_end) || *want_end == '$')
				want_end++;
		else
			want_end++;
		if (!*p || !match_token(p, (size_t)(end - p), want, (size_t)(want_end - want), h))
			return NULL;
		p = skip(end);
		want = want_end + strspn(want_end, " ");
		if (!*want)
			return end;
	}
	return NULL;
}

static void write_steps(FILE *out, const struct holes *h, const struct percentiles *p)
{
#define HOLE(c) (int)h->len[c], h->text[c]
	fprintf(out,
		"total AS MATERIALIZED (SELECT key AS %.*s, calls, time AS %.*s, least, most, "
		"mean, squares AS "
		"sl_squares, med AS sl_med",
		HOLE('K'), HOLE('T'));
	for (size_t i = 0; i < p->cnt; i++)
		fprintf(out, ", p%zu AS sl_p%zu", i, i);
	fprintf(out, " FROM sl_figures_rows((SELECT sl_figures(%.*s, %.*s, n) FROM %.*s))), ",
		HOLE('K'), HOLE('V'), HOLE('H'));
	fprintf(out, "spread AS (SELECT %.*s, sl_squares AS squares, sl_med AS med", HOLE('K'));
	for (size_t i = 0; i < p->cnt; i++)
		fprintf(out, ", sl_p%zu AS p%zu", i, i);
	fprintf(out, " FROM total WHERE %.*s IS NOT NULL)", HOLE('K'));
#undef HOLE
}

struct figured {
	bool found;
	char named[64]; /* the table of which the figures are, if not hist */
	char value[64];
};

static char *replace_steps(const char *sql, const struct percentiles *percent, struct figured *f)
{
	const char *done = sql;
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	struct holes h;

	for (const char *p = skip(sql), *end; out && *p; p = skip(token_end(p))) {
		if (!is_word(p, "total") || !(end = match_steps(p, &h)))
			continue;
		fprintf(out, "%.*s", (int)(p - done), done);
		write_steps(out, &h, percent);
		done = p = end;
		f->found = true;
		snprintf(f->value, sizeof(f->value), "%.*s", (int)h.len['V'], h.text['V']);
		if (h.len['H'] != 4 || strncasecmp(h.text['H'], "hist", 4) != 0)
			snprintf(f->named, sizeof(f->named), "%.*s", (int)h.len['H'], h.text['H']);
	}
	if (out)
		fprintf(out, "%s", done);
	if (out && fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

/* ---- percentiles in the text ---- */

static void write_percentile(FILE *out, const char *text, const char *end,
			     const struct percentile *p, size_t i)
{
	while (text < end) {
		if (strncmp(text, "{i}", 3) == 0) {
			fprintf(out, "%zu", i);
			text += 3;
		} else if (strncmp(text, "{p}", 3) == 0) {
			fputs(p->text, out);
			text += 3;
		} else if (strncmp(text, "{num}", 5) == 0) {
			fprintf(out, "%lld", (long long)p->num);
			text += 5;
		} else if (strncmp(text, "{den}", 5) == 0) {
			fprintf(out, "%lld", (long long)p->den);
			text += 5;
		} else {
			fputc(*text++, out);
		}
	}
}

static char *write_percentiles(const char *sql, const struct percentiles *p)
{
	static const char mark[] = "/* percentiles:";
	const char *at;
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	while (out && (at = strstr(sql, mark)) != NULL) {
		const char *end = strstr(at, "*/");

		if (!end)
			break;
		fprintf(out, "%.*s", (int)(at - sql), sql);
		for (size_t i = 0; i < p->cnt; i++)
			write_percentile(out, at + sizeof(mark) - 1, end, &p->each[i], i);
		sql = end + 2;
	}
	if (out)
		fprintf(out, "%s", sql);
	if (out && fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

char *hist_rewrite(const char *sql, const struct percentiles *p, bool fast)
{
	static const struct percentiles none;
	struct figured f = {.found = false};
	char *a = fast ? replace_steps(sql, p ? p : &none, &f) : strdup(sql);
	char *b = a ? write_percentiles(a, p ? p : &none) : NULL, *c;

	free(a);
	if (!fast || !b)
		return b;
	c = replace_arms(b, f.found, *f.named ? f.named : NULL,
			 f.found && only_figured(b, f.value, f.named) ? f.value : NULL);
	free(b);
	return c;
}
