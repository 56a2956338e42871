/* tables_html.c - tables of the page, made by the reports that stats prints, written for people. */
#include <stdlib.h>
#include <string.h>

#include "exporters/html/html_text.h"
#include "exporters/html/tables_html.h"
#include "exporters/sql/query.h"

/* ---- the format: a table of at most so many rows ---- */

enum unit {
	AS_IT_IS,
	TIME,
	BYTES,
	MEGABYTES,
	PERCENT,
	ID
};

struct state {
	int rows, rows_max;
	int lead;                     /* the name that all others are about */
	int order[FORMAT_WIDTHS_MAX]; /* of the columns, as the page shows them */
	int bar;                      /* this one gets a bar; -1: none */
	enum unit units[FORMAT_WIDTHS_MAX];
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static enum unit unit_of(const char *head)
{
	static const char *const ids[] = {"Pid", "PID",  "Tid", "TID", "PPid", "CPU",
					  "ID",  "Row#", "FD",  "Id",  "Rank"};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (ends_with(head, ids[i]))
			return ID;
	return ends_with(head, "(ns)")                                    ? TIME
	       : ends_with(head, "(%)")                                   ? PERCENT
	       : ends_with(head, "(bytes)") || strcmp(head, "Bytes") == 0 ? BYTES
	       : ends_with(head, "(MB)")                                  ? MEGABYTES
									  : AS_IT_IS;
}

/* The column that identifies rows stands last in reports, where long names do no harm; here first. -1: none does. */
static int lead_of(const struct sheet *s)
{
	static const char *const names[] = {"Name", "Range", "Operation", "Path",      "Function",
					    "What", "File",  "Kernel",    "Statistics"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ends_with(s->heads[s->cols - 1], names[i]))
			return s->cols - 1;
	return -1;
}

/* Pid and Tid, which identify the rows of tables of threads, come first, then the name. */
static void put_in_order(struct state *st, const struct sheet *s)
{
	static const char *const ids[] = {"Pid", "Tid"};
	bool is_first[FORMAT_WIDTHS_MAX] = {false};
	int lead = lead_of(s), cnt = 0;

	for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++)
		for (int i = 0; i < s->cols; i++)
			if (strcmp(s->heads[i], ids[k]) == 0 && !is_first[i]) {
				is_first[i] = true;
				st->order[cnt++] = i;
			}
	if (lead >= 0 && !is_first[lead]) {
		is_first[lead] = true;
		st->order[cnt++] = lead;
	}
	for (int i = 0; i < s->cols; i++)
		if (!is_first[i])
			st->order[cnt++] = i;
	st->lead = lead >= 0 ? lead : st->order[0];
}

static void put_head(FILE *out, const char *head, enum unit unit)
{
	size_t len = strlen(head);

	if (unit == TIME || unit == BYTES || unit == MEGABYTES || unit == PERCENT)
		while (len > 0 && head[len - 1] == ')') {
			size_t open = len;

			while (open > 0 && head[open - 1] != '(')
				open--;
			len = open > 1 ? open - 2 : len;
			break;
		}
	html_text(out, head, len);
}

static int begin(struct sheet *s)
{
	struct state *st = s->state;

	if (s->cols > FORMAT_WIDTHS_MAX)
		s->cols = FORMAT_WIDTHS_MAX;
	put_in_order(st, s);
	st->bar = -1;
	for (int i = 0; i < s->cols; i++) {
		st->units[i] = unit_of(s->heads[i]);
		if (st->units[i] == PERCENT && st->bar < 0)
			st->bar = i;
	}
	fputs("<thead><tr>", s->out);
	for (int i = 0; i < s->cols; i++) {
		int col = st->order[i];

		fputs("<th scope=\"col\">", s->out);
		put_head(s->out, s->heads[col], st->units[col]);
		fputs("</th>", s->out);
	}
	fputs("</tr></thead>\n<tbody>\n", s->out);
	return 0;
}

static double value_of(const struct cell *c)
{
	return c->kind == CELL_INT ? (double)c->num : c->real;
}

