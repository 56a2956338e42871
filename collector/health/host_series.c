/* host_series.c - counters and their samples: from readings to rows. */
#include "collector/health/host_internal.h"

#include <math.h>
#include <stdlib.h>

#include "collector/base/capture_window.h"
#include "collector/base/grow.h"
#include "collector/report/db_counters.h"

#define SERIES_MOST  16384u  /* hostile or huge: the rest is not recorded */
#define SAMPLES_MOST 400000u /* that wait to be written, or that the flight recorder keeps */

/* ---- samples ---- */

static struct host_series *series_of(struct host *h, struct host_counter *c,
				     const struct host_scope *scope, const struct host_what *what)
{
	struct host_series s = {.what = *what, .kind = scope->kind, .id = scope->id};

	if (c->number)
		return &h->series.list[c->number - 1];
	if (h->series.cnt >= SERIES_MOST ||
	    !grow(&h->series.list, h->series.cnt, &h->series.cap, sizeof(*h->series.list)))
		return NULL;
	s.name = scope->name ? strdup(scope->name) : NULL;
	if (scope->name && !s.name)
		return NULL;
	h->series.list[h->series.cnt++] = s;
	c->number = (uint32_t)h->series.cnt;
	return &h->series.list[h->series.cnt - 1];
}

/* The flight recorder's oldest go first. */
static bool sample_room(struct host *h)
{
	size_t old = h->waiting.cnt / 4;

	if (h->waiting.cnt == SAMPLES_MOST && h->keep) {
		memmove(h->waiting.list, h->waiting.list + old,
			(h->waiting.cnt - old) * sizeof(*h->waiting.list));
		h->waiting.cnt -= old;
	}
	return h->waiting.cnt < SAMPLES_MOST &&
	       grow(&h->waiting.list, h->waiting.cnt, &h->waiting.cap, sizeof(*h->waiting.list));
}

static void put(struct host *h, struct host_counter *c, uint64_t at, double value)
{
	c->has_row = true;
	if (sample_room(h))
		h->waiting.list[h->waiting.cnt++] =
			(struct host_sample){.at = at, .series = c->number - 1, .value = value};
	else
		h->lost++;
}

/* Is it the first reading since host_begin()? */
static bool is_first(const struct host *h, struct host_counter *c)
{
	if (c->epoch == h->epoch)
		return false;
	c->epoch = h->epoch;
	c->has_row = false;
	return true;
}

void host_level(struct host *h, struct host_counter *c, const struct host_scope *scope,
		const struct host_what *what, double value)
{
	is_first(h, c);
	/* Memory of the flight recorder begins anywhere. */
	if (what->form == HOST_RARE && c->has_row && c->level == value && !h->keep)
		return;
	if (!series_of(h, c, scope, what)) {
		h->lost++;
		return;
	}
	c->level = value;
	put(h, c, h->at, value);
}

static void add_sum(struct host *h, struct host_counter *c, const struct host_scope *scope,
		    const struct host_what *what, uint64_t more, double scale)
{
	if (what->form == HOST_USED && !c->number && !more)
		return;
	if (!series_of(h, c, scope, what)) {
		h->lost++;
		return;
	}
	if (!c->has_row)
		put(h, c, c->last_at, NAN);
	put(h, c, h->at, (double)more * scale);
}

void host_sum(struct host *h, struct host_counter *c, const struct host_scope *scope,
	      const struct host_what *what, uint64_t raw, uint64_t wrap, double scale)
{
	uint64_t more = raw >= c->last ? raw - c->last : raw;

	/* Near the end of its range, and near its begin: it has wrapped. */
	if (raw < c->last && wrap && c->last < wrap && wrap - c->last + raw < wrap / 2)
		more = wrap - c->last + raw;
	if (!is_first(h, c) && h->at > c->last_at)
		add_sum(h, c, scope, what, more, scale);
	c->last = raw;
	c->last_at = h->at;
}

void host_sum_shaky(struct host *h, struct host_counter *c, const struct host_scope *scope,
		    const struct host_what *what, uint64_t raw, double scale)
{
	if (raw < c->last)
		c->last = raw;
	host_sum(h, c, scope, what, raw, 0, scale);
}

/* ---- texts ---- */

