/* html_text.c - escaping, and numbers for people. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "collector/base/json.h"
#include "collector/base/utf8.h"
#include "exporters/text/cell.h"
#include "exporters/html/html_text.h"

/* Controls, invalid characters, and invisible ones. */
static bool unfit(int32_t cp)
{
	return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || (cp & 0xFFFE) == 0xFFFE ||
	       (cp >= 0xFDD0 && cp <= 0xFDEF) || utf8_is_hidden((uint32_t)cp);
}

/* The next character: its code point, 0xFFFD where the character is not allowed. Returns its bytes. */
static size_t next(const char *text, size_t len, int32_t *cp)
{
	size_t bytes = utf8_next(text, len, cp);

	if (*cp == '\t' || *cp == '\n' || *cp == '\r')
		*cp = ' ';
	else if (unfit(*cp))
		*cp = 0xFFFD;
	return bytes;
}

void html_text(FILE *out, const char *text, size_t len)
{
	for (size_t pos = 0; pos < len;) {
		int32_t cp;
		size_t bytes = next(text + pos, len - pos, &cp);

		if (pos >= HTML_TEXT_MAX) {
			fputs("&#8230;", out);
			return;
		}
		if (cp == '&' || cp == '<' || cp == '>' || cp == '"' || cp == '\'' || cp == 0xFFFD)
			fprintf(out, "&#%d;", (int)cp);
		else if (cp == ' ')
			fputc(' ', out);
		else
			fwrite(text + pos, 1, bytes, out);
		pos += bytes;
	}
}

void html_str(FILE *out, const char *text)
{
	html_text(out, text, strlen(text));
}

void html_json(FILE *out, const char *text, size_t len)
{
	fputc('"', out);
	for (size_t pos = 0; pos < len;) {
		int32_t cp;
		size_t bytes = next(text + pos, len - pos, &cp);

		if (pos >= HTML_TEXT_MAX) {
			fputs("\\u2026", out);
			break;
		}
		/* '<' and '&' could end the script element or begin a comment in it. */
		if (cp == '"' || cp == '\\' || cp == '<' || cp == '>' || cp == '&' ||
		    cp == 0xFFFD) {
			char code[12];

			fwrite(code, 1, (size_t)(json_escape_code(code, (uint32_t)cp) - code), out);
		} else if (cp == ' ') {
			fputc(' ', out);
		} else {
			fwrite(text + pos, 1, bytes, out);
		}
		pos += bytes;
	}
	fputc('"', out);
}

void html_json_str(FILE *out, const char *text)
{
	html_json(out, text, strlen(text));
}

/* Three significant digits, but never fewer than the whole number has. */
static void digits(char buf[HUMAN_MAX], double x, const char *unit)
{
	double size = fabs(x);
	int decimals = x == floor(x) && size < 1000 ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;

	snprintf(buf, HUMAN_MAX, "%.*f %s", decimals, x, unit);
}

const char *human_time(char buf[HUMAN_MAX], double ns)
{
	static const struct {
		double from, size;
		const char *unit;
	} units[] = {
		{999.5e6, 1e9, "s"}, {999.5e3, 1e6, "ms"}, {999.5, 1e3, "\u00b5s"}, {0, 1, "ns"}};
	double size = fabs(ns);
	int minutes = size < 1e18 ? (int)(size / 60e9) : 0;

	if (size >= 3600e9 && size < 1e18) {
		snprintf(buf, HUMAN_MAX, "%s%d h %02d min", ns < 0 ? "-" : "", minutes / 60,
			 minutes % 60);
		return buf;
	}
	if (size >= 120e9 && size < 1e18) {
		snprintf(buf, HUMAN_MAX, "%s%d min %02d s", ns < 0 ? "-" : "", minutes,
			 (int)(size / 1e9) % 60);
		return buf;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (size >= units[i].from) {
			digits(buf, ns / units[i].size, units[i].unit);
			break;
		}
	}
	return buf;
}

const char *human_bytes(char buf[HUMAN_MAX], double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	size_t i = 0;

	while (fabs(bytes) >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0])) {
		bytes /= 1024;
		i++;
	}
	digits(buf, bytes, units[i]);
	return buf;
}

const char *human_count(char buf[HUMAN_MAX], double n)
{
	struct cell c = {.kind = CELL_INT, .num = (int64_t)n};
	char text[CELL_NUMBER_MAX];

	if (fabs(n) >= 1e15)
		digits(buf, n / 1e15, "\u00d7 10\u00b9\u2075");
	else if (fabs(n) >= 1e12)
		digits(buf, n / 1e12, "T");
	else if (fabs(n) >= 1e9)
		digits(buf, n / 1e9, "G");
	else if (fabs(n) >= 1e7)
		digits(buf, n / 1e6, "M");
	else
		snprintf(buf, HUMAN_MAX, "%.*s", (int)cell_number_people(&c, 0, true, text), text);
	return buf;
}

const char *human_percent(char buf[HUMAN_MAX], double percent)
{
	if (percent > 0 && percent < 0.05)
		snprintf(buf, HUMAN_MAX, "%s", "< 0.1 %");
	else
		snprintf(buf, HUMAN_MAX, "%.1f %%", percent);
	return buf;
}
