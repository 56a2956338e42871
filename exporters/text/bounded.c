/* bounded.c - answers of a bounded size. */
#include "exporters/text/bounded.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/text/cell.h"

#define LISTS     24
#define TEXT_MAX  4096 /* bytes of a text, at first */
#define TEXT_MIN  64
#define MORE      4 /* the next command shows so many times as much */
#define TRIES_MAX 40
#define TABLE_MIN 1024 /* bytes of one of many tables */

/* Elements that a list left out, all lists of a name together. */
struct left {
	char key[32];
	int64_t cnt, ns, all; /* all 0: times are not known */
};

struct bounded {
	size_t limit;   /* SIZE_MAX: none */
	size_t largest; /* elements that a list has got */
	size_t lists;
	struct left left[LISTS];
};

/* ---- options ---- */

static bool is_bound(const char *word, bool *has_value)
{
	size_t len = strcspn(word, "=");

	*has_value = word[len] == '=';
	return (len == 7 && strncmp(word, "--limit", len) == 0) ||
	       (len == 11 && strncmp(word, "--max-bytes", len) == 0);
}

void bounds_open(struct bounds *b, int argc, char **argv)
{
	size_t len;
	FILE *out = open_memstream(&b->command, &len);
	bool has_value;

	if (!out)
		return;
	fputs("sightline", out);
	for (int i = 0; i < argc; i++) {
		if (i > 0 && is_bound(argv[i], &has_value)) {
			i += !has_value;
			continue;
		}
		putc(' ', out);
		text_put_shell(out, argv[i]);
	}
	if (fclose(out) != 0) {
		free(b->command);
		b->command = NULL;
	}
}

void bounds_default(struct bounds *b)
{
	if (!b->has_limit)
		b->limit = BOUNDED_LIMIT;
	if (!b->has_max_bytes)
		b->max_bytes = BOUNDED_BYTES;
}

bool bounds_are_asked(const struct bounds *b)
{
	return b->has_limit || b->has_max_bytes;
}

bool bounds_of_table(struct bounds *b, bool is_stdout, size_t share, bool *array_if_fits)
{
	*array_if_fits = !bounds_are_asked(b) && is_stdout;
	if (*array_if_fits) {
		b->max_bytes = BOUNDED_BYTES / (int64_t)(share ? share : 1);
		if (b->max_bytes < TABLE_MIN)
			b->max_bytes = TABLE_MIN;
	} else if (bounds_are_asked(b)) {
		bounds_default(b);
	}
	return b->limit || b->max_bytes;
}

void bounds_free(struct bounds *b)
{
	free(b->command);
	b->command = NULL;
}

/* ---- lists ---- */

static struct left *left_of(struct bounded *x, const char *key)
{
	for (size_t i = 0; i < x->lists; i++)
		if (strcmp(x->left[i].key, key) == 0)
			return &x->left[i];
	if (x->lists == LISTS)
		return &x->left[LISTS - 1];
	snprintf(x->left[x->lists].key, sizeof(x->left[0].key), "%s", key);
	return &x->left[x->lists++];
}

size_t bounded_list(struct writer *w, const char *key, size_t cnt)
{
	struct bounded *x = w->bounded;
	size_t shown = x && x->limit < cnt ? x->limit : cnt;

	json_open(w, key, '[');
	if (x && shown > x->largest)
		x->largest = shown;
	if (shown < cnt)
		left_of(x, key)->cnt += (int64_t)(cnt - shown);
	return shown;
}

void bounded_time(struct writer *w, const char *key, int64_t ns, int64_t all)
{
	struct bounded *x = w->bounded;
	struct left *l;

	if (!x || all <= 0)
		return;
	for (size_t i = 0; i < x->lists; i++) {
		l = &x->left[i];
		if (strcmp(l->key, key) == 0 && l->cnt) {
			l->ns += ns;
			l->all = all;
		}
	}
}

/* ---- an answer ---- */