static void put_number(FILE *out, const struct cell *c, enum unit unit, bool bar)
{
	char exact[CELL_NUMBER_MAX], text[HUMAN_MAX], people[CELL_NUMBER_MAX];
	double v = value_of(c);
	size_t len = cell_number(c, exact);

	fprintf(out, "<td class=\"n\" data-v=\"%.*s\">", (int)len, exact);
	if (bar)
		fprintf(out,
			"<svg class=\"bar\" aria-hidden=\"true\"><rect width=\"%.1f%%\" "
			"height=\"100%%\"/></svg>",
			v < 0     ? 0
			: v > 100 ? 100
				  : v);
	switch (unit) {
	case TIME:
		fputs(human_time(text, v), out);
		break;
	case BYTES:
		fputs(human_bytes(text, v), out);
		break;
	case MEGABYTES: /* rounded by the report: small values must not look more exact than they are */
		fwrite(people, 1, cell_number_people(c, 3, true, people), out);
		fputs(" MB", out);
		break;
	case PERCENT:
		html_str(out, human_percent(text, v));
		break;
	case ID:
		fwrite(exact, 1, len, out);
		break;
	case AS_IT_IS:
		fwrite(people, 1,
		       cell_number_people(c, c->kind == CELL_INT ? 0 : cell_decimals(c), true,
					  people),
		       out);
	}
}

static void put_text(FILE *out, const struct cell *c, bool lead)
{
	fputs(lead ? "<span class=\"name\">" : "<td>", out);
	html_text(out, c->text, c->len);
	if (lead)
		fputs("</span>", out);
}

static int row(struct sheet *s, const struct cell *cells)
{
	struct state *st = s->state;

	if (st->rows++ >= st->rows_max)
		return 0;
	fputs("<tr>", s->out);
	for (int i = 0; i < s->cols; i++) {
		int col = st->order[i];
		const struct cell *c = &cells[col];
		bool lead = col == st->lead && c->kind == CELL_TEXT;

		if (lead)
			fputs("<th scope=\"row\">", s->out);
		if (c->kind == CELL_TEXT)
			put_text(s->out, c, lead);
		else if (c->kind == CELL_NULL)
			fputs("<td class=\"n\">", s->out);
		else
			put_number(s->out, c, st->units[col], col == st->bar);
		fputs(lead ? "</th>" : "</td>", s->out);
	}
	fputs("</tr>\n", s->out);
	return 0;
}

static int end(struct sheet *s)
{
	fputs("</tbody>\n", s->out);
	return 0;
}

static const struct format page_table = {
	.name = "page",
	.extension = "html",
	.modifiers = "",
	.begin = begin,
	.row = row,
	.end = end,
};

/* ---- one table ---- */

void table_begin(FILE *out, const char *about)
{
	fputs("<div class=\"scroll\" tabindex=\"0\"><table>\n<caption><span>", out);
	html_str(out, about);
	fputs("</span></caption>\n", out);
}

void table_end(FILE *out)
{
	fputs("</table></div>\n", out);
}

/* All lines of a key in the head of a report, as one text. */
static void join_field(const char *sql, const char *key, char *buf, size_t len)
{
	char line[512];
	size_t at = 0;

	*buf = '\0';
	for (unsigned i = 0; report_field(sql, key, i, line, sizeof(line)) && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s", i ? " " : "", line);
}

long long table_of(sqlite3 *db, const struct report *r, int rows_max, FILE *out, table_runner run,
		   void *ctx, char *why, size_t why_len)
{
	struct state st = {.rows_max = rows_max};
	struct sheet sheet = {.title = r->title, .name = r->name, .console = false, .state = &st};
	char *text = NULL, about[1024];
	size_t len;
	FILE *f = open_memstream(&text, &len);
	long long rows = -1;

	if (!f) {
		snprintf(why, why_len, "out of memory");
		return -1;
	}
	sheet.out = f;
	rows = run ? run(ctx, r, &page_table, &sheet, why, why_len)
		   : query_run(db, r, &time_units[0], &page_table, &sheet, why, why_len);
	if (fclose(f) != 0 && rows >= 0) {
		snprintf(why, why_len, "out of memory");
		rows = -1;
	}
	if (rows > 0) {
		join_field(r->sql, "about", about, sizeof(about));
		table_begin(out, about);
		fwrite(text, 1, len, out);
		table_end(out);
	}
	free(text);
	return rows;
}
