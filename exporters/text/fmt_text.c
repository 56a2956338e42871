/*
 * fmt_text.c - formats column and table: aligned text for people.
 *
 * Widths come from the first LOOKAHEAD rows; a wider text that comes later stands out of line
 * rather than being lost, up to the limit. Numbers are never cut. On a terminal a table is as wide
 * as that at most: long texts are cut first, then the last columns of numbers are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/text/format.h"

#define LOOKAHEAD   5000
#define WIDTH_LIMIT 100
#define TEXT_LEAST  30 /* columns a text keeps while numbers can be left out */
#define TEXT_MIN    8
#define NUMBERS_MIN 2 /* columns of numbers that stay */

struct text {
	bool boxed;
	struct cell *cells; /* rows kept back, LOOKAHEAD * cols at most */
	size_t rows;
	size_t room;
	size_t pending; /* spaces not yet written */
	bool flowing;   /* widths are settled, rows go straight out */
	size_t *width;
	int *decimals;
	bool *right; /* numbers */
	bool *seen;  /* a value that is not NULL */
	bool *out;   /* has no room on the terminal */
	bool fits;   /* texts are cut to the width of their column */
};

static bool hidden(const struct sheet *s, int col)
{
	const struct text *t = s->state;

	return t->out[col] || (col < s->opt.width_cnt && s->opt.widths[col] == 0);
}

/* Columns a text may take: 0 = as many as it likes. */
static size_t limit_of(const struct sheet *s, int col)
{
	const struct text *t = s->state;

	if (col < s->opt.width_cnt && s->opt.widths[col] > 0)
		return (size_t)s->opt.widths[col];
	if (t->fits && !t->right[col])
		return t->width[col];
	return s->opt.no_limit ? 0 : WIDTH_LIMIT;
}

/* As text_people(), but the end of a path stays, by which a file is known; the ellipsis stands before it. */
static char *path_people(const char *path, size_t len, size_t limit, size_t *width)
{
	char *text = text_people(path, len, 0, width), *cut = NULL;
	const char *tail = path;
	int32_t cp;

	while (text && *width + (tail != path) > limit && *width > 1) {
		tail += utf8_next(tail, len - (size_t)(tail - path), &cp);
		free(text);
		text = text_people(tail, len - (size_t)(tail - path), 0, width);
	}
	if (!text || tail == path)
		return text;
	if (asprintf(&cut, "\u2026%s", text) < 0)
		cut = NULL;
	*width += 1;
	free(text);
	return cut;
}

static char *shown(const struct sheet *s, int col, const struct cell *c, size_t *width)
{
	const struct text *t = s->state;
	char number[CELL_NUMBER_MAX];

	if (c->kind == CELL_TEXT && t->fits && c->len && c->text[0] == '/')
		return path_people(c->text, c->len, limit_of(s, col), width);
	if (c->kind == CELL_TEXT)
		return text_people(c->text, c->len, limit_of(s, col), width);
	*width = cell_number_people(c, t->decimals[col], !s->opt.no_grouping, number);
	return strdup(number);
}

/* Spaces wait until something stands after them, so that no line ends in one. */
static void put(struct sheet *s, const char *text)
{
	struct text *t = s->state;
	size_t blank = strspn(text, " ");

	t->pending += blank;
	if (!text[blank])
		return;
	for (; t->pending > 0; t->pending--)
		putc(' ', s->out);
	fputs(text + blank, s->out);
}

static void put_newline(struct sheet *s)
{
	struct text *t = s->state;

	t->pending = 0;
	putc('\n', s->out);
}

enum align {
	ALIGN_LEFT,
	ALIGN_CENTRE,
	ALIGN_RIGHT
};

static void put_cell(struct sheet *s, const char *text, size_t width, size_t column,
		     enum align align)
{
	struct text *t = s->state;
	size_t gap = column > width ? column - width : 0;
	size_t before = align == ALIGN_RIGHT ? gap : align == ALIGN_CENTRE ? gap / 2 : 0;

	t->pending += before;
	put(s, text);
	t->pending += gap - before;
}

static void rule(struct sheet *s)
{
	const struct text *t = s->state;
	bool first = true;

	for (int i = 0; i < s->cols; i++) {
		if (hidden(s, i))
			continue;
		put(s, t->boxed ? (first ? " +-" : "-+-") : first ? " " : "  ");
		for (size_t k = 0; k < t->width[i]; k++)
			put(s, "-");
		first = false;
	}
	put(s, t->boxed ? "-+" : "");
	put_newline(s);
}

