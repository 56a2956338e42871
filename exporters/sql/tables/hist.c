/*
 * hist.c - histograms of values by keys, and their statistics, as SQL functions that count in hash tables.
 *
 * sl_hist(a, b, ..., value) is an aggregate: a histogram of the values of each (a, b, ...). Its result is the number of a
 * table for sl_hist_rows(number): k0, k1, ..., the histogram, how many values. sl_sums(a, b, ..., value, other) keeps no
 * histogram, but of sl_hist_rows() the columns total, least, most (of values) and others (the sum of the second).
 * sl_hist_values(hist) gives the values of a histogram, in order, each with how often it came.
 * sl_stats(key, value) likewise makes the table of sl_stats_rows(number), one row of statistics per key; a value may be a
 * histogram of sl_hist_rows(), which it merges. Tables live as long as the connection.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/saturate.h"
#include "exporters/sql/tables/hist_values.h"

#define PURE (SQLITE_UTF8 | SQLITE_INNOCUOUS)

int hist_pool_add(struct pool *p, const char *data, uint32_t len, int64_t *number)
{
	uint64_t hash = hash_bytes(0, data, len);
	uint32_t at, i;
	char *copy;

	for (i = slots_first(&p->by_text, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&p->by_text, hash, &at))
		if (p->text[i].len == len && memcmp(p->text[i].data, data, len) == 0) {
			*number = i;
			return SQLITE_OK;
		}
	if (!grow(&p->text, p->cnt, &p->room, sizeof(*p->text)))
		return SQLITE_NOMEM;
	copy = malloc(len + 1);
	if (!copy || !slots_add(&p->by_text, hash, p->cnt)) {
		free(copy);
		return SQLITE_NOMEM;
	}
	memcpy(copy, data, len);
	p->text[p->cnt] = (struct text){copy, len};
	*number = p->cnt++;
	return SQLITE_OK;
}

void hist_pool_free(struct pool *p)
{
	for (uint32_t i = 0; i < p->cnt; i++)
		free(p->text[i].data);
	free(p->text);
	slots_free(&p->by_text);
}

static int read_value(struct pool *p, sqlite3_value *v, int64_t *number, unsigned *type)
{
	double real;

	*number = 0;
	switch (sqlite3_value_type(v)) {
	case SQLITE_INTEGER:
		*type = V_INT;
		*number = sqlite3_value_int64(v);
		return SQLITE_OK;
	case SQLITE_FLOAT:
		*type = V_REAL;
		real = sqlite3_value_double(v);
		memcpy(number, &real, sizeof(real));
		return SQLITE_OK;
	case SQLITE_NULL:
		*type = V_NULL;
		return SQLITE_OK;
	default:
		*type = sqlite3_value_type(v) == SQLITE_BLOB ? V_BLOB : V_TEXT;
		return hist_pool_add(p, sqlite3_value_blob(v) ? sqlite3_value_blob(v) : "",
				     (uint32_t)sqlite3_value_bytes(v), number);
	}
}

void hist_give_value(sqlite3_context *out, const struct pool *p, int64_t number, unsigned type)
{
	double real;

	switch (type) {
	case V_INT:
		sqlite3_result_int64(out, number);
		break;
	case V_REAL:
		memcpy(&real, &number, sizeof(real));
		sqlite3_result_double(out, real);
		break;
	case V_TEXT:
		sqlite3_result_text(out, p->text[number].data, (int)p->text[number].len,
				    SQLITE_STATIC);
		break;
	case V_BLOB:
		sqlite3_result_blob(out, p->text[number].data, (int)p->text[number].len,
				    SQLITE_STATIC);
		break;
	default:
		sqlite3_result_null(out);
	}
}

/* ---- a table of keys ---- */

static void hist_free(struct hist *h)
{
	for (uint32_t i = 0; i < h->groups; i++) {
		free(h->group[i].pair);
		free(h->group[i].slot);
	}
	free(h->group);
	free(h->key);
	free(h->type);
	slots_free(&h->by_key);
	hist_pool_free(&h->pool);
	free(h);
}

