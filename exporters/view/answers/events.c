/*
 * events.c - /v1/events: single events of a span that pass a filter, sorted: the first ones of them, how many there are, and how long
 * they take.
 */
#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"
#include "exporters/view/answers/body.h"
#include "exporters/view/answers/fold.h"
#include "exporters/view/index/lod.h"
#include "exporters/view/answers/answer.h"

#define EVENTS_MAX     200000
#define EVENTS_PAGE    2000
#define BUCKETS        80 /* of durations: two to a doubling */
#define EXPRESSION_MAX 200
#define WORDS_MAX      16

enum order {
	BY_START,
	BY_DURATION,
	BY_NAME
};

/* "text": a part of the name, "=text": all of it, "~text": all of it without numbers, "/text": an expression; "!" in front: not. */
struct word {
	char how;
	bool is_not;
	const char *text;
	size_t len;
	regex_t re;
};

struct found {
	struct view_event e;
	uint32_t lane;
};

struct events {
	struct view_store *v;
	int64_t from, to, least, longest;
	uint8_t *wanted; /* by number of a name */
	uint32_t name_cnt;
	int64_t *
		rows; /* of OSRT_API, ascending: events of other rows do not count; NULL: all count */
	size_t row_cnt, row_room;
	int source; /* of OSRT_API */
	enum order order;
	bool is_down;
	size_t most;
	struct found *list; /* a heap: the last in order first */
	size_t cnt, room;
	uint64_t total, sum, buckets[BUCKETS];
	uint32_t lane;
	bool failed;
};

/* ---- the filter ---- */

static bool has(const char *text, size_t len, const char *part, size_t want)
{
	for (size_t at = 0; at + want <= len; at++) {
		size_t i = 0;

		while (i < want && tolower((unsigned char)text[at + i]) == (unsigned char)part[i])
			i++;
		if (i == want)
			return true;
	}
	return false;
}

static bool matches(const struct word *w, const struct view_name *n)
{
	char text[VIEW_FOLD_MAX];
	size_t len;

	switch (w->how) {
	case '=':
		return n->len == w->len && memcmp(n->text, w->text, w->len) == 0;
	case '~':
		view_fold(n->text, n->len, text, &len);
		return len == w->len && memcmp(text, w->text, len) == 0;
	case '/':
		return regexec(&w->re, n->text, 0, NULL, 0) == 0;
	default:
		return has(n->text, n->len, w->text, w->len);
	}
}

/* Expressions whose cost grows beyond all bounds are refused: repeats of repeats, references back. */
static bool is_cheap(const char *re)
{
	unsigned repeats = 0;

	for (const char *p = re; *p; p++) {
		repeats += *p == '{';
		if (*p == '\\' && p[1] >= '1' && p[1] <= '9')
			return false;
	}
	return repeats <= 1 && strlen(re) <= EXPRESSION_MAX;
}

