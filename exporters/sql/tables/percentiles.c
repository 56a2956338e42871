/* percentiles.c - parses --percentiles and writes the chosen ones into the SQL of a report. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/sql/tables/percentiles.h"

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

char *percentiles_expand(const char *sql, const struct percentiles *p)
{
	static const char mark[] = "/* percentiles:";
	static const struct percentiles none;
	const char *at;
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	p = p ? p : &none;
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