static int put_row(struct sheet *s, const struct cell *cells)
{
	const struct text *t = s->state;
	bool first = true;

	for (int i = 0; i < s->cols; i++) {
		size_t width;
		char *text;

		if (hidden(s, i))
			continue;
		text = shown(s, i, &cells[i], &width);
		if (!text)
			return -1;
		put(s, t->boxed ? " | " : first ? " " : "  ");
		put_cell(s, text, width, t->width[i], t->right[i] ? ALIGN_RIGHT : ALIGN_LEFT);
		free(text);
		first = false;
	}
	put(s, t->boxed ? " |" : "");
	put_newline(s);
	return 0;
}

static int put_heads(struct sheet *s)
{
	const struct text *t = s->state;
	bool first = true;

	if (t->boxed)
		rule(s);
	if (s->opt.no_header)
		return 0;
	for (int i = 0; i < s->cols; i++) {
		size_t width;
		char *head;

		if (hidden(s, i))
			continue;
		head = text_people(s->heads[i], strlen(s->heads[i]), limit_of(s, i), &width);
		if (!head)
			return -1;
		put(s, t->boxed ? " | " : first ? " " : "  ");
		put_cell(s, head, width, t->width[i], ALIGN_CENTRE);
		free(head);
		first = false;
	}
	put(s, t->boxed ? " |" : "");
	put_newline(s);
	rule(s);
	return 0;
}

/* ---- the width of a terminal ---- */

static size_t width_of(const struct sheet *s)
{
	const struct text *t = s->state;
	size_t sum = t->boxed ? 5 : 1, shown = 0;

	for (int i = 0; i < s->cols; i++)
		if (!hidden(s, i)) {
			sum += t->width[i];
			shown++;
		}
	return sum + (shown ? shown - 1 : 0) * (t->boxed ? 3 : 2);
}

/* A text whose width was not given, the widest; -1: none is wider than @least. */
static int widest_text(const struct sheet *s, size_t least)
{
	const struct text *t = s->state;
	int widest = -1;

	for (int i = 0; i < s->cols; i++)
		if (!hidden(s, i) && !t->right[i] && t->width[i] > least &&
		    !(i < s->opt.width_cnt && s->opt.widths[i] > 0) &&
		    (widest < 0 || t->width[i] > t->width[widest]))
			widest = i;
	return widest;
}

static void cut_texts(struct sheet *s, size_t least)
{
	struct text *t = s->state;
	int widest;

	while (width_of(s) > s->width && (widest = widest_text(s, least)) >= 0) {
		t->width[widest]--;
		t->fits = true;
	}
}

static void leave_out_numbers(struct sheet *s)
{
	struct text *t = s->state;
	int numbers = 0;

	for (int i = 0; i < s->cols; i++)
		numbers += t->right[i] && !hidden(s, i);
	for (int i = s->cols - 1; i >= 0 && width_of(s) > s->width; i--)
		t->out[i] |= !t->seen[i];
	for (int i = s->cols - 1; i >= 0 && numbers > NUMBERS_MIN && width_of(s) > s->width; i--)
		if (t->right[i] && !hidden(s, i)) {
			t->out[i] = true;
			numbers--;
		}
}

/* Texts take what numbers that were left out leave free. */
static int fit(struct sheet *s)
{
	struct text *t = s->state;
	size_t bytes = (size_t)s->cols * sizeof(*t->width), *whole;

	if (!s->width || s->opt.no_limit || width_of(s) <= s->width)
		return 0;
	whole = malloc(bytes);
	if (!whole)
		return -1;
	memcpy(whole, t->width, bytes);
	cut_texts(s, TEXT_LEAST);
	leave_out_numbers(s);
	memcpy(t->width, whole, bytes);
	free(whole);
	cut_texts(s, TEXT_MIN);
	return 0;
}

/* What the terminal had no room for, and how it is shown. */
static void put_rest(const struct sheet *s)
{
	const struct text *t = s->state;
	const char *between = "; ";
	int cnt = 0;

	for (int i = 0; i < s->cols; i++)
		cnt += t->out[i];
	if (!s->more && !cnt)
		return;
	fputs(" \u2026 ", s->out);
	if (s->more)
		fprintf(s->out, "%lld more rows", s->more);
	else
		between = "";
	if (cnt)
		fprintf(s->out, "%s%d more columns", between, cnt);
	fprintf(s->out, " (-r %s --all)\n", s->name);
}