/* Reads the lines of @text. The number of words, or -1: an expression that is none. */
static int words_of(char *text, struct word *words)
{
	int cnt = 0;

	for (char *line = text, *next; line && *line && cnt < WORDS_MAX; line = next) {
		struct word *w = &words[cnt];

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		*w = (struct word){.is_not = *line == '!'};
		line += w->is_not;
		w->how = *line && strchr("=~/", *line) ? *line++ : 0;
		w->text = line;
		w->len = strlen(line);
		if (w->how == '/' &&
		    (!is_cheap(line) ||
		     regcomp(&w->re, line, REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0)) {
			while (cnt-- > 0)
				if (words[cnt].how == '/')
					regfree(&words[cnt].re);
			return -1;
		}
		for (char *p = line; !w->how && *p; p++)
			*p = (char)tolower((unsigned char)*p);
		cnt++;
	}
	return cnt;
}

static bool choose_names(struct events *s, struct word *words, int cnt)
{
	pthread_rwlock_rdlock(&s->v->lock);
	s->name_cnt = s->v->name_cnt;
	s->wanted = calloc((size_t)s->name_cnt + 1, 1);
	for (uint32_t i = 0; s->wanted && i < s->name_cnt; i++) {
		s->wanted[i] = 1;
		for (int k = 0; k < cnt && s->wanted[i]; k++)
			s->wanted[i] = matches(&words[k], &s->v->names[i]) != words[k].is_not;
	}
	pthread_rwlock_unlock(&s->v->lock);
	for (int k = 0; k < cnt; k++)
		if (words[k].how == '/')
			regfree(&words[k].re);
	return s->wanted != NULL;
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The calls whose path or peer has the text. */
static bool choose_rows(struct view_request *q, struct view_reply *a, struct events *s,
			const char *text)
{
	static const char sql[] =
		"WITH wanted AS (SELECT id FROM StringIds WHERE instr(lower(value), lower(?1))) "
		"SELECT rowid FROM main.OSRT_API WHERE pathId IN wanted";
	sqlite3 *db = view_db_take(q, a);
	sqlite3_stmt *stmt = NULL;

	if (!db)
		return false;
	s->rows = calloc(1, sizeof(*s->rows));
	s->row_room = 1;
	s->failed = !s->rows;
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK)
		sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
	while (stmt && !s->failed && sqlite3_step(stmt) == SQLITE_ROW) {
		if (!grow(&s->rows, s->row_cnt, &s->row_room, sizeof(*s->rows)))
			s->failed = true;
		else
			s->rows[s->row_cnt++] = sqlite3_column_int64(stmt, 0);
	}
	sqlite3_finalize(stmt);
	view_db_put(q, db);
	if (s->row_cnt)
		qsort(s->rows, s->row_cnt, sizeof(*s->rows), by_number);
	s->source = -1;
	pthread_rwlock_rdlock(&s->v->lock);
	for (uint32_t i = 0; i < s->v->source_cnt; i++)
		if (strcmp(s->v->sources[i], "OSRT_API") == 0)
			s->source = (int)i;
	pthread_rwlock_unlock(&s->v->lock);
	return !s->failed;
}

/* ---- the order ---- */

static int64_t length_of(const struct events *s, const struct view_event *e)
{
	return (e->flags & VIEW_OPEN ? s->v->last : e->end) - e->start;
}

/* Does @a stand behind @b? */
static bool is_behind(const struct events *s, const struct found *a, const struct found *b)
{
	int64_t x = a->e.start, y = b->e.start;
	int order = 0;

	if (s->order == BY_DURATION) {
		x = length_of(s, &a->e);
		y = length_of(s, &b->e);
	} else if (s->order == BY_NAME) {
		order = strcmp(s->v->names[a->e.name].text, s->v->names[b->e.name].text);
	}
	if (!order)
		order = (x > y) - (x < y);
	if (s->is_down)
		order = -order;
	/* The earlier one first, then the lane with the lower number. */
	if (!order)
		order = (a->e.start > b->e.start) - (a->e.start < b->e.start);
	return order ? order > 0 : a->lane > b->lane;
}

static void sink(struct events *s, size_t i)
{
	for (size_t k; (k = 2 * i + 1) < s->cnt; i = k) {
		struct found was = s->list[i];

		if (k + 1 < s->cnt && is_behind(s, &s->list[k + 1], &s->list[k]))
			k++;
		if (!is_behind(s, &s->list[k], &was))
			return;
		s->list[i] = s->list[k];
		s->list[k] = was;
	}
}

static void keep(struct events *s, const struct view_event *e)
{
	struct found f = {*e, s->lane};
	size_t i = s->cnt;

	if (s->cnt == s->most) {
		if (s->most && is_behind(s, &s->list[0], &f)) {
			s->list[0] = f;
			sink(s, 0);
		}
		return;
	}
	if (!grow(&s->list, s->cnt, &s->room, sizeof(*s->list))) {
		s->failed = true;
		return;
	}
	s->list[s->cnt++] = f;
	for (; i > 0 && is_behind(s, &f, &s->list[(i - 1) / 2]); i = (i - 1) / 2) {
		s->list[i] = s->list[(i - 1) / 2];
		s->list[(i - 1) / 2] = f;
	}
}

/* In order: the last one to the end, again and again. */
static void sort(struct events *s)
{
	size_t cnt = s->cnt;

	pthread_rwlock_rdlock(&s->v->lock);
	while (s->cnt > 1) {
		struct found last = s->list[0];

		s->list[0] = s->list[--s->cnt];
		s->list[s->cnt] = last;
		sink(s, 0);
	}
	pthread_rwlock_unlock(&s->v->lock);
	s->cnt = cnt;
}

/* ---- looking ---- */

static int on_event(void *ctx, const struct view_event *e)
{
	struct events *s = ctx;
	int64_t ns = length_of(s, e);
	unsigned bucket = ns > 0 ? (unsigned)(2 * log2((double)ns)) : 0;

	if (e->name >= s->name_cnt || !s->wanted[e->name] || ns < s->least || ns > s->longest)
		return 0;
	if (s->rows && (e->source != s->source ||
			!bsearch(&e->row, s->rows, s->row_cnt, sizeof(*s->rows), by_number)))
		return 0;
	s->total++;
	s->sum += ns > 0 ? (uint64_t)ns : 0;
	s->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	keep(s, e);
	return s->failed;
}

static void look(struct events *s, const struct view_span *span)
{
	uint32_t cnt;

	pthread_rwlock_rdlock(&s->v->lock);
	cnt = span->lane_cnt ? span->lane_cnt : s->v->lane_cnt;
	pthread_rwlock_unlock(&s->v->lock);
	for (uint32_t i = 0; i < cnt && !s->failed; i++) {
		struct view_reader r = {.v = s->v};

		s->lane = span->lane_cnt ? span->lanes[i] : i + 1;
		pthread_rwlock_rdlock(&s->v->lock);
		if (view_reader_lane(&r, s->lane) && !r.lane->is_counter &&
		    (span->lane_cnt || !view_kind_repeats(s->v->rows[r.lane->row - 1]->kind)))
			view_reader_each(&r, s->from, s->to, on_event, s);
		view_reader_end(&r);
	}
}

/* ---- the answer ---- */

static void put_names(struct writer *b, struct events *s)
{
	uint8_t *used = calloc((size_t)s->name_cnt + 1, 1);

	s->failed |= !used;
	for (size_t i = 0; used && i < s->cnt; i++)
		used[s->list[i].e.name] = 1;
	json_open(b, "names", '{');
	pthread_rwlock_rdlock(&s->v->lock);
	for (uint32_t i = 0; used && i < s->name_cnt; i++) {
		char key[16];

		if (!used[i])
			continue;
		snprintf(key, sizeof(key), "%u", i);
		json_bytes(b, key, s->v->names[i].text, s->v->names[i].len);
	}
	pthread_rwlock_unlock(&s->v->lock);
	json_close(b, '}');
	free(used);
}

static void put_all(struct writer *b, struct events *s)
{
	json_open(b, NULL, '{');
	js_int(b, "total", (int64_t)s->total);
	js_int(b, "sum", s->sum < INT64_MAX ? (int64_t)s->sum : INT64_MAX);
	/* By fours: lane, start, duration, name. */
	json_open(b, "events", '[');
	for (size_t i = 0; i < s->cnt; i++) {
		js_int(b, NULL, s->list[i].lane);
		js_int(b, NULL, s->list[i].e.start);
		js_int(b, NULL, length_of(s, &s->list[i].e));
		js_int(b, NULL, s->list[i].e.name);
	}
	json_close(b, ']');
	put_names(b, s);
	json_open(b, "durations", '[');
	for (int i = 0; i < BUCKETS; i++)
		js_int(b, NULL, (int64_t)s->buckets[i]);
	json_close(b, ']');
	json_close(b, '}');
	b->failed |= s->failed;
}

/* The parameters but for the texts. */
static void read_numbers(struct view_request *q, struct events *s)
{
	int64_t order = BY_START, down = 0, most = EVENTS_PAGE;

	view_param_int(q, "min", &s->least);
	view_param_int(q, "max", &s->longest);
	view_param_int(q, "by", &order);
	view_param_int(q, "down", &down);
	view_param_int(q, "most", &most);
	s->order = order == BY_DURATION || order == BY_NAME ? (enum order)order : BY_START;
	s->is_down = down != 0;
	s->most = most < 0 ? 0 : most > EVENTS_MAX ? EVENTS_MAX : (size_t)most;
}

void view_answer_events(struct view_request *q, struct view_reply *a)
{
	struct events s = {.v = q->store, .least = INT64_MIN, .longest = INT64_MAX};
	struct word words[WORDS_MAX];
	char *name = view_param_text(q, "name"), *arg = view_param_text(q, "arg");
	struct view_span span;
	int cnt;

	if (!view_body_span(q->body, q->len, &span)) {
		view_refuse(a, 400,
			    "the body must be {\"from\": ns, \"to\": ns, \"lanes\": [...]}");
		free(name);
		free(arg);
		return;
	}
	read_numbers(q, &s);
	s.from = span.from;
	s.to = span.to;
	cnt = name ? words_of(name, words) : 0;
	if (cnt < 0) {
		view_refuse(a, 400, "this is no regular expression, or one that takes too long");
	} else if (!choose_names(&s, words, cnt)) {
		a->body.failed = true;
	} else if (!arg || choose_rows(q, a, &s, arg)) {
		look(&s, &span);
		sort(&s);
		put_all(&a->body, &s);
	}
	free(s.wanted);
	free(s.rows);
	free(s.list);
	view_span_free(&span);
	free(name);
	free(arg);
}
