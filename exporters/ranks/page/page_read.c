/* page_read.c - the statements of the page, and the engine's answer. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "collector/base/grow.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/page/ranks_page.h"

static const char *embedded(void)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "ranks/page/page.sql") == 0)
			return e->text;
	return NULL;
}

/* Is the column of a row of cells, and nothing else, in it? */
static bool add_row(struct picture *p, int64_t rank, const char *cells)
{
	size_t len = strlen(cells);

	if (strspn(cells, "abcdefgh.") != len || (p->cnt && len != p->wide))
		return false;
	if (!grow(&p->rows, p->cnt, &p->room, sizeof(*p->rows)))
		return false;
	p->wide = len;
	p->rows[p->cnt].rank = rank;
	p->rows[p->cnt].cells = strdup(cells);
	return p->rows[p->cnt].cells && ++p->cnt;
}

static unsigned digit(char c)
{
	return (unsigned)(c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= '0' && c <= '9' ? c - '0' : 0);
}

static void read_hex(char *to, size_t room, const char *text)
{
	size_t len = 0;

	for (; text[0] && text[1] && len + 1 < room; text += 2)
		to[len++] = (char)(digit(text[0]) << 4 | digit(text[1]));
	to[len] = 0;
}

#define FIELDS 6

static bool add_mean(struct ranks_page *p, char *const *field)
{
	if (!grow(&p->means, p->means_cnt, &p->means_room, sizeof(*p->means)))
		return false;
	p->means[p->means_cnt] = (struct page_mean){.rank = atoll(field[1]), .ns = atoll(field[2])};
	read_hex(p->means[p->means_cnt].host, sizeof(p->means[0].host), field[3]);
	p->means_cnt++;
	return true;
}

static bool add_rate(struct ranks_page *p, char *const *field)
{
	if (!grow(&p->rates, p->rates_cnt, &p->rates_room, sizeof(*p->rates)))
		return false;
	p->rates[p->rates_cnt] = (struct page_rate){.size = atoll(field[2]),
						    .n = atoll(field[3]),
						    .alg = atoll(field[4]),
						    .bus = atoll(field[5])};
	read_hex(p->rates[p->rates_cnt].op, sizeof(p->rates[0].op), field[1]);
	p->rates_cnt++;
	return true;
}

static bool read_line(struct ranks_page *p, char *const *field)
{
	switch (field[0][0]) {
	case 'S':
		p->first_step = atoll(field[1]);
		p->last_step = atoll(field[2]);
		return true;
	case 'A':
		free(p->all);
		p->all = strdup(field[1]);
		return p->all;
	case 'R':
		return add_row(&p->steps, atoll(field[1]), field[2]);
	case 'L':
		return add_row(&p->late, atoll(field[1]), field[2]);
	case 'C':
		p->longest = atoll(field[2]);
		p->comms = atoll(field[3]);
		return true;
	case 'W':
		if (p->worst_cnt < sizeof(p->worst) / sizeof(p->worst[0]))
			p->worst[p->worst_cnt++] = (struct page_worst){
				atoll(field[1]), atoll(field[2]), atoll(field[3]), atoll(field[4])};
		return true;
	case 'T':
		if (p->slowest_cnt < sizeof(p->slowest) / sizeof(p->slowest[0]))
			p->slowest[p->slowest_cnt++] = (struct page_slow){.rank = atoll(field[1]),
									  .step = atoll(field[2]),
									  .start = atoll(field[3]),
									  .end = atoll(field[4])};
		return true;
	case 'M':
		return add_mean(p, field);
	case 'B':
		return add_rate(p, field);
	default:
		return false;
	}
}

int ranks_page_read(struct ranks_page *p, FILE *from)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	bool ok = true;

	while (ok && (len = getline(&line, &room, from)) > 0) {
		char *field[FIELDS], *rest = line, *next;
		static char none[] = "";

		line[strcspn(line, "\r\n")] = 0;
		/* Names of columns. */
		if (!strchr(line, '|'))
			continue;
		for (int i = 0; i < FIELDS; i++) {
			next = rest ? strsep(&rest, "|") : NULL;
			field[i] = next ? next : none;
		}
		ok = strlen(field[0]) == 1 && read_line(p, field);
	}
	free(line);
	return ok && !ferror(from) ? 0 : -1;
}

/* All but the last statement make tables, or write lines: an engine that stops at the first error runs one after the other. */
char *ranks_page_sql(const struct ask *a)
{
	const char *sql = embedded();
	struct ask one = *a;
	char *text = NULL, *script;
	size_t len;
	FILE *out;

	one.sql = sql;
	script = sql ? ask_script(&one) : NULL;
	out = script ? open_memstream(&text, &len) : NULL;
	for (const char *at = script; out && *at;) {
		if (strncmp(at, ":wide", 5) == 0) {
			fprintf(out, "%d", RANKS_PAGE_WIDE);
			at += 5;
		} else {
			putc(*at++, out);
		}
	}
	free(script);
	return out && fclose(out) == 0 ? text : NULL;
}

void ranks_page_free(struct ranks_page *p)
{
	struct picture *const pictures[] = {&p->steps, &p->late};

	for (size_t n = 0; n < 2; n++) {
		for (size_t i = 0; i < pictures[n]->cnt; i++)
			free(pictures[n]->rows[i].cells);
		free(pictures[n]->rows);
	}
	for (size_t i = 0; i < p->slowest_cnt; i++)
		bars_free(&p->slowest[i].bars);
	free(p->all);
	free(p->means);
	free(p->rates);
	memset(p, 0, sizeof(*p));
}