void bounded_omitted(struct writer *w, const char *key, int64_t cnt, double share)
{
	json_open(w, key, '{');
	json_int(w, "count", cnt);
	if (share >= 0)
		json_format(w, "time_share", "%.4f", share);
	json_close(w, '}');
}

void bounded_next(struct writer *w, const struct bounds *b, bool is_long)
{
	char limit[32] = "", bytes[40] = "";
	char *text = NULL;

	if (!b->command)
		return;
	if (b->limit)
		snprintf(limit, sizeof(limit), " --limit=%lld", (long long)(MORE * b->limit));
	if (b->max_bytes && (is_long || b->has_max_bytes))
		snprintf(bytes, sizeof(bytes), " --max-bytes=%lld",
			 (long long)(MORE * b->max_bytes));
	if (asprintf(&text, "%s%s%s", b->command, limit, bytes) < 0)
		return;
	json_text(w, "next", text);
	free(text);
}

static void put_omitted(struct writer *w, const struct bounds *b, bool is_long)
{
	const struct bounded *x = w->bounded;

	if (!x || (!x->lists && !is_long))
		return;
	json_line(w, 1);
	json_open(w, "omitted", '{');
	for (size_t i = 0; i < x->lists; i++)
		bounded_omitted(w, x->left[i].key, x->left[i].cnt,
				x->left[i].all ? (double)x->left[i].ns / (double)x->left[i].all
					       : -1);
	json_close(w, '}');
	json_line(w, 1);
	bounded_next(w, b, is_long);
}

static void put_answer(struct writer *w, const struct bounds *b, bounded_put put, const void *ctx,
		       bool is_long)
{
	json_open(w, NULL, '{');
	json_int(w, "schema_version", BOUNDED_SCHEMA);
	put(w, ctx);
	put_omitted(w, b, is_long);
	json_close(w, '}');
}

/* With less room: shorter lists, then shorter texts. False: no less is possible. */
static bool shrink(size_t *limit, size_t *text_max, size_t largest, size_t len, size_t max)
{
	size_t fits = (size_t)((double)largest * (double)max / (double)len);

	if (largest > 1) {
		*limit = fits < 1 ? 1 : fits < largest ? fits : largest - 1;
		if (*limit < 4 && *text_max > 1024)
			*text_max = 1024;
		return true;
	}
	if (*text_max > TEXT_MIN) {
		*text_max /= 2;
		return true;
	}
	if (*limit == 0)
		return false;
	*limit = 0;
	return true;
}

int bounded_print(FILE *out, const struct bounds *b, bounded_put put, const void *ctx)
{
	size_t limit = b && b->limit ? (size_t)b->limit : SIZE_MAX;
	size_t max = b ? (size_t)b->max_bytes : 0, text_max = max ? TEXT_MAX : 0;
	struct bounded x;

	if (!max) {
		struct writer w = {.file = out, .is_spaced = true, .bounded = b ? &x : NULL};

		x = (struct bounded){.limit = limit};
		put_answer(&w, b, put, ctx, false);
		return 0;
	}
	for (int tries = 0;; tries++) {
		struct writer w = {.is_spaced = true, .bounded = &x, .text_max = text_max};
		size_t len;
		bool failed;

		x = (struct bounded){.limit = limit};
		put_answer(&w, b, put, ctx, tries > 0);
		len = w.len;
		failed = w.failed;
		if (failed || len < max /* and a newline */ || tries == TRIES_MAX ||
		    !shrink(&limit, &text_max, x.largest, len, max)) {
			if (!failed)
				fwrite(w.data, 1, len, out);
			writer_free(&w);
			return failed ? -1 : 0;
		}
		writer_free(&w);
	}
}

void bounded_abstain(FILE *out, const char *report, const char *reason, const char *remedy)
{
	struct writer w = {.file = out, .is_spaced = true};

	json_open(&w, NULL, '{');
	json_int(&w, "schema_version", BOUNDED_SCHEMA);
	json_text(&w, "report", report);
	json_bool(&w, "abstained", true);
	json_text(&w, "reason", reason);
	json_text(&w, "remedy", remedy);
	json_close(&w, '}');
	putc('\n', out);
}
