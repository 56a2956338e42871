/* cell.c - numbers and texts as people and machines read them. */
#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "collector/base/utf8.h"
#include "exporters/text/cell.h"

#define DECIMALS_MAX 6 /* people do not read more; files keep all */

size_t utf8_next(const char *text, size_t len, int32_t *cp)
{
	const unsigned char *s = (const unsigned char *)text;
	static const int32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t need = s[0] < 0x80 ? 1 : s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC0 ? 2 : 0;

	*cp = -1;
	if (need == 0 || need > len || s[0] > 0xF4)
		return 1;
	int32_t code = need == 1 ? s[0] : s[0] & (0x7F >> need);

	for (size_t i = 1; i < need; i++) {
		if ((s[i] & 0xC0) != 0x80)
			return 1;
		code = code << 6 | (s[i] & 0x3F);
	}
	if (code < smallest[need] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
		return 1;
	*cp = code;
	return need;
}

/* Digits of @num with the point @scale places from the right. */
static size_t fixed_point(int64_t num, int scale, char buf[CELL_NUMBER_MAX])
{
	uint64_t abs = num < 0 ? 0 - (uint64_t)num : (uint64_t)num;
	uint64_t unit = 1;

	for (int i = 0; i < scale; i++)
		unit *= 10;
	if (scale == 0)
		return (size_t)snprintf(buf, CELL_NUMBER_MAX, "%" PRId64, num);
	return (size_t)snprintf(buf, CELL_NUMBER_MAX, "%s%" PRIu64 ".%0*" PRIu64,
				num < 0 ? "-" : "", abs / unit, scale, abs % unit);
}

/* Shortest decimal text that reads back as @real; always with a point or an exponent. */
static size_t shortest(double real, char buf[CELL_NUMBER_MAX])
{
	int len = 0;

	for (int digits = 15; digits <= 17; digits++) {
		len = snprintf(buf, CELL_NUMBER_MAX, "%.*g", digits, real);
		if (strtod(buf, NULL) == real)
			break;
	}
	if (!strpbrk(buf, ".e"))
		len += snprintf(buf + len, CELL_NUMBER_MAX - (size_t)len, ".0");
	return (size_t)len;
}

size_t cell_number(const struct cell *c, char buf[CELL_NUMBER_MAX])
{
	buf[0] = '\0';
	if (c->kind == CELL_INT)
		return fixed_point(c->num, c->scale, buf);
	if (c->kind != CELL_REAL || !isfinite(c->real))
		return 0;
	if (c->scale > 0)
		return (size_t)snprintf(buf, CELL_NUMBER_MAX, "%.*f", c->scale, c->real);
	return shortest(c->real, buf);
}

int cell_decimals(const struct cell *c)
{
	char buf[CELL_NUMBER_MAX];
	const char *point;

	if (c->kind != CELL_INT && c->kind != CELL_REAL)
		return 0;
	if (c->scale > 0)
		return c->scale;
	if (c->kind == CELL_INT || !isfinite(c->real))
		return 0;
	shortest(c->real, buf);
	if (strchr(buf, 'e'))
		return fabs(c->real) < 1 ? DECIMALS_MAX : 0;
	point = strchr(buf, '.');
	size_t cnt = point ? strlen(point + 1) : 0;

	return cnt > DECIMALS_MAX ? DECIMALS_MAX : (int)cnt;
}

/* Separates thousands in the digits before the point, in place. */
static size_t group_thousands(char buf[CELL_NUMBER_MAX], size_t len)
{
	size_t from = buf[0] == '-' ? 1 : 0;
	size_t digits = strspn(buf + from, "0123456789");

	for (size_t at = digits; at > 3;) {
		at -= 3;
		if (len + 2 > CELL_NUMBER_MAX)
			break;
		memmove(buf + from + at + 1, buf + from + at, len - from - at + 1);
		buf[from + at] = ',';
		len++;
	}
	return len;
}

size_t cell_number_people(const struct cell *c, int decimals, bool group, char buf[CELL_NUMBER_MAX])
{
	size_t len;

	buf[0] = '\0';
	if (c->kind == CELL_INT)
		len = fixed_point(c->num, c->scale, buf);
	else if (c->kind == CELL_REAL && isfinite(c->real))
		len = (size_t)snprintf(buf, CELL_NUMBER_MAX, "%.*f",
				       c->scale > decimals ? c->scale : decimals, c->real);
	else if (c->kind == CELL_REAL)
		len = (size_t)snprintf(buf, CELL_NUMBER_MAX, "%f", c->real);
	else
		return 0;
	return group ? group_thousands(buf, len) : len;
}

/* ---- text ---- */

static locale_t utf8_locale;

static void make_locale(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/*
 * Terminal columns of a character: 0 for combining marks, 2 for wide ones, -1 for characters that are not printed as they
 * are.
 */
static int columns_of(int32_t cp)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (cp < 0x7F)
		return cp < 0x20 ? -1 : 1;
	if (cp < 0xA0 || utf8_is_hidden((uint32_t)cp))
		return -1;
	pthread_once(&once, make_locale);
	if (!utf8_locale)
		return 1;
	locale_t before = uselocale(utf8_locale);
	int width = wcwidth((wchar_t)cp);

	uselocale(before);
	return width;
}

/* One character as it is shown; returns bytes written (at most 16), *columns it takes. */
static size_t show_char(const char *text, size_t bytes, int32_t cp, char *out, size_t *columns)
{
	int width = cp < 0 ? -1 : columns_of(cp);
	size_t len = 0;

	if (width >= 0) {
		memcpy(out, text, bytes);
		*columns = (size_t)width;
		return bytes;
	}
	if (cp == '\n' || cp == '\t' || cp == '\r') {
		out[len++] = '\\';
		out[len++] = cp == '\n' ? 'n' : cp == '\t' ? 't' : 'r';
	} else {
		for (size_t i = 0; i < bytes; i++)
			len += (size_t)sprintf(out + len, "\\x%02X", (unsigned char)text[i]);
	}
	*columns = len;
	return len;
}

char *text_people(const char *text, size_t len, size_t width, size_t *width_out)
{
	char *out = malloc(len * 4 + 8); /* worst case: each byte as \xNN, and an ellipsis */
	size_t used = 0, columns = 0;
	size_t cut_used = 0, cut_columns = 0; /* where an ellipsis still fits after */

	if (!out)
		return NULL;
	for (size_t pos = 0; pos < len;) {
		int32_t cp;
		size_t bytes = utf8_next(text + pos, len - pos, &cp), wide;
		size_t add = show_char(text + pos, bytes, cp, out + used, &wide);

		if (width > 0 && columns + wide > width) {
			memcpy(out + cut_used, "\xE2\x80\xA6", 3);
			used = cut_used + 3;
			columns = cut_columns + 1;
			break;
		}
		used += add;
		columns += wide;
		if (columns + 1 <= width) {
			cut_used = used;
			cut_columns = columns;
		}
		pos += bytes;
	}
	out[used] = '\0';
	*width_out = columns;
	return out;
}

void text_put_people(FILE *out, const char *text)
{
	size_t width;
	char *shown = text_people(text, strlen(text), 0, &width);

	fputs(shown ? shown : "?", out);
	free(shown);
}

/* Would a terminal do something else than show it? C1 controls are two bytes in UTF-8. */
static bool is_control(const char *p)
{
	unsigned char c = (unsigned char)*p;

	return (c < ' ' && c != '\n') || c == 0x7f ||
	       (c == 0xc2 && ((unsigned char)p[1] & 0xe0) == 0x80);
}

void text_put_shell(FILE *out, const char *word)
{
	const char *p = word;

	while (*p && (isascii(*p) && (isalnum(*p) || strchr("_@%+=:,./-", *p))))
		p++;
	if (!*p && p > word) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (p = word; *p; p++) {
		size_t len = utf8_len((const unsigned char *)p, strnlen(p, 4));

		if (len > 1 && utf8_is_hidden(utf8_code((const unsigned char *)p, len))) {
			fputs("'\"$(printf '", out);
			for (size_t i = 0; i < len; i++)
				fprintf(out, "\\%03o", (unsigned char)p[i]);
			fputs("')\"'", out);
			p += len - 1;
		} else if (*p == '\'')
			fputs("'\\''", out);
		else if (is_control(p) && *p == '\xc2')
			fprintf(out, "'\"$(printf '\\302\\%03o')\"'", (unsigned char)*++p);
		else if (is_control(p))
			fprintf(out, "'\"$(printf '\\%03o')\"'", (unsigned char)*p);
		else
			putc(*p, out);
	}
	putc('\'', out);
}
