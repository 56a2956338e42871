/* body.c - a reader for one kind of object; deeper nesting is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/view/answers/body.h"

#define LANES_MAX 100000

struct reader {
	const char *p; /* ends with a NUL */
};

static void blank(struct reader *r)
{
	r->p += strspn(r->p, " \t\r\n");
}

static bool take(struct reader *r, char c)
{
	blank(r);
	if (*r->p != c)
		return false;
	r->p++;
	return true;
}

/* Words of the protocol have no escapes. */
static bool text(struct reader *r, char *to, size_t room)
{
	size_t len;

	if (!take(r, '"'))
		return false;
	len = strcspn(r->p, "\"\\");
	if (r->p[len] != '"' || len >= room)
		return false;
	memcpy(to, r->p, len);
	to[len] = '\0';
	r->p += len + 1;
	return true;
}

static bool number(struct reader *r, int64_t *value)
{
	char *end;
	double real;

	blank(r);
	if (*r->p != '-' && (*r->p < '0' || *r->p > '9'))
		return false;
	errno = 0;
	*value = strtoll(r->p, &end, 10);
	if (errno)
		return false;
	/* 1e9, 1.5: a page computes with reals. */
	if (*end == '.' || *end == 'e' || *end == 'E') {
		real = strtod(r->p, &end);
		if (!(real > -9e18 && real < 9e18))
			return false;
		*value = (int64_t)real;
	}
	r->p = end;
	return true;
}

static bool lanes(struct reader *r, uint32_t **list, uint32_t *list_cnt)
{
	size_t room = 0, cnt = 0;
	int64_t lane;

	if (*list_cnt || !take(r, '['))
		return false;
	if (take(r, ']'))
		return true;
	do {
		if (!number(r, &lane) || lane < 0 || lane > UINT32_MAX || cnt >= LANES_MAX ||
		    !grow(list, cnt, &room, sizeof(**list)))
			return false;
		(*list)[cnt++] = (uint32_t)lane;
		*list_cnt = (uint32_t)cnt;
	} while (take(r, ','));
	return take(r, ']');
}

static bool member(struct reader *r, struct view_span *s)
{
	char key[32], unused[256];
	int64_t value;

	if (!text(r, key, sizeof(key)) || !take(r, ':'))
		return false;
	if (strcmp(key, "from") == 0)
		return number(r, &s->from);
	if (strcmp(key, "to") == 0)
		return number(r, &s->to);
	if (strcmp(key, "lanes") == 0)
		return lanes(r, &s->lanes, &s->lane_cnt);
	if (strcmp(key, "table") == 0)
		return text(r, s->table, sizeof(s->table));
	if (strcmp(key, "by") == 0)
		return text(r, s->by, sizeof(s->by));
	if (strcmp(key, "other") == 0)
		return number(r, &s->other.report);
	if (strcmp(key, "other_from") == 0)
		return number(r, &s->other.from);
	if (strcmp(key, "other_to") == 0)
		return number(r, &s->other.to);
	if (strcmp(key, "other_lanes") == 0)
		return lanes(r, &s->other.lanes, &s->other.lane_cnt);
	return number(r, &value) || text(r, unused, sizeof(unused));
}

bool view_body_span(const uint8_t *body, size_t len, struct view_span *s)
{
	char *copy = malloc(len + 1);
	struct reader r = {copy};
	bool ok;

	memset(s, 0, sizeof(*s));
	s->from = s->other.from = INT64_MIN;
	s->to = s->other.to = INT64_MAX;
	s->other.report = -1;
	if (!copy)
		return false;
	memcpy(copy, body, len);
	copy[len] = '\0';
	ok = take(&r, '{');
	if (ok && !take(&r, '}')) {
		do
			ok = member(&r, s);
		while (ok && take(&r, ','));
		ok = ok && take(&r, '}');
	}
	blank(&r);
	ok = ok && *r.p == '\0';
	free(copy);
	if (!ok)
		view_span_free(s);
	return ok;
}

void view_span_free(struct view_span *s)
{
	free(s->lanes);
	free(s->other.lanes);
	s->lanes = s->other.lanes = NULL;
	s->lane_cnt = s->other.lane_cnt = 0;
}