void host_value(struct host *h, const struct host_key *key, struct host_counter *c,
		const struct host_scope *scope, uint64_t n)
{
	if (key->what.form >= HOST_SUM)
		host_sum(h, c, scope, &key->what, n, 0, key->scale);
	else
		host_level(h, c, scope, &key->what, (double)n * key->scale);
}

void host_keys(struct host *h, char *text, const struct host_key *keys,
	       struct host_counter *counters, const struct host_scope *scope)
{
	bool had[HOST_KEYS] = {0};
	char *line, *word;
	uint64_t n;

	while ((line = host_line(&text))) {
		size_t len;

		word = host_word(&line);
		len = word ? strlen(word) : 0;
		if (!len || !host_number(&line, &n))
			continue;
		if (word[len - 1] == ':')
			word[len - 1] = '\0';
		for (unsigned i = 0; i < HOST_KEYS && keys[i].key; i++) {
			if (had[i] || strcmp(word, keys[i].key) != 0)
				continue;
			had[i] = true;
			host_value(h, &keys[i], &counters[i], scope, n);
		}
	}
}

void host_one(struct host *h, struct host_file *file, const struct host_key *key,
	      struct host_counter *counter, const struct host_scope *scope)
{
	char *text = host_file_read(h, file);
	char *line = text ? host_line(&text) : NULL;
	uint64_t n;

	if (line && host_number(&line, &n))
		host_value(h, key, counter, scope, n);
}

void host_pressure(struct host *h, struct host_file *file, const struct host_what what[2],
		   struct host_counter counters[2], const struct host_scope *scope)
{
	char *text = host_file_read(h, file), *line, *word;
	bool had[2] = {0};
	uint64_t us;

	while (text && (line = host_line(&text))) {
		int i;

		word = host_word(&line);
		i = word && strcmp(word, "some") == 0   ? 0
		    : word && strcmp(word, "full") == 0 ? 1
							: -1;
		if (i < 0 || had[i] || !what[i].name)
			continue;
		while ((word = host_word(&line)) && strncmp(word, "total=", 6) != 0)
			;
		if (!word || !host_is_number(word + 6, &us))
			continue;
		had[i] = true;
		host_sum(h, &counters[i], scope, &what[i], us, 0, 1000);
	}
}

/* ---- rows ---- */

static int64_t row_of(const struct host_series *s, struct db *db)
{
	const struct db_counter c = {.scope = s->kind,
				     .scope_id = s->id < 0 ? DB_NULL : s->id,
				     .scope_name = s->name,
				     .gpu = DB_NULL,
				     .name = s->what.name,
				     .unit = s->what.unit,
				     .is_sum = s->what.form >= HOST_SUM};

	return db_counter(db, &c);
}

/* The first value of a sum is about a time before this report. */
static void write_row(struct host *h, struct db *db, const struct host_sample *sample, int64_t at)
{
	struct host_series *s = &h->series.list[sample->series];
	bool is_known = s->is_in_report || s->what.form < HOST_SUM;

	if (!s->row)
		s->row = row_of(s, db);
	db_counter_sample(db, s->row, at, is_known ? sample->value : NAN);
	s->is_in_report = true;
}

struct event_rows host_write(struct host *h, struct db *db, const struct windows *windows,
			     int64_t zero, int64_t hold)
{
	uint64_t newest = h->waiting.cnt ? h->waiting.list[h->waiting.cnt - 1].at : 0;
	struct event_rows rows = {0};
	size_t kept = 0;

	for (size_t i = 0; i < h->waiting.cnt; i++) {
		const struct host_sample s = h->waiting.list[i];
		int64_t at = (int64_t)s.at - zero;

		if ((int64_t)s.at < hold && windows_have_ns(windows, zero, at)) {
			write_row(h, db, &s, at);
			rows.first = rows.cnt++ ? rows.first : at;
			rows.last = at;
		} else if ((int64_t)s.at >= hold || (h->keep && newest - s.at < h->keep)) {
			h->waiting.list[kept++] = s;
		}
	}
	h->waiting.cnt = kept;
	return rows;
}

void host_renew(struct host *h)
{
	for (size_t i = 0; i < h->series.cnt; i++)
		h->series.list[i].is_in_report = false;
}