static int hist_grow(struct hist *h)
{
	uint32_t room = h->room ? h->room * 2 : 256;
	int64_t *key = reallocarray(h->key, room, sizeof(*key) * h->keys);
	uint32_t *type;

	if (!key)
		return SQLITE_NOMEM;
	h->key = key;
	type = reallocarray(h->type, room, sizeof(*type));
	if (!type)
		return SQLITE_NOMEM;
	h->type = type;
	h->room = room;
	return SQLITE_OK;
}

/* The row of the table that is equal, made if there is none. */
static int hist_find(struct hist *h, const int64_t *key, uint32_t type, uint32_t *row)
{
	size_t size = sizeof(*key) * h->keys;
	uint64_t hash = hash_bytes(0, key, size);
	uint32_t at, i;

	for (i = slots_first(&h->by_key, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&h->by_key, hash, &at))
		if (h->type[i] == type && memcmp(&h->key[i * h->keys], key, size) == 0) {
			*row = i;
			return SQLITE_OK;
		}
	if ((h->cnt == h->room && hist_grow(h) != SQLITE_OK) ||
	    !slots_add(&h->by_key, hash, h->cnt))
		return SQLITE_NOMEM;
	memcpy(&h->key[h->cnt * h->keys], key, size);
	h->type[h->cnt] = type;
	*row = h->cnt++;
	return SQLITE_OK;
}

struct hist *hist_new(struct hist_of_db *of, unsigned keys)
{
	struct hist *h = calloc(1, sizeof(*h));

	if (h) {
		h->keys = keys;
		h->of = of;
		h->number = ++of->last_number;
		h->next = of->first;
		of->first = h;
	}
	return h;
}

static struct hist *hist_of(sqlite3_context *out, unsigned keys)
{
	struct hist **at = sqlite3_aggregate_context(out, sizeof(struct hist *));

	if (at && !*at)
		*at = hist_new(sqlite3_user_data(out), keys);
	if (!at || !*at)
		sqlite3_result_error_nomem(out);
	return at ? *at : NULL;
}

void hist_fail(sqlite3_context *out, int rc)
{
	if (rc == SQLITE_NOMEM)
		sqlite3_result_error_nomem(out);
	else if (rc == SQLITE_ERROR)
		sqlite3_result_error(out, sqlite3_errmsg(sqlite3_context_db_handle(out)), -1);
	else
		sqlite3_result_error_code(out, rc);
}

int64_t hist_done(struct hist *h)
{
	slots_free(&h->by_key);
	return h->number;
}

static void hist_final(sqlite3_context *out)
{
	struct hist **h = sqlite3_aggregate_context(out, 0);

	if (h && *h)
		sqlite3_result_int64(out, hist_done(*h));
}

/* ---- groups: the values of a key ---- */

/* The group of a key, made if there is none. */
static int find_group(struct hist *h, const int64_t *key, uint32_t types, struct group **group)
{
	uint32_t row;
	int rc = hist_find(h, key, types, &row);

	if (rc != SQLITE_OK)
		return rc;
	if (row >= h->groups) {
		struct group *more = reallocarray(h->group, h->room, sizeof(*more));

		if (!more)
			return SQLITE_NOMEM;
		memset(more + h->groups, 0, (h->room - h->groups) * sizeof(*more));
		h->group = more;
		h->groups = h->room;
	}
	*group = &h->group[row];
	return SQLITE_OK;
}

int hist_add_value(struct hist *h, int64_t key, int64_t value, struct group **group)
{
	int rc = find_group(h, &key, V_INT, group);

	if (rc != SQLITE_OK)
		return rc;
	(*group)->n++;
	if (value != HIST_NULL)
		return hist_group_whole(*group, value);
	(*group)->nulls++;
	return SQLITE_OK;
}

struct group *hist_find_values(const struct hist_of_db *of, sqlite3_value *value)
{
	struct hist_values v = {.number = -1};
	struct hist *h = of->first;

	if (sqlite3_value_type(value) == SQLITE_BLOB && sqlite3_value_bytes(value) == sizeof(v))
		memcpy(&v, sqlite3_value_blob(value), sizeof(v));
	while (h && h->number != v.number)
		h = h->next;
	if (!h || v.magic != HIST_VALUES || v.row < 0 || v.row >= h->cnt || !h->group)
		return NULL;
	return &h->group[v.row];
}

