/*
 * fmt_json.c - format json: an array with one object per row, keys being the headings; with --limit or --max-bytes, or where the rows
 * do not fit into the bytes of an answer, an object that has the array as its member "rows", and the number of those it left out.
 *
 * Valid whatever a path contains: bytes that are no UTF-8 become U+FFFD, numbers stay numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/text/bounded.h"
#include "exporters/text/format.h"

#define TEXT_MAX 4096
#define TEXT_MIN 64
#define TAIL     256 /* bytes behind the rows, besides the command */

struct state {
	struct writer w;
	size_t len, max; /* bytes written, and allowed; 0: any number */
	size_t head; /* an array while all rows fit: bytes of the object's beginning; 0: not one */
	long long rows, left;
	int share_col; /* the column "Time (%)"; -1: none */
	double share;  /* of the rows left out, in per cent */
	bool is_full;  /* no more fit */
	bool is_cut;   /* a row did not fit as it is */
};

static int share_column(const struct sheet *s)
{
	for (int i = 0; i < s->cols; i++)
		if (strcmp(s->heads[i], "Time (%)") == 0)
			return i;
	return -1;
}

static void flush(struct state *st, FILE *out)
{
	fwrite(st->w.data, 1, st->w.len, out);
	st->len += st->w.len;
	st->w.len = 0;
}

static int begin(struct sheet *s)
{
	struct state *st = calloc(1, sizeof(*st));

	s->state = st;
	if (!st) {
		putc('[', s->out);
		return -1;
	}
	st->w.is_spaced = true;
	st->w.text_max = s->text_max;
	if (!s->bounds) {
		st->w.file = s->out;
		putc('[', s->out);
		return 0;
	}
	st->share_col = share_column(s);
	if (s->bounds->max_bytes) {
		st->max = (size_t)s->bounds->max_bytes;
		st->w.text_max = TEXT_MAX;
	}
	json_open(&st->w, NULL, '{');
	json_int(&st->w, "schema_version", BOUNDED_SCHEMA);
	json_text(&st->w, "report", s->report);
	json_text(&st->w, "table", s->name);
	if (*s->title)
		json_text(&st->w, "title", s->title);
	json_line(&st->w, 1);
	json_open(&st->w, "rows", '[');
	if (s->array_if_fits) {
		st->head = st->w.len;
		st->w.text_max = s->text_max;
	} else {
		flush(st, s->out);
	}
	return st->w.failed ? -1 : 0;
}

static void put_row(struct writer *w, const struct sheet *s, const struct cell *cells)
{
	json_line(w, 2);
	json_open(w, NULL, '{');
	for (int i = 0; i < s->cols; i++) {
		char number[CELL_NUMBER_MAX];
		size_t len;

		if (cells[i].kind == CELL_TEXT)
			json_bytes(w, s->heads[i], cells[i].text, cells[i].len);
		else if ((len = cell_number(&cells[i], number)))
			json_raw(w, s->heads[i], number, len);
		else
			json_null(w, s->heads[i]);
	}
	json_close(w, '}');
}

static double share_of(const struct state *st, const struct cell *cells)
{
	const struct cell *c = st->share_col < 0 ? NULL : &cells[st->share_col];
	double share = !c                     ? 0
		       : c->kind == CELL_INT  ? (double)c->num
		       : c->kind == CELL_REAL ? c->real
					      : 0;

	for (int i = 0; c && c->kind == CELL_INT && i < c->scale; i++)
		share /= 10;
	return share;
}

/* A row is written whole or not at all; the first one with shorter texts where it must. */
static void put_bounded(struct state *st, const struct sheet *s, const struct cell *cells)
{
	size_t tail = TAIL + (s->bounds->command ? strlen(s->bounds->command) : 0);
	size_t before = st->w.len;
	bool has_comma = st->w.has_comma;

	if (st->is_full || (s->bounds->limit && st->rows >= s->bounds->limit)) {
		st->left++;
		st->share += share_of(st, cells);
		return;
	}
	for (;;) {
		put_row(&st->w, s, cells);
		if (!st->max || st->len + st->w.len + tail <= st->max)
			break;
		st->w.len = before;
		st->w.has_comma = has_comma;
		st->is_cut = true;
		if (st->rows || (st->w.text_max && st->w.text_max <= TEXT_MIN)) {
			st->is_full = true;
			st->left++;
			st->share += share_of(st, cells);
			return;
		}
		st->w.text_max = st->w.text_max ? st->w.text_max / 2 : TEXT_MAX;
	}
	st->rows++;
	if (!st->head)
		flush(st, s->out);
}

static int row(struct sheet *s, const struct cell *cells)
{
	struct state *st = s->state;

	if (s->bounds)
		put_bounded(st, s, cells);
	else
		put_row(&st->w, s, cells);
	return st->w.failed ? -1 : 0;
}

/* How much was left out, and the command that shows more: of what had no size, more rows than there were. */
static void put_left(struct state *st, const struct sheet *s)
{
	struct bounds more = *s->bounds;

	if (st->head)
		more.limit = st->rows ? st->rows : 1;
	if (st->left) {
		json_line(&st->w, 1);
		json_open(&st->w, "omitted", '{');
		bounded_omitted(&st->w, "rows", st->left, st->share_col < 0 ? -1 : st->share / 100);
		json_close(&st->w, '}');
	}
	if (st->left || (st->head && st->is_cut)) {
		json_line(&st->w, 1);
		bounded_next(&st->w, &more, st->is_full || st->is_cut);
	}
}

static int end(struct sheet *s)
{
	struct state *st = s->state;

	if (!st || !s->bounds) {
		fputs(st && st->w.has_comma ? "\n]\n" : "]\n", s->out);
		free(st);
		s->state = NULL;
		return 0;
	}
	if (st->head && !st->is_cut) {
		putc('[', s->out);
		fwrite(st->w.data + st->head, 1, st->w.len - st->head, s->out);
		fputs(st->rows ? "\n]\n" : "]\n", s->out);
		writer_free(&st->w);
		free(st);
		s->state = NULL;
		return 0;
	}
	json_close(&st->w, ']');
	put_left(st, s);
	json_close(&st->w, '}');
	writer_add(&st->w, "\n", 1);
	flush(st, s->out);
	writer_free(&st->w);
	free(st);
	s->state = NULL;
	return 0;
}

const struct format format_json = {
	.name = "json",
	.extension = "json",
	.about = "an array with one object per row",
	.modifiers = "",
	.begin = begin,
	.row = row,
	.end = end,
};
