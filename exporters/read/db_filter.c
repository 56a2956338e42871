/*
 * db_filter.c - reads filters, and hides the rows that the filters leave out.
 *
 * The conditions stand in views, which cost only the queries of the table. Time spans are written into
 * them as numbers; NVTX ranges may be thousands, so they are a function over sorted spans.
 */
#include <errno.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_filter.h"
#include "exporters/read/db_read.h"

#define SEC INT64_C(1000000000)

/* ---- time ---- */

/* A number with a unit; false where there is none or it is too large. */
static bool read_time(const char **at, int64_t *out)
{
	static const struct {
		const char *name;
		double ns;
	} unit[] = {{"ns", 1},
		    {"us", 1e3},
		    {"ms", 1e6},
		    {"s", 1e9},
		    {"m", 60e9},
		    {"min", 60e9},
		    {"h", 3600.0 * (double)SEC}};
	const char *p = *at + (**at == '-' || **at == '+');
	size_t len = strspn(p, "0123456789."), word;
	char *end, number[64];
	double value, ns = 1;

	if (len == 0 || len >= sizeof(number) - 1)
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)len, p);
	errno = 0;
	value = strtod(number, &end);
	if (*end || errno)
		return false;
	word = strspn(p + len, "abcdefghijklmnopqrstuvwxyz");
	if (word > 0) {
		size_t i = 0;

		while (i < sizeof(unit) / sizeof(unit[0]) &&
		       (strlen(unit[i].name) != word || memcmp(unit[i].name, p + len, word) != 0))
			i++;
		if (i == sizeof(unit) / sizeof(unit[0]))
			return false;
		ns = unit[i].ns;
	}
	if (value * ns >= 9.2e18)
		return false;
	/* Whole ns have more digits than a double keeps. */
	*out = ns == 1 && !strchr(number, '.') ? strtoll(number, NULL, 10) : llround(value * ns);
	if (**at == '-')
		*out = -*out;
	*at = p + len + word;
	return true;
}

/* Reads one range of the list; *at is after it afterwards. */
static bool read_range(const char **at, struct db_filter_time *r)
{
	const char *p = *at;
	bool first, second;

	*r = (struct db_filter_time){.start = INT64_MIN, .end = INT64_MAX};
	if (*p == ':') {
		r->starts_inside = true;
		p++;
	}
	first = read_time(&p, &r->start);
	if (*p != '/' && !(first && *p == '-'))
		return false;
	p++;
	second = read_time(&p, &r->end);
	if (*p == ':') {
		r->ends_inside = true;
		p++;
	}
	if ((!first && !second) || (*p && *p != ',') || r->start >= r->end)
		return false;
	*at = p + (*p == ',');
	return true;
}

static void *grow(void *list, size_t cnt, size_t size, char *why, size_t why_len)
{
	void *more = reallocarray(list, cnt + 1, size);

	if (!more)
		snprintf(why, why_len, "out of memory");
	return more;
}

int db_filter_time(struct db_filter *f, const char *text, char *why, size_t why_len)
{
	const char *at = text;

	while (at && *at) {
		struct db_filter_time r;
		void *more;

		if (!read_range(&at, &r)) {
			snprintf(why, why_len,
				 "'%s' is no range of times: START/END in ns, or with units as in "
				 "12s-15s, 500ms/1.5s",
				 text);
			return -1;
		}
		more = grow(f->time, f->time_cnt, sizeof(*f->time), why, why_len);
		if (!more)
			return -1;
		f->time = more;
		f->time[f->time_cnt++] = r;
	}
	return 0;
}

/* ---- NVTX ---- */

/* Removes the backslashes that protect @, / and themselves. */
static char *unescaped(const char *text, size_t len)
{
	char *copy = strndup(text, len), *to = copy;

	for (const char *p = copy; p && *p; p++) {
		if (*p == '\\' && p[1] && strchr("@/\\", p[1]))
			p++;
		*to++ = *p;
	}
	if (copy)
		*to = '\0';
	return copy;
}

/* The last @c that no backslash protects, or NULL. */
static const char *last_of(const char *text, size_t len, char c)
{
	for (size_t i = len; i-- > 0;) {
		size_t slashes = 0;

		while (slashes < i && text[i - 1 - slashes] == '\\')
			slashes++;
		if (text[i] == c && slashes % 2 == 0)
			return text + i;
	}
	return NULL;
}

int db_filter_nvtx(struct db_filter *f, const char *text, char *why, size_t why_len)
{
	size_t len = text ? strlen(text) : 0;
	struct db_filter_nvtx n = {.index = -1};
	const char *slash, *domain;
	void *more;

	if (!text)
		return 0;
	slash = last_of(text, len, '/');
	if (slash && slash[1] && slash[1 + strspn(slash + 1, "0123456789")] == '\0' &&
	    strlen(slash) < 18) {
		n.index = strtoll(slash + 1, NULL, 10);
		len = (size_t)(slash - text);
	}
	domain = last_of(text, len, '@');
	if (domain) {
		if (domain + 1 < text + len)
			n.domain = unescaped(domain + 1, (size_t)(text + len - domain) - 1);
		len = (size_t)(domain - text);
	}
	if (len == 0) {
		snprintf(why, why_len, "'%s' names no NVTX range: RANGE[@DOMAIN][/INDEX]", text);
		free(n.domain);
		return -1;
	}
	n.range = unescaped(text, len);
	more = grow(f->nvtx, f->nvtx_cnt, sizeof(*f->nvtx), why, why_len);
	if (!more || !n.range) {
		free(n.range);
		free(n.domain);
		return -1;
	}
	f->nvtx = more;
	f->nvtx[f->nvtx_cnt++] = n;
	return 0;
}

/* ---- pid ---- */

int db_filter_pid(struct db_filter *f, const char *text, char *why, size_t why_len)
{
	const char *at = text;

	while (at && *at) {
		char *end;
		long long pid;
		void *more;

		errno = 0;
		pid = strtoll(at, &end, 10);
		if (end == at || (*end && *end != ',') || errno || pid < 0) {
			snprintf(why, why_len, "'%s' is no list of process ids", text);
			return -1;
		}
		more = grow(f->pid, f->pid_cnt, sizeof(*f->pid), why, why_len);
		if (!more)
			return -1;
		f->pid = more;
		f->pid[f->pid_cnt++] = pid;
		at = end + (*end == ',');
	}
	return 0;
}

void db_filter_free(struct db_filter *f)
{
	for (size_t i = 0; i < f->nvtx_cnt; i++) {
		free(f->nvtx[i].range);
		free(f->nvtx[i].domain);
	}
	free(f->time);
	free(f->nvtx);
	free(f->pid);
	memset(f, 0, sizeof(*f));
}
