/* ask_rollups.c - the parts of a question that a pack has as tables. */
#include "exporters/ranks/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN "-- roll-up "
#define END   "-- roll-up end\n"
#define NOT   "-- not rolled up\n"

/* A marked part: its table, its CTE, its text. */
struct part {
	char table[64], cte[64];
	const char *head, *text, *end, *rest; /* of the marks' lines and what is between */
};

/* The next part from @at on; false: none. */
static bool next_part(const char *at, struct part *p)
{
	p->head = strstr(at, BEGIN);
	if (!p->head || sscanf(p->head, BEGIN "%63[A-Z_]: %63[a-z_]", p->table, p->cte) != 2)
		return false;
	p->text = strchr(p->head, '\n');
	p->end = p->text ? strstr(p->text, END) : NULL;
	p->rest = p->end ? p->end + strlen(END) : NULL;
	return p->rest;
}

char *ask_over_rollups(const char *sql)
{
	char *text = NULL;
	size_t len;
	struct part p;
	FILE *out = next_part(sql, &p) ? open_memstream(&text, &len) : NULL;

	if (!out)
		return NULL;
	for (; next_part(sql, &p); sql = p.rest)
		fprintf(out, "%.*s%s AS (SELECT * FROM %s)\n", (int)(p.head - sql), sql, p.cte,
			p.table);
	fputs(sql, out);
	return fclose(out) == 0 ? text : NULL;
}

char *ask_rollup(const char *sql, size_t idx, char table[64])
{
	char *text = NULL;
	size_t len;
	struct part p;
	FILE *out;

	for (size_t i = 0; i <= idx; i++, sql = p.rest)
		if (!next_part(sql, &p))
			return NULL;
	memcpy(table, p.table, sizeof(p.table));
	out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	fputs("WITH", out);
	for (const char *line = p.text; line < p.end;) {
		const char *end = strchr(line + 1, '\n');
		size_t n = (size_t)(end - line) + 1, not = strlen(NOT);

		if (n < not || strncmp(line + n - not, NOT, not ) != 0)
			fwrite(line, 1, n - 1, out);
		line = end;
		if (line + 1 >= p.end)
			break;
	}
	fprintf(out, "\nSELECT * FROM %s", p.cte);
	return fclose(out) == 0 ? text : NULL;
}
