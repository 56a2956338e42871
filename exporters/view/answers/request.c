/* request.c - functions for all answers: refusals, parameters, handles to reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/view/answers/answer.h"

int view_refuse(struct view_reply *a, int status, const char *why)
{
	writer_free(&a->body);
	a->status = status;
	a->type = "application/json";
	json_open(&a->body, NULL, '{');
	js_text(&a->body, "error", why);
	json_close(&a->body, '}');
	return -1;
}

/* ---- parameters ---- */

/* The value of @name in the query, not decoded. */
static const char *find(const char *query, const char *name, size_t *len)
{
	size_t want = strlen(name);

	while (query && *query) {
		size_t word = strcspn(query, "&");

		if (word > want && strncmp(query, name, want) == 0 && query[want] == '=') {
			*len = word - want - 1;
			return query + want + 1;
		}
		query += word + (query[word] == '&');
	}
	return NULL;
}

bool view_param_int(const struct view_request *q, const char *name, int64_t *value)
{
	size_t len;
	const char *text = find(q->query, name, &len);
	char number[32], *end;
	int64_t read;

	if (!text || len == 0 || len >= sizeof(number))
		return false;
	memcpy(number, text, len);
	number[len] = '\0';
	errno = 0;
	read = strtoll(number, &end, 10);
	if (errno != 0 || *end != '\0')
		return false;
	*value = read;
	return true;
}

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

char *view_param_text(const struct view_request *q, const char *name)
{
	size_t len = 0;
	const char *text = find(q->query, name, &len);
	char *out = text ? malloc(len + 1) : NULL, *p = out;

	for (size_t i = 0; out && i < len; i++) {
		if (text[i] == '%' && i + 2 < len && digit(text[i + 1]) >= 0 &&
		    digit(text[i + 2]) >= 0) {
			*p++ = (char)(digit(text[i + 1]) * 16 + digit(text[i + 2]));
			i += 2;
		} else {
			*p++ = text[i] == '+' ? ' ' : text[i];
		}
	}
	if (out)
		*p = '\0';
	return out;
}

/* ---- handles ---- */

sqlite3 *view_db_take(struct view_request *q, struct view_reply *a)
{
	struct view_report *r = q->report;
	char why[512];
	sqlite3 *db = NULL;

	pthread_mutex_lock(&r->lock);
	if (r->idle_cnt > 0)
		db = r->idle[--r->idle_cnt];
	pthread_mutex_unlock(&r->lock);
	if (db)
		return db;
	db = db_read_open(r->store->path, why, sizeof(why));
	if (!db)
		view_refuse(a, 503, why);
	return db;
}

void view_db_put(struct view_request *q, sqlite3 *db)
{
	struct view_report *r = q->report;

	pthread_mutex_lock(&r->lock);
	if (r->idle_cnt < (int)(sizeof(r->idle) / sizeof(r->idle[0]))) {
		r->idle[r->idle_cnt++] = db;
		db = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	sqlite3_close(db);
}