/* Widths, decimals and sides from the rows kept back. */
static int settle(struct sheet *s)
{
	struct text *t = s->state;

	for (int i = 0; i < s->cols; i++) {
		t->right[i] = true;
		for (size_t r = 0; r < t->rows; r++) {
			const struct cell *c = &t->cells[r * (size_t)s->cols + (size_t)i];
			int decimals = cell_decimals(c);

			t->seen[i] |= c->kind != CELL_NULL;
			if (c->kind == CELL_TEXT)
				t->right[i] = false;
			if (decimals > t->decimals[i])
				t->decimals[i] = decimals;
		}
		t->right[i] &= t->seen[i];
	}
	for (int i = 0; i < s->cols; i++) {
		char *head =
			text_people(s->heads[i], strlen(s->heads[i]), limit_of(s, i), &t->width[i]);

		if (!head)
			return -1;
		free(head);
		if (s->opt.no_header)
			t->width[i] = 0;
		for (size_t r = 0; r < t->rows; r++) {
			size_t width;
			char *text =
				shown(s, i, &t->cells[r * (size_t)s->cols + (size_t)i], &width);

			if (!text)
				return -1;
			free(text);
			if (width > t->width[i])
				t->width[i] = width;
		}
		if (i < s->opt.width_cnt && s->opt.widths[i] > 0 &&
		    (size_t)s->opt.widths[i] > t->width[i])
			t->width[i] = (size_t)s->opt.widths[i];
	}
	t->flowing = true;
	return fit(s);
}

static int flow(struct sheet *s)
{
	struct text *t = s->state;

	if (settle(s) < 0 || put_heads(s) < 0)
		return -1;
	for (size_t r = 0; r < t->rows; r++)
		if (put_row(s, &t->cells[r * (size_t)s->cols]) < 0)
			return -1;
	return 0;
}

static int keep(struct sheet *s, const struct cell *cells)
{
	struct text *t = s->state;
	size_t cols = (size_t)s->cols;

	if (!grow(&t->cells, t->rows, &t->room, cols * sizeof(*t->cells)))
		return -1;
	for (size_t i = 0; i < cols; i++) {
		struct cell *to = &t->cells[t->rows * cols + i];

		*to = cells[i];
		if (to->kind != CELL_TEXT)
			continue;
		char *copy = malloc(to->len + 1);

		if (!copy) {
			while (i-- > 0)
				if (t->cells[t->rows * cols + i].kind == CELL_TEXT)
					free((void *)t->cells[t->rows * cols + i].text);
			return -1;
		}
		memcpy(copy, to->text, to->len);
		copy[to->len] = '\0';
		to->text = copy;
	}
	t->rows++;
	return 0;
}

static int begin(struct sheet *s, bool boxed)
{
	struct text *t = calloc(1, sizeof(*t));
	size_t cols = (size_t)s->cols;

	if (!t)
		return -1;
	s->state = t;
	t->boxed = boxed;
	t->width = calloc(cols, sizeof(*t->width));
	t->decimals = calloc(cols, sizeof(*t->decimals));
	t->right = calloc(cols, sizeof(*t->right));
	t->seen = calloc(cols, sizeof(*t->seen));
	t->out = calloc(cols, sizeof(*t->out));
	if (!t->width || !t->decimals || !t->right || !t->seen || !t->out)
		return -1;
	if (s->console)
		fprintf(s->out, "\n ** %s (%s):\n\n", s->title, s->name);
	return 0;
}

static int column_begin(struct sheet *s)
{
	return begin(s, false);
}

static int table_begin(struct sheet *s)
{
	return begin(s, true);
}

static int row(struct sheet *s, const struct cell *cells)
{
	struct text *t = s->state;

	if (!t->flowing) {
		if (t->rows < LOOKAHEAD)
			return keep(s, cells);
		if (flow(s) < 0)
			return -1;
	}
	return put_row(s, cells);
}

static int end(struct sheet *s)
{
	struct text *t = s->state;
	bool whole = t && t->out && t->seen && t->right && t->decimals && t->width;
	int rc = whole ? 0 : -1;

	if (!t)
		return -1;
	if (whole && !t->flowing)
		rc = flow(s);
	if (rc == 0 && t->boxed)
		rule(s);
	if (rc == 0)
		put_rest(s);
	if (s->console)
		putc('\n', s->out);
	for (size_t i = 0; i < t->rows * (size_t)s->cols; i++)
		if (t->cells[i].kind == CELL_TEXT)
			free((void *)t->cells[i].text);
	free(t->cells);
	free(t->width);
	free(t->decimals);
	free(t->right);
	free(t->seen);
	free(t->out);
	free(t);
	s->state = NULL;
	return rc;
}

#define MODIFIERS "nohdr,nolimit,nofmt,<width>"

const struct format format_column = {
	.name = "column",
	.extension = "txt",
	.about = "aligned columns, for reading",
	.modifiers = MODIFIERS,
	.for_people = true,
	.begin = column_begin,
	.row = row,
	.end = end,
};

const struct format format_table = {
	.name = "table",
	.extension = "txt",
	.about = "columns in a frame, for reading",
	.modifiers = MODIFIERS,
	.for_people = true,
	.begin = table_begin,
	.row = row,
	.end = end,
};