/* A value, or all of a histogram of sl_hist_rows(). */
static int add_value(struct hist_of_db *of, struct group *to, sqlite3_value *value)
{
	struct group *values = hist_find_values(of, value);

	return values ? hist_group_take(to, values) : hist_group_add(to, value);
}

/* The group of keys. */
static int group_of(struct hist *h, sqlite3_value **argv, struct group **group)
{
	int64_t key[HIST_KEYS];
	uint32_t types = 0;
	int rc = SQLITE_OK;

	for (unsigned i = 0; i < h->keys && rc == SQLITE_OK; i++) {
		unsigned type;

		rc = read_value(&h->pool, argv[i], &key[i], &type);
		types |= type << (4 * i);
	}
	return rc == SQLITE_OK ? find_group(h, key, types, group) : rc;
}

/* sl_hist(a, b, ..., value) */
static void hist_step(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct hist *h = hist_of(out, (unsigned)argc - 1);
	struct group *group;
	int rc = h ? group_of(h, argv, &group) : SQLITE_OK;

	if (h && rc == SQLITE_OK)
		rc = hist_group_add(group, argv[argc - 1]);
	if (rc != SQLITE_OK)
		hist_fail(out, rc);
}

/* sl_sums(a, b, ..., value, other): whole numbers; rows whose value is NULL do not count. */
static void sums_step(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct hist *h = hist_of(out, (unsigned)argc - 2);
	int64_t value = sqlite3_value_int64(argv[argc - 2]);
	struct group *g;
	int rc;

	if (!h || (!value && sqlite3_value_type(argv[argc - 2]) == SQLITE_NULL))
		return;
	rc = group_of(h, argv, &g);
	if (rc != SQLITE_OK) {
		hist_fail(out, rc);
		return;
	}
	g->least = !g->n || value < g->least ? value : g->least;
	g->most = !g->n || value > g->most ? value : g->most;
	g->n++;
	g->sum = sat_add(g->sum, value);
	if (sqlite3_value_type(argv[argc - 1]) == SQLITE_NULL)
		g->nulls++;
	else
		g->extra = sat_add(g->extra, sqlite3_value_int64(argv[argc - 1]));
}

/* sl_stats(key, value) */
static void stats_step(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct hist *h = hist_of(out, 1);
	struct group *group;
	int64_t key;
	unsigned type;
	int rc;

	(void)argc;
	if (!h)
		return;
	rc = read_value(&h->pool, argv[0], &key, &type);
	if (rc == SQLITE_OK)
		rc = find_group(h, &key, type, &group);
	if (rc == SQLITE_OK)
		rc = add_value(h->of, group, argv[1]);
	if (rc != SQLITE_OK)
		hist_fail(out, rc);
}

/* ---- the connection ---- */

static void db_free(void *p)
{
	struct hist_of_db *of = p;

	while (of->first) {
		struct hist *h = of->first;

		of->first = h->next;
		hist_free(h);
	}
	free(of);
}

int hist_register(sqlite3 *db, const struct percentiles *p, struct hist_of_db **tables)
{
	struct hist_of_db *of = calloc(1, sizeof(*of));
	int rc;

	if (!of)
		return SQLITE_NOMEM;
	if (p)
		of->percent = *p;
	if (tables)
		*tables = of;
	/* The module that is closed last owns it; the functions only point to it. */
	rc = sqlite3_create_module_v2(db, "sl_hist_rows", &hist_rows_module, of, db_free);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_module(db, "sl_stats_rows", &hist_stats_module, of);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_module(db, "sl_hist_values", &hist_values_module, of);
	for (int args = 2; rc == SQLITE_OK && args <= HIST_KEYS; args++)
		rc = sqlite3_create_function(db, "sl_hist", args, PURE, of, NULL, hist_step,
					     hist_final);
	for (int args = 3; rc == SQLITE_OK && args <= HIST_KEYS; args++)
		rc = sqlite3_create_function(db, "sl_sums", args, PURE, of, NULL, sums_step,
					     hist_final);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(db, "sl_stats", 2, PURE, of, NULL, stats_step,
					     hist_final);
	return rc;
}
